// Cursors: positions in the event log, as clients see them. A cursor is the sequence number of an event,
// encrypted with a key of this installation, so that it does not reveal how many events other users have. The
// cursor of another installation, or of another kind, is an error and never a wrong position.
import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject } from 'node:crypto'
import * as sql from '../../generated/sql/events.ts'
import type { Db } from '../../infra/database/database.ts'
import { invalidRequest, type ApiError } from '../../infra/errors.ts'

/** The `cursor` of the beginning of the log. */
const start = 'start'

/** The first bytes of a decrypted cursor. The sequence follows, in 8 bytes. */
const mark = Buffer.from('eventlog')
const algorithm = 'aes-128-ecb'

export class EventCursors {
  readonly #key: KeyObject

  constructor(key: Uint8Array) {
    this.#key = createSecretKey(key)
  }

  encode(sequence: number): string {
    const block = Buffer.alloc(16)
    mark.copy(block)
    block.writeBigUInt64BE(BigInt(sequence), 8)
    return createCipheriv(algorithm, this.#key, null)
      .setAutoPadding(false)
      .update(block)
      .toString('base64url')
  }

  /** The sequence of a cursor; 0 for the beginning of the log. Throws 400 for any other text. */
  decode(cursor: string, source: CursorSource = 'query'): number {
    if (cursor === start) return 0
    const block = Buffer.from(cursor, 'base64url')
    if (block.length !== 16 || block.toString('base64url') !== cursor) throw invalidCursor(source)
    const plain = createDecipheriv(algorithm, this.#key, null).setAutoPadding(false).update(block)
    const sequence = Number(plain.readBigUInt64BE(8))
    if (!plain.subarray(0, 8).equals(mark) || !Number.isSafeInteger(sequence)) throw invalidCursor(source)
    return sequence
  }
}

/** Where a request has its cursor. */
type CursorSource = 'query' | 'header'

export function invalidCursor(source: CursorSource = 'query'): ApiError {
  const field = source === 'query' ? 'cursor' : 'last-event-id'
  const name = source === 'query' ? 'cursor' : 'Last-Event-ID'
  const message =
    `${name} is not a cursor of this event log: send the next_cursor of a page or the id of a streamed ` +
    `event unchanged, or "${start}" for the oldest event.`
  return invalidRequest([{ field, constraint: 'cursor', message, location: source }])
}

/** Reads the key of the cursors from the database, once. */
export function createEventCursors(db: Db): () => Promise<EventCursors> {
  let loading: Promise<EventCursors> | undefined
  return async () => {
    loading ??= readCursors(db)
    return await loading.catch((error: unknown) => {
      loading = undefined
      throw error
    })
  }
}

async function readCursors(db: Db): Promise<EventCursors> {
  return new EventCursors((await sql.readCursorKey(db)).cursor_key)
}
