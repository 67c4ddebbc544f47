// Runs before the body is read: identifies the API key (401), counts the request (429), checks its scopes
// (403).
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { ApiError, forbidden } from '../../infra/errors.ts'
import type { Principal } from '../../services/users/authentication.ts'
import type { Services } from '../../services/services.ts'
import { networkOf } from './client-ip.ts'
import { countRequest, type RateLimits } from './rate-limit.ts'

declare module 'fastify' {
  interface FastifyRequest {
    principal: Principal | null
  }
}

/**
 * The hook of an operation. Requests without a key are counted by client network, where the operation allows
 * them.
 */
export function authenticate(info: OperationInfo, { principals, lastUsed }: Services, limits: RateLimits) {
  return async function (request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { authorization } = request.headers
    if (info.scopes === null || (info.keyOptional === true && authorization === undefined)) {
      await countRequest(limits, reply, info.rateLimit!, networkOf(request.ip))
      return
    }
    const principal = await principalOf(request, reply)
    request.principal = principal
    lastUsed.touch(principal.keyId)
    await countRequest(limits, reply, info.rateLimit!, principal.keyId)
    for (const scope of info.scopes) {
      if (!principal.scopes.has(scope))
        throw forbidden(`This operation requires an API key with the scope ${scope}.`, 'scope')
    }
  }

  async function principalOf(request: FastifyRequest, reply: FastifyReply): Promise<Principal> {
    try {
      return await principals.authenticate(request.headers.authorization)
    } catch (error) {
      // Without a valid key only the client's address can be limited.
      if (error instanceof ApiError && error.status === 401)
        await countRequest(limits, reply, 'address', networkOf(request.ip))
      throw error
    }
  }
}
