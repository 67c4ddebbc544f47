// The users that `include` adds to resources, beside the ids of the users. A caller sees the members of its
// projects, as in the list of members; operators see all users.
import * as sql from '../../generated/sql/users.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import type { Db } from '../../infra/database/database.ts'
import { mayActAsOperator, type Principal } from './authentication.ts'

type Resource = Record<string, unknown>

interface Inclusion {
  principal: Principal
  includes: NonNullable<OperationInfo['includes']>
  /** The values of `include`. */
  names: string[]
  /** The origin of avatars. */
  origin: string
}

/** Adds the users to the resources; null for a user whom the caller may not see. At most one statement. */
export async function includeUsers(
  db: Db,
  resources: Resource[],
  { principal, includes, names, origin }: Inclusion,
): Promise<void> {
  const chosen = names.map((name) => includes[name])
  const ids = resources.flatMap((resource) => chosen.map(({ id }) => resource[id] as string | null))
  const found = await visibleUsers(
    db,
    principal,
    [...new Set(ids)].filter((id) => id !== null),
    origin,
  )
  const users = new Map(found.map((user) => [user.id, user]))
  for (const resource of resources)
    for (const { id, as } of chosen) resource[as] = users.get(resource[id] as string) ?? null
}

async function visibleUsers(
  db: Db,
  principal: Principal,
  ids: string[],
  origin: string,
): Promise<sql.ReadVisibleUsersRow[]> {
  const { userId, projectIds, scopes } = principal
  const isForOperator = mayActAsOperator(principal, 'users:admin')
  if (ids.length === 0 || (!isForOperator && !scopes.has('projects:read'))) return []
  return await sql.readVisibleUsers(db, {
    ids,
    reader: userId,
    is_operator: isForOperator,
    key_projects: projectIds === null ? null : [...projectIds],
    origin,
  })
}
