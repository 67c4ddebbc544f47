// Syncs a source: adds a document for each new page, replaces those of changed pages, and deletes those of
// pages that are gone. Each page has its own transaction, which holds the sync; so a sync that is killed is
// begun again by another worker, and finds what was stored.
import { hash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import * as sql from '../../../generated/sql/sources.ts'
import { findDocumentByContent } from '../../../generated/sql/knowledge.ts'
import type { components } from '../../../generated/types.ts'
import type { Database, Transaction } from '../../../infra/database/database.ts'
import { ApiError, RolledBack } from '../../../infra/errors.ts'
import { truncateText } from '../../../infra/text.ts'
import type { PageResponse, WebhookClient } from '../../webhooks/http-client.ts'
import { addDocument, updateDocument, type DocumentServices } from '../knowledge/documents.ts'
import { charsetParameter, decode, findCharset } from '../parsing/charset.ts'
import { SourceError } from './errors.ts'
import { PageFetcher } from './fetch-page.ts'
import { releasePage } from './sources.ts'

export interface SyncOptions extends DocumentServices {
  database: Database
  webhookClient: WebhookClient
  onError: (error: Error) => void
  /** Default: `defaultLimits`. */
  limits?: Partial<typeof defaultLimits>
}

export const defaultLimits = {
  pages: 500,
  sitemaps: 20,
  sitemapBytes: 5 * 2 ** 20,
  /** Of one page; its text has at most as many characters as the text of a document. */
  pageBytes: 2 * 2 ** 20,
  syncMs: 10 * 60_000,
}
export const leaseSeconds = 45
const heartbeatIntervalMs = 10_000
const maxTextLength = 1_000_000
const maxNameLength = 200
const maxMetadataLength = 512
/** Pages to remove that one statement reads. */
const removedAtOnce = 500
/** URLs in all sitemaps together: as many as the protocol allows in one. */
const maxUrls = 50_000

type Counts = NonNullable<components['schemas']['KnowledgeSource']['last_sync']>
type Result = keyof Counts
type Failure = NonNullable<components['schemas']['KnowledgeSource']['error']>

const types = ['text/html', 'text/plain', 'text/markdown', 'text/csv', 'application/json']

/** The source was deleted, or another worker has it: the transaction rolls back. */
class SyncLost extends RolledBack {}

/** After `stop` is aborted, the source is due again. */
export async function syncSource(
  options: SyncOptions,
  source: sql.ClaimSourceRow,
  stop: AbortSignal,
): Promise<void> {
  const { database, onError } = options
  const limits = { ...defaultLimits, ...options.limits }
  const { id, run } = source
  const lost = new AbortController()
  const heartbeat = setInterval(() => {
    sql.extendLease(database.reserve, { id, run, lease_seconds: leaseSeconds }).then((row) => {
      if (row === undefined) lost.abort(new SyncLost('the sync has ended'))
    }, onError)
  }, heartbeatIntervalMs)
  const signal = AbortSignal.any([stop, lost.signal, AbortSignal.timeout(limits.syncMs)])
  const sync = new Sync({ ...options, limits }, source, signal)
  try {
    const error = await sync.run().catch((error) => failureOf(error, { signal, stop, onError }))
    if (error === 'returned') return await sql.returnSync(database, { id, run })
    await endSync(options, source, sync.counts, error)
  } finally {
    clearInterval(heartbeat)
  }
}

function failureOf(
  error: Error,
  { signal, stop, onError }: { signal: AbortSignal; stop: AbortSignal; onError: (error: Error) => void },
): Failure | 'returned' {
  if (error instanceof SyncLost || signal.reason instanceof SyncLost) return 'returned'
  if (stop.aborted) return 'returned'
  if (error instanceof SourceError) return { code: error.code, message: error.message }
  if (signal.aborted) return { code: 'timeout', message: 'The sync took too long. The next one goes on.' }
  onError(new Error('a source could not be synced', { cause: error }))
  return { code: 'unavailable', message: 'The sync failed because of a temporary problem.' }
}

async function endSync(
  { database, events }: SyncOptions,
  { id, run, failures }: sql.ClaimSourceRow,
  counts: Counts,
  error: Failure | null,
): Promise<void> {
  await database.transaction(async (tx) => {
    const ended = await sql.endSync(tx, {
      id,
      run,
      status: error === null ? 'synced' : 'failed',
      error: error === null ? null : JSON.stringify(error),
      last_sync: JSON.stringify(counts),
      failures: error === null ? 0 : failures + 1,
    })
    if (ended === undefined) return
    const type = error === null ? 'knowledge_source.synced' : 'knowledge_source.failed'
    await events.emit(tx, type, ended, { userId: ended.owner_id })
  })
}

type KnownPage = sql.FindPagesRow
type LimitedOptions = SyncOptions & { limits: typeof defaultLimits }

class Sync {
  readonly counts: Counts = { added: 0, updated: 0, unchanged: 0, removed: 0, failed: 0, ignored: 0 }
  readonly #options: LimitedOptions
  readonly #source: sql.ClaimSourceRow
  readonly #signal: AbortSignal
  readonly #fetcher: PageFetcher

  constructor(options: LimitedOptions, source: sql.ClaimSourceRow, signal: AbortSignal) {
    this.#options = options
    this.#source = source
    this.#signal = signal
    this.#fetcher = new PageFetcher(options.webhookClient, signal)
  }

  /** @returns why the source failed, or null. */
  async run(): Promise<Failure | null> {
    const { id, type, url } = this.#source
    const { limits, database } = this.#options
    const all = type === 'page' ? [url] : [...(await this.#readSitemaps(url))]
    const urls = all.slice(0, limits.pages)
    this.counts.ignored = all.length - urls.length
    await this.#removeOthers(urls)
    const rows = await sql.findPages(database, { source_id: id, urls })
    const known = new Map(rows.map((row) => [row.url, row]))
    // New pages first, then those that were checked the longest time ago.
    const order = [...urls.filter((each) => !known.has(each)), ...known.keys()]
    let failure: Failure | null = null
    for (const each of order) {
      const error = await this.#syncPage(each, known.get(each))
      if (error !== null) failure = { code: error.code, message: `${error.message} (${each})` }
      await sleep(this.#fetcher.crawlDelay(each), undefined, { signal: this.#signal })
    }
    const { added, updated, unchanged } = this.counts
    return added + updated + unchanged === 0 ? failure : null
  }

  /** The URLs of all pages. */
  async #readSitemaps(url: string): Promise<Set<string>> {
    const { limits } = this.#options
    const { readSitemap } = await import('./sitemap.ts')
    const waiting = [url]
    const read = new Set<string>()
    const pages = new Set<string>()
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      if (read.has(next)) continue
      if (read.size >= limits.sitemaps)
        throw new SourceError('too_large', `There are more than ${limits.sitemaps} sitemaps.`)
      read.add(next)
      const { body } = await this.#fetcher.fetch(next, {}, limits.sitemapBytes)
      const found = readSitemap(body.toString(), url)
      waiting.push(...found.sitemaps)
      for (const page of found.pages) pages.add(page)
      if (pages.size > maxUrls) throw new SourceError('too_large', `There are more than ${maxUrls} pages.`)
    }
    return pages
  }

  /** @returns why the page could not be synced, or null. */
  async #syncPage(url: string, known: KnownPage | undefined): Promise<SourceError | null> {
    try {
      const headers = {
        ...(known?.etag != null && { 'if-none-match': known.etag }),
        ...(known?.last_modified != null && { 'if-modified-since': known.last_modified }),
      }
      const response = await this.#fetcher.fetch(url, headers, this.#options.limits.pageBytes)
      const isUnchanged = response.status === 304
      if (isUnchanged && known === undefined)
        throw new SourceError('http_status', 'The server answered 304 to a request without a condition.')
      const result = isUnchanged ? await this.#touch(url, known!) : await this.#store(url, response, known)
      this.counts[result]++
      return null
    } catch (error) {
      const failure = pageError(error)
      if (failure.isGone && known !== undefined) await this.#remove(url)
      else this.counts.failed++
      return failure
    }
  }

  /** Runs `work` while the sync and the knowledge base stay as they are. */
  async #hold<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const { id, run } = this.#source
    this.#signal.throwIfAborted()
    return await this.#options.database.transaction(async (tx) => {
      const held = await sql.holdSync(tx, { id, run })
      if (held === undefined || (held.project_status ?? 'active') !== 'active')
        throw new SyncLost('the sync has ended')
      return await work(tx)
    })
  }

  /** Removes the pages that are not in `urls`. */
  async #removeOthers(urls: string[]): Promise<void> {
    const { database } = this.#options
    const others = { source_id: this.#source.id, except: urls, limit: removedAtOnce }
    let pages
    do {
      pages = await sql.listPages(database, others)
      for (const { url } of pages) await this.#remove(url)
    } while (pages.length === removedAtOnce)
  }

  async #remove(url: string): Promise<void> {
    const { id } = this.#source
    await this.#hold((tx) => releasePage(tx, this.#options.events, { source_id: id, url }))
    this.counts.removed++
  }

  async #touch(url: string, { etag, last_modified }: KnownPage): Promise<Result> {
    const page = { source_id: this.#source.id, url, etag, last_modified }
    await this.#hold((tx) => sql.touchPage(tx, page))
    return 'unchanged'
  }

  async #store(url: string, response: PageResponse, known: KnownPage | undefined): Promise<Result> {
    const { id, knowledge_base_id: base, created_by: createdBy } = this.#source
    const { text, contentType } = await textOf(response)
    const sha256 = hash('sha256', text)
    const { etag = null, 'last-modified': lastModified = null } = response.headers
    const validators = { etag: short(etag), last_modified: short(lastModified) }
    const page = { source_id: id, url }
    return await this.#hold(async (tx) => {
      const keep = (documentId: string, created: boolean): Promise<void> =>
        sql.upsertPage(tx, { ...page, ...validators, document_id: documentId, created })
      if (known?.sha256 === sha256) {
        await sql.touchPage(tx, { ...page, ...validators })
        return 'unchanged'
      }
      const previous = await sql.lockDocumentOfPage(tx, page)
      const existing = await findDocumentByContent(tx, { knowledge_base_id: base, sha256 })
      if (previous?.content_type === contentType && existing === undefined) {
        await updateDocument(tx, this.#options, previous, { text: { text, sha256 } })
        await keep(previous.id, true)
        return 'updated'
      }
      await releasePage(tx, this.#options.events, page)
      const { document, created } = await addDocument(tx, this.#options, base, {
        createdBy,
        name: nameOf(url),
        contentType,
        sha256,
        text,
        metadata: { source: id, ...(url.length <= maxMetadataLength && { url }) },
      })
      await keep(document.id, created)
      return known === undefined ? 'added' : 'updated'
    })
  }
}

