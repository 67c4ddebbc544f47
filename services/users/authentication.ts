// Authenticates API keys, and the access tokens of users who have signed in. Active keys and sessions are
// cached in memory. PostgreSQL notifies every process when one of them or its owner changes, and a process
// that cannot receive notifications caches nothing. A request that changes a key or ends a session answers
// only after every process has dropped it from its cache, so a revocation applies to the next request
// everywhere.
import type { Db, RequestOrigin } from '../../infra/database/database.ts'
import * as sql from '../../generated/sql/users.ts'
import * as authSql from '../../generated/sql/auth.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { forbidden, invalidField, unauthorized, type ApiError } from '../../infra/errors.ts'
import { digestOf, isWellFormed } from '../../infra/encryption/api-key-format.ts'
import type { Bus } from '../../infra/bus/bus.ts'
import type { Cipher } from '../../infra/encryption/cipher.ts'
import { isAccessToken, readAccessToken, readCookieToken } from '../../infra/encryption/tokens.ts'
import { defaultScopes, isForAdmins, isOperatorScope, withIncluded, type Scope } from './scopes.ts'
import { Networks } from './networks.ts'

/** The API key or the session that made a request, and its owner. */
export interface Principal {
  type: 'api_key' | 'session'
  userId: string
  /** The account whose limits the requests use: the function `limits_of` of the database. */
  accountId: string
  /** Null for a person. */
  serviceAccountId: string | null
  /**
   * The user whose role allows the scopes of operators: the person, or who made the key of the service
   * account.
   */
  grantorId: string | null
  /** Whether the `grantorId` is an active admin. */
  mayOperate: boolean
  /** The id of the API key, or of the session. */
  credentialId: string
  /** Null for a session. */
  keyName: string | null
  /**
   * The scopes that the key or session has now, with those that `admin` includes. Without the scopes for
   * admins when the `grantorId` is no longer an admin.
   */
  scopes: ReadonlySet<string>
  /** The projects that the key or session is limited to; null for all projects of its owner. */
  projectIds: ReadonlySet<string> | null
  /** Whether it is a session without some of the rights of its user. */
  isLimitedSession: boolean
  /** The networks that the key can be used from; null for all. */
  networks: Networks | null
  /** Null for a key that does not expire, and for a session: its keys may outlive it. */
  expiresAt: Date | null
}

/**
 * Whether the key belongs to an operator: an admin gave it the scope, or `admin`, which includes it. The
 * scope alone is not enough: everyone can have `payments:sell`.
 */
export function isOperator({ scopes, mayOperate }: Principal, scope: string = 'admin'): boolean {
  return mayOperate && scopes.has(scope)
}

/**
 * Whether the key may act for the platform: with an operator's key that is limited to projects, the operator
 * reads their sales, and otherwise does what every member may do.
 */
export function mayActAsOperator(principal: Principal, scope: string): boolean {
  return isOperator(principal, scope) && principal.projectIds === null
}

/** Throws 403 for a service account. */
export function requirePerson({ serviceAccountId }: Pick<Principal, 'serviceAccountId'>): void {
  if (serviceAccountId !== null)
    throw forbidden('A service account cannot do this: it is for people.', 'service_account')
}

type Restrictions = Pick<
  OperationInfo,
  'scopes' | 'unlimitedKey' | 'organizationSellers' | 'needsSession' | 'limitedSession'
>

/** The checks of a key that do not depend on the parameters of the request. Each returns its 403, or null. */
export const refusals = {
  scope(principal, operation) {
    const missing = operation.scopes?.find((scope) => !principal.scopes.has(scope))
    if (missing !== undefined) return forbidden(`This operation requires the scope ${missing}.`, 'scope')
    if (operation.organizationSellers === true) return null
    const ofOperators = operation.scopes?.find(isOperatorScope)
    if (ofOperators === undefined || isOperator(principal, ofOperators)) return null
    return forbidden(`This operation requires the scope ${ofOperators} of an operator.`, 'scope')
  },
  session(principal, { needsSession, limitedSession }) {
    if (needsSession !== true) return null
    if (principal.type !== 'session')
      return forbidden('This operation requires a session: sign in. An API key is not enough.', 'session')
    return principal.isLimitedSession && limitedSession !== true ? limitedSessionRefusal() : null
  },
  project_ids({ projectIds }, { unlimitedKey }) {
    if (unlimitedKey !== true || projectIds === null) return null
    return forbidden(
      'This operation requires an API key or a session that is not limited to projects.',
      'project_ids',
    )
  },
} satisfies Record<string, (principal: Principal, operation: Restrictions) => ApiError | null>

