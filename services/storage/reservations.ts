// Reservations of storage: the bytes of an upload count against the quota of its workspace before they are on
// disk. Uploads at once therefore hold no more than the quota, and the first bytes of each of them.
import { randomUUID } from 'node:crypto'
import type { Db } from '../../infra/database/database.ts'
import { heartbeatTimeoutSeconds } from '../../infra/database/heartbeats.ts'
import * as sql from '../../generated/sql/storage.ts'

/**
 * The first bytes of each upload that need no reservation. The size of a file in a form is known only at its
 * end. It is at most Content-Length, and at least that minus these bytes, because the fields and the
 * boundaries of a valid form have fewer. So an upload that is refused at its start is surely too large, and a
 * small one costs no statement.
 */
export const unreservedBytes = 256 * 1024
/** Bytes that an upload of unknown length reserves at a time. */
const stepBytes = 8 * 1024 * 1024
/** Milliseconds between two heartbeats. */
const heartbeatMs = heartbeatTimeoutSeconds * 333

/** Where bytes are reserved: a workspace, or what counts apart for a user, with its quota in bytes. */
export interface Place {
  workspaceId: string
  quota: number
}

export interface ReservationOptions {
  /** The bytes are in the first place that has room for them. */
  places: Place[]
  /** The first bytes that need no reservation. Default: `unreservedBytes`. */
  unreserved?: number
  /** The error when no place has room. By default the bytes are refused without an error. */
  error?: () => Error | Promise<Error>
}

export interface Reservations {
  /** A reservation of no bytes yet. */
  begin(options: ReservationOptions): Reservation
  close(): void
}

export function createReservations(db: Db): Reservations {
  /** The ids of the reservations that this process holds. */
  const held = new Set<string>()
  const timer = setInterval(() => {
    if (held.size === 0) return
    // After an outage of the database, the next heartbeat renews them again.
    void sql.renewReservations(db, { ids: [...held], seconds: heartbeatTimeoutSeconds }).catch(() => {})
  }, heartbeatMs)
  timer.unref()
  return {
    begin: (options) => new Reservation(db, held, options),
    close: () => clearInterval(timer),
  }
}

export class Reservation {
  readonly #db: Db
  readonly #held: Set<string>
  /** The places that are not known to be full. */
  readonly #places: Place[]
  readonly #error: ReservationOptions['error']
  readonly #unreserved: number
  /** Null until bytes are reserved. */
  #id: string | null = null
  #admitted: number

  constructor(
    db: Db,
    held: Set<string>,
    { places, unreserved = unreservedBytes, error }: ReservationOptions,
  ) {
    this.#db = db
    this.#held = held
    this.#places = [...places]
    this.#error = error
    this.#unreserved = this.#admitted = unreserved
  }

  /** The id of its row; null if there is none. */
  get id(): string | null {
    return this.#id
  }

  /** How many bytes the upload may have on disk. */
  get admitted(): number {
    return this.#admitted
  }

  /**
   * Reserves what is missing for the first `bytes` bytes of an upload, and more if its length is unknown.
   * @returns false if no place has room for them; the reservation is released then.
   */
  async admit(bytes: number, { isLength = false } = {}): Promise<boolean> {
    if (bytes <= this.#admitted) return true
    for (; this.#places.length > 0; this.#places.shift()) {
      const missing = bytes - this.#admitted
      const granted = await this.#reserve(missing, isLength ? missing : Math.max(missing, stepBytes))
      if (granted !== null) {
        this.#admitted += granted
        return true
      }
      await this.end()
      this.#admitted = this.#unreserved
    }
    this.#admitted = 0
    if (this.#error !== undefined) throw await this.#error()
    return false
  }

  async #reserve(leastBytes: number, mostBytes: number): Promise<number | null> {
    const [{ workspaceId, quota }] = this.#places
    const id = this.#id ?? randomUUID()
    const { bytes } = await sql.reserveStorage(this.#db, {
      id,
      workspace_id: workspaceId,
      least_bytes: leastBytes,
      most_bytes: mostBytes,
      quota,
      seconds: heartbeatTimeoutSeconds,
    })
    if (bytes === null) return null
    this.#id = id
    this.#held.add(id)
    return bytes
  }

  /** Ends the reservation. `isDeleted`: the transaction that inserted the file has deleted its row. */
  async end({ isDeleted = false } = {}): Promise<void> {
    const id = this.#id
    if (id === null) return
    this.#id = null
    this.#held.delete(id)
    // When this fails, the reservation ends by itself.
    if (!isDeleted) await sql.endReservation(this.#db, { id }).catch(() => {})
  }
}
