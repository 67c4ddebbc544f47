// Checks a token for a back end that got it (RFC 7662).
import type { components } from '../../generated/types.ts'
import type { Cipher } from '../../infra/encryption/cipher.ts'
import { readAccessToken } from '../../infra/encryption/tokens.ts'
import { timeOf } from '../../infra/ids.ts'
import type { Principal, Principals } from '../users/authentication.ts'
import { allScopes } from '../users/scopes.ts'

type TokenIntrospection = components['schemas']['TokenIntrospection']

export async function introspect(
  { principals, cipher }: { principals: Principals; cipher: Cipher },
  token: string,
): Promise<TokenIntrospection> {
  const principal = await findPrincipal(principals, token)
  if (principal === null) return { active: false }
  const { type, userId, credentialId, scopes, projectIds, expiresAt } = principal
  const end =
    type === 'session' ? readAccessToken(cipher, token)!.expiresAt : expiresAt && secondsOf(expiresAt)
  return {
    active: true,
    scope: allScopes.filter((scope) => scopes.has(scope)).join(' '),
    sub: userId,
    ...(end !== null && { exp: end }),
    iat: secondsOf(timeOf(credentialId)),
    token_type: 'Bearer',
    ...(type === 'session' ? { session_id: credentialId } : { client_id: credentialId }),
    project_ids: projectIds && [...projectIds],
  }
}

/** Null for a token that does not authenticate a request. */
async function findPrincipal(principals: Principals, token: string): Promise<Principal | null> {
  // A header may have spaces around a token.
  if (/\s/.test(token)) return null
  return await principals.authenticate(`Bearer ${token}`).catch((error) => {
    if (error.status !== 401) throw error
    return null
  })
}

function secondsOf(time: Date): number {
  return Math.floor(time.getTime() / 1000)
}
