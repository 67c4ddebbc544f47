// Sign-up, sign-in, the second factor, and the sessions of a user.
import type { Db } from '../infra/database/database.ts'
import { networkOf } from '../infra/network.ts'
import type { Handlers, HandlerServices } from '../services/handler.ts'
import { mailToken, replaceEmailChange } from '../services/auth/mailed-tokens.ts'
import { requireOwnPage, sessionCookie } from '../services/auth/cookies.ts'
import { checkPasskey, usePasskey, type PasskeyAssertion } from '../services/auth/passkeys.ts'
import { hashPassword, requireUncommon } from '../services/auth/passwords.ts'
import {
  createSession,
  endSession,
  endSessions,
  findOwnSession,
  listSignIns,
  lockOwnSession,
  moveToCookie,
  refreshSession,
  type Method,
  type SessionTokens,
} from '../services/auth/sessions.ts'
import {
  changeAddress,
  checkPassword,
  createConfirmedUser,
  holdPassword,
  holdProof,
  lockActiveUser,
  lockUserOfToken,
  requireProof,
  requireSignUp,
  setPassword,
  userBeforeUse,
  useToken,
} from '../services/auth/sign-in.ts'
import {
  checkSecondFactor,
  confirmTotp,
  makeRecoveryCodes,
  readTotp,
  removeTotp,
  startTotp,
  useSecondFactor,
  type SecondFactor,
} from '../services/auth/totp.ts'
import { queueMail, senderName } from '../services/mail/mails.ts'
import { requireRecentSignIn } from '../services/users/api-keys.ts'

export const auth = {
  async signUp({ body: { email, name } }, { db, config, cipher, mails }) {
    requireSignUp(config.signUp, email)
    await db.transaction((tx) => mailToken(tx, { cipher, mails }, { kind: 'sign_up', email, name }))
    return { status: 202, body: { email } }
  },

  async confirmEmail({ body: { token, password }, ip, headers }, services) {
    if (password !== undefined) await requireUncommon(password)
    const hash = password === undefined ? null : await hashPassword(password, networkOf(ip))
    return await services.db.transaction(async (tx) => {
      const row = await useToken(tx, token, 'sign_up')
      const userId = await createConfirmedUser(tx, services, row, hash)
      return await signedIn(tx, services, { userId, method: 'link', factor: null, ip, headers })
    })
  },

  async signIn({ body, ip, headers }, services) {
    const { db, cipher } = services
    if (body.method === 'passkey') return await signInWithPasskey(services, { ...body, ip, headers })
    const { code } = body
    if (body.method === 'password') {
      const checked = await checkPassword(db, body.email, body.password, ip)
      const { userId } = checked
      const factor = await checkSecondFactor(db, cipher, { userId, code, ip })
      return await db.transaction(async (tx) => {
        await holdPassword(tx, checked)
        return await signedIn(tx, services, { userId, method: 'password', factor, ip, headers })
      })
    }
    const { method, token } = body
    const asked = await userBeforeUse(db, token, method)
    const factor = await checkSecondFactor(db, cipher, { userId: asked, code, ip })
    return await db.transaction(async (tx) => {
      const userId = await lockUserOfToken(tx, await useToken(tx, token, method))
      return await signedIn(tx, services, { userId, method, factor, ip, headers })
    })
  },

  async refreshSession({ body, ip }, services) {
    return { status: 200, body: await refreshSession(services.db, services, body.refresh_token, { ip }) }
  },

  async moveSessionToCookie({ body, ip, headers }, services) {
    const { db, config } = services
    requireOwnPage(config, headers)
    const { session, cookie } = await moveToCookie(db, services, body.refresh_token, { ip })
    return { status: 200, body: session, headers: { 'set-cookie': sessionCookie(config, cookie) } }
  },

  async getCurrentSession({ principal }, { db }) {
    return { status: 200, body: await findOwnSession(db, principal.keyId, principal) }
  },

  async signOut({ principal, ifMatch }, { db, config, events, principals }) {
    const { keyId: id } = principal
    return await db.transaction(async (tx) => {
      ifMatch(await lockOwnSession(tx, id, principal))
      await endSession(tx, { events, principals }, id)
      return { status: 204, headers: { 'set-cookie': sessionCookie(config, null) } }
    })
  },

  async requestMagicLink({ body: { email } }, { db, cipher, mails }) {
    await db.transaction((tx) => mailToken(tx, { cipher, mails }, { kind: 'link', email }))
    return { status: 202, body: { email } }
  },

  async requestPasswordReset({ body: { email } }, { db, cipher, mails }) {
    await db.transaction((tx) => mailToken(tx, { cipher, mails }, { kind: 'password_reset', email }))
    return { status: 202, body: { email } }
  },

  async resetPassword({ body: { token, password, code }, ip, headers }, services) {
    const { db, cipher } = services
    await requireUncommon(password)
    const asked = await userBeforeUse(db, token, 'password_reset')
    const factor = await checkSecondFactor(db, cipher, { userId: asked, code, ip })
    const hash = await hashPassword(password, networkOf(ip))
    return await db.transaction(async (tx) => {
      const userId = await lockUserOfToken(tx, await useToken(tx, token, 'password_reset'))
      await setPassword(tx, services, await lockActiveUser(tx, userId), { hash, except: null })
      return await signedIn(tx, services, { userId, method: 'link', factor, ip, headers })
    })
  },

  async listSignIns({ principal, query }, { db }) {
    return { status: 200, body: await listSignIns(db, principal, query) }
  },

  async getSignIn({ principal, params: { id } }, { db }) {
    return { status: 200, body: await findOwnSession(db, id, principal) }
  },

  async endSignIn({ principal, params: { id }, ifMatch }, { db, events, principals }) {
    return await db.transaction(async (tx) => {
      ifMatch(await lockOwnSession(tx, id, principal))
      await endSession(tx, { events, principals }, id)
      return { status: 204 }
    })
  },

  async changePassword({ principal, body, ip }, services) {
    const proof = await requireProof(services.db, principal, body.current_password, ip)
    await requireUncommon(body.password)
    const hash = await hashPassword(body.password, networkOf(ip))
    await services.db.transaction(async (tx) => {
      const user = await holdProof(tx, principal, proof)
      await setPassword(tx, services, user, { hash, except: principal.keyId })
    })
    return { status: 204 }
  },

  async requestEmailChange({ principal, body, ip }, services) {
    const { db, cipher, mails } = services
    const { userId } = principal
    const proof = await requireProof(db, principal, body.current_password, ip)
    await db.transaction(async (tx) => {
      const { email } = await holdProof(tx, principal, proof)
      await replaceEmailChange(tx, { cipher, mails }, { email: body.email, userId })
      await queueMail(tx, { cipher, mails }, { kind: 'email_changed', recipient: email!, userId })
    })
    return { status: 202, body: { email: body.email } }
  },

  async confirmEmailChange({ principal, body }, services) {
    return await services.db.transaction(async (tx) => {
      const token = await useToken(tx, body.token, 'email_change')
      return { status: 200, body: await changeAddress(tx, services, principal, token) }
    })
  },

  async getTotp({ principal }, { db }) {
    return { status: 200, body: await readTotp(db, principal.userId) }
  },

  async startTotp({ principal }, { db, cipher, config }) {
    const { userId } = principal
    const issuer = senderName(config.mailFrom)
    return await db.transaction(async (tx) => {
      const { email } = await lockActiveUser(tx, userId)
      await requireRecentSignIn(tx, principal)
      return { status: 200, body: await startTotp(tx, cipher, { userId, email: email!, issuer }) }
    })
  },

  async confirmTotp({ principal, body: { code }, ip }, services) {
    const { userId, keyId } = principal
    const { db, cipher, events } = services
    const { codes, hashes } = await makeRecoveryCodes(userId, ip)
    return await db.transaction(async (tx) => {
      const { email } = await lockActiveUser(tx, userId)
      const previous = await readTotp(tx, userId)
      await confirmTotp(tx, cipher, userId, { code, hashes })
      await events.emit(tx, 'totp.enabled', await readTotp(tx, userId), { previous, userId })
      await endSessions(tx, services, userId, keyId)
      await queueMail(tx, services, { kind: 'second_factor_on', recipient: email!, userId })
      return { status: 200, body: { recovery_codes: codes } }
    })
  },

  async removeTotp({ principal, ifMatch }, services) {
    const { userId } = principal
    return await services.db.transaction(async (tx) => {
      const user = await lockActiveUser(tx, userId)
      await requireRecentSignIn(tx, principal)
      ifMatch(await readTotp(tx, userId))
      await removeTotp(tx, services, user)
      return { status: 204 }
    })
  },
} satisfies Handlers<'auth'>

