// The signatures of the audit log. Each covers its entry and the signature before, so a change, a removal or
// another order breaks the chain. They need SECRET_KEY: access to the database alone is not enough to forge
// one.
import * as sql from '../../generated/sql/audit.ts'
import type { Db } from '../../infra/database/database.ts'
import type { Cipher } from '../../infra/encryption/cipher.ts'

export interface AuditEntry {
  sequence: number
  id: string
  userId: string | null
  credentialId: string | null
  operation: string
  method: string
  status: number
  ip: string
  organizationId: string | null
  projectId: string | null
  resourceId: string | null
  requestId: string
  /** ISO 8601 with milliseconds. */
  createdAt: string
}

const purpose = 'audit log'

export function signatureOf(cipher: Cipher, previous: string, entry: AuditEntry): string {
  return cipher.sign(signedText(previous, entry), purpose)
}

function signedText(previous: string, entry: AuditEntry): string {
  const { sequence, id, userId, credentialId, operation, method, status } = entry
  const { ip, organizationId, projectId, resourceId, requestId, createdAt } = entry
  const who = [userId, credentialId, ip]
  const what = [operation, method, status, projectId, resourceId, requestId]
  // Entries without an organization have the text of those that are older than the field.
  const where = organizationId === null ? [] : [organizationId]
  return JSON.stringify([previous, sequence, id, createdAt, ...who, ...what, ...where])
}

export interface Verification {
  entries: number
  /** The first entry that does not follow the one before; null if all do. */
  broken: { sequence: number; reason: string } | null
  /** The last entry, to be kept elsewhere: an earlier end shows that entries were cut off. */
  head: { sequence: number; signature: string }
}

const batch = 1_000

/** Verifies the whole audit log. */
export async function verifyChain(db: Db, cipher: Cipher): Promise<Verification> {
  const chain = await sql.readChain(db)
  const head = { sequence: Number(chain.sequence), signature: chain.signature }
  let previous = { sequence: Number(chain.first_sequence), signature: chain.first_signature }
  let entries = 0
  for (;;) {
    const rows = await sql.readEntries(db, { after: previous.sequence, count: batch })
    for (const row of rows) {
      const entry = toEntry(row)
      const { sequence } = entry
      // Entries that were added meanwhile are beyond the end that was read.
      if (sequence > head.sequence) return { entries, broken: ending(previous, head), head }
      if (sequence !== previous.sequence + 1)
        return { entries, broken: { sequence: previous.sequence + 1, reason: 'the entry is missing' }, head }
      if (!cipher.verify(signedText(previous.signature, entry), purpose, row.signature))
        return { entries, broken: { sequence, reason: 'the entry was changed' }, head }
      previous = { sequence, signature: row.signature }
      entries++
    }
    if (rows.length < batch) return { entries, broken: ending(previous, head), head }
  }
}

function ending(
  last: { sequence: number; signature: string },
  head: Verification['head'],
): Verification['broken'] {
  if (last.sequence < head.sequence) return { sequence: last.sequence + 1, reason: 'the entry is missing' }
  return last.signature === head.signature
    ? null
    : { sequence: last.sequence, reason: 'the entry is not the last one' }
}

/** All entries, oldest first. */
export async function* readAuditLog(db: Db): AsyncGenerator<AuditEntry> {
  const { first_sequence: first } = await sql.readChain(db)
  for (let after = Number(first); ;) {
    const rows = await sql.readEntries(db, { after, count: batch })
    for (const row of rows) yield toEntry(row)
    if (rows.length < batch) return
    after = Number(rows.at(-1)!.sequence)
  }
}

function toEntry(row: sql.ReadEntriesRow): AuditEntry {
  return {
    sequence: Number(row.sequence),
    id: row.id,
    userId: row.user_id,
    credentialId: row.credential_id,
    operation: row.operation,
    method: row.method,
    status: row.status,
    ip: row.ip,
    organizationId: row.organization_id,
    projectId: row.project_id,
    resourceId: row.resource_id,
    requestId: row.request_id,
    createdAt: row.created_at,
  }
}
