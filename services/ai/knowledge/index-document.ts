// Processes one parsing job: the document becomes ready with its text and chunks, fails with a reason, or is
// requeued. One transaction stores the outcome, emits the event and completes the job. Until then searches
// find the previous chunks.
import { retry } from '../../../infra/retry.ts'
import { Readable } from 'node:stream'
import { type Database, type Db } from '../../../infra/database/database.ts'
import { statement } from '../../../infra/database/statements.ts'
import { ApiError, RolledBack } from '../../../infra/errors.ts'
import type { Emitter } from '../../events/emit.ts'
import type { Job, Queue } from '../../../infra/jobs/queue.ts'
import type { TempFile } from '../../storage/blobs/temp-files.ts'
import type { Storage } from '../../storage/storage.ts'
import { extractLexemes, replaceChunks } from './chunk-index.ts'
import { documentColumns, type OwnedDocument, type ParsingJob } from './documents.ts'
import {
  ParsingError,
  type parseDocument,
  type ParseResult,
  type ParsingErrorCode,
} from '../parsing/parse.ts'
import type { Embed } from '../providers/embedding.ts'

export type DocumentParser = typeof parseDocument

export interface IndexingOptions {
  database: Database
  documents: Queue<ParsingJob>
  events: Emitter
  storage: Storage
  /** Computes the vectors of chunks; null without an embedding model. */
  embed: Embed | null
  parse: DocumentParser
  /** Maximum bytes of a document. */
  maxBytes: number
  /** Receives errors that the document did not cause. */
  onError: (error: Error) => void
}

/** Seconds before each retry after a temporary error. */
const retryDelays = [5, 30, 120, 600]
/** How often the worker of a job may be lost, by a crash or a database outage, before the document fails. */
const maxLosses = 2
/** Maximum UTF-8 bytes of a text, so that its chunks fit into one transaction. */
const outputBytes = 4 * 2 ** 20
const heartbeatIntervalMs = 5_000
/** Time-out of the transaction that stores the chunks: what the largest text needs on a slow machine. */
const storeTimeoutMs = 60_000
/** How long a transaction that fails with 503 is retried. */
const storeRetryMs = 60_000

interface ClaimedDocument {
  id: string
  knowledge_base_id: string
  name: string
  content_type: string
  sha256: string
  source: string | null
  blob_key: string | null
  max_tokens: number
  overlap_tokens: number
}

interface LockedDocument {
  id: string
  knowledgeBaseId: string
}

interface Failure {
  code: ParsingErrorCode | 'unavailable'
  message: string
}

const unavailable: Failure = {
  code: 'unavailable',
  message: 'Parsing failed because of a temporary problem. Retry the document later.',
}

const setUpdatedAt = "updated_at = greatest(now(), updated_at + interval '1 millisecond')"
const claimDocument = statement<ClaimedDocument>(`
  WITH d AS (
    UPDATE documents SET status = 'processing', ${setUpdatedAt}
    WHERE id = $1 AND wanted = $2 AND status IN ('queued', 'processing') RETURNING *
  )
  SELECT d.id, d.knowledge_base_id, d.name, d.content_type, d.sha256, d.source, f.blob_key, k.max_tokens,
    k.overlap_tokens
  FROM d JOIN knowledge_bases k ON k.id = d.knowledge_base_id LEFT JOIN files f ON f.id = d.file_id`)
const lockDocument = statement<LockedDocument>(`
  SELECT id, knowledge_base_id AS "knowledgeBaseId" FROM documents
  WHERE id = $1 AND wanted = $2 AND status IN ('queued', 'processing') FOR NO KEY UPDATE`)
const setQueued = statement(
  `UPDATE documents SET status = 'queued', ${setUpdatedAt}
  WHERE id = $1 AND wanted = $2 AND status = 'processing'`,
)
const isNewText = statement<{ isNew: boolean }>(
  'SELECT NOT EXISTS (SELECT FROM document_texts WHERE document_id = $1 AND text = $2) AS "isNew"',
)
const upsertText = statement(`
  INSERT INTO document_texts (document_id, text, pages) VALUES ($1, $2, $3)
  ON CONFLICT (document_id) DO UPDATE SET text = $2, pages = $3`)
