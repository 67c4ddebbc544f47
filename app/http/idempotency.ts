// Idempotency-Key: the response of a POST is stored in the same transaction as its effect, so that a crash
// leaves both or neither. Only successes are stored; an error had no effect.
import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hash,
  hkdfSync,
  randomBytes,
  type KeyObject,
} from 'node:crypto'
import { Readable } from 'node:stream'
import type { Db } from '../../infra/database/database.ts'
import * as sql from '../../generated/sql/idempotency.ts'
import { forbidden, idempotencyMismatch, inProgress, RolledBack } from '../../infra/errors.ts'
import type { FilePart, IdempotencyFingerprint, OperationInfo } from '../../infra/contract/operation.ts'
import { requiredRole, requireOrganizationRole } from '../../services/organizations/access.ts'
import { openServiceAccount } from '../../services/organizations/service-accounts.ts'
import { requiredAccess, requireMembership, scopeOf } from '../../services/projects/access.ts'
import { requireKeyAccess } from '../../services/projects/resource-access.ts'
import { requireRecentSignIn } from '../../services/users/api-keys.ts'
import type { Principal } from '../../services/users/authentication.ts'
import type { RenderedResponse } from './response.ts'

export interface IdempotentRequest {
  principal: Principal
  key: string
  method: string
  path: string
  body: unknown
  operation: OperationInfo
}

/** Rolls back the transaction of a handler whose request has a stored response. */
export class Replayed extends RolledBack {
  response: RenderedResponse

  constructor(response: RenderedResponse) {
    super('this request has a stored response')
    this.response = response
  }
}

interface IdempotentResponse {
  response: RenderedResponse
  /** Whether the response was stored by an earlier request. */
  replayed: boolean
}

/** The stored record: the response, and the API key that received it with its permissions. */
interface StoredResponse {
  rendered: RenderedResponse
  credentialId: string
  scopes: string[]
  projectIds: string[] | null
}

/**
 * Runs `work` once per key, owner, method and path. A repeated request gets the stored response. Throws 409
 * `in_progress` while the first request is running, 422 when the body differs, and 403 when the API key may
 * not get the stored response now.
 */
export async function withIdempotency(
  db: Db,
  request: IdempotentRequest,
  work: (tx: Db) => Promise<RenderedResponse>,
): Promise<IdempotentResponse> {
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
      const stored = JSON.parse(unseal(record.answer, request)) as StoredResponse
      await requireReplay(tx, request, stored)
      const { rendered } = stored
      return {
        response: { ...rendered, headers: { ...rendered.headers, 'idempotent-replayed': 'true' } },
        replayed: true,
      }
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
      answer: seal(JSON.stringify(stored), request),
    })
    return { response: rendered, replayed: false }
  })
}

type RequestIdentity = Pick<IdempotentRequest, 'key' | 'method' | 'path' | 'body'>

/**
 * Two requests of one owner are repetitions when their digests are equal, and valid ones when their body
 * hashes are.
 */
export function idempotencyFingerprint(request: RequestIdentity): IdempotencyFingerprint {
  return {
    digest: hash('sha256', nameOf(request), 'buffer'),
    bodyHash: hash('sha256', JSON.stringify(request.body ?? null, fileAsDigest), 'buffer'),
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

/**
 * Throws 403 unless the caller may get the stored response now. The scopes of the operation are already
 * checked. A response in a project or an organization needs the key's access to it and the role of the
 * operation, which the owner may have lost since. For another key, a response outside all projects needs the
 * projects of the key that received it, and a secret also its scopes.
 */
async function requireReplay(
  tx: Db,
  { principal, path, operation }: IdempotentRequest,
  stored: StoredResponse,
): Promise<void> {
  const projectId = projectOf(operation, path, stored.rendered)
  if (projectId !== null) {
    const { role, operators } = requiredAccess(operation)
    requireKeyAccess(principal, projectId)
    const options = { role, operators, deleted: true, scope: scopeOf(operation) }
    if (role !== 'none') await requireMembership(tx, projectId, principal, options)
  }
  await requireOrganizationReplay(tx, { principal, path, operation }, stored)
  if (stored.credentialId === principal.credentialId) return
  const { secretAnswer } = operation
  if (secretAnswer) await requireUnlimited(tx, principal)
  const lacksScopes = secretAnswer && !stored.scopes.every((scope) => principal.scopes.has(scope))
  if (lacksScopes || ((projectId === null || secretAnswer) && !hasProjects(principal, stored)))
    throw forbidden('This Idempotency-Key was used by an API key with more permissions.', 'scope')
}

/**
 * A secret may be that of a key without an end, for all addresses. Throws 403 for another credential that
 * could not make such a key now.
 */
async function requireUnlimited(tx: Db, principal: Principal): Promise<void> {
  await requireRecentSignIn(tx, principal)
  if (principal.expiresAt !== null || principal.networks !== null)
    throw forbidden('This Idempotency-Key was used by another API key, and this one is limited.', 'scope')
}

/** The same for a response about an organization, or about something that belongs to one. */
async function requireOrganizationReplay(
  tx: Db,
  { principal, path, operation }: Pick<IdempotentRequest, 'principal' | 'path' | 'operation'>,
  { rendered }: StoredResponse,
): Promise<void> {
  const [, , resource, id] = path.split('/')
  if (operation.organizationAccess !== undefined)
    await requireOrganizationRole(tx, id, principal, requiredRole({ operation, principal }))
  if (resource === 'service-accounts') {
    const accountId = id ?? (JSON.parse(rendered.text!) as { id: string }).id
    await openServiceAccount(tx, { operation, principal, params: { id: accountId } })
  }
  if (operation.id === 'createProject') {
    const project = JSON.parse(rendered.text!) as { id: string; organization_id: string | null }
    if (project.organization_id !== null)
      await requireMembership(tx, project.id, principal, { deleted: true })
  }
}

/** The project of a response: that of the path, or `project_id` of its body; null outside all projects. */
function projectOf(
  { projectAccess, path: template }: OperationInfo,
  path: string,
  { text }: RenderedResponse,
): string | null {
  if (projectAccess === null) return null
  if (template.startsWith('/v1/projects/{id}')) return path.split('/')[3]
  return (JSON.parse(text ?? 'null') as { project_id?: string | null } | null)?.project_id ?? null
}

/** Whether the key may use all projects of the key that received the response. */
function hasProjects({ projectIds: own }: Principal, { projectIds }: StoredResponse): boolean {
  return own === null || (projectIds !== null && projectIds.every((id) => own.has(id)))
}

/**
 * Encrypts with AES-256-GCM by the Idempotency-Key, since a response may contain a secret such as a new API
 * key.
 */
function seal(text: string, request: IdempotentRequest): Buffer {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', sealingKey(request), nonce)
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed])
}

function unseal(sealed: Buffer, request: IdempotentRequest): string {
  const decipher = createDecipheriv('aes-256-gcm', sealingKey(request), sealed.subarray(0, 12))
  decipher.setAuthTag(sealed.subarray(12, 28))
  return decipher.update(sealed.subarray(28), undefined, 'utf8') + decipher.final('utf8')
}

function sealingKey({ principal, key, method, path }: IdempotentRequest): KeyObject {
  const bytes = hkdfSync('sha256', key, principal.userId, `${method} ${path}`, 32)
  return createSecretKey(new Uint8Array(bytes))
}
