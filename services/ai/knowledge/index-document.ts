// What becomes of one document that is to be read: ready with all of its text and passages, failed with the reason, or put
// off. Its outcome, its event and the end of its job are one transaction; until then it is found by what it had before.
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Database, type Db } from '../../../infra/database/database.ts'
import { statement } from '../../../infra/database/statements.ts'
import { ApiError, RolledBack } from '../../../infra/errors.ts'
import type { Emitter } from '../../events/emit.ts'
import type { Job, Queue } from '../../../infra/jobs/queue.ts'
import type { Arrived } from '../../storage/blobs/temp-files.ts'
import type { Storage } from '../../storage/storage.ts'
import { replaceChunks, stemChunks, type Stems } from './chunk-index.ts'
import { documentColumns, type OwnedDocument, type ReadingJob } from './documents.ts'
import { ReadingError, type readDocument, type Reading, type ReadingErrorCode } from '../parsing/parse.ts'
import type { Embed } from '../providers/embedding.ts'

export type Reader = typeof readDocument

export interface IndexingOptions {
  database: Database
  documents: Queue<ReadingJob>
  events: Emitter
  storage: Storage
  /** Where vectors of passages come from; null for none. */
  embed: Embed | null
  read: Reader
  /** The largest document. */
  maxBytes: number
  /** Told of what is no fault of the document's. */
  onError: (error: Error) => void
}

/** Seconds until a document that could not be read for the moment is tried again. */
const delays = [5, 30, 120, 600]
/** How often who reads a document may be lost, by dying or by a database that hears nothing, before it is given up. */
const mostLosses = 2
/** UTF-8 bytes of text, so that its passages fit into one transaction. */
const outputBytes = 4 * 2 ** 20
/** Milliseconds between two signs of life. */
const beats = 5_000
/** Milliseconds that the passages of the largest text take to be stored, on a slow machine. */
const longest = 60_000
/** Milliseconds after which an outcome that cannot be recorded is not tried again. */
const patience = 60_000

