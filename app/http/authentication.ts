// Before anything of a request is read: whose key it carries (401), how often it came (429), what it may do (403).
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError, forbidden, rateLimited } from '../../infra/errors.ts'
import { windowSeconds, type Limits, type Verdict } from './rate-limit.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import type { Principal } from '../../services/users/authentication.ts'
import type { Services } from '../../services/services.ts'
import { networkOf } from './client-ip.ts'

declare module 'fastify' {
  interface FastifyRequest {
    principal: Principal | null
  }
}

/** The hook of an operation that takes a key, or counts the requests of those who have none by where they come from. */
export function secure(info: OperationInfo, { principals, lastUsed }: Services, limits: Limits) {
  return async function (request: FastifyRequest, reply: FastifyReply): Promise<void> {
    if (info.scopes === null || (info.keyOptional === true && request.headers.authorization === undefined)) {
      const verdict = await limits.consume(info.rateLimit!, networkOf(request.ip))
      announce(reply, verdict)
      if (!verdict.allowed) throw rateLimited(verdict.reset)
      return
    }
    const principal = await identify(request, reply)
    request.principal = principal
    lastUsed.touch(principal.keyId)
    const verdict = await limits.consume(info.rateLimit!, principal.keyId)
    announce(reply, verdict)
    if (!verdict.allowed) throw rateLimited(verdict.reset)
    for (const scope of info.scopes) {
      if (!principal.scopes.has(scope)) throw forbidden(`This needs a key with the scope ${scope}.`, 'scope')
    }
  }

  async function identify(request: FastifyRequest, reply: FastifyReply): Promise<Principal> {
    try {
      return await principals.authenticate(request.headers.authorization)
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 401) throw error
      // With no valid key there is only the address to count by.
      const verdict = await limits.consume('address', networkOf(request.ip))
      announce(reply, verdict)
      throw verdict.allowed ? error : rateLimited(verdict.reset)
    }
  }
}

/** The fields of draft-ietf-httpapi-ratelimit-headers. */
function announce(reply: FastifyReply, { policy, remaining, reset }: Verdict): void {
  reply.header('ratelimit-policy', `"${policy.name}";q=${policy.limit};w=${windowSeconds}`)
  reply.header('ratelimit', `"${policy.name}";r=${remaining};t=${reset}`)
}