const deleteText = statement('DELETE FROM document_texts WHERE document_id = $1')
const updateReturning = (set: string): string => `
  WITH d AS (UPDATE documents SET ${set}, ${setUpdatedAt} WHERE id = $1 RETURNING *)
  SELECT ${documentColumns}, k.owner_id, d.wanted
  FROM d JOIN knowledge_bases k ON k.id = d.knowledge_base_id`
const setReady = statement<OwnedDocument>(
  updateReturning(
    `status = 'ready', error = NULL, revision = revision + $2, tokens = $3, chunk_count = $4,
      indexed_at = now()`,
  ),
)
const setFailed = statement<OwnedDocument>(updateReturning("status = 'failed', error = $2"))
const resetIndexFields = statement(
  `UPDATE documents SET revision = revision + 1, tokens = 0, chunk_count = 0, indexed_at = NULL
  WHERE id = $1`,
)

/** Changes the locked document in the transaction that completes the job. */
type Outcome = (tx: Db, document: LockedDocument) => Promise<void>

/** Another worker has the job: this one rolls back. */
class JobLost extends RolledBack {}

/** Processes a job. After `stop` is aborted, the job returns to the queue. */
export async function indexDocument(
  options: IndexingOptions,
  job: Job<ParsingJob>,
  stop: AbortSignal,
): Promise<void> {
  await new IndexingRun(options, job, stop).run()
}

class IndexingRun {
  #options: IndexingOptions
  #job: Job<ParsingJob>
  #stop: AbortSignal
  /** Aborted when the queue has given the job to another worker. */
  #jobLost = new AbortController()
  #signal: AbortSignal

  constructor(options: IndexingOptions, job: Job<ParsingJob>, stop: AbortSignal) {
    this.#options = options
    this.#job = job
    this.#stop = stop
    this.#signal = AbortSignal.any([stop, this.#jobLost.signal])
  }

  async run(): Promise<void> {
    const heartbeat = setInterval(() => this.#sendHeartbeat(), heartbeatIntervalMs)
    try {
      const outcome = await this.#index().catch((error) => this.#outcomeOfError(error))
      await this.#retryUntilStored(outcome).catch((error) =>
        this.#retryUntilStored(this.#outcomeOfError(error)),
      )
    } finally {
      clearInterval(heartbeat)
    }
  }

