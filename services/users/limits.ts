// The limits of a user with their use, from the sources that enforce them.
import type { components } from '../../generated/types.ts'
import * as sql from '../../generated/sql/users.ts'
import type { Config } from '../../infra/config/config.ts'
import type { RateLimitReader } from '../../infra/contract/rate-limits.ts'
import type { Db } from '../../infra/database/database.ts'
import { heartbeatTimeoutSeconds } from '../../infra/database/heartbeats.ts'
import type { ErrorCode } from '../../infra/errors.ts'
import type { Principal } from './authentication.ts'
import { quotas } from './quotas.ts'

export type Limit = components['schemas']['Limit']

/** A limit of each user, as docs/configuration.md lists it. */
export interface DeclaredLimit {
  name: string
  unit: Limit['unit']
  setting: keyof Config
  /** The error of a request over the limit; `constraint` is in its `details`. */
  error: { status: number; code: ErrorCode; constraint: string }
  /** The test that reaches the limit. */
  test: string
}

const quotasTest = 'test/users/quotas.test.ts'
const maxOpen = { status: 429, code: 'RATE_LIMITED', constraint: 'max_open' } as const

const otherLimits = {
  storage_bytes: {
    unit: 'bytes',
    setting: 'storageQuotaUser',
    error: { status: 413, code: 'PAYLOAD_TOO_LARGE', constraint: 'quota' },
  },
  open_requests: {
    unit: 'items',
    setting: 'requestsPerUser',
    error: maxOpen,
    test: 'test/app/request-turns.test.ts',
  },
  open_uploads: { unit: 'items', setting: 'uploadsPerUser', error: maxOpen },
  event_streams: { unit: 'items', setting: 'streamsPerUser', error: maxOpen },
  open_answers: { unit: 'items', setting: 'aiStreamsPerUser', error: maxOpen },
  tokens_per_day: {
    unit: 'tokens',
    setting: 'aiTokensPerDay',
    error: { status: 429, code: 'RATE_LIMITED', constraint: 'tokens_per_day' },
  },
} satisfies Record<string, Omit<DeclaredLimit, 'name' | 'test'> & { test?: string }>

type OtherLimit = keyof typeof otherLimits

/** The settings of the rate limits that count by user, by policy. */
const requestSettings = {
  default: 'defaultRateLimit',
  write: 'writeRateLimit',
  upload: 'uploadRateLimit',
  ai: 'aiRateLimit',
  password: 'passwordRateLimit',
} satisfies Record<string, keyof Config>

const quotaLimits: DeclaredLimit[] = quotas.map(({ name, setting }) => ({
  name,
  unit: name.endsWith('_bytes') ? 'bytes' : 'items',
  setting,
  error: { status: 403, code: 'FORBIDDEN', constraint: name },
  test: quotasTest,
}))

/** All limits of a user. */
export const userLimits: DeclaredLimit[] = [
  ...quotaLimits,
  ...Object.entries(otherLimits).map(([name, limit]) => ({ name, test: quotasTest, ...limit })),
  ...Object.entries(requestSettings).map(([policy, setting]) => ({
    name: `requests_${policy}`,
    unit: 'requests_per_minute' as const,
    setting,
    error: { status: 429, code: 'RATE_LIMITED' as const, constraint: 'rate_limit' },
    test: 'test/app/rate-limit.test.ts',
  })),
]

interface Sources {
  config: Readonly<Config>
  rateLimits: RateLimitReader
  openRequests: { countOpen(userId: string): number }
  eventStreams: { countOpen(userId: string): number }
  openUploads: { countOpen(userId: string): number }
}

/** The quotas of a user or an organization, with their use. */
export async function readQuotas(db: Db, config: Readonly<Config>, accountId: string): Promise<Limit[]> {
  const { quotas: used } = await sql.readQuotas(db, { account_id: accountId })
  return quotasWithUse(config, used)
}

function quotasWithUse(config: Readonly<Config>, used: Record<string, number>): Limit[] {
  return quotaLimits.map(({ name, unit, setting }) => ({
    name,
    unit,
    limit: config[setting] as number,
    used: used[name] ?? 0,
    ...resetting(null),
  }))
}

export async function readLimits(
  db: Db,
  { config, rateLimits, openRequests, eventStreams, openUploads }: Sources,
  { userId, accountId }: Principal,
): Promise<Limit[]> {
  const use = await sql.readUse(db, { user_id: userId, heartbeat_timeout_seconds: heartbeatTimeoutSeconds })
  const usedOthers: Record<OtherLimit, number> = {
    storage_bytes: use.storage_bytes,
    open_requests: openRequests.countOpen(accountId),
    open_uploads: openUploads.countOpen(accountId),
    event_streams: eventStreams.countOpen(accountId),
    open_answers: use.answers,
    tokens_per_day: use.tokens,
  }
  const requests = (await rateLimits.read(accountId)).map(({ policy, limit, used, resetAt }) => ({
    name: `requests_${policy}`,
    unit: 'requests_per_minute' as const,
    limit,
    used,
    ...resetting(resetAt?.toISOString() ?? null),
  }))
  return [
    ...quotasWithUse(config, use.quotas),
    ...Object.entries(otherLimits).map(([name, { unit, setting }]) => ({
      name,
      unit,
      // Without a limit the setting is 0.
      limit: unit === 'tokens' ? config[setting] || null : config[setting],
      used: usedOthers[name as OtherLimit],
      ...resetting(unit === 'tokens' ? use.day_ends : null),
    })),
    ...requests,
  ]
}

/** The time under its name, and under the deprecated one. */
function resetting(at: string | null): Pick<Limit, 'resets_at' | 'reset_at'> {
  return { resets_at: at, reset_at: at }
}
