// Passkeys (WebAuthn): adding one, and signing in with one. A device asks for a PIN or a fingerprint before
// it signs, so a passkey is a password and a second factor in one.
import { randomBytes } from 'node:crypto'
import type * as WebAuthn from '@simplewebauthn/server'
import * as sql from '../../generated/sql/auth.ts'
import type { components } from '../../generated/types.ts'
import type { User as UserRow } from '../../generated/prisma/client.js'
import type { Config } from '../../infra/config/config.ts'
import type { ListQuery } from '../../infra/contract/query.ts'
import type { Db, Transaction } from '../../infra/database/database.ts'
import type { Page } from '../../infra/database/pagination.ts'
import { tokenDigest } from '../../infra/encryption/tokens.ts'
import {
  conflict,
  forbidden,
  limitReached,
  invalidField,
  notFound,
  unauthorized,
} from '../../infra/errors.ts'
import { newId, timeOf } from '../../infra/ids.ts'
import { Lazy } from '../../infra/concurrency/lazy.ts'
import { alertUser, senderName } from '../mail/mails.ts'
import { requireRecentSignIn } from '../users/api-keys.ts'
import type { Principal } from '../users/authentication.ts'
import { lockActiveUser } from '../users/users.ts'
import type { Device } from './sessions/sessions.ts'
import type { AccountServices } from './account-changes.ts'

type Schemas = components['schemas']
export type Passkey = Schemas['Passkey']
export type PasskeyAssertion = Schemas['PasskeyAssertion']

const timeoutMs = 300_000
const maxPasskeys = 20
/** EdDSA, ES256 and RS256, which all devices between them know. */
const algorithms = [-8, -7, -257]

/** Large modules, which servers without passkeys do not load. */
const library = new Lazy<typeof WebAuthn>(async () => await import('@simplewebauthn/server'))

const helpers = new Lazy(async () => await import('@simplewebauthn/server/helpers'))

type Settings = Readonly<
  Pick<Config, 'passkeyDomain' | 'signInUrl' | 'publicUrl' | 'corsOrigins' | 'mailFrom'>
>

/** The domain of the passkeys: browsers accept it from its pages and those of its subdomains. */
function domainOf({ passkeyDomain, signInUrl, publicUrl }: Settings): string {
  return passkeyDomain ?? hostOf(signInUrl) ?? hostOf(publicUrl) ?? 'localhost'
}

/** The origins whose pages may use the passkeys: all of this machine for a server without PUBLIC_URL. */
function originsOf(settings: Settings, { origin }: ClientData): string[] {
  const { signInUrl, publicUrl, corsOrigins } = settings
  const pages = [signInUrl, publicUrl].filter((url) => url !== null).map((url) => new URL(url).origin)
  const isLocal = publicUrl === null && /^http:\/\/localhost(:\d+)?$/.test(origin)
  return [...pages, ...corsOrigins, ...(isLocal ? [origin] : [])]
}

function hostOf(url: string | null): string | null {
  return url === null ? null : new URL(url).hostname
}

export async function startSignIn(db: Db, settings: Settings): Promise<Schemas['PasskeyRequestOptions']> {
  const domain = domainOf(settings)
  const challenge = await newChallenge(db, null)
  return { challenge, rpId: domain, timeout: timeoutMs, userVerification: 'required' }
}

/** The options with which a device creates a passkey for a user. */
export async function startRegistration(
  db: Db,
  settings: Settings,
  { id, email, name }: Pick<UserRow, 'id' | 'email' | 'name'>,
): Promise<Schemas['PasskeyCreationOptions']> {
  const domain = domainOf(settings)
  const challenge = await newChallenge(db, id)
  const known = await sql.passkeyCredentials(db, { user_id: id })
  return {
    challenge,
    rp: { id: domain, name: senderName(settings.mailFrom) },
    user: { id: Buffer.from(id).toString('base64url'), name: email!, displayName: name },
    pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key', alg })),
    timeout: timeoutMs,
    attestation: 'none',
    excludeCredentials: known.map(({ credential }) => ({ type: 'public-key', id: credential })),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  }
}

async function newChallenge(db: Db, userId: string | null): Promise<string> {
  const challenge = randomBytes(32).toString('base64url')
  const seconds = timeoutMs / 1000
  await sql.insertChallenge(db, { digest: tokenDigest(challenge), user_id: userId, seconds })
  return challenge
}

/** The client data of an answer whose challenge is an unused one of the user or of a sign-in; else null. */
async function findChallenge(
  db: Db,
  { clientDataJSON: text }: { clientDataJSON: string },
  userId: string | null,
): Promise<ClientData | null> {
  const clientData = readClientData(text)
  if (clientData === null) return null
  const row = await sql.findChallenge(db, { digest: tokenDigest(clientData.challenge), user_id: userId })
  return row === undefined ? null : clientData
}

