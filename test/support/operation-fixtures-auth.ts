// Fixtures of the operations of sign-in.
import { randomBytes } from 'node:crypto'
import type { OperationId } from '../../generated/operations.ts'
import { Secret, TOTP } from 'otpauth'
import { confirmTotp, startTotp, type RecoveryCodes } from '../../services/auth/totp.ts'
import { createSession, type SessionTokens } from '../../services/auth/sessions.ts'
import { hashCode, hashPassword } from '../../services/auth/passwords.ts'
import { newOneTimeToken, tokenDigest } from '../../infra/encryption/tokens.ts'
import * as sql from '../../generated/sql/auth.ts'
import type { Mailed } from '../../services/auth/mailed-tokens.ts'
import { createUser } from './db-fixtures.ts'
import type { Fixture, FixtureContext, RequestBuilder } from './operation-fixture.ts'
import type { TestServer } from './server.ts'

export const password = 'correct horse battery staple'
const passwordHash = hashPassword(password, 'test')
const unknownToken = newOneTimeToken()

/** The domain that people of test servers can sign up with. */
export const newEmail = (domain = 'example.com'): string => `${randomBytes(6).toString('hex')}@${domain}`

export async function setPassword({ services }: TestServer, userId: string): Promise<void> {
  await sql.storePassword(services.database, { user_id: userId, hash: await passwordHash })
}

export async function createSignIn({ services }: TestServer, userId: string): Promise<SessionTokens> {
  const device = { ip: '127.0.0.1', userAgent: 'test' }
  return await services.database.transaction((tx) =>
    createSession(tx, services, { userId, methods: ['password'], ...device }),
  )
}

/** A token as if it had been sent by e-mail. */
export async function createOneTimeToken(
  { services }: TestServer,
  purpose: Mailed,
  { email, userId = null }: { email: string; userId?: string | null },
): Promise<string> {
  const token = newOneTimeToken()
  await sql.insertToken(services.database, {
    digest: tokenDigest(token),
    purpose,
    email,
    user_id: userId,
    name: purpose === 'sign_up' ? 'Ada Lovelace' : null,
    seconds: 3_600,
  })
  return token
}

/** With the access token of the caller's session. */
const withSession =
  (
    build: (context: FixtureContext) => Record<string, unknown> | undefined = () => undefined,
  ): RequestBuilder =>
  async (context) => ({
    key: (await createSignIn(context.server, context.caller.id)).access_token,
    body: build(context),
  })

/** The same for a user with a password. */
const withPassword =
  (body: () => Record<string, unknown>): RequestBuilder =>
  async (context) => {
    await setPassword(context.server, context.caller.id)
    return await withSession(body)(context)
  }

/** The code that the app shows, `steps` of 30 seconds later. */
export function codeOf(secret: string, steps = 0): string {
  return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + steps * 30_000 })
}

/** Two codes: hashing ten takes long. */
async function recoveryCodes(userId: string): Promise<RecoveryCodes> {
  const codes = ['22222-aaaaa', '22222-bbbbb']
  return { codes, hashes: await Promise.all(codes.map((code) => hashCode(code, userId, 'test'))) }
}

/** Turns the second factor on. @returns its secret and the recovery codes. */
export async function enableTotp(
  { services }: TestServer,
  userId: string,
): Promise<{ secret: string; codes: string[] }> {
  return await services.database.transaction(async (tx) => {
    await tx.prisma.userTotp.deleteMany({ where: { userId } })
    await tx.prisma.recoveryCode.deleteMany({ where: { userId } })
    const { secret } = await startTotp(tx, services.cipher, {
      userId,
      email: 'x@example.com',
      issuer: 'Test',
    })
    const { codes, hashes } = await recoveryCodes(userId)
    await confirmTotp(tx, services.cipher, userId, { code: codeOf(secret, -1), hashes })
    return { secret, codes }
  })
}

