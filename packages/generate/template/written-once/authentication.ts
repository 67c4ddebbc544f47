// Decides who sends a request. The contract says where the key is, but not which keys are valid: this is
// yours to add.
import type { FastifyRequest } from 'fastify'
import { HttpError } from './generated/handler.ts'
import type { Credential, OperationInfo } from './generated/operations.ts'

/** @throws HttpError 401 if the request has no key but the operation needs one. */
export async function authenticate(request: FastifyRequest, operation: OperationInfo): Promise<void> {
  const { security } = operation
  const has = (credential: Credential): boolean => Boolean(keyOf(request, credential))
  if (security.length > 0 && !security.some((credentials) => credentials.every(has)))
    throw new HttpError(401, 'The request has no key')
}

/** The key that the request has at the place that the contract names; undefined if there is none. */
function keyOf(request: FastifyRequest, { in: where, name, scheme }: Credential): string | undefined {
  if (where === 'query') return (request.query as Record<string, string | undefined>)[name]
  if (where === 'cookie')
    return (request.headers.cookie ?? '')
      .split(/; */)
      .find((cookie) => cookie.startsWith(`${name}=`))
      ?.slice(name.length + 1)
  const value = request.headers[name.toLowerCase()] as string | undefined
  if (scheme === 'plain') return value
  return new RegExp(`^${scheme} +(\\S.*)$`, 'i').exec(value ?? '')?.[1]
}
