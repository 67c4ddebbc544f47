// Runs before the body is read: identifies the API key or the session (401), counts the request (429), checks
// its addresses and scopes (403), and that a cookie was sent by a page that may use it (403).
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { ApiError } from '../../infra/errors.ts'
import { addressRefusalOf, refusalOf, type Principal } from '../../services/users/authentication.ts'
import type { Services } from '../../services/services.ts'
import { networkOf } from '../../services/users/client-network.ts'
import { findBrowserSession } from '../../services/auth/sessions/browser-session.ts'
import { readSessionCookie, requireOwnPage, sessionCookie } from '../../services/auth/sessions/cookies.ts'
import { countRequest, requireAllowed, type RateLimits } from './rate-limit.ts'
import { auditAtEnd, isAudited, isRead, recordAtEnd } from './recorded-request.ts'

declare module 'fastify' {
  interface FastifyRequest {
    principal: Principal | null
  }
}

/**
 * The hook of an operation. Requests without a key are counted by client network, where the operation allows
 * them.
 */
export function authenticate(
  info: OperationInfo,
  { principals, lastUsed, requestRecorder, auditRecorder, config }: Services,
  limits: RateLimits,
) {
  return async function (request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const isAnonymous = info.keyOptional === true && !(await hasCredential(request))
    if (info.scopes === null || isAnonymous) {
      if (isAudited(info)) auditAtEnd(auditRecorder, info, null, request, reply)
      await countRequest(limits, reply, info.rateLimit!, networkOf(request.ip))
      return
    }
    const principal = await principalOf(request, reply)
    if (isByCookie(request) && !isRead(request)) await requirePage(request, reply)
    request.principal = principal
    lastUsed.touch(principal.credentialId, request.ip)
    recordAtEnd(requestRecorder, info, principal, request, reply)
    auditAtEnd(auditRecorder, info, principal, request, reply)
    // All keys of a user count together.
    await countRequest(limits, reply, info.rateLimit!, principal.accountId)
    requirePermitted(info, principal, request)
  }

  /** A refused request of another site counts for its network, not for the user. */
  async function requirePage(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    try {
      requireOwnPage(config, request.headers)
    } catch (error) {
      await countRequest(limits, reply, 'address', networkOf(request.ip))
      throw error
    }
  }

  /** The value of `Authorization`, or of the cookie of a browser that sends none. */
  function credentialOf({ headers }: FastifyRequest): { authorization: string } | { cookie: string } | null {
    const { authorization } = headers
    if (authorization !== undefined) return { authorization }
    const cookie = readSessionCookie(config, headers.cookie)
    return cookie === undefined ? null : { cookie }
  }

  /** Whether to authenticate a request that need not be. A cookie may be of an ended session. */
  async function hasCredential({ headers }: FastifyRequest): Promise<boolean> {
    if (headers.authorization !== undefined) return true
    return (await findBrowserSession(principals, config, headers)) !== null
  }

  /** Without a valid key only the client's address can be limited. */
  async function principalOf(request: FastifyRequest, reply: FastifyReply): Promise<Principal> {
    let isLookedUp = false
    try {
      // Failed look-ups have a limit of their own, which is asked before the database. Requests without a key
      // do not use it up, so that they cannot lock out the valid keys of the same address.
      const beforeLookUp = async () => {
        isLookedUp = true
        const network = networkOf(request.ip)
        const lookUp = await limits.peek('address', `look-ups ${network}`)
        if (!lookUp.allowed) await countRequest(limits, reply, 'address', network)
        await requireAllowed(reply, lookUp)
      }
      const credential = credentialOf(request)
      return credential !== null && 'cookie' in credential
        ? await principals.authenticateCookie(credential.cookie, beforeLookUp)
        : await principals.authenticate(credential?.authorization, beforeLookUp)
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 401) throw error
      // A browser would send the cookie of an ended session for months.
      if (isByCookie(request)) reply.header('set-cookie', sessionCookie(config, null))
      const network = networkOf(request.ip)
      if (isLookedUp) await limits.consume('address', `look-ups ${network}`)
      await countRequest(limits, reply, 'address', network)
      throw error
    }
  }
}

/**
 * Checks the credential again when the body has arrived, which a client can hold back for long. Runs no
 * statement while the credential is cached.
 * @throws 401 or 403 if it lost meanwhile what the operation needs.
 */
export async function refreshPrincipal(
  info: OperationInfo,
  { principals }: Pick<Services, 'principals'>,
  request: FastifyRequest,
): Promise<void> {
  const { principal } = request
  if (principal === null) return
  const current = await principals.refresh(principal)
  if (current === principal) return
  requirePermitted(info, current, request)
  request.principal = current
}

/** Throws 403 unless the credential may be used from the address, and for the operation. */
function requirePermitted(info: OperationInfo, principal: Principal, { ip }: FastifyRequest): void {
  const refusal = addressRefusalOf(principal, ip) ?? refusalOf(principal, info)
  if (refusal !== null) throw refusal
}

function isByCookie({ headers }: FastifyRequest): boolean {
  return headers.authorization === undefined && headers.cookie !== undefined
}