/** Uses a challenge, so that an answer works once. @returns whether this request has used it. */
async function useChallenge(tx: Transaction, challenge: string): Promise<boolean> {
  return (await sql.useChallenge(tx, { digest: tokenDigest(challenge) })) !== undefined
}

/** The client data, in which the browser describes a request to a device. */
interface ClientData {
  challenge: string
  origin: string
}

function readClientData(text: string): ClientData | null {
  try {
    const { challenge, origin } = JSON.parse(Buffer.from(text, 'base64url').toString()) as Partial<ClientData>
    return typeof challenge === 'string' && typeof origin === 'string' ? { challenge, origin } : null
  } catch {
    return null
  }
}

export interface VerifiedPasskey {
  credential: string
  publicKey: string
  counter: number
  transports: string[]
  synced: boolean
  /** What the device has signed. */
  challenge: string
}

/** Verifies a new passkey. Throws 400 unless a device made it for a challenge of the user. */
export async function verifyRegistration(
  db: Db,
  settings: Settings,
  { userId, answer }: { userId: string; answer: Schemas['PasskeyRegistration'] },
): Promise<VerifiedPasskey> {
  const { verifyRegistrationResponse } = await library.get()
  const asked = await findChallenge(db, answer.response, userId)
  if (asked === null || !(await isSelfMade(answer.response))) throw invalidPasskey()
  const checked = await verifyRegistrationResponse({
    response: deviceAnswer(answer) as WebAuthn.RegistrationResponseJSON,
    expectedChallenge: asked.challenge,
    expectedOrigin: originsOf(settings, asked),
    expectedRPID: domainOf(settings),
    supportedAlgorithmIDs: algorithms,
  }).catch(() => null)
  const made = checked?.verified === true ? checked.registrationInfo : undefined
  if (made === undefined) throw invalidPasskey()
  const { id, publicKey, counter, transports = [] } = made.credential
  return {
    credential: id,
    publicKey: Buffer.from(publicKey).toString('base64'),
    counter,
    transports,
    synced: made.credentialBackedUp,
    challenge: asked.challenge,
  }
}

/**
 * Whether the answer has no attestation, or self attestation: the passkey has signed it with its own
 * algorithm (WebAuthn, section 8.2). Browsers pass self attestation on although the options ask for none.
 * The library then verifies the signature. Certificates of the device are refused: to verify some of them,
 * the library would load lists of revoked ones from addresses that the certificates name.
 */
async function isSelfMade({ attestationObject }: { attestationObject: string }): Promise<boolean> {
  const { cose, decodeAttestationObject, decodeCredentialPublicKey, parseAuthenticatorData } =
    await helpers.get()
  try {
    const decoded = decodeAttestationObject(new Uint8Array(Buffer.from(attestationObject, 'base64url')))
    if (decoded.get('fmt') !== 'packed') return decoded.get('fmt') === 'none'
    const statement = decoded.get('attStmt')
    const { credentialPublicKey } = parseAuthenticatorData(decoded.get('authData'))
    const algorithm = decodeCredentialPublicKey(credentialPublicKey!).get(cose.COSEKEYS.alg)
    const isSigned = statement.get('sig') !== undefined && statement.get('alg') === algorithm
    return isSigned && statement.size === 2
  } catch {
    return false
  }
}

function invalidPasskey(): Error {
  return invalidField('credential', 'passkey', 'credential does not fit the options: start again')
}

/** Adds a verified passkey to a locked user. Throws 403 for the 21st, and 409 if it exists. */
export async function addPasskey(
  tx: Transaction,
  services: AccountServices,
  { id: userId }: UserRow,
  { name, passkey }: { name: string; passkey: VerifiedPasskey },
): Promise<Passkey> {
  const known = await sql.passkeyCredentials(tx, { user_id: userId })
  if (known.length >= maxPasskeys)
    throw limitReached('FORBIDDEN', 'passkeys', `A user may have ${maxPasskeys} passkeys.`, {
      name: 'passkeys',
      limit: maxPasskeys,
      used: known.length,
      resets_at: null,
    })
  const id = newId('pky')
  const { publicKey, challenge, ...rest } = passkey
  if (!(await useChallenge(tx, challenge))) throw invalidPasskey()
  const createdAt = timeOf(id).toISOString()
  const row = await sql.insertPasskey(tx, {
    id,
    user_id: userId,
    name,
    ...rest,
    public_key: publicKey,
    created_at: createdAt,
  })
  if (row === undefined) throw conflict('passkey_exists', 'This passkey was added before.', 'credential')
  await services.events.emit(tx, 'passkey.added', row, { userId })
  await alertUser(tx, services, 'passkey_added', userId)
  return row
}

