// The ways to a new session: a password, a one-time token, a passkey, a confirmed sign-up, a new password.
// Slow work, such as hashing, is done before the transaction, which then repeats the checks whose result may
// have changed.
import type { Config } from '../../../infra/config/config.ts'
import type { Db, Transaction } from '../../../infra/database/database.ts'
import { tokenDigest } from '../../../infra/encryption/tokens.ts'
import { networkOf } from '../../users/client-network.ts'
import { lockActiveUser } from '../../users/users.ts'
import { linkIdentityOf, oidcTokenDigest } from '../oidc/identities.ts'
import { challengeOf } from '../oidc/oidc.ts'
import { hashPassword, requireUncommon } from '../passwords/hash.ts'
import { checkPasskey, usePasskey, type PasskeyAssertion } from '../passkeys.ts'
import { createSession, type Device, type Method, type SessionTokens } from './sessions.ts'
import { checkPassword, holdPassword } from '../passwords/check.ts'
import { createConfirmedUser } from '../sign-up.ts'
import { lockUserOfToken, userBeforeUse, useToken } from '../tokens/one-time-tokens.ts'
import { setPassword, type AccountServices } from '../account-changes.ts'
import { checkSecondFactor, useSecondFactor, type SecondFactor } from '../totp.ts'

export type NewSessionServices = AccountServices & {
  db: Db
  config: Readonly<Config>
}

/** Each throws 401 for wrong credentials, or without the code of a user who has a second factor. */
export async function signInWithPassword(
  services: NewSessionServices,
  { email, password, code }: { email: string; password: string; code?: string },
  device: Device,
): Promise<SessionTokens> {
  const { db } = services
  const checked = await checkPassword(services, { email, password }, device)
  const { userId } = checked
  const factor = await checkSecondFactor(services, { userId, code, ip: device.ip })
  return await db.transaction(async (tx) => {
    await holdPassword(tx, checked)
    return await signedIn(tx, services, { userId, method: 'password', factor, device })
  })
}

interface TokenSignIn {
  method: 'link' | 'oidc'
  token: string
  code?: string
  /** For a sign-in at an identity provider that began with its challenge. */
  verifier?: string
}

/** Signs in with the token of a link, or with one that an identity provider led to. */
export async function signInWithToken(
  services: NewSessionServices,
  { method, token, code, verifier }: TokenSignIn,
  device: Device,
): Promise<SessionTokens> {
  const { db } = services
  const digest = oidcTokenDigest(token, verifier === undefined ? null : challengeOf(verifier))
  const asked = await userBeforeUse(db, method, digest)
  device.identify?.(asked)
  const factor = await checkSecondFactor(services, { userId: asked, code, ip: device.ip })
  return await db.transaction(async (tx) => {
    const used = await useToken(tx, method, digest)
    const userId = await lockUserOfToken(tx, used)
    const session = await signedIn(tx, services, { userId, method, factor, device })
    await linkIdentityOf(tx, services, userId, used)
    return session
  })
}

/** A device asks for a PIN or a fingerprint, so a passkey needs no code. */
export async function signInWithPasskey(
  services: NewSessionServices,
  credential: PasskeyAssertion,
  device: Device,
): Promise<SessionTokens> {
  const { db, config } = services
  const proof = await checkPasskey(db, config, credential, device)
  const { userId } = proof
  return await db.transaction(async (tx) => {
    await lockActiveUser(tx, userId)
    await usePasskey(tx, proof)
    return await createSession(tx, services, { userId, methods: ['passkey'], ...device })
  })
}

/** Creates the account of a sign-up, with the password if there is one. Throws 409 `email_taken`. */
export async function confirmSignUp(
  services: NewSessionServices,
  { token, password }: { token: string; password?: string },
  device: Device,
): Promise<SessionTokens> {
  const hash = password === undefined ? null : await hashNewPassword(password, device)
  return await services.db.transaction(async (tx) => {
    const row = await useToken(tx, 'sign_up', tokenDigest(token))
    const userId = await createConfirmedUser(tx, services, row, hash)
    return await signedIn(tx, services, { userId, method: 'link', factor: null, device })
  })
}

/** Sets a new password with the token of an e-mail. */
export async function resetPassword(
  services: NewSessionServices,
  { token, password, code }: { token: string; password: string; code?: string },
  device: Device,
): Promise<SessionTokens> {
  const { db } = services
  await requireUncommon(password)
  const digest = tokenDigest(token)
  const asked = await userBeforeUse(db, 'password_reset', digest)
  device.identify?.(asked)
  const factor = await checkSecondFactor(services, { userId: asked, code, ip: device.ip })
  const hash = await hashPassword(password, networkOf(device.ip))
  return await db.transaction(async (tx) => {
    const userId = await lockUserOfToken(tx, await useToken(tx, 'password_reset', digest))
    await setPassword(tx, services, await lockActiveUser(tx, userId), { hash, except: null })
    return await signedIn(tx, services, { userId, method: 'link', factor, device })
  })
}

async function hashNewPassword(password: string, { ip }: Device): Promise<string> {
  await requireUncommon(password)
  return await hashPassword(password, networkOf(ip))
}

interface SignedIn {
  userId: string
  method: 'password' | 'link' | 'oidc'
  /** Checked before the transaction; null for a user who had no second factor then. */
  factor: SecondFactor | null
  device: Device
}

/** Creates the session at the end of a sign-in. */
async function signedIn(
  tx: Transaction,
  services: NewSessionServices,
  { userId, method, factor, device }: SignedIn,
): Promise<SessionTokens> {
  await useSecondFactor(tx, services, await lockActiveUser(tx, userId), factor, device.ip)
  const methods: Method[] = factor === null ? [method] : [method, factor.method]
  return await createSession(tx, services, { userId, methods, ...device })
}