interface NewSession {
  status: 201
  body: SessionTokens
  headers: { location: string }
}

interface SignedIn {
  userId: string
  method: 'password' | 'link' | 'oidc'
  /** Checked before the transaction; null for a user who had no second factor then. */
  factor: SecondFactor | null
  ip: string
  headers: object
}

/** Creates the session at the end of a sign-in. */
async function signedIn(
  tx: Db,
  services: HandlerServices,
  { userId, method, factor, ip, headers }: SignedIn,
): Promise<NewSession> {
  await useSecondFactor(tx, services, await lockActiveUser(tx, userId), factor, ip)
  const methods: Method[] = factor === null ? [method] : [method, factor.method]
  return await newSession(tx, services, { userId, methods, ip, headers })
}

/** A device asks for a PIN or a fingerprint, so a passkey needs no code. */
async function signInWithPasskey(
  services: HandlerServices,
  { credential, ip, headers }: { credential: PasskeyAssertion; ip: string; headers: object },
): Promise<NewSession> {
  const { db, config, publicUrl } = services
  const proof = await checkPasskey(db, config, publicUrl(), credential)
  const { userId } = proof
  return await db.transaction(async (tx) => {
    await lockActiveUser(tx, userId)
    await usePasskey(tx, proof)
    return await newSession(tx, services, { userId, methods: ['passkey'], ip, headers })
  })
}

async function newSession(
  tx: Db,
  services: HandlerServices,
  { headers, ...rest }: { userId: string; methods: Method[]; ip: string; headers: object },
): Promise<NewSession> {
  const body = await createSession(tx, services, { ...rest, userAgent: userAgentOf(headers) })
  return { status: 201, body, headers: { location: `/v1/user/sessions/${body.id}` } }
}

function userAgentOf(headers: object): string | null {
  return (headers as Record<string, string | undefined>)['user-agent'] ?? null
}
