// Records the API requests of users, and what users used by day. Requests are collected in memory and written
// together every second in one transaction, so a request costs no write. What does not fit into memory is
// dropped.
import * as sql from '../../generated/sql/usage.ts'
import type { Db, Transaction } from '../../infra/database/database.ts'
import { ApiError } from '../../infra/errors.ts'
import { newId } from '../../infra/ids.ts'

/** A request that has ended. */
export interface EndedRequest {
  userId: string
  keyId: string
  /** The project that it is about; null outside projects. */
  projectId: string | null
  operation: string
  method: string
  status: number
  errorCode: string | null
  durationMs: number
  requestId: string
  clientRequestId: string | null
  downloadedBytes: number
}

/** The first requests of a user in a batch have a row each. Then requests that are alike share a row. */
const ownRows = 10
/** Rows of a user in a batch. Further requests have none, and only count in the user's day. */
const maxRowsOfUser = 50

/** Credentials and projects of a user in a batch. The requests of further ones count without them. */
const maxUsesOfUser = 1_000

/** 24.8 days, the longest time that `duration_ms` can hold. A stream can be open for longer. */
const maxDurationMs = 2 ** 31 - 1

const dayMs = 86_400_000

interface Row extends EndedRequest {
  id: string
  at: number
  /** How many requests the row stands for. */
  requests: number
}

/** The requests of a user in a batch on one day (UTC). */
interface UserDay {
  userId: string
  at: number
  firstId: string
  requests: number
  errors: number
  downloadedBytes: number
  rows: number
  /** The rows that requests can share, by what these have in common. */
  shared: Map<string, Row>
  /** The requests by credential and project. */
  uses: Map<string, Use>
}

/** The requests of a user in a batch on one day, by one credential and in one project. */
interface Use {
  credentialId: string
  projectId: string
  requests: number
  errors: number
  downloadedBytes: number
}

class Batch {
  readonly #rows: Row[] = []
  readonly #days = new Map<string, UserDay>()
  readonly #maxRows: number
  #uses = 0

  constructor(maxRows: number) {
    this.#maxRows = maxRows
  }

  get isEmpty(): boolean {
    return this.#rows.length === 0
  }