/** A caller with a second factor. */
const withTotp: RequestBuilder = async (context) => {
  await enableTotp(context.server, context.caller.id)
  return await withSession()(context)
}

const onSignIn: RequestBuilder = async ({ server, caller }) => ({
  params: { id: (await createSignIn(server, caller.id)).id },
})

const unknown =
  (body: object = {}): RequestBuilder =>
  () => ({ body: { ...body, token: unknownToken } })

export const authFixtures = {
  signUp: {
    build: () => ({ body: { email: newEmail(), name: 'Ada Lovelace' } }),
    byStatus: { 403: () => ({ body: { email: newEmail('elsewhere.example'), name: 'Eve' } }) },
  },
  confirmEmail: {
    build: async ({ server }) => ({
      body: { token: await createOneTimeToken(server, 'sign_up', { email: newEmail() }), password },
    }),
    byStatus: {
      401: unknown(),
      409: async ({ server, caller }) => ({
        body: { token: await createOneTimeToken(server, 'sign_up', { email: caller.email }) },
      }),
    },
  },
  signIn: {
    build: async ({ server, caller }) => {
      await setPassword(server, caller.id)
      return { body: { method: 'password', email: caller.email, password } }
    },
    byStatus: { 401: unknown({ method: 'link' }) },
  },
  refreshSession: {
    build: async ({ server }) => ({
      body: { refresh_token: (await createSignIn(server, await createUser(server))).refresh_token },
    }),
    byStatus: {
      401: () => ({
        body: { refresh_token: `plat_refresh_ses_01jd6y8m5qe8btc4y5w1r0n3fz.0.${'A'.repeat(43)}` },
      }),
    },
  },
  getCurrentSession: { build: withSession() },
  signOut: { build: withSession() },
  requestMagicLink: { build: () => ({ body: { email: newEmail() } }) },
  requestPasswordReset: { build: () => ({ body: { email: newEmail() } }) },
  resetPassword: {
    build: async ({ server, caller }) => ({
      body: { token: await createOneTimeToken(server, 'password_reset', { email: caller.email }), password },
    }),
    byStatus: { 401: unknown({ password }) },
  },
  changePassword: {
    build: withPassword(() => ({ password, current_password: password })),
  },
  requestEmailChange: { build: withPassword(() => ({ email: newEmail(), current_password: password })) },
  confirmEmailChange: {
    build: async (context) => {
      const { server, caller } = context
      const fields = { email: newEmail(), userId: caller.id }
      const token = await createOneTimeToken(server, 'email_change', fields)
      return await withSession(() => ({ token }))(context)
    },
    byStatus: {
      401: withSession(() => ({ token: unknownToken })),
      409: async (context) => {
        const { server, caller } = context
        const fields = { email: server.admin.email, userId: caller.id }
        const token = await createOneTimeToken(server, 'email_change', fields)
        return await withSession(() => ({ token }))(context)
      },
    },
  },
  getTotp: {
    build: async ({ server, caller }) => {
      await enableTotp(server, caller.id)
      return {}
    },
  },
  startTotp: { build: withSession(), byStatus: { 409: withTotp } },
  removeTotp: { build: withTotp },
  confirmTotp: {
    build: async (context) => {
      const { database, cipher } = context.server.services
      const { id: userId, email } = context.caller
      await database.prisma.userTotp.deleteMany({ where: { userId } })
      const { secret } = await startTotp(database, cipher, { userId, email, issuer: 'Test' })
      return await withSession(() => ({ code: codeOf(secret) }))(context)
    },
    byStatus: { 409: withSession(() => ({ code: '123456' })) },
  },
  listSignIns: {
    build: async ({ server, caller }) => {
      await createSignIn(server, caller.id)
      return {}
    },
  },
  getSignIn: { build: onSignIn },
  endSignIn: { build: onSignIn },
} satisfies Partial<Record<OperationId, Fixture>>
