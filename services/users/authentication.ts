// Who a key speaks for. Known keys are kept in memory; the database tells of every change at its commit, and while it
// cannot be heard nothing is kept. Whoever changes a key answers only when every instance has heard, so that a revocation
// counts from the next request on, everywhere.
import { type Db } from '../../infra/database/database.ts'
import { statement } from '../../infra/database/statements.ts'
import { unauthorized } from '../../infra/errors.ts'
import { digestOf, isWellFormed } from '../../infra/api-key-format.ts'
import type { Listener } from '../../infra/database/notifications.ts'

export interface Principal {
  userId: string
  keyId: string
  /** What the key may do at this moment: never more than its owner. */
  scopes: ReadonlySet<string>
  /** The only projects the key may touch; null for all of its owner's. */
  projectIds: ReadonlySet<string> | null
}

interface KeyRow {
  id: string
  user_id: string
  scopes: string[]
  project_ids: string[]
  all_projects: boolean
  expires_at: string | null
  revoked_at: string | null
  status: string
  role: string
}

interface Known {
  principal: Principal
  expiresAt: number
}

const findKey = statement<KeyRow>(`
  SELECT k.id, k.user_id, k.scopes, k.project_ids, k.all_projects, k.expires_at, k.revoked_at, u.status::text, u.role::text
  FROM api_keys k JOIN users u ON u.id = k.user_id WHERE k.digest = decode($1, 'hex')`)

export interface Principals {
  /** @throws 401 with the reason. */
  authenticate(authorization: string | undefined): Promise<Principal>
  /**
   * The principal of the same key as it is now, for what outlives a request, such as a stream. No statement while the key is
   * kept. @throws 401 with the reason.
   */
  renew(principal: Principal): Promise<Principal>
  /**
   * After the commit of a change: forgets a key (its digest in hex) or all keys of a user (its id) here, and waits until
   * every other instance has heard of it, or has been silent for so long that it keeps no keys.
   */
  settle(digestOrUserId: string): Promise<void>
  /** Whether changes are heard at the moment, and so whether keys are kept. */
  readonly listening: boolean
}

const most = 10_000

export function createPrincipals(db: Db, listener: Listener): Principals {
  const known = new Map<string, Known>()
  const digests = new WeakMap<Principal, string>()
  // A key that is being looked up while a change arrives must not be kept: the answer may be from before the change.
  let changes = 0
  listener.on('key_change', forget)
  listener.onState(() => {
    changes++
    known.clear()
  })

  return {
    async authenticate(authorization) {
      if (authorization === undefined || authorization.trim() === '') throw unauthorized('missing')
      const secret = /^bearer +([^ ]+)$/i.exec(authorization.trim())?.[1]
      if (secret === undefined) throw unauthorized('malformed')
      const digest = digestOf(secret)
      const found = recall(digest)
      if (found !== null) return found
      if (!isWellFormed(secret)) throw unauthorized('malformed')
      return await lookUp(digest)
    },
    async renew(principal) {
      const digest = digests.get(principal)
      if (digest === undefined) throw unauthorized('unknown')
      return recall(digest) ?? (await lookUp(digest))
    },
    async settle(digestOrUserId) {
      forget(digestOrUserId)
      await listener.waitForListeners()
    },
    get listening() {
      return listener.listening
    },
  }

  function recall(digest: string): Principal | null {
    const found = known.get(digest)
    if (found === undefined) return null
    if (found.expiresAt > Date.now()) return found.principal
    known.delete(digest)
    return null
  }

  async function lookUp(digest: string): Promise<Principal> {
    const before = changes
    const [row] = await db.sql(findKey, [digest])
    if (row === undefined) throw unauthorized('unknown')
    if (row.revoked_at !== null) throw unauthorized('revoked')
    const expiresAt = row.expires_at === null ? Infinity : Date.parse(row.expires_at)
    if (expiresAt <= Date.now()) throw unauthorized('expired')
    if (row.status !== 'active') throw unauthorized('disabled')
    const principal: Principal = {
      userId: row.user_id,
      keyId: row.id,
      scopes: new Set(row.scopes.filter((scope) => scope !== 'admin' || row.role === 'admin')),
      projectIds: row.all_projects ? null : new Set(row.project_ids),
    }
    digests.set(principal, digest)
    if (listener.listening && before === changes) {
      if (known.size >= most) known.delete(known.keys().next().value!)
      known.set(digest, { principal, expiresAt })
    }
    return principal
  }

  function forget(digestOrUserId: string): void {
    changes++
    if (known.delete(digestOrUserId)) return
    for (const [digest, { principal }] of known) {
      if (principal.userId === digestOrUserId) known.delete(digest)
    }
  }
}