  /** The requests in this batch. */
  get requests(): number {
    let sum = 0
    for (const { requests } of this.#days.values()) sum += requests
    return sum
  }

  /** @returns false if the request does not fit. */
  add(request: EndedRequest): boolean {
    const at = Date.now()
    const key = `${Math.floor(at / dayMs)} ${request.userId}`
    let day = this.#days.get(key)
    if (day === undefined) {
      if (this.#rows.length >= this.#maxRows) return false
      day = this.#addDay(key, request.userId, at)
    }
    this.#addRow(day, request, at)
    for (const sum of [day, this.#useOf(day, request)]) {
      sum.requests++
      if (request.status >= 400) sum.errors++
      sum.downloadedBytes += request.downloadedBytes
    }
    return true
  }

  #useOf(day: UserDay, { keyId, projectId }: EndedRequest): Use {
    const isFull = day.uses.size >= maxUsesOfUser || this.#uses >= this.#maxRows
    const own = `${keyId} ${projectId ?? ''}`
    const key = isFull && !day.uses.has(own) ? '' : own
    let use = day.uses.get(key)
    if (use === undefined) {
      const [credential = '', project = ''] = key.split(' ')
      use = { credentialId: credential, projectId: project, requests: 0, errors: 0, downloadedBytes: 0 }
      day.uses.set(key, use)
      this.#uses++
    }
    return use
  }

  #addDay(key: string, userId: string, at: number): UserDay {
    const none = { firstId: '', requests: 0, errors: 0, downloadedBytes: 0, rows: 0 }
    const day = { ...none, userId, at, shared: new Map(), uses: new Map() }
    this.#days.set(key, day)
    return day
  }

  #addRow(day: UserDay, request: EndedRequest, at: number): void {
    const isAlone = day.rows < ownRows
    const { keyId, operation, method, status, errorCode } = request
    const kind = isAlone ? '' : `${keyId} ${operation} ${method} ${status} ${errorCode}`
    const shared = day.shared.get(kind)
    if (shared !== undefined) {
      shared.requests++
      return
    }
    if (day.rows >= maxRowsOfUser || this.#rows.length >= this.#maxRows) return
    const row = { ...request, id: newId('arq'), at, requests: 1 }
    this.#rows.push(row)
    if (day.rows++ === 0) day.firstId = row.id
    if (!isAlone) day.shared.set(kind, row)
  }

  /** Writes nothing again of a batch that was written before. Leaves out deleted users. */
  async write(db: Db): Promise<void> {
    await db.transaction(async (tx) => {
      const ids = [...new Set([...this.#days.values()].map(({ userId }) => userId))]
      const users = await sql.lockRequestingUsers(tx, { ids })
      const storage = new Map(users.map((user) => [user.id, user.storage_bytes]))
      const written = await this.#writeRows(
        tx,
        this.#rows.filter(({ userId }) => storage.has(userId)),
      )
      // A user's day counts with the user's first request of the batch.
      const days = [...this.#days.values()].filter(({ firstId }) => written.has(firstId))
      if (days.length > 0) await writeDays(tx, days, storage)
    })
  }

  /** @returns the ids of the rows that were not written before. */
  async #writeRows(tx: Transaction, rows: Row[]): Promise<Set<string>> {
    const written = await sql.insertRequests(tx, {
      ids: rows.map(({ id }) => id),
      users: rows.map(({ userId }) => userId),
      keys: rows.map(({ keyId }) => keyId),
      operations: rows.map(({ operation }) => operation),
      methods: rows.map(({ method }) => method),
      statuses: rows.map(({ status }) => status),
      error_codes: rows.map(({ errorCode }) => errorCode),
      durations: rows.map(({ durationMs }) => Math.min(durationMs, maxDurationMs)),
      requests: rows.map(({ requests }) => requests),
      request_ids: rows.map(({ requestId }) => requestId),
      client_request_ids: rows.map(({ clientRequestId }) => clientRequestId),
      times: rows.map(({ at }) => new Date(at).toISOString()),
    })
    return new Set(written.map(({ id }) => id))
  }
}

async function writeDays(tx: Transaction, days: UserDay[], storage: Map<string, number>): Promise<void> {
  await sql.addToDays(tx, {
    users: days.map(({ userId }) => userId),
    days: days.map(dateOf),
    requests: days.map(({ requests }) => requests),
    errors: days.map(({ errors }) => errors),
    downloads: days.map(({ downloadedBytes }) => downloadedBytes),
    storage: days.map(({ userId }) => storage.get(userId)!),
  })
  const uses = days.flatMap((day) => [...day.uses.values()].map((use) => ({ ...use, day })))
  await sql.countRequests(tx, {
    users: uses.map(({ day }) => day.userId),
    days: uses.map(({ day }) => dateOf(day)),
    credentials: uses.map(({ credentialId }) => credentialId),
    projects: uses.map(({ projectId }) => projectId),
    requests: uses.map(({ requests }) => requests),
    errors: uses.map(({ errors }) => errors),
    downloads: uses.map(({ downloadedBytes }) => downloadedBytes),
  })
}

const dateOf = ({ at }: { at: number }): string => new Date(at).toISOString().slice(0, 10)

export interface RecorderOptions {
  /** Milliseconds between two writes. */
  interval?: number
  /** Rows of a batch. Two batches are in memory at most. */
  maxRows?: number
  onError?: (error: Error) => void
}

export class RequestRecorder {
  readonly #db: Db
  readonly #maxRows: number
  readonly #onError: (error: Error) => void
  readonly #timer: NodeJS.Timeout
  #collected: Batch
  /**
   * A batch that is written, or whose write has failed. It does not change any more: if it was committed
   * although the connection failed, writing it again has no effect.
   */
  #unwritten: Batch | null = null
  #writing: Promise<void> | null = null
  #isFailing = false
  #dropped = 0

  constructor(db: Db, { interval = 1_000, maxRows = 10_000, onError = () => {} }: RecorderOptions = {}) {
    this.#db = db
    this.#maxRows = maxRows
    this.#onError = onError
    this.#collected = new Batch(maxRows)
    this.#timer = setInterval(() => {
      if (this.#writing === null) void this.flush()
    }, interval)
    this.#timer.unref()
  }

  /** The requests that are neither listed nor counted, because they did not fit or could not be written. */
  get dropped(): number {
    return this.#dropped
  }

  record(request: EndedRequest): void {
    if (!this.#collected.add(request)) this.#dropped++
  }

  /** Writes what was recorded. What the database does not take stays for the next time. */
  async flush(): Promise<void> {
    while (this.#writing !== null) await this.#writing
    this.#writing = this.#write().finally(() => {
      this.#writing = null
    })
    await this.#writing
  }

  /** Stops the timer, and writes what was recorded. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.flush()
  }

  /** Writes two batches at most: while requests arrive, another one waits for the next time. */
  async #write(): Promise<void> {
    if (this.#unwritten !== null) await this.#writeBatch(this.#unwritten)
    if (this.#unwritten !== null || this.#collected.isEmpty) return
    this.#unwritten = this.#collected
    this.#collected = new Batch(this.#maxRows)
    await this.#writeBatch(this.#unwritten)
  }

  /** The batch stays in `#unwritten` while the database is unavailable. */
  async #writeBatch(batch: Batch): Promise<void> {
    try {
      await batch.write(this.#db)
      this.#isFailing = false
    } catch (cause) {
      if (!this.#isFailing) this.#onError(new Error('requests could not be recorded', { cause }))
      this.#isFailing = true
      if (cause instanceof ApiError) return
      this.#dropped += batch.requests
    }
    this.#unwritten = null
  }
}