/** A passkey whose device has signed, and the new state of its counter. */
export interface PasskeyProof {
  id: string
  userId: string
  counter: number
  /** What the device has signed. */
  challenge: string
}

/** Throws 401, with the same answer for every fault, unless a device signed a challenge of this server. */
export async function checkPasskey(
  db: Db,
  settings: Settings,
  answer: PasskeyAssertion,
  { identify }: Pick<Device, 'identify'>,
): Promise<PasskeyProof> {
  const { verifyAuthenticationResponse } = await library.get()
  const asked = await findChallenge(db, answer.response, null)
  const found = asked === null ? undefined : await sql.findPasskey(db, { credential: answer.id })
  if (asked === null || found === undefined) throw wrongPasskey()
  identify?.(found.user_id)
  const { challenge } = asked
  const checked = await verifyAuthenticationResponse({
    response: deviceAnswer(answer) as WebAuthn.AuthenticationResponseJSON,
    expectedChallenge: challenge,
    expectedOrigin: originsOf(settings, asked),
    expectedRPID: domainOf(settings),
    credential: {
      id: answer.id,
      publicKey: new Uint8Array(Buffer.from(found.public_key, 'base64')),
      counter: Number(found.counter),
    },
  }).catch(() => null)
  if (checked?.verified !== true) throw wrongPasskey()
  const { newCounter: counter } = checked.authenticationInfo
  return { id: found.id, userId: found.user_id, counter, challenge }
}

/**
 * Uses a checked passkey of a locked user. Throws 401 if its answer was used before, if it was removed, or if
 * a copy of it has signed.
 */
export async function usePasskey(tx: Transaction, { id, counter, challenge }: PasskeyProof): Promise<void> {
  if (!(await useChallenge(tx, challenge))) throw wrongPasskey()
  if ((await sql.usePasskey(tx, { id, counter })) === undefined) throw wrongPasskey()
}

function wrongPasskey(): Error {
  return unauthorized('credentials', 'The passkey is unknown, or its answer is not valid: start again.')
}

/** The answer with the fields that the library requires and that never differ. */
function deviceAnswer(answer: { id: string; response: object }): object {
  return { ...answer, rawId: answer.id, type: 'public-key', clientExtensionResults: {} }
}

export async function listPasskeys(
  db: Db,
  { userId }: Principal,
  query: ListQuery<'listPasskeys'>,
): Promise<Page<Passkey>> {
  return await sql.listPasskeys(db, { user_id: userId, ...query })
}

/** Throws 404, or 403 for a passkey of another user. */
export async function findOwnPasskey(db: Db, id: string, { userId }: Principal): Promise<Passkey> {
  const row = await sql.readPasskey(db, { id })
  if (row === undefined) throw notFound('passkey', id)
  if (row.user_id !== userId) throw forbidden('This passkey belongs to another user.', 'owner', id)
  return row
}

/** The passkeys of a user for a page, newest first. */
export async function listOwnPasskeys(db: Db, { userId }: Principal): Promise<Passkey[]> {
  return await sql.listOwnPasskeys(db, { user_id: userId, limit: maxPasskeys })
}

/** Renames a passkey of a locked user. */
export async function renamePasskey(
  tx: Transaction,
  { events }: Pick<AccountServices, 'events'>,
  previous: Passkey,
  name: string,
): Promise<Passkey> {
  const { id, user_id: userId } = previous
  const passkey = await sql.renamePasskey(tx, { id, name })
  await events.emit(tx, 'passkey.updated', passkey, { previous, userId })
  return passkey
}

/**
 * Removes a passkey of the caller. Throws 404, 401 for an inactive user, and 403 for a passkey of another
 * user or without a recent sign-in.
 * @param check is called when the passkey was found, and may throw.
 */
export async function removeOwnPasskey(
  tx: Transaction,
  services: AccountServices,
  { id, principal }: { id: string; principal: Principal },
  check: (passkey: Passkey) => void = () => {},
): Promise<void> {
  await lockActiveUser(tx, principal.userId)
  const passkey = await findOwnPasskey(tx, id, principal)
  await requireRecentSignIn(tx, principal)
  check(passkey)
  await removePasskey(tx, services, passkey)
}

/** Removes a passkey of a locked user, and sends an e-mail to the user. */
async function removePasskey(tx: Transaction, services: AccountServices, passkey: Passkey): Promise<void> {
  const { id, user_id: userId } = passkey
  await tx.prisma.passkey.delete({ where: { id }, select: { id: true } })
  await services.events.emit(tx, 'passkey.removed', passkey, { userId })
  await alertUser(tx, services, 'passkey_removed', userId)
}