  #sendHeartbeat(): void {
    const { documents, onError } = this.#options
    documents.heartbeat([this.#job]).then((owned) => {
      if (!owned.has(this.#job.id)) this.#jobLost.abort()
    }, onError)
  }

  /** Does the work that needs no transaction. @returns the outcome, or null if the job is out of date. */
  async #index(): Promise<Outcome | null> {
    const { data, retryCount } = this.#job
    const { database, embed, onError } = this.#options
    if (retryCount >= maxLosses) {
      onError(new Error(`document ${data.document_id} failed: its worker was lost ${retryCount} times`))
      return this.#failed(unavailable)
    }
    const [document] = await database.sql(claimDocument, [data.document_id, data.wanted])
    if (document === undefined) return null
    const result = await this.#parse(document)
    const texts = result.chunks.map(({ heading, text }) =>
      heading === null ? text : `${heading}\n\n${text}`,
    )
    const embeddings = embed === null || texts.length === 0 ? null : await embed(texts, this.#signal)
    const lexemes = await extractLexemes(database, result.chunks, result.language)
    return this.#ready(result, { embeddings, lexemes, language: result.language })
  }

  async #parse(document: ClaimedDocument): Promise<ParseResult> {
    const { name, content_type: contentType, max_tokens: maxTokens, overlap_tokens: overlapTokens } = document
    const { parse, maxBytes } = this.#options
    const file = await this.#download(document)
    try {
      return await parse(
        { path: file.path, contentType, name },
        { maxTokens, overlapTokens },
        { limits: { outputBytes, inputBytes: maxBytes }, signal: this.#signal },
      )
    } finally {
      await file.discard()
    }
  }

  /** The bytes of the document as a local file. */
  async #download({
    source,
    blob_key: key,
    content_type: declaredType,
    sha256,
  }: ClaimedDocument): Promise<TempFile> {
    const { storage, maxBytes } = this.#options
    const content =
      source === null ? await (await storage.blobStore()).read(key!) : Readable.from([Buffer.from(source)])
    const file = await storage.tempFiles.receive(
      { declaredType, content },
      { maxBytes, tooLarge: () => new ParsingError('too_large') },
    )
    if (file.sha256 === sha256) return file
    await file.discard()
    throw new Error(`the stored bytes of document ${this.#job.data.document_id} do not match its SHA-256`)
  }

  #outcomeOfError(error: Error): Outcome | null {
    const { tries } = this.#job.data
    if (this.#jobLost.signal.aborted) return null
    if (this.#stop.aborted) return this.#requeued(new Date(), tries)
    if (error instanceof ParsingError) return this.#failed({ code: error.code, message: error.message })
    this.#options.onError(
      new Error(`a document could not be parsed (attempt ${tries + 1})`, { cause: error }),
    )
    return tries < retryDelays.length
      ? this.#requeued(new Date(Date.now() + retryDelays[tries] * 1000), tries + 1)
      : this.#failed(unavailable)
  }

  #requeued(startAfter: Date, tries: number): Outcome {
    const { data } = this.#job
    return async (tx) => {
      await tx.sql(setQueued, [data.document_id, data.wanted])
      const job = { data: { ...data, tries }, group: data.space_id, startAfter }
      await this.#options.documents.add(tx, [job])
    }
  }

  #ready(
    { text, pages, chunks, tokens }: ParseResult,
    indexed: Parameters<typeof replaceChunks>[3],
  ): Outcome {
    return async (tx, document) => {
      const { id } = document
      const [{ isNew }] = await tx.sql(isNewText, [id, text])
      await tx.sql(upsertText, [id, text, pages === null ? null : JSON.stringify(pages)])
      await replaceChunks(tx, document, chunks, indexed)
      const [updated] = await tx.sql(setReady, [id, isNew ? 1 : 0, tokens, chunks.length])
      await this.#options.events.emit(tx, 'document.ready', updated, { userId: updated.owner_id })
    }
  }

  /** Deletes the previous text and chunks, which belong to other content, unless the error is temporary. */
  #failed(failure: Failure): Outcome {
    return async (tx, document) => {
      const { id } = document
      if (failure.code !== 'unavailable') {
        await tx.sql(deleteText, [id])
        await replaceChunks(tx, document, [], { language: 'simple', embeddings: null })
        await tx.sql(resetIndexFields, [id])
      }
      const [updated] = await tx.sql(setFailed, [id, failure])
      await this.#options.events.emit(tx, 'document.failed', updated, { userId: updated.owner_id })
    }
  }

  /**
   * Retries for a minute while the database answers 503, for example waiting for another document's
   * transaction.
   */
  async #retryUntilStored(outcome: Outcome | null): Promise<void> {
    const { database } = this.#options
    const deadline = Date.now() + storeRetryMs
    const store = (tx: Db): Promise<void> => this.#storeOutcome(tx, outcome)
    try {
      await retry(() => database.transaction(store, { timeout: storeTimeoutMs }), {
        attempts: Infinity,
        delayMs: (attempt) => Math.min(100 * 2 ** (attempt - 1), 2_000),
        shouldRetry: (error) =>
          error instanceof ApiError &&
          error.status === 503 &&
          Date.now() <= deadline &&
          !this.#signal.aborted,
      })
    } catch (error) {
      if (!(error instanceof JobLost)) throw error
    }
  }

  /**
   * Stores the outcome unless the document was deleted or changed since, and completes the job. Completing is
   * the last statement, because it locks the job's row in the queue.
   */
  async #storeOutcome(tx: Db, outcome: Outcome | null): Promise<void> {
    const { data, id } = this.#job
    if (outcome !== null) {
      const [document] = await tx.sql(lockDocument, [data.document_id, data.wanted])
      if (document !== undefined) await outcome(tx, document)
    }
    if (!(await this.#options.documents.complete(tx, [this.#job])).has(id))
      throw new JobLost('another worker has the job')
  }
}