/** Why a page could not be synced. Throws an error that ends the sync. */
function pageError(error: unknown): SourceError {
  if (error instanceof SourceError) return error
  if (error instanceof ApiError && error.details.limit !== undefined)
    return new SourceError('quota', error.message, { cause: error })
  throw error
}

const short = (value: string | null): string | null => (value !== null && value.length <= 500 ? value : null)

async function textOf({ headers, body }: PageResponse): Promise<{ text: string; contentType: string }> {
  const header = headers['content-type']
  const declared = header?.split(';')[0].trim().toLowerCase() ?? 'text/html'
  const contentType = declared === 'application/xhtml+xml' ? 'text/html' : declared
  if (!types.includes(contentType))
    throw new SourceError('unsupported', `Pages of the type ${truncateText(contentType, 100)} are not read.`)
  const { name } = await findCharset(body, charsetParameter(header))
  const { text } = decode(body, name)
  if (text.trim() === '') throw new SourceError('unsupported', 'The page has no text.')
  if (text.length > maxTextLength)
    throw new SourceError('too_large', `The page has more than ${maxTextLength} characters.`)
  return { text, contentType }
}

/** The host and the path. */
function nameOf(url: string): string {
  const { host, pathname, search } = new URL(url)
  return truncateText(`${host}${pathname === '/' ? '' : pathname}${search}`, maxNameLength)
}
