// What a user may have: one table of quotas, which triggers of the database count and enforce.
import type { Config } from '../../infra/config/config.ts'
import type { ConstraintError } from '../../infra/database/errors.ts'
import type { Db } from '../../infra/database/database.ts'
import { ApiError } from '../../infra/errors.ts'
import * as sql from '../../generated/sql/users.ts'

interface Quota {
  setting: keyof Config
  /** For people. */
  what: string
}

/** By the name in the triggers of the function `count_quota`. */
export const quotas = {
  api_keys: { setting: 'quotaApiKeys', what: 'API keys' },
  projects: { setting: 'quotaProjects', what: 'projects of your own' },
  members: { setting: 'quotaMembers', what: 'members that you have added' },
  invitations: { setting: 'quotaInvitations', what: 'pending invitations' },
  webhook_endpoints: { setting: 'webhookEndpointsPerUser', what: 'webhook endpoints' },
  files: { setting: 'quotaFiles', what: 'files' },
  file_links: { setting: 'quotaFileLinks', what: 'file links' },
  uploads: { setting: 'quotaUploads', what: 'unfinished uploads' },
  knowledge_bases: { setting: 'quotaKnowledgeBases', what: 'knowledge bases' },
  documents: { setting: 'quotaDocuments', what: 'documents' },
  document_bytes: { setting: 'quotaDocumentBytes', what: 'bytes of documents' },
  sessions: { setting: 'quotaSessions', what: 'sessions' },
  messages: { setting: 'quotaMessages', what: 'messages' },
  pending_orders: { setting: 'quotaPendingOrders', what: 'pending orders' },
} satisfies Record<string, Quota>

export type QuotaName = keyof typeof quotas

export const quotaNames = Object.keys(quotas) as QuotaName[]

export function limitOf(config: Readonly<Config>, name: QuotaName): number {
  return config[quotas[name].setting] as number
}

/** The 403 for each quota that is used up. */
export function quotaErrors(config: Readonly<Config>): ConstraintError[] {
  return quotaNames.map((name) => ({
    constraint: `quota_${name}`,
    message: `quota ${name} is used up`,
    error: () =>
      new ApiError(
        403,
        'FORBIDDEN',
        `The limit is ${limitOf(config, name)} ${quotas[name].what} for each user. ` +
          'GET /v1/user/limits shows all limits.',
        { constraint: name },
      ),
  }))
}

/** Stores the limits for the triggers. */
export async function storeLimits(db: Db, config: Readonly<Config>): Promise<void> {
  await sql.storeQuotaLimits(db, {
    quotas: quotaNames,
    values: quotaNames.map((name) => limitOf(config, name)),
  })
}
