// Processes one parsing job: the document becomes ready with its text and chunks, fails with a reason, or is
// requeued. One transaction stores the outcome, emits the event and completes the job. Until then searches
// find the previous chunks.
import { retry } from '../../../infra/concurrency/retry.ts'
import { Readable } from 'node:stream'
import * as sql from '../../../generated/sql/knowledge.ts'
import { type Database, type Transaction } from '../../../infra/database/database.ts'
import { ApiError, RolledBack } from '../../../infra/errors.ts'
import { accountOfLimits, noteReachedLimit } from '../../events/reached-limits.ts'
import type { Emitter } from '../../events/emit.ts'
import type { JobOutcome } from '../../../infra/jobs/job-runs.ts'
import type { Job, Queue } from '../../../infra/jobs/queue.ts'
import type { TempFile } from '../../storage/blobs/temp-files.ts'
import type { Storage } from '../../storage/storage.ts'
import { BudgetReached } from '../../budgets/reached-budget.ts'
import { embedWithinLimit, estimateTokens } from '../chat/embeddings.ts'
import { startOfNextDay, TokensUsedUp } from '../chat/usage.ts'
import { extractLexemes, replaceChunks } from './chunk-index.ts'
import type { KnowledgeDocument, ParsingJob } from './documents.ts'
import {
  ParsingError,
  type parseDocument,
  type ParseResult,
  type ParsingErrorCode,
} from '../parsing/parse.ts'
import { messageOfWarning, type DocumentWarning } from '../parsing/warnings.ts'
import type { EmbeddingModel } from '../providers/embedding.ts'

export type DocumentParser = typeof parseDocument

export interface IndexingOptions {
  database: Database
  documents: Queue<ParsingJob>
  events: Emitter
  storage: Storage
  /** Computes the vectors of chunks; null without an embedding model. */
  embed: EmbeddingModel | null
  /** How many tokens of embeddings a user may use per day; 0 for no limit. */
  tokensPerDay: number
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
/** How long after midnight (UTC) documents start that wait for tokens. */
const maxDelayOfDayMs = 60_000
/** How long a transaction that fails with 503 is retried. */
const storeRetryMs = 60_000

type Warnings = KnowledgeDocument['warnings']

interface Failure {
  code: ParsingErrorCode | 'unavailable'
  message: string
}

const unavailable: Failure = {
  code: 'unavailable',
  message: 'Parsing failed because of a temporary problem. Retry the document later.',
}

const replaced: Failure = {
  code: 'unavailable',
  message: 'The file has other content now, and that of the document is not kept. Add the file again.',
}

/** Changes the locked document in the transaction that completes the job. */
type Outcome = (tx: Transaction, document: sql.LockDocumentOfJobRow) => Promise<void>

/** The warnings in the form of the API. */
function toWarnings(warnings: DocumentWarning[]): Warnings {
  return warnings.map(({ code, pages }) => ({ code, message: messageOfWarning(code), pages }))
}

/** Another worker has the job: this one rolls back. */
class JobLost extends RolledBack {}

/** Processes a job. After `stop` is aborted, the job returns to the queue. */
export async function indexDocument(
  options: IndexingOptions,
  job: Job<ParsingJob>,
  stop: AbortSignal,
): Promise<JobOutcome> {
  return await new IndexingRun(options, job, stop).run()
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

  async run(): Promise<JobOutcome> {
    const heartbeat = setInterval(() => this.#sendHeartbeat(), heartbeatIntervalMs)
    let result: JobOutcome = undefined
    try {
      const outcome = await this.#index().catch((error) => {
        if (!this.#signal.aborted) result = 'failed'
        return this.#outcomeOfError(error)
      })
      await this.#retryUntilStored(outcome).catch((error) =>
        this.#retryUntilStored(this.#outcomeOfError(error)),
      )
    } finally {
      clearInterval(heartbeat)
    }
    return result
  }

  #sendHeartbeat(): void {
    const { documents, onError } = this.#options
    documents.heartbeat([this.#job]).then((owned) => {
      if (!owned.has(this.#job.id)) this.#jobLost.abort()
    }, onError)
  }

  /** Does the work that needs no transaction. @returns the outcome, or null if the job is out of date. */
  async #index(): Promise<Outcome | null> {
    const { data, fetches } = this.#job
    const { database, onError } = this.#options
    const losses = fetches - 1
    if (losses >= maxLosses) {
      onError(new Error(`document ${data.document_id} failed: its worker was lost ${losses} times`))
      return this.#failed(unavailable)
    }
    const document = await database.transaction((tx) => this.#claim(tx))
    if (document === undefined) return null
    if (document.source === null && document.blob_key === null) return this.#failed(replaced)
    const result = await this.#parse(document)
    const texts = result.chunks.map(({ heading, text }) =>
      heading === null ? text : `${heading}\n\n${text}`,
    )
    const embeddings = await this.#embed(document, texts)
    const lexemes = await extractLexemes(database, result.chunks, result.language)
    return this.#ready(result, { embeddings, lexemes, language: result.language })
  }

  /** Emits an event when the document begins to be processed for the first time in this version. */
  async #claim(tx: Transaction): Promise<sql.ClaimDocumentRow | undefined> {
    const { document_id: id, wanted, is_retry: isRetry = false } = this.#job.data
    const claimed = await sql.claimDocument(tx, { id, wanted })
    if (claimed?.was_queued === true && !isRetry) {
      const document = await sql.findDocument(tx, { id })
      await this.#options.events.emit(tx, 'document.processing', document, { userId: document.owner_id })
    }
    return claimed
  }

