// Idempotency-Key: the answer of a POST is remembered in the transaction that has its effect, so that both are there or
// neither, even if the server dies in between. Only successes are remembered: a refusal had no effect to repeat.
import { createCipheriv, createDecipheriv, hash, hkdfSync, randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { type Db } from '../../infra/database/database.ts'
import { statement } from '../../infra/database/statements.ts'
import { conflict, forbidden, idempotencyMismatch, RolledBack } from '../../infra/errors.ts'
import type { FilePart, Keyed } from '../../infra/contract/operation.ts'
import type { Principal } from '../../services/users/authentication.ts'
import type { Rendered } from './response.ts'

interface Record {
  body_hash: Buffer
  status: number
  answer: Buffer
}

const take = statement<{ taken: boolean }>(
  'SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS taken',
)
// A statement of its own after the lock: its snapshot then has what the previous holder of the lock committed.
const find = statement<Record>(`
  SELECT body_hash, status, answer FROM idempotency_records
  WHERE owner_id = $1 AND key_digest = $2 AND created_at > now() - interval '24 hours'`)
const save = statement(`
  INSERT INTO idempotency_records (owner_id, key_digest, body_hash, status, answer) VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (owner_id, key_digest) DO UPDATE SET body_hash = $3, status = $4, answer = $5, created_at = now()`)

export interface KeyedRequest {
  principal: Principal
  key: string
  method: string
  path: string
  body: unknown
  /** Whether the answer holds a secret. */ secretAnswer: boolean
}

/** Thrown out of the transaction of a handler whose answer was given before. */
export class Replayed extends RolledBack {
  rendered: Rendered

  constructor(rendered: Rendered) {
    super('answered before')
    this.rendered = rendered
  }
}

/** The answer of a request with its key, and whether it was given before. */
interface Once {
  rendered: Rendered
  replayed: boolean
}

/** What is remembered: the answer, and what the key that had it was allowed. */
interface Remembered {
  rendered: Rendered
  scopes: string[]
  projectIds: string[] | null
}

/**
 * Runs `work` once for its key, owner, method and path, and answers every repetition with what it answered.
 * Throws 409 `in_progress` while another request with the key is running, 422 when its body was another, 403 when the
 * answer holds a secret and the repeating API key may do less than the first.
 */
export async function once(
  db: Db,
  request: KeyedRequest,
  work: (tx: Db) => Promise<Rendered>,
): Promise<Once> {
  const { principal } = request
  const ownerId = principal.userId
  const { digest, bodyHash } = identify(request)
  return await db.transaction(async (tx) => {
    const [{ taken }] = await tx.sql(take, [`idempotency ${ownerId} ${nameOf(request)}`])
    if (!taken)
      throw conflict(
        'in_progress',
        'A request with this Idempotency-Key is still running.',
        'Idempotency-Key',
      )
    const [record] = await tx.sql(find, [ownerId, digest])
    if (record !== undefined) {
      if (!record.body_hash.equals(bodyHash)) throw idempotencyMismatch()
      const { rendered, ...grant } = JSON.parse(unseal(record.answer, request)) as Remembered
      if (request.secretAnswer && !mayAll(principal, grant))
        throw forbidden('A key that may do more made this request.', 'scope')
      return {
        rendered: { ...rendered, headers: { ...rendered.headers, 'idempotent-replayed': 'true' } },
        replayed: true,
      }
    }
    const rendered = await work(tx)
    const remembered: Remembered = {
      rendered,
      scopes: [...principal.scopes],
      projectIds: principal.projectIds && [...principal.projectIds],
    }
    await tx.sql(save, [
      ownerId,
      digest,
      bodyHash,
      rendered.status,
      seal(JSON.stringify(remembered), request),
    ])
    return { rendered, replayed: false }
  })
}

type Identified = Pick<KeyedRequest, 'key' | 'method' | 'path' | 'body'>

/** What a repetition has in common with the first, beside its owner, and whether it asks for the same. */
export function identify(request: Identified): Keyed {
  return {
    digest: hash('sha256', nameOf(request), 'buffer'),
    bodyHash: hash('sha256', JSON.stringify(request.body ?? null, shown), 'buffer'),
  }
}

function nameOf({ key, method, path }: Identified): string {
  return `${method} ${path} ${key}`
}

/** Of a file that has arrived its digest stands for it. */
function shown(_name: string, value: unknown): unknown {
  const { content, sha256, declaredType } = (value ?? {}) as Partial<FilePart>
  return content instanceof Readable ? { sha256, declaredType } : value
}

function mayAll(principal: Principal, { scopes, projectIds }: Omit<Remembered, 'rendered'>): boolean {
  if (!scopes.every((scope) => principal.scopes.has(scope))) return false
  const mine = principal.projectIds
  return mine === null || (projectIds !== null && projectIds.every((id) => mine.has(id)))
}

/** An answer may hold a secret such as a new API key: only who has the Idempotency-Key can read it (AES-256-GCM). */
function seal(text: string, request: KeyedRequest): Buffer {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', sealingKey(request), nonce)
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed])
}

function unseal(sealed: Buffer, request: KeyedRequest): string {
  const decipher = createDecipheriv('aes-256-gcm', sealingKey(request), sealed.subarray(0, 12))
  decipher.setAuthTag(sealed.subarray(12, 28))
  return decipher.update(sealed.subarray(28), undefined, 'utf8') + decipher.final('utf8')
}

function sealingKey({ principal, key, method, path }: KeyedRequest): Buffer {
  return Buffer.from(hkdfSync('sha256', key, principal.userId, `${method} ${path}`, 32))
}