/** A password, a passkey or a new address gives all rights of the user, which a limited session lacks. */
function limitedSessionRefusal(): ApiError {
  const message = 'This operation requires a session that is not limited to scopes or projects: sign in.'
  return forbidden(message, 'session')
}

/** The first of the `refusals`; null if there is none. */
export function refusalOf(principal: Principal, operation: Restrictions): ApiError | null {
  return (
    refusals.scope(principal, operation) ??
    refusals.session(principal, operation) ??
    refusals.project_ids(principal, operation)
  )
}

/** Why a key may not be used from an address: 403. Null if it may. */
export function addressRefusalOf({ networks }: Principal, address: string): ApiError | null {
  if (networks === null || networks.has(address)) return null
  return forbidden('This API key cannot be used from your IP address.', 'allowed_addresses')
}

/** The actor in the events of a request; null for a request without a key. */
export function actorOf(principal: Principal | null): RequestOrigin['actor'] {
  if (principal === null) return null
  const { type, credentialId, keyName, userId, serviceAccountId } = principal
  return { type, id: credentialId, name: keyName, user_id: userId, service_account_id: serviceAccountId }
}

function requireAddressesOf({ networks: before }: Principal, { networks }: Principal): void {
  if (networks !== null && (before === null || !networks.includes(before)))
    throw forbidden('The IP addresses that this API key can be used from have changed.', 'allowed_addresses')
}

interface Cached {
  principal: Principal
  /** Whether the principal is a session in a cookie, whose tokens are not valid. */
  inCookie: boolean
  /** When it expires or must be read again, in milliseconds since 1970. */
  until: number
}

export interface Principals {
  /**
   * Authenticates the value of an Authorization header.
   * @param beforeLookUp is called before the key is looked up in the database, and may throw.
   * @throws 401 with the reason.
   */
  authenticate(authorization: string | undefined, beforeLookUp?: () => Promise<void>): Promise<Principal>
  /**
   * Authenticates the session of a browser by the value of its cookie.
   * @param beforeLookUp as above
   * @throws 401 with the reason.
   */
  authenticateCookie(cookie: string, beforeLookUp?: () => Promise<void>): Promise<Principal>
  /**
   * The current principal of the same key, for work that outlives a request, such as a stream. Runs no
   * statement while the key is cached.
   * @throws 401 with the reason; 403 when the key lost addresses: the work may come from one of them.
   */
  refresh(principal: Principal): Promise<Principal>
  /**
   * Call this after the commit of a change to a key (pass its digest in hex), to a session (its id) or to a
   * user (the user's id, for all keys and sessions). Removes them from the cache of this process. Then waits
   * until every other process has received the change, or has been disconnected for so long that it caches
   * nothing.
   */
  waitForInvalidation(digestOrId: string): Promise<void>
  /** Whether this process receives changes, and therefore caches keys. */
  readonly listening: boolean
}

const maxCachedKeys = 10_000

/** Milliseconds after which a cached key is read again, even if no change of it was received. */
const maxAge = 60_000

