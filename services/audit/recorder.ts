// Records who did what for the audit log. Entries are collected in memory and added to the chain together
// every second, so a request costs no write. While a webhook endpoint of an operator receives the audit log,
// each entry has an event, which is emitted in the same transaction.
import * as sql from '../../generated/sql/audit.ts'
import type { Db, Transaction } from '../../infra/database/database.ts'
import type { Cipher } from '../../infra/encryption/cipher.ts'
import { newId } from '../../infra/ids.ts'
import type { components } from '../../generated/types.ts'
import { signatureOf, type AuditEntry } from './chain.ts'

export interface AuditedRequest extends Omit<AuditEntry, 'sequence' | 'id' | 'createdAt' | 'organizationId'> {
  /** The ids in the path and of what the request created: an organization, a project or a service account. */
  placeIds: string[]
  /**
   * Whether it was the delivery of a webhook. An event of the entry would be delivered likewise, and cause
   * the next one, without end.
   */
  isDelivery: boolean
}

type Pending = AuditedRequest & Pick<AuditEntry, 'id' | 'createdAt'>

export interface AuditRecorderOptions {
  /** Milliseconds between two writes. */
  interval?: number
  /** Emits the event of an entry. */
  emit?: (tx: Transaction, entry: components['schemas']['AuditEntry']) => Promise<unknown>
  onError?: (error: Error) => void
}

/** Entries that wait while the database is unavailable. Further ones are logged as lost. */
const maxPending = 50_000
/**
 * Entries that are added in one transaction, which no other server can add to meanwhile; and those that have
 * events, each with a delivery to every endpoint.
 */
const maxBatch = 2_000
const maxWithEvents = 100

export class AuditRecorder {
  readonly #db: Db
  readonly #cipher: Cipher
  readonly #emit: NonNullable<AuditRecorderOptions['emit']>
  readonly #onError: (error: Error) => void
  readonly #timer: NodeJS.Timeout
  #pending: Pending[] = []
  #writing: Promise<void> = Promise.resolve()
  /** How many entries the next write adds: fewer after a failure, which may have been a time-out. */
  #batch = maxBatch
  /** How many of the first entries may already be stored, because their write failed, perhaps in COMMIT. */
  #uncertain = 0
  #lost = 0

  constructor(
    db: Db,
    cipher: Cipher,
    { interval = 1_000, emit = async () => {}, onError = () => {} }: AuditRecorderOptions = {},
  ) {
    this.#db = db
    this.#cipher = cipher
    this.#emit = emit
    this.#onError = onError
    this.#timer = setInterval(() => void this.flush(), interval)
    this.#timer.unref()
  }

  record(request: AuditedRequest): void {
    if (this.#pending.length >= maxPending) this.#lost++
    else this.#pending.push({ ...request, id: newId('aud'), createdAt: new Date().toISOString() })
  }

  /** Adds what was recorded to the chain. What the database does not take stays for the next time. */
  async flush(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#write())
    await this.#writing
  }

  /** Stops the timer, and adds what was recorded. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.flush()
  }

  async #write(): Promise<void> {
    try {
      while (this.#pending.length > 0) {
        const added = await this.#append(this.#pending.slice(0, this.#batch))
        this.#pending.splice(0, added)
        this.#uncertain = Math.max(0, this.#uncertain - added)
        this.#batch = Math.min(maxBatch, this.#batch * 2)
      }
      if (this.#lost > 0) this.#onError(new Error(`${this.#lost} entries of the audit log were lost`))
      this.#lost = 0
    } catch (cause) {
      this.#uncertain = Math.max(this.#uncertain, Math.min(this.#batch, this.#pending.length))
      this.#batch = Math.max(1, Math.floor(Math.min(this.#batch, this.#pending.length) / 2))
      this.#onError(new Error('the audit log could not be written', { cause }))
    }
  }

  /** @returns how many of the entries are in the audit log now: the first ones. */
  async #append(pending: Pending[]): Promise<number> {
    return await this.#db.transaction(async (tx) => {
      const { found: hasReceivers } = await sql.hasReceivers(tx, { type: 'audit.recorded' })
      const taken = hasReceivers ? pending.slice(0, maxWithEvents) : pending
      const chain = await sql.lockChain(tx)
      const entries = this.#uncertain > 0 ? await unknownOf(tx, taken) : taken
      if (entries.length === 0) return taken.length
      const organizations = await organizationsOf(tx, entries)
      let sequence = Number(chain.sequence)
      let { signature } = chain
      const rows = entries.map((entry, i) => {
        const organizationId = organizations.get(i + 1) ?? null
        const row = { ...entry, organizationId, sequence: ++sequence }
        signature = signatureOf(this.#cipher, signature, row)
        return { ...row, signature }
      })
      const added = await sql.insertEntries(tx, {
        sequences: rows.map((row) => row.sequence),
        ids: rows.map(({ id }) => id),
        users: rows.map(({ userId }) => userId),
        credentials: rows.map(({ credentialId }) => credentialId),
        operations: rows.map(({ operation }) => operation),
        methods: rows.map(({ method }) => method),
        statuses: rows.map(({ status }) => status),
        ips: rows.map(({ ip }) => ip),
        organizations: rows.map(({ organizationId }) => organizationId),
        projects: rows.map(({ projectId }) => projectId),
        resources: rows.map(({ resourceId }) => resourceId),
        requests: rows.map(({ requestId }) => requestId),
        signatures: rows.map((row) => row.signature),
        times: rows.map(({ createdAt }) => createdAt),
      })
      await sql.moveChain(tx, { sequence, signature })
      if (hasReceivers)
        for (const [i, entry] of added.entries())
          if (!entries[i].isDelivery) await this.#emit(tx, { ...entry, sequence: Number(entry.sequence) })
      return taken.length
    })
  }
}

/** The organizations of the entries, by their numbers from 1. */
async function organizationsOf(tx: Transaction, entries: Pending[]): Promise<Map<number, string>> {
  const placed = (prefix: string): Array<string | null> =>
    entries.map(({ placeIds }) => placeIds.find((id) => id.startsWith(prefix)) ?? null)
  const rows = await sql.listOrganizations(tx, {
    users: entries.map(({ userId }) => userId),
    organizations: placed('org_'),
    projects: placed('prj_'),
    accounts: placed('svc_'),
    done: entries.map(({ status }) => status < 400),
  })
  return new Map(rows.map(({ n, organization_id: id }) => [n, id]))
}

/** The entries that an earlier attempt has not added. */
async function unknownOf(tx: Transaction, entries: Pending[]): Promise<Pending[]> {
  const known = await sql.findKnown(tx, { ids: entries.map(({ id }) => id) })
  const ids = new Set(known.map(({ id }) => id))
  return entries.filter(({ id }) => !ids.has(id))
}
