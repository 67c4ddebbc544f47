// Sign-up, sign-in and the sessions of a user.
import type { Handlers } from '../services/handler.ts'
import { mailToken } from '../services/auth/mailed-tokens.ts'
import { hashPassword, requireUncommon } from '../services/auth/passwords.ts'
import {
  createSession,
  endSession,
  listSignIns,
  refreshSession,
  findOwnSession,
  lockOwnSession,
} from '../services/auth/sessions.ts'
import {
  checkPassword,
  confirmAddress,
  holdPassword,
  requirePassword,
  requireSignUp,
  setPassword,
  userOfToken,
  useToken,
} from '../services/auth/sign-in.ts'
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
    return await services.db.transaction(async (tx) => {
      const token = await useToken(tx, body.token, ['sign_up', 'email_change'])
      const userId = await confirmAddress(tx, services, token)
      const device = { ip, userAgent: userAgentOf(headers) }
      return created(await createSession(tx, services, { userId, method: 'link', ...device }))
    })
  },

  async signIn({ body, ip, headers }, services) {
    const { db } = services
    const device = { ip, userAgent: userAgentOf(headers) }
    if (body.method === 'password') {
      const checked = await checkPassword(db, body.email, body.password, ip)
      return await db.transaction(async (tx) => {
        await holdPassword(tx, checked)
        const { userId } = checked
        return created(await createSession(tx, services, { userId, method: 'password', ...device }))
      })
    }
    const { token } = body
    return await db.transaction(async (tx) => {
      const userId = await userOfToken(tx, await useToken(tx, token, ['link']))
      return created(await createSession(tx, services, { userId, method: 'link', ...device }))
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
    await requireUncommon(body.password)
    const hash = await hashPassword(body.password, networkOf(ip))
    return await services.db.transaction(async (tx) => {
      const userId = await userOfToken(tx, await useToken(tx, body.token, ['password_reset']))
      await setPassword(tx, services, { userId, hash, except: null })
      const device = { ip, userAgent: userAgentOf(headers) }
      return created(await createSession(tx, services, { userId, method: 'link', ...device }))
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
} satisfies Handlers<'auth'>

type Tokens = Awaited<ReturnType<typeof createSession>>

function created(body: Tokens): { status: 201; body: Tokens; headers: { location: string } } {
  return { status: 201, body, headers: { location: `/v1/user/sessions/${body.id}` } }
}

function userAgentOf(headers: object): string | null {
  return (headers as Record<string, string | undefined>)['user-agent'] ?? null
}
