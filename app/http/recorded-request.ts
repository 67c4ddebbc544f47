// Records a request of a valid key for GET /requests and GET /usage, and for the audit log.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import type { RequestRecorder } from '../../services/usage/recorder.ts'
import type { AuditRecorder } from '../../services/audit/recorder.ts'
import { isOperator, type Principal } from '../../services/users/authentication.ts'
import { isOperatorScope } from '../../services/users/scopes.ts'
import { clientRequestId } from './request-headers.ts'
import { atEnd, endStatus } from './response-end.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The work of the operation, until its answer is known; null before it begins. */
    work: Promise<unknown> | null
    /** The account that a request without a key is about, and its session; null if it is not known. */
    account: { userId: string; credentialId: string | null } | null
    /** The id of the resource that the request created, if no Location names it; otherwise null. */
    createdId: string | null
    /** The project that the request is about, if the caller is a member; otherwise null. */
    projectId: string | null
  }
}

export function recordAtEnd(
  recorder: RequestRecorder,
  info: OperationInfo,
  { userId, credentialId }: Principal,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  atEnd(reply, () => {
    recorder.record({
      userId,
      keyId: credentialId,
      projectId: request.projectId,
      operation: info.id,
      method: request.method,
      status: endStatus(reply),
      errorCode: request.answeredError?.code ?? null,
      durationMs: Math.round(reply.elapsedTime),
      requestId: request.id,
      clientRequestId: clientRequestId(request) ?? null,
      downloadedBytes: downloadedBytes(info, request, reply),
    })
  })
}

const signInTags = ['auth', 'identities', 'sign-in-pages', 'account-pages']

/** Public operations are not in the audit log, except those that sign in. */
export function isAudited({ scopes, tag }: OperationInfo): boolean {
  return scopes !== null || signInTags.includes(tag)
}

/**
 * Records who did what: what had an effect, refusals, and what operators read of others. Requests beyond a
 * limit are not recorded: an attacker could fill the log with them. If the client leaves, the work that has
 * begun goes on, and its outcome is recorded.
 */
export function auditAtEnd(
  recorder: AuditRecorder,
  info: OperationInfo,
  principal: Principal | null,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  atEnd(reply, () => {
    if (reply.raw.headersSent || request.work === null) return record()
    // The answer to the work follows it at once, also that of an error.
    const recordSoon = (): unknown => setImmediate(record)
    request.work.then(recordSoon, recordSoon)
  })

  function record(): void {
    const { account, createdId, answeredError } = request
    const answered = endStatus(reply)
    // A page shows an error with another status, or leaves it out.
    const status = answered < 500 ? (answeredError?.status ?? answered) : answered
    const isRefused = status === 401 || status === 403
    const hasEffect = !isRead(request) || createdId !== null
    if (status === 429 || (!hasEffect && !isRefused && !readsOthers(info, principal))) return
    const ids = idsOf(info, request)
    const resourceId = createdId ?? idInLocation(reply) ?? ids.at(-1) ?? null
    recorder.record({
      userId: principal?.userId ?? account?.userId ?? null,
      credentialId: principal?.credentialId ?? account?.credentialId ?? null,
      operation: info.id,
      method: request.method,
      status,
      ip: request.ip,
      projectId: ids.find((id) => id.startsWith('prj_')) ?? null,
      resourceId,
      placeIds: resourceId === null ? ids : [...ids, resourceId],
      requestId: request.id,
      isDelivery: principal === null && account === null && isDelivery(request, status),
    })
  }
}

/** The ids in the path; for a form of the account page, which has one path, that of the form. */
function idsOf({ tag }: OperationInfo, { params, body, account }: FastifyRequest): string[] {
  // A stranger must not name ids of others.
  const form: AccountForm = tag === 'account-pages' && account !== null ? { ...(body as object | null) } : {}
  const { session, passkey, identity } = form
  return [...Object.values(params as object), session, passkey, identity].filter(isId)
}

type AccountForm = { session?: unknown; passkey?: unknown; identity?: unknown }

/** The last id in the Location of an answer that created something; undefined for every other. */
function idInLocation(reply: FastifyReply): string | undefined {
  if (reply.statusCode !== 201 && reply.statusCode !== 202) return undefined
  return String(reply.getHeader('location') ?? '')
    .split('/')
    .findLast(isId)
}

/** The statuses with which an operation without a key answers the body of a webhook. */
const answersToDeliveries = [400, 413, 415]

/**
 * Whether the request is a webhook that this or another installation delivers to an operation without a key.
 * A client can send the header, too, but a successful request or a refused sign-in has another status.
 */
function isDelivery({ headers }: FastifyRequest, status: number): boolean {
  return headers['webhook-id'] !== undefined && answersToDeliveries.includes(status)
}

/** Whether a request changes nothing. */
export function isRead({ method }: FastifyRequest): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS'
}

/** Whether an operator uses the operation to read what belongs to others. */
function readsOthers({ scopes, projectAccess, tag }: OperationInfo, principal: Principal | null): boolean {
  if (principal === null) return false
  const operators = projectAccess?.operators
  if (operators !== undefined) return isOperator(principal, operators)
  const ofOperators = scopes?.find(isOperatorScope)
  return (
    (ofOperators !== undefined && isOperator(principal, ofOperators)) ||
    (tag === 'audit' && isOperator(principal))
  )
}

function isId(text: unknown): text is string {
  return typeof text === 'string' && /^[a-z]+_[0-9a-z]{26}$/.test(text)
}

/** The bytes of a binary answer that the client has got completely. */
function downloadedBytes(
  { replies }: OperationInfo,
  { method }: FastifyRequest,
  reply: FastifyReply,
): number {
  const isDownload = method === 'GET' && replies[reply.statusCode]?.binary === true
  return isDownload && reply.raw.writableFinished ? Number(reply.getHeader('content-length')) : 0
}
