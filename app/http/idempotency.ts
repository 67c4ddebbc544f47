// Idempotency-Key: the response of a POST is stored in the same transaction as its effect, so that a crash
// leaves both or neither. Only successes are stored; an error had no effect.
import { createSecretKey, hash, hkdfSync, type KeyObject } from 'node:crypto'
import { Readable } from 'node:stream'
import type { Db, Transaction } from '../../infra/database/database.ts'
import * as sql from '../../generated/sql/idempotency.ts'
import { seal, unseal } from '../../infra/encryption/aes-gcm.ts'
import { idempotencyMismatch, inProgress } from '../../infra/errors.ts'
import type { FilePart, IdempotencyFingerprint, OperationInfo } from '../../infra/contract/operation.ts'
import type { Replay } from '../../infra/contract/replay.ts'
import type { Principal } from '../../services/users/authentication.ts'
import { replayOf, type RenderedResponse } from './response.ts'

export interface IdempotentRequest {
  operation: OperationInfo
  principal: Principal
  key: string
  method: string
  path: string
  params: Record<string, string>
  query: object
  body: unknown
  authorizeReplay: AuthorizeReplay
}

/** Throws unless the caller may get the stored response now. */
export type AuthorizeReplay = (
  tx: Transaction,
  request: Pick<IdempotentRequest, 'operation' | 'principal' | 'params'>,
  stored: Receiver & { body: any },
) => Promise<void>

/** The credential that received a stored response, with its permissions. */
interface Receiver {
  credentialId: string
  scopes: string[]
  projectIds: string[] | null
}

interface StoredResponse extends Receiver {
  rendered: RenderedResponse
}

/**
 * Runs `work` once per key, owner, method and path. A repeated request gets the stored response. Throws 409
 * `in_progress` while the first request is running, 422 when the body or the query differs, and the
 * errors of `authorizeReplay`.
 */
export async function withIdempotency(
  db: Db,
  request: IdempotentRequest,
  work: (tx: Transaction) => Promise<RenderedResponse>,
): Promise<RenderedResponse | Replay> {
  const { principal } = request
  const ownerId = principal.userId
  const { digest, bodyHash } = idempotencyFingerprint(request)
  return await db.transaction(async (tx) => {
    const { taken } = await sql.tryLock(tx, { key: `idempotency ${ownerId} ${nameOf(request)}` })
    if (!taken)
      throw inProgress('A request with this Idempotency-Key is still in progress.', 'Idempotency-Key')
    const record = await sql.findRecord(tx, { owner_id: ownerId, key_digest: digest })
    if (record !== undefined) {
      if (!record.body_hash.equals(bodyHash)) throw idempotencyMismatch()
      const { rendered, ...receiver } = JSON.parse(
        unseal(sealingKey(request), record.answer),
      ) as StoredResponse
      await request.authorizeReplay(tx, request, { ...receiver, body: JSON.parse(rendered.text ?? 'null') })
      return replayOf(rendered)
    }
    const rendered = await work(tx)
    const stored: StoredResponse = {
      rendered,
      credentialId: principal.credentialId,
      scopes: [...principal.scopes],
      projectIds: principal.projectIds && [...principal.projectIds],
    }
    await sql.saveRecord(tx, {
      owner_id: ownerId,
      key_digest: digest,
      body_hash: bodyHash,
      status: rendered.status,
      answer: seal(sealingKey(request), JSON.stringify(stored)),
    })
    return rendered
  })
}

type RequestIdentity = Pick<IdempotentRequest, 'key' | 'method' | 'path' | 'body'> &
  Partial<Pick<IdempotentRequest, 'query'>>

/**
 * Two requests of one owner are repetitions when their digests are equal, and valid ones when their body
 * hashes are.
 */
export function idempotencyFingerprint(request: RequestIdentity): IdempotencyFingerprint {
  const { body = null, query = {} } = request
  const content = Object.keys(query).length === 0 ? body : [body, query]
  return {
    digest: hash('sha256', nameOf(request), 'buffer'),
    bodyHash: hash('sha256', JSON.stringify(content, fileAsDigest), 'buffer'),
  }
}

function nameOf({ key, method, path }: RequestIdentity): string {
  return `${method} ${path} ${key}`
}

/** A JSON.stringify replacer: an uploaded file is represented by its digest. */
function fileAsDigest(_name: string, value: unknown): unknown {
  const { content, sha256, declaredType } = (value ?? {}) as Partial<FilePart>
  return content instanceof Readable ? { sha256, declaredType } : value
}

/** The Idempotency-Key encrypts the response, which may contain a secret such as a new API key. */
function sealingKey({ principal, key, method, path }: IdempotentRequest): KeyObject {
  const bytes = hkdfSync('sha256', key, principal.userId, `${method} ${path}`, 32)
  return createSecretKey(new Uint8Array(bytes))
}