export function createPrincipals(db: Db, listener: Bus, cipher: Pick<Cipher, 'verify'>): Principals {
  /** By the digest of the key, or the id of the session. */
  const cache = new Map<string, Cached>()
  const sources = new WeakMap<Principal, { cacheKey: string; inCookie: boolean }>()
  // A key that was read while a change arrived is not cached, because the row may be older than the change.
  let changes = 0
  listener.on('key_change', invalidate)
  listener.onState(() => {
    changes++
    cache.clear()
  })

  return {
    async authenticate(authorization, beforeLookUp) {
      if (authorization === undefined || authorization.trim() === '') throw unauthorized('missing')
      if (!/^bearer( |$)/i.test(authorization.trim()))
        throw unauthorized('malformed', 'Use the Bearer scheme: Authorization: Bearer <API_KEY>.')
      const secret = /^bearer +([^ ]+)$/i.exec(authorization.trim())?.[1]
      if (secret === undefined) throw unauthorized('malformed')
      const cacheKey = isAccessToken(secret) ? sessionOf(secret) : digestOf(secret)
      if (!isAccessToken(secret) && !isWellFormed(secret)) throw unauthorized('malformed')
      const { principal, inCookie } = findCached(cacheKey) ?? (await loadAfter(beforeLookUp, cacheKey))
      if (inCookie) throw unauthorized('revoked', 'The session was moved into a cookie.')
      return principal
    },
    async authenticateCookie(cookie, beforeLookUp) {
      const sessionId = readCookieToken(cipher, cookie)
      if (sessionId === null) throw unauthorized('malformed', 'Unknown cookie: sign in again.')
      const { principal, inCookie } = findCached(sessionId) ?? (await loadAfter(beforeLookUp, sessionId))
      if (!inCookie) throw unauthorized('unknown', 'The session is not in a cookie.')
      return principal
    },
    async refresh(principal) {
      const source = sources.get(principal)
      if (source === undefined) throw unauthorized('unknown')
      const { principal: current, inCookie } = findCached(source.cacheKey) ?? (await load(source.cacheKey))
      if (inCookie !== source.inCookie) throw unauthorized('revoked', 'The session was moved into a cookie.')
      requireAddressesOf(principal, current)
      return current
    },
    async waitForInvalidation(digestOrId) {
      invalidate(digestOrId)
      await listener.waitForListeners()
    },
    get listening() {
      return listener.listening
    },
  }

  /** The id of the session of an access token. */
  function sessionOf(token: string): string {
    const claims = readAccessToken(cipher, token)
    if (claims === null) throw unauthorized('malformed')
    if (claims.expiresAt * 1000 <= Date.now())
      throw unauthorized('expired', 'The access token has expired: refresh the session.')
    return claims.sessionId
  }

  function findCached(cacheKey: string): Loaded | null {
    const cached = cache.get(cacheKey)
    if (cached === undefined) return null
    if (cached.until > Date.now()) return cached
    cache.delete(cacheKey)
    return null
  }

  async function loadAfter(
    beforeLookUp: (() => Promise<void>) | undefined,
    cacheKey: string,
  ): Promise<Loaded> {
    await beforeLookUp?.()
    return await load(cacheKey)
  }

  async function load(cacheKey: string): Promise<Loaded> {
    const changesBefore = changes
    const { principal, inCookie, expiresAt } = await (cacheKey.startsWith('ses_')
      ? loadSession(cacheKey)
      : loadKey(cacheKey))
    sources.set(principal, { cacheKey, inCookie })
    if (listener.listening && changesBefore === changes) {
      if (cache.size >= maxCachedKeys) cache.delete(cache.keys().next().value!)
      cache.set(cacheKey, { principal, inCookie, until: Math.min(expiresAt, Date.now() + maxAge) })
    }
    return { principal, inCookie }
  }

  async function loadSession(id: string): Promise<Found> {
    const row = await authSql.findSession(db, { id })
    if (row === undefined) throw unauthorized('revoked', 'The session has ended: sign in again.')
    return {
      principal: principalOfSession(row),
      inCookie: row.in_cookie,
      expiresAt: Date.parse(row.expires_at),
    }
  }

  async function loadKey(digest: string): Promise<Found> {
    const row = await sql.findApiKey(db, { digest })
    if (row === undefined) throw unauthorized('unknown')
    return { principal: principalOfKey(row), inCookie: false, expiresAt: endOf(row) }
  }

  function invalidate(digestOrId: string): void {
    changes++
    if (cache.delete(digestOrId)) return
    for (const [cacheKey, { principal }] of cache) {
      const { userId, accountId, grantorId } = principal
      if ([userId, accountId, grantorId].includes(digestOrId)) cache.delete(cacheKey)
    }
  }
}

