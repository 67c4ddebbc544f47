// Sign-up, sign-in and the sessions of a user.
import type { Db } from '../infra/database/database.ts'
import type { Handlers, HandlerServices } from '../services/handler.ts'
import { mailToken, type Mailed } from '../services/auth/mailed-tokens.ts'
import { hashPassword, requireUncommon } from '../services/auth/passwords.ts'
import {
  createSession,
  endSession,
  endSessions,
  listSignIns,
  refreshSession,
  findOwnSession,
  lockOwnSession,
  type Method,
  type SessionTokens,
} from '../services/auth/sessions.ts'
import {
  checkPassword,
  confirmAddress,
  holdPassword,
  requirePassword,
  requireSignUp,
  setPassword,
  userBeforeUse,
  userOfToken,
  useToken,
} from '../services/auth/sign-in.ts'
import {
  checkSecondFactor,
  confirmTotp,
  readTotp,
  removeTotp,
  requireRecentSignIn,
  startTotp,
  useSecondFactor,
  type SecondFactor,
} from '../services/auth/totp.ts'
import { queueMail } from '../services/mail/mails.ts'
import { networkOf } from '../infra/network.ts'

export const auth = {
  async signUp({ body, ip }, { db, config, cipher, mails }) {
    const { email, name, password } = body
    requireSignUp(config.signUp, email)
    if (password !== undefined) await requireUncommon(password)
    const passwordHash = password === undefined ? null : await hashPassword(password, networkOf(ip))
    await db.transaction((tx) =>
      mailToken(tx, { cipher, mails }, { kind: 'sign_up', email, name, passwordHash }),
    )
    return { status: 202, body: { email } }
  },

  async confirmEmail({ body, ip, headers }, services) {
    const purposes: Mailed[] = ['sign_up', 'email_change']
    const user = await userBeforeUse(services.db, body.token, purposes)
    const factor = await secondFactor(services, user, body.code, ip)
    return await services.db.transaction(async (tx) => {
      const userId = await confirmAddress(tx, services, await useToken(tx, body.token, purposes))
      return await signedIn(tx, services, { userId, method: 'link', factor, ip, headers })
    })
  },

  async signIn({ body, ip, headers }, services) {
    const { db } = services
    if (body.method === 'password') {
      const checked = await checkPassword(db, body.email, body.password, ip)
      const { userId } = checked
      const factor = await secondFactor(services, userId, body.code, ip)
      return await db.transaction(async (tx) => {
        await holdPassword(tx, checked)
        return await signedIn(tx, services, { userId, method: 'password', factor, ip, headers })
      })
    }
    const { token } = body
    const factor = await secondFactor(services, await userBeforeUse(db, token, ['link']), body.code, ip)
    return await db.transaction(async (tx) => {
      const userId = await userOfToken(tx, await useToken(tx, token, ['link']))
      return await signedIn(tx, services, { userId, method: 'link', factor, ip, headers })
    })
  },

  async refreshSession({ body, ip, headers }, services) {
    const device = { ip, userAgent: userAgentOf(headers) }
    return { status: 200, body: await refreshSession(services.db, services, body.refresh_token, device) }
  },

  async getCurrentSession({ principal }, { db }) {
    return { status: 200, body: await findOwnSession(db, principal.keyId, principal) }
  },

  async signOut({ principal, ifMatch }, { db, events, principals }) {
    const { keyId: id } = principal
    return await db.transaction(async (tx) => {
      ifMatch(await lockOwnSession(tx, id, principal))
      await endSession(tx, { events, principals }, id)
      return { status: 204 }
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

  async resetPassword({ body, ip, headers }, services) {
    const { db } = services
    await requireUncommon(body.password)
    const user = await userBeforeUse(db, body.token, ['password_reset'])
    const factor = await secondFactor(services, user, body.code, ip)
    const hash = await hashPassword(body.password, networkOf(ip))
    return await db.transaction(async (tx) => {
      const userId = await userOfToken(tx, await useToken(tx, body.token, ['password_reset']))
      await setPassword(tx, services, { userId, hash, except: null })
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
    const { db } = services
    const { userId, keyId: sessionId } = principal
    await requirePassword(db, { userId, sessionId, password: body.current_password, ip })
    await requireUncommon(body.password)
    const hash = await hashPassword(body.password, networkOf(ip))
    await db.transaction((tx) => setPassword(tx, services, { userId, hash, except: sessionId }))
    return { status: 204 }
  },

  async requestEmailChange({ principal, body, ip }, services) {
    const { db, cipher, mails } = services
    const { userId, keyId: sessionId } = principal
    const { email, current_password: password } = body
    const address = await requirePassword(db, { userId, sessionId, password, ip })
    await db.transaction(async (tx) => {
      await mailToken(tx, { cipher, mails }, { kind: 'email_change', email, userId })
      await queueMail(tx, { cipher, mails }, { kind: 'email_changed', recipient: address, userId })
    })
    return { status: 202, body: { email } }
  },

  async getTotp({ principal }, { db }) {
    return { status: 200, body: await readTotp(db, principal.userId) }
  },

  async startTotp({ principal }, { db, cipher, config }) {
    const { userId, keyId } = principal
    await requireRecentSignIn(db, keyId)
    const { email } = await db.prisma.user.findUniqueOrThrow({ where: { id: userId } })
    const issuer = nameOf(config.mailFrom)
    return { status: 200, body: await startTotp(db, cipher, { userId, email: email!, issuer }) }
  },

  async confirmTotp({ principal, body }, services) {
    const { userId, keyId } = principal
    return await services.db.transaction(async (tx) => {
      const previous = await readTotp(tx, userId)
      const codes = await confirmTotp(tx, services.cipher, userId, body.code)
      await services.events.emit(tx, 'totp.enabled', await readTotp(tx, userId), { previous, userId })
      await endSessions(tx, services, userId, keyId)
      return { status: 200, body: { recovery_codes: codes } }
    })
  },

  async removeTotp({ principal, ifMatch }, { db, events }) {
    const { userId, keyId } = principal
    await requireRecentSignIn(db, keyId)
    return await db.transaction(async (tx) => {
      const previous = await readTotp(tx, userId)
      ifMatch(previous)
      await removeTotp(tx, userId)
      const totp = await readTotp(tx, userId)
      if (previous.enabled) await events.emit(tx, 'totp.removed', totp, { previous, userId })
      return { status: 204 }
    })
  },
} satisfies Handlers<'auth'>

/** The second factor of a user who has one. A new account has none. */
async function secondFactor(
  { db, cipher }: Pick<HandlerServices, 'db' | 'cipher'>,
  userId: string | null,
  code: string | undefined,
  ip: string,
): Promise<SecondFactor | null> {
  return userId === null ? null : await checkSecondFactor(db, cipher, { userId, code, ip })
}

interface SignedIn {
  userId: string
  method: 'password' | 'link'
  factor: SecondFactor | null
  ip: string
  headers: object
}

/** Creates the session at the end of a sign-in. */
async function signedIn(
  tx: Db,
  services: HandlerServices,
  { userId, method, factor, ip, headers }: SignedIn,
): Promise<{ status: 201; body: SessionTokens; headers: { location: string } }> {
  if (factor !== null) await useSecondFactor(tx, factor, ip)
  const methods: Method[] = factor === null ? [method] : [method, factor.method]
  const userAgent = userAgentOf(headers)
  const body = await createSession(tx, services, { userId, methods, ip, userAgent })
  return { status: 201, body, headers: { location: `/v1/user/sessions/${body.id}` } }
}

function userAgentOf(headers: object): string | null {
  return (headers as Record<string, string | undefined>)['user-agent'] ?? null
}

/** The name in MAIL_FROM, by which people know the platform. */
function nameOf(sender: string): string {
  return sender.replace(/<.*/, '').trim() || 'Platform'
}
