// The limits of a user with their use, from the sources that enforce them.
import type { components } from '../../generated/types.ts'
import * as sql from '../../generated/sql/users.ts'
import type { Config } from '../../infra/config/config.ts'
import type { RateLimitReader } from '../../infra/contract/rate-limits.ts'
import type { Db } from '../../infra/database/database.ts'
import { heartbeatTimeoutSeconds } from '../../infra/database/heartbeats.ts'
import { limitOf, quotaNames, type QuotaName } from './quotas.ts'

export type Limit = components['schemas']['Limit']

interface Sources {
  config: Readonly<Config>
  rateLimits: RateLimitReader
  turns: { countOpen(userId: string): number }
  eventStreams: { countOpen(userId: string): number }
  openUploads: { countOpen(userId: string): number }
}

export async function readLimits(
  db: Db,
  { config, rateLimits, turns, eventStreams, openUploads }: Sources,
  userId: string,
): Promise<Limit[]> {
  const {
    storage_bytes: storageBytes,
    tokens,
    day_ends: dayEnds,
    answers,
    quotas,
  } = await sql.readUse(db, { user_id: userId, heartbeat_timeout_seconds: heartbeatTimeoutSeconds })
  const requests = (await rateLimits.read(userId)).map(({ policy, limit, used, resetAt }) => ({
    name: `requests_${policy}`,
    unit: 'requests_per_minute' as const,
    limit,
    used,
    reset_at: resetAt?.toISOString() ?? null,
  }))
  return [
    ...quotaNames.map((name) => standing(name, unitOf(name), limitOf(config, name), quotas[name] ?? 0)),
    standing('storage_bytes', 'bytes', config.storageQuotaUser, storageBytes),
    standing('open_requests', 'items', config.requestsPerUser, turns.countOpen(userId)),
    standing('open_uploads', 'items', config.uploadsPerUser, openUploads.countOpen(userId)),
    standing('event_streams', 'items', config.streamsPerUser, eventStreams.countOpen(userId)),
    standing('open_answers', 'items', config.aiStreamsPerUser, answers),
    {
      name: 'tokens_per_day',
      unit: 'tokens',
      limit: config.aiTokensPerDay || null,
      used: tokens,
      reset_at: dayEnds,
    },
    ...requests,
  ]
}

function standing(name: string, unit: Limit['unit'], limit: number, used: number): Limit {
  return { name, unit, limit, used, reset_at: null }
}

const unitOf = (name: QuotaName): Limit['unit'] => (name === 'document_bytes' ? 'bytes' : 'items')