interface Wanted {
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

interface Held {
  id: string
  knowledgeBaseId: string
}

interface Failure {
  code: ReadingErrorCode | 'unavailable'
  message: string
}

const unavailable: Failure = {
  code: 'unavailable',
  message: 'The document could not be read for now: retry it later.',
}

const later = "updated_at = greatest(now(), updated_at + interval '1 millisecond')"
const claim = statement<Wanted>(`
  WITH d AS (
    UPDATE documents SET status = 'processing', ${later} WHERE id = $1 AND wanted = $2 AND status IN ('queued', 'processing') RETURNING *
  )
  SELECT d.id, d.knowledge_base_id, d.name, d.content_type, d.sha256, d.source, f.blob_key, k.max_tokens, k.overlap_tokens
  FROM d JOIN knowledge_bases k ON k.id = d.knowledge_base_id LEFT JOIN files f ON f.id = d.file_id`)
const hold = statement<Held>(`
  SELECT id, knowledge_base_id AS "knowledgeBaseId" FROM documents WHERE id = $1 AND wanted = $2 AND status IN ('queued', 'processing') FOR NO KEY UPDATE`)
const putBack = statement(
  `UPDATE documents SET status = 'queued', ${later} WHERE id = $1 AND wanted = $2 AND status = 'processing'`,
)
const isOther = statement<{ other: boolean }>(
  'SELECT NOT EXISTS (SELECT FROM document_texts WHERE document_id = $1 AND text = $2) AS other',
)
const keepText = statement(`
  INSERT INTO document_texts (document_id, text, pages) VALUES ($1, $2, $3) ON CONFLICT (document_id) DO UPDATE SET text = $2, pages = $3`)
const dropText = statement('DELETE FROM document_texts WHERE document_id = $1')
const changed = (set: string): string => `
  WITH d AS (UPDATE documents SET ${set}, ${later} WHERE id = $1 RETURNING *)
  SELECT ${documentColumns}, k.owner_id, d.wanted FROM d JOIN knowledge_bases k ON k.id = d.knowledge_base_id`
const makeReady = statement<OwnedDocument>(
  changed(
    "status = 'ready', error = NULL, revision = revision + $2, tokens = $3, chunk_count = $4, indexed_at = now()",
  ),
)
const makeFailed = statement<OwnedDocument>(changed("status = 'failed', error = $2"))
const forget = statement(
  `UPDATE documents SET revision = revision + 1, tokens = 0, chunk_count = 0, indexed_at = NULL WHERE id = $1`,
)

/** Who is at work on a job stops when `stop` is aborted, and puts it back. */
export async function indexDocument(
  options: IndexingOptions,
  job: Job<ReadingJob>,
  stop: AbortSignal,
): Promise<void> {
  const { database, documents, onError } = options
  const lost = new AbortController()
  const signal = AbortSignal.any([stop, lost.signal])
  // Whoever else has the job by now reads it.
  const heart = setInterval(() => {
    documents.heartbeat([job]).then((held) => {
      if (!held.has(job.id)) lost.abort()
    }, onError)
  }, beats)
  try {
    const outcome = await read().catch(refused)
    await persistently(outcome).catch(async (error) => await persistently(refused(error)))
  } finally {
    clearInterval(heart)
  }

  type Outcome = (tx: Db) => Promise<void>

  async function read(): Promise<Outcome> {
    if (job.retryCount >= mostLosses) {
      onError(
        new Error(
          `the document ${job.data.document_id} was given up: who read it was lost ${job.retryCount} times`,
        ),
      )
      return failed(unavailable)
    }
    const [wanted] = await database.sql(claim, [job.data.document_id, job.data.wanted])
    if (wanted === undefined) return settle
    const reading = await readingOf(wanted)
    const { embed } = options
    const texts = reading.chunks.map(({ heading, text }) =>
      heading === null ? text : `${heading}\n\n${text}`,
    )
    const embeddings = embed === null || texts.length === 0 ? null : await embed(texts, signal)
    return ready(reading, embeddings, await stemChunks(database, reading.chunks, reading.language))
  }

  async function readingOf(wanted: Wanted): Promise<Reading> {
    const { name, content_type: contentType, max_tokens: maxTokens, overlap_tokens: overlapTokens } = wanted
    const local = await fetched(wanted)
    try {
      return await options.read(
        { path: local.path, contentType, name },
        { maxTokens, overlapTokens },
        { caps: { outputBytes, inputBytes: options.maxBytes }, signal },
      )
    } finally {
      await local.discard()
    }
  }

  /** The bytes as a local file. */
  async function fetched({
    source,
    blob_key: key,
    content_type: declaredType,
    sha256,
  }: Wanted): Promise<Arrived> {
    const { storage, maxBytes } = options
    const content =
      source === null ? await (await storage.blobs()).read(key!) : Readable.from([Buffer.from(source)])
    const arrived = await storage.incoming.receive(
      { declaredType, content },
      { maxBytes, tooLarge: () => new ReadingError('too_large') },
    )
    if (arrived.sha256 === sha256) return arrived
    await arrived.discard()
    throw new Error(`The bytes of the document ${job.data.document_id} are not those that were added.`)
  }

  function refused(error: Error): Outcome {
    if (lost.signal.aborted) return settle
    if (stop.aborted) return putOff(new Date(), job.data.tries)
    if (error instanceof ReadingError) return failed({ code: error.code, message: error.message })
    const { tries } = job.data
    onError(new Error(`a document could not be read, at try ${tries + 1}`, { cause: error }))
    return tries < delays.length
      ? putOff(new Date(Date.now() + delays[tries] * 1000), tries + 1)
      : failed(unavailable)
  }

  function putOff(startAfter: Date, tries: number): Outcome {
    return async (tx) => {
      if ((await held(tx)) !== undefined) {
        await tx.sql(putBack, [job.data.document_id, job.data.wanted])
        await documents.add(tx, [{ data: { ...job.data, tries }, group: job.data.space_id, startAfter }])
      }
      await settle(tx)
    }
  }

  function ready(
    { text, pages, chunks, tokens, language }: Reading,
    embeddings: number[][] | null,
    stems: Stems[],
  ): Outcome {
    return async (tx) => {
      const found = await held(tx)
      if (found === undefined) return await settle(tx)
      const { id } = found
      const [{ other }] = await tx.sql(isOther, [id, text])
      await tx.sql(keepText, [id, text, pages === null ? null : JSON.stringify(pages)])
      await replaceChunks(tx, found, chunks, { language, embeddings, stems })
      const [document] = await tx.sql(makeReady, [id, other ? 1 : 0, tokens, chunks.length])
      await options.events.emit(tx, 'document.ready', document, { userId: document.owner_id })
      await settle(tx)
    }
  }

  /** Where the document is at fault, what it had before was another one's. */
  function failed(failure: Failure): Outcome {
    return async (tx) => {
      const found = await held(tx)
      if (found === undefined) return await settle(tx)
      const { id } = found
      if (failure.code !== 'unavailable') {
        await tx.sql(dropText, [id])
        await replaceChunks(tx, found, [], { language: 'simple', embeddings: null })
        await tx.sql(forget, [id])
      }
      const [document] = await tx.sql(makeFailed, [id, failure])
      await options.events.emit(tx, 'document.failed', document, { userId: document.owner_id })
      await settle(tx)
    }
  }

  /** The document, held until the transaction ends, where this reading of it is still wanted. */
  async function held(tx: Db): Promise<Held | undefined> {
    return (await tx.sql(hold, [job.data.document_id, job.data.wanted]))[0]
  }

  /** Ends the job; last of all, since the queue waits for whoever does. Where it is somebody else's by now nothing is done. */
  async function settle(tx: Db): Promise<void> {
    if (!(await documents.complete(tx, [job])).has(job.id)) throw new Lost("the job is somebody else's")
  }

  /** Tried again for a while where the database gives up, such as behind another document of the knowledge base. */
  async function persistently(outcome: Outcome): Promise<void> {
    const deadline = Date.now() + patience
    for (let wait = 100; ; wait = Math.min(2 * wait, 2_000)) {
      try {
        return await database.transaction(outcome, { timeout: longest })
      } catch (error) {
        if (error instanceof Lost) return
        const temporary = error instanceof ApiError && error.status === 503
        if (!temporary || signal.aborted || Date.now() > deadline) throw error
      }
      await sleep(wait)
    }
  }
}

class Lost extends RolledBack {}
