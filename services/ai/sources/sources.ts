// Sources of a knowledge base: a page or a sitemap whose pages become documents. The worker in worker.ts
// syncs those that are due.
import type { components } from '../../../generated/types.ts'
import * as sql from '../../../generated/sql/sources.ts'
import type { ListQuery } from '../../../infra/contract/query.ts'
import type { OperationInfo } from '../../../infra/contract/operation.ts'
import type { Db, SqlClient, Transaction } from '../../../infra/database/database.ts'
import type { Page } from '../../../infra/database/pagination.ts'
import { conflict, limitReached, notFound } from '../../../infra/errors.ts'
import { newId, timeOf } from '../../../infra/ids.ts'
import type { Emitter } from '../../events/emit.ts'
import { requirePermission, requireWorkspaceStatus } from '../../projects/resource-access.ts'
import type { Principal } from '../../users/authentication.ts'
import { deleteDocument } from '../knowledge/documents.ts'

export type KnowledgeSource = components['schemas']['KnowledgeSource']
/** A source with the field that its events need. */
export type OwnedSource = KnowledgeSource & { owner_id: string }

export const maxSources = 20
const defaultIntervalHours = 24
/** Pages whose documents one transaction deletes. */
const deletedAtOnce = 20

/** The source without internal fields. */
export function toSource({ owner_id: _owner, ...source }: OwnedSource): KnowledgeSource {
  return source
}

export interface SourceRequest {
  operation: OperationInfo
  params: { id: string; source_id: string }
  principal: Principal
}

/** As `openDocument`, for sources. */
export async function openSource(
  db: Db,
  request: SourceRequest,
  { lock = false } = {},
): Promise<OwnedSource> {
  const { id, source_id: sourceId } = request.params
  const row = await (lock ? sql.lockSource : sql.readSource)(db, {
    knowledge_base_id: id,
    source_id: sourceId,
    user_id: request.principal.userId,
  })
  requirePermission(row, request, { name: 'knowledge base', id })
  if (row.id === null) throw notFound('source', sourceId)
  requireWorkspaceStatus(row, request)
  const { your_role: _role, project_status: _project, ...source } = row
  // With its id, the row has the other columns of a source.
  return source as OwnedSource
}

export async function listSources(
  db: SqlClient,
  knowledgeBaseId: string,
  query: ListQuery<'listSources'>,
): Promise<Page<KnowledgeSource>> {
  return await sql.listSources(db, { knowledge_base_id: knowledgeBaseId, ...query })
}

/** Adds a source to a knowledge base that is locked against other writers. Its first sync is due at once. */
export async function insertSource(
  tx: Transaction,
  events: Emitter,
  { knowledgeBaseId, createdBy }: { knowledgeBaseId: string; createdBy: string },
  {
    type,
    url,
    sync_interval_hours: hours = defaultIntervalHours,
  }: components['schemas']['KnowledgeSourceCreate'],
): Promise<KnowledgeSource> {
  const { n: used } = await sql.countSources(tx, { knowledge_base_id: knowledgeBaseId })
  if (used >= maxSources)
    throw limitReached('FORBIDDEN', 'sources', `A knowledge base may have ${maxSources} sources.`, {
      name: 'sources',
      limit: maxSources,
      used,
      resets_at: null,
    })
  const id = newId('src')
  const created = await sql.insertSource(tx, {
    id,
    knowledge_base_id: knowledgeBaseId,
    type,
    url: new URL(url).href,
    sync_interval_hours: hours,
    created_by: createdBy,
    created_at: timeOf(id),
  })
  if (created === undefined)
    throw conflict('source_exists', 'The knowledge base has a source with this URL already.', 'url')
  await events.emit(tx, 'knowledge_source.created', created, { userId: created.owner_id })
  return toSource(created)
}

/** Makes a locked source due. One that is queued or being synced stays as it is. */
export async function requestSync(tx: Transaction, source: OwnedSource): Promise<KnowledgeSource> {
  const isWaiting = source.status === 'queued' && source.next_sync_at !== null
  if (isWaiting || source.status === 'syncing') return toSource(source)
  return toSource(await sql.requestSync(tx, { id: source.id }))
}

/**
 * Ends the syncs of the source, and deletes it with its documents, a few in each transaction. An interrupted
 * deletion can be repeated.
 */
export async function deleteSource(
  db: Db,
  events: Emitter,
  open: (tx: Transaction) => Promise<OwnedSource>,
): Promise<void> {
  const { id } = await db.transaction(async (tx) => {
    const source = await open(tx)
    await sql.stopSyncs(tx, { id: source.id })
    return source
  })
  let more = true
  while (more)
    more = await db.transaction(async (tx) => {
      const source = await open(tx)
      const pages = await sql.listPages(tx, { source_id: id, except: [], limit: deletedAtOnce })
      for (const { url } of pages) await releasePage(tx, events, { source_id: id, url })
      if (pages.length === deletedAtOnce) return true
      await sql.deleteSource(tx, { id })
      await events.emit(tx, 'knowledge_source.deleted', source, { userId: source.owner_id })
      return false
    })
}

/** Deletes a page. Its document is deleted too, unless another page has it or a user added it. */
export async function releasePage(
  tx: Transaction,
  events: Emitter,
  page: { source_id: string; url: string },
): Promise<void> {
  const document = await sql.lockDocumentOfPage(tx, page)
  if (document !== undefined) await deleteDocument(tx, events, document)
  else await sql.deletePage(tx, page)
}
