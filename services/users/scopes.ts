// The scopes of API keys.
import type { components } from '../../generated/types.ts'

export type Scope = components['schemas']['Scope']

export const allScopes: readonly Scope[] = [
  'user:read',
  'user:write',
  'projects:read',
  'projects:write',
  'organizations:read',
  'organizations:write',
  'storage:read',
  'storage:write',
  'ai:read',
  'ai:write',
  'payments:read',
  'payments:write',
  'webhooks:read',
  'webhooks:write',
  'keys:write',
  'admin',
]

/** The scopes of a new user's first key: all scopes, `admin` only for an admin. */
export function defaultScopes(role: 'user' | 'admin'): Scope[] {
  return allScopes.filter((scope) => scope !== 'admin' || role === 'admin')
}
