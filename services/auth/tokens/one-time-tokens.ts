// The use of one-time tokens, which an e-mail or an identity provider has led to.
import * as sql from '../../../generated/sql/auth.ts'
import type { Db, Transaction } from '../../../infra/database/database.ts'
import { unauthorized } from '../../../infra/errors.ts'
import { lockActiveUser } from '../../users/users.ts'
import type { TokenPurpose } from './mailed-tokens.ts'

/**
 * Uses a one-time token. It is deleted, so that of several requests one succeeds.
 * @throws 401 unless it is valid for the purpose.
 */
export async function useToken(
  tx: Transaction,
  purpose: TokenPurpose,
  digest: string,
): Promise<sql.UseTokenRow> {
  const row = await sql.useToken(tx, { digest, purpose })
  if (row === undefined) throw unknownToken()
  return row
}

/** The user with the address that a token was sent to, before it is used. Throws 401 as `useToken` does. */
export async function userBeforeUse(db: Db, purpose: TokenPurpose, digest: string): Promise<string> {
  const row = await sql.findToken(db, { digest, purpose })
  if (row === undefined) throw unknownToken()
  return await userWith(db, row.email)
}

/**
 * The address that a token was sent to, and the provider whose identity its use links; null for a token that
 * is not valid.
 */
export async function findTokenGoal(
  db: Db,
  purpose: TokenPurpose,
  digest: string,
): Promise<{ account: string; linksProvider: string | null } | null> {
  const row = await sql.findToken(db, { digest, purpose })
  return row === undefined ? null : { account: row.email, linksProvider: row.provider }
}

/**
 * Locks the user whose address a used token was sent to.
 * @throws 401 if the user is not active or has another address.
 */
export async function lockUserOfToken(
  tx: Transaction,
  { email }: Pick<sql.UseTokenRow, 'email'>,
): Promise<string> {
  const id = await userWith(tx, email)
  if ((await lockActiveUser(tx, id)).email !== email) throw unknownToken()
  return id
}

async function userWith(db: Db, email: string): Promise<string> {
  const { user_id: id } = await sql.findAccount(db, { email })
  if (id === null) throw unauthorized('unknown', 'The account of the link no longer exists.')
  return id
}

function unknownToken(): Error {
  return unauthorized('unknown', 'The link is unknown, expired or was used before: ask for a new one.')
}
