// The contents of an export: all that an account holds and can read, as the objects of the API. Secrets are
// in none of them.
import * as auditSql from '../../generated/sql/audit.ts'
import * as authSql from '../../generated/sql/auth.ts'
import * as chatSql from '../../generated/sql/chat.ts'
import * as customersSql from '../../generated/sql/customers.ts'
import * as sql from '../../generated/sql/exports.ts'
import * as knowledgeSql from '../../generated/sql/knowledge.ts'
import * as organizationsSql from '../../generated/sql/organizations.ts'
import * as paymentsSql from '../../generated/sql/payments.ts'
import * as projectsSql from '../../generated/sql/projects.ts'
import * as sourcesSql from '../../generated/sql/sources.ts'
import * as storageSql from '../../generated/sql/storage.ts'
import * as jobsSql from '../../generated/sql/tracked_jobs.ts'
import * as usageSql from '../../generated/sql/usage.ts'
import * as usersSql from '../../generated/sql/users.ts'
import * as webhooksSql from '../../generated/sql/webhooks.ts'
import type { Db } from '../../infra/database/database.ts'
import { callerParameters } from '../ai/search/scope.ts'
import { readTotp } from '../auth/totp.ts'
import { toPayment } from '../payments/payments.ts'
import { findAvatar } from '../storage/avatars.ts'
import { readSettings } from '../users/settings.ts'

export interface ExportSource {
  db: Db
  userId: string
  /** The URL of the server, for URLs of files. Empty if it is not known. */
  origin: string
}

const oldestFirst = { sort: 'created_at', order: 'asc' } as const
const eventsPerStep = 500

/** Sections that are one object, or null. */
export const objects: Record<string, (source: ExportSource) => Promise<object | null>> = {
  profile: async ({ db, userId: id, origin }) => (await usersSql.findProfile(db, { id, origin })) ?? null,
  settings: ({ db, userId }) => readSettings(db, userId),
  avatar: ({ db, userId, origin }) => findAvatar(db, userId, origin),
  second_factor: ({ db, userId }) => readTotp(db, userId),
}

/** Sections that are lists, oldest first. */
export const lists: Record<string, (source: ExportSource) => AsyncIterable<object>> = {
  api_keys: ({ db, userId }) => usersSql.listApiKeys.all(db, { user_id: userId, ...oldestFirst }),
  sessions: ({ db, userId }) =>
    authSql.listSessions.all(db, { user_id: userId, current: '', ...oldestFirst }),
  identities: ({ db, userId }) => authSql.listIdentities.all(db, { user_id: userId, ...oldestFirst }),
  passkeys: ({ db, userId }) => authSql.listPasskeys.all(db, { user_id: userId, ...oldestFirst }),
  projects: ({ db, userId }) => projectsSql.listProjects.all(db, { user_id: userId, ...oldestFirst }),
  organizations: ({ db, userId }) =>
    organizationsSql.listOrganizations.all(db, { user_id: userId, ...oldestFirst }),
  invitations: ({ db, userId }) => projectsSql.listMyInvitations.all(db, { user_id: userId, ...oldestFirst }),
  webhook_endpoints: ({ db, userId }) =>
    webhooksSql.listEndpoints.all(db, { user_id: userId, ...oldestFirst }),
  files: listFiles,
  file_versions: listFileVersions,
  folders: (source) => storageSql.listFolders.all(source.db, madeBy(source)),
  folder_shares: ({ db, userId }) => storageSql.listShares.all(db, { created_by: userId, ...oldestFirst }),
  shared_with_you: ({ db, userId }) =>
    storageSql.listSharedFolders.all(db, { user_id: userId, ...oldestFirst }),
  trash: (source) => storageSql.listTrash.all(source.db, madeBy(source)),
  jobs: listJobs,
  file_links: (source) => storageSql.listAllLinks.all(source.db, madeBy(source)),
  upload_links: (source) => storageSql.listUploadLinks.all(source.db, madeBy(source)),
  knowledge_bases: (source) => knowledgeSql.listKnowledgeBases.all(source.db, madeBy(source)),
  documents: listDocuments,
  knowledge_sources: listSources,
  chat_sessions: (source) => chatSql.listSessions.all(source.db, madeBy(source)),
  chat_messages: listMessages,
  customers: ({ db, userId }) => customersSql.list.all(db, { user_id: userId, ...oldestFirst }),
  orders: ({ db, userId }) => paymentsSql.listOrders.all(db, { user_id: userId, ...oldestFirst }),
  checkout_sessions: ({ db, userId }) =>
    paymentsSql.listCheckouts.all(db, { user_id: userId, ...oldestFirst }),
  subscriptions: ({ db, userId }) =>
    paymentsSql.listSubscriptions.all(db, { user_id: userId, ...oldestFirst }),
  payments: listPayments,
  refunds: ({ db, userId }) => paymentsSql.listAllRefunds.all(db, { user_id: userId, ...oldestFirst }),
  disputes: ({ db, userId }) => paymentsSql.listDisputes.all(db, { user_id: userId, ...oldestFirst }),
  requests: ({ db, userId }) => usageSql.listRequests.all(db, { user_id: userId, ...oldestFirst }),
  audit_log: listAuditLog,
  events: listEvents,
}