  /** Null without an embedding model. The tokens count to the owner of the knowledge base. */
  async #embed(
    { owner_id: userId, project_id: projectId }: sql.ClaimDocumentRow,
    texts: string[],
  ): Promise<number[][] | null> {
    const { database, embed, tokensPerDay } = this.#options
    if (embed === null || texts.length === 0) return null
    const account = { userId, credentialId: null, projectId, tokensPerDay }
    const tokens = estimateTokens(texts)
    if (tokensPerDay > 0 && tokens > tokensPerDay)
      throw new ParsingError(
        'too_large',
        `The embeddings of the document need ${tokens} tokens; a user has ${tokensPerDay} a day.`,
      )
    return await embedWithinLimit(database, embed, account, texts, this.#signal)
  }

  async #parse(document: sql.ClaimDocumentRow): Promise<ParseResult> {
    const { name, content_type: contentType, declared_content_type: declaredType } = document
    const { max_tokens: maxTokens, overlap_tokens: overlapTokens } = document
    const { parse, maxBytes } = this.#options
    const file = await this.#download(document)
    try {
      return await parse(
        { path: file.path, contentType, name, declaredType },
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
  }: sql.ClaimDocumentRow): Promise<TempFile> {
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
    if (error instanceof ParsingError)
      return this.#failed({ code: error.code, message: error.message }, toWarnings(error.warnings))
    // Waits for the tokens of the next day. Not all such documents start in the same moment.
    if (error instanceof BudgetReached) {
      const next = Math.min(startOfNextDay(), error.resetsAt?.getTime() ?? Infinity)
      return this.#requeued(new Date(next + Math.random() * maxDelayOfDayMs), tries)
    }
    if (error instanceof TokensUsedUp) {
      const requeued = this.#requeued(new Date(startOfNextDay() + Math.random() * maxDelayOfDayMs), tries)
      return async (tx, document) => {
        await requeued(tx, document)
        const { owner_id: ownerId } = await sql.findDocument(tx, { id: document.id })
        const { events } = this.#options
        await noteReachedLimit(tx, events, error.details.limit!, await accountOfLimits(tx, ownerId))
      }
    }
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
      await sql.returnDocumentToQueue(tx, { id: data.document_id, wanted: data.wanted })
      const job = { data: { ...data, tries, is_retry: true }, group: data.workspace_id, startAfter }
      await this.#options.documents.add(tx, [job])
    }
  }

  #ready(
    { text, pages, chunks, tokens, charset, warnings }: ParseResult,
    indexed: Parameters<typeof replaceChunks>[3],
  ): Outcome {
    return async (tx, { id, knowledge_base_id: knowledgeBaseId, name, metadata }) => {
      const document = { knowledge_base_id: knowledgeBaseId, document_id: id }
      const embeddingModel = indexed.embeddings === null ? null : this.#options.embed!.model
      const { is_new: isNew } = await sql.isNewText(tx, { ...document, text })
      await sql.upsertDocumentText(tx, {
        ...document,
        name,
        metadata,
        embedding_model: embeddingModel,
        text,
        pages: pages === null ? null : JSON.stringify(pages),
      })
      await replaceChunks(tx, { id, knowledgeBaseId }, chunks, indexed)
      const updated = await sql.setDocumentReady(tx, {
        id,
        is_new: isNew,
        charset,
        warnings: JSON.stringify(toWarnings(warnings)),
        tokens,
        chunk_count: chunks.length,
        embedding_model: embeddingModel,
      })
      await this.#options.events.emit(tx, 'document.ready', updated, { userId: updated.owner_id })
    }
  }

  /** Deletes the previous text and chunks, which belong to other content, unless the error is temporary. */
  #failed(failure: Failure, warnings: Warnings = []): Outcome {
    return async (tx, { id, knowledge_base_id: knowledgeBaseId }) => {
      if (failure.code !== 'unavailable') {
        await sql.deleteDocumentText(tx, { knowledge_base_id: knowledgeBaseId, document_id: id })
        await replaceChunks(tx, { id, knowledgeBaseId }, [], { language: 'simple', embeddings: null })
        await sql.resetIndexFields(tx, { id })
      }
      const kept = failure.code === 'unavailable' ? null : JSON.stringify(warnings)
      const updated = await sql.setDocumentFailed(tx, { id, error: failure, warnings: kept })
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
    const store = (tx: Transaction): Promise<void> => this.#storeOutcome(tx, outcome)
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
  async #storeOutcome(tx: Transaction, outcome: Outcome | null): Promise<void> {
    const { data, id } = this.#job
    if (outcome !== null) {
      const document = await sql.lockDocumentOfJob(tx, { id: data.document_id, wanted: data.wanted })
      if (document !== undefined) await outcome(tx, document)
    }
    if (!(await this.#options.documents.complete(tx, [this.#job])).has(id))
      throw new JobLost('another worker has the job')
  }
}
