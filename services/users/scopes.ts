// The scopes of API keys.
import { includedScopes } from '../../generated/operations.ts'
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
  'audit:read',
  'payments:sell',
  'users:admin',
  'admin',
]

/** Whether an operator may do more with the scope than others: `admin`, or one that it includes. */
export function isOperatorScope(scope: string): boolean {
  return scope === 'admin' || includedScopes.admin.includes(scope)
}

/** Whether only admins can have the scope. With `payments:sell`, everyone can sell as an organization. */
export function isForAdmins(scope: string): boolean {
  return isOperatorScope(scope) && scope !== 'payments:sell'
}

/** The scopes, and those that they include. */
export function withIncluded(scopes: readonly string[]): Set<string> {
  return new Set(scopes.flatMap((scope) => [scope, ...(includedScopes[scope] ?? [])]))
}

/** The scopes of a new user's first key: all scopes, those for admins only for an admin. */
export function defaultScopes(role: 'user' | 'admin'): Scope[] {
  return allScopes.filter((scope) => !isForAdmins(scope) || role === 'admin')
}