/** What the user made in the own workspace, and in projects in which the user can still read it. */
function madeBy(source: ExportSource) {
  return { ...readableBy(source), created_by: source.userId }
}

/** The own workspace, and the projects that the user can read. */
function readableBy({ userId }: ExportSource) {
  return { reader: userId, own: userId, least_role: 'viewer', key_projects: null, ...oldestFirst } as const
}

async function* listPayments({ db, userId }: ExportSource): AsyncGenerator<object> {
  for await (const payment of paymentsSql.listPayments.all(db, { user_id: userId, ...oldestFirst }))
    yield toPayment(payment)
}

async function* listFiles(source: ExportSource): AsyncGenerator<object> {
  for await (const file of storageSql.listFiles.all(source.db, madeBy(source)))
    yield { ...file, download_url: `${source.origin}/v1/storage/files/${file.id}/download` }
}

/** The versions of the files in the section `files` and in the trash. */
async function* listFileVersions(source: ExportSource): AsyncGenerator<object> {
  const { db, origin } = source
  for (const list of [storageSql.listFiles, storageSql.listTrash])
    for await (const { id, content_version: version } of list.all(db, madeBy(source))) {
      if (version === 1) continue
      for await (const each of storageSql.listVersions.all(db, { file_id: id, ...oldestFirst })) {
        const path = `/v1/storage/files/${id}/versions/${each.id}/content`
        yield { ...each, download_url: origin + path }
      }
    }
}

async function* listJobs(source: ExportSource): AsyncGenerator<object> {
  for await (const { total_of_job: total, ...job } of jobsSql.listJobs.all(source.db, madeBy(source)))
    yield { ...job, total }
}

async function* listDocuments(source: ExportSource): AsyncGenerator<object> {
  const { db, origin, userId } = source
  for await (const base of knowledgeSql.listKnowledgeBases.all(db, readableBy(source))) {
    const author = base.created_by === userId ? {} : { created_by: userId }
    const documents = { knowledge_base_id: base.id, ...author, ...oldestFirst }
    for await (const document of knowledgeSql.listDocuments.all(db, documents)) {
      // Older documents of the own knowledge bases do not name who made them.
      if (document.created_by !== null && document.created_by !== userId) continue
      const path = `/v1/ai/knowledge/${base.id}/documents/${document.id}/text`
      yield { ...document, text_url: origin + path }
    }
  }
}

async function* listSources(source: ExportSource): AsyncGenerator<object> {
  const { db, userId } = source
  for await (const { id } of knowledgeSql.listKnowledgeBases.all(db, readableBy(source)))
    yield* sourcesSql.listSources.all(db, { knowledge_base_id: id, created_by: userId, ...oldestFirst })
}

async function* listMessages(source: ExportSource): AsyncGenerator<object> {
  const { db, userId } = source
  const caller = callerParameters({ userId, projectIds: null })
  for await (const { id } of chatSql.listSessions.all(db, madeBy(source)))
    yield* chatSql.listMessages.all(db, { session_id: id, ...caller, sort: 'position', order: 'asc' })
}

/** The numbers of the entries say how many requests the platform gets, and stay out. */
async function* listAuditLog({ db, userId }: ExportSource): AsyncGenerator<object> {
  for await (const entry of auditSql.listEntries.all(db, { own: userId, ...oldestFirst }))
    yield { ...entry, sequence: null }
}

async function* listEvents({ db, userId }: ExportSource): AsyncGenerator<object> {
  for (let after = 0; ;) {
    const rows = await sql.listEvents(db, { user_id: userId, after, limit: eventsPerStep })
    for (const { sequence: _sequence, ...event } of rows) yield event
    if (rows.length < eventsPerStep) return
    after = rows.at(-1)!.sequence
  }
}
