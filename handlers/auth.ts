// Sign-up, sign-in, the second factor, and the sessions of a user.
import { tokenDigest } from '../infra/encryption/tokens.ts'
import { networkOf } from '../services/users/client-network.ts'
import type { Handlers, Request } from '../services/handler.ts'
import { mailToken, replaceEmailChange } from '../services/auth/tokens/mailed-tokens.ts'
import { requireOwnPage, sessionCookie, withoutCookie } from '../services/auth/sessions/cookies.ts'
import { hashPassword, requireUncommon } from '../services/auth/passwords/hash.ts'
import {
  confirmSignUp,
  resetPassword,
  signInWithPasskey,
  signInWithPassword,
  signInWithToken,
} from '../services/auth/sessions/new-sessions.ts'
import {
  deviceOf,
  endSession,
  endSessions,
  findOwnSession,
  listSignIns,
  lockOwnSession,
  moveToCookie,
  refreshSession,
  type RefreshRequest,
  type SessionTokens,
} from '../services/auth/sessions/sessions.ts'
import { introspect } from '../services/auth/introspection.ts'
import { changeAddress, setPassword } from '../services/auth/account-changes.ts'
import { holdProof, requireProof } from '../services/auth/passwords/proof.ts'
import { lockActiveUser } from '../services/users/users.ts'
import { requireSignUp } from '../services/auth/sign-up.ts'
import { useToken } from '../services/auth/tokens/one-time-tokens.ts'
import { confirmTotp, makeRecoveryCodes, readTotp, removeTotp, startTotp } from '../services/auth/totp.ts'
import { alertUser, senderName } from '../services/mail/mails.ts'
import { requireRecentSignIn } from '../services/users/api-keys.ts'

export const auth = {
  async signUp({ body: { email, name } }, { db, config, cipher, mails }) {
    requireSignUp(config.signUp, email)
    await db.transaction((tx) => mailToken(tx, { cipher, mails }, { kind: 'sign_up', email, name }))
    return { status: 202, body: { email } }
  },

  async confirmEmail({ body, ...request }, services) {
    return created(await confirmSignUp(services, body, deviceOf(request, body)))
  },

  async signIn({ body, ...request }, services) {
    const device = deviceOf(request, body)
    switch (body.method) {
      case 'password':
        return created(await signInWithPassword(services, body, device))
      case 'passkey':
        return created(await signInWithPasskey(services, body.credential, device))
      default:
        return created(await signInWithToken(services, body, device))
    }
  },

  async refreshSession({ body, ip, identify }, services) {
    const asked = refreshOf(body)
    return { status: 200, body: await refreshSession(services.db, services, asked, { ip, identify }) }
  },

  async moveSessionToCookie({ body, headers, ip, identify }, services) {
    const { db, config } = services
    requireOwnPage(config, headers)
    const { session, cookie } = await moveToCookie(db, services, refreshOf(body), { ip, identify })
    return { status: 200, body: session, headers: { 'set-cookie': sessionCookie(config, cookie) } }
  },

  // RFC 7662, 2.1: a server may ignore the hint.
  async introspectToken({ body: { token, token_type_hint: _hint } }, services) {
    return { status: 200, body: await introspect(services, token) }
  },

  async getCurrentSession({ principal }, { db }) {
    return { status: 200, body: await findOwnSession(db, principal.credentialId, principal) }
  },

  async signOut({ principal, headers, ifMatch }, { db, config, events, principals }) {
    const { credentialId: id } = principal
    return await db.transaction(async (tx) => {
      ifMatch(await lockOwnSession(tx, id, principal))
      await endSession(tx, { events, principals }, id)
      return { status: 204, ...withoutCookie(config, headers) }
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

  async resetPassword({ body, ...request }, services) {
    return created(await resetPassword(services, body, deviceOf(request, body)))
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
    const proof = await requireProof(services, principal, body.current_password, ip)
    await requireUncommon(body.password)
    const hash = await hashPassword(body.password, networkOf(ip))
    await services.db.transaction(async (tx) => {
      const user = await holdProof(tx, principal, proof)
      await setPassword(tx, services, user, { hash, except: principal.credentialId })
    })
    return { status: 204 }
  },

  async requestEmailChange({ principal, body, ip }, services) {
    const { db, cipher, mails } = services
    const { userId } = principal
    const proof = await requireProof(services, principal, body.current_password, ip)
    await db.transaction(async (tx) => {
      await holdProof(tx, principal, proof)
      await replaceEmailChange(tx, { cipher, mails }, { email: body.email, userId })
      await alertUser(tx, { cipher, mails }, 'email_changed', userId)
    })
    return { status: 202, body: { email: body.email } }
  },

  async confirmEmailChange({ principal, body }, services) {
    return await services.db.transaction(async (tx) => {
      const token = await useToken(tx, 'email_change', tokenDigest(body.token))
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
    const { userId, credentialId } = principal
    const { db, cipher, events } = services
    const { codes, hashes } = await makeRecoveryCodes(userId, ip)
    return await db.transaction(async (tx) => {
      await lockActiveUser(tx, userId)
      const previous = await readTotp(tx, userId)
      await confirmTotp(tx, cipher, userId, { code, hashes })
      await events.emit(tx, 'totp.enabled', await readTotp(tx, userId), { previous, userId })
      await endSessions(tx, services, userId, credentialId)
      await alertUser(tx, services, 'second_factor_on', userId)
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

function refreshOf({ refresh_token: token, ...limits }: Request<'refreshSession'>['body']): RefreshRequest {
  return { token, limits }
}

function created(body: SessionTokens) {
  return { status: 201 as const, body, headers: { location: `/v1/user/sessions/${body.id}` } }
}