function endOf({ expires_at: expiresAt }: sql.FindApiKeyRow): number {
  return expiresAt === null ? Infinity : Date.parse(expiresAt)
}

/** Throws 401 for a key that is revoked or has expired, or whose owner is disabled. */
function principalOfKey(row: sql.FindApiKeyRow): Principal {
  const expiresAt = endOf(row)
  if (expiresAt <= Date.now()) throw unauthorized('expired')
  if (row.revoked_at !== null) throw unauthorized('revoked')
  if (row.status !== 'active' || (row.account_status ?? 'active') !== 'active') throw unauthorized('disabled')
  return {
    type: 'api_key',
    userId: row.user_id,
    accountId: row.limits_of ?? row.user_id,
    serviceAccountId: row.service_account_id,
    credentialId: row.id,
    keyName: row.name,
    grantorId: row.grantor_id,
    mayOperate: row.may_operate,
    scopes: withIncluded(row.scopes.filter((scope) => !isForAdmins(scope) || row.may_operate)),
    projectIds: row.all_projects ? null : new Set(row.project_ids),
    isLimitedSession: false,
    networks: row.allowed_addresses.length === 0 ? null : new Networks(row.allowed_addresses),
    expiresAt: row.expires_at === null ? null : new Date(expiresAt),
  }
}

/** The principal of a key, without its secret. Null for an unknown key; throws 401 if it does not work. */
export async function readPrincipalOfKey(db: Db, id: string): Promise<Principal | null> {
  const row = await sql.findApiKeyById(db, { id })
  return row === undefined ? null : principalOfKey(row)
}

/** @returns the principal of an active session; null if there is none. */
export async function readPrincipalOfSession(db: Db, id: string): Promise<Principal | null> {
  const row = await authSql.findSession(db, { id })
  return row === undefined ? null : principalOfSession(row)
}

/** Throws 401 for a session that has expired, or whose user is disabled. */
function principalOfSession(row: authSql.FindSessionRow): Principal {
  if (Date.parse(row.expires_at) <= Date.now())
    throw unauthorized('expired', 'The session has expired: sign in again.')
  if (row.status !== 'active') throw unauthorized('disabled', 'The user is disabled.')
  return principalOfUser(row.user_id, row.role, row)
}

/**
 * The `credential_id` of a request that may also name it by a former name. Throws 400 for two values.
 */
export function withFormerName(
  credentialId: string | undefined,
  former: Record<string, string | undefined>,
  invalid = invalidField,
): string | undefined {
  const [[name, id]] = Object.entries(former)
  if (credentialId !== undefined && id !== undefined && credentialId !== id)
    throw invalid(name, 'one_of', `Send either credential_id or ${name}.`)
  return credentialId ?? id
}

/** The limits of a session: null for all scopes, and for all projects, of its user. */
export interface SessionLimits {
  scopes: readonly Scope[] | null
  project_ids: readonly string[] | null
}

/**
 * A user who has signed in, as the owner of a session; by default of one without limits and without an id.
 */
export function principalOfUser(
  userId: string,
  role: 'user' | 'admin',
  {
    id: credentialId = '',
    scopes: asked = null,
    project_ids: projectIds = null,
  }: Partial<SessionOfUser> = {},
): Principal {
  const all = defaultScopes(role)
  const granted = asked && withIncluded(asked)
  const scopes = granted === null ? all : all.filter((scope) => granted.has(scope))
  return {
    type: 'session',
    userId,
    accountId: userId,
    serviceAccountId: null,
    grantorId: userId,
    mayOperate: role === 'admin',
    credentialId,
    keyName: null,
    scopes: new Set(scopes),
    projectIds: projectIds && new Set(projectIds),
    isLimitedSession: projectIds !== null || scopes.length < all.length,
    networks: null,
    expiresAt: null,
  }
}

type SessionOfUser = SessionLimits & { id: string }

type Loaded = Pick<Cached, 'principal' | 'inCookie'>

interface Found extends Loaded {
  /** Milliseconds since 1970. */
  expiresAt: number
}
