// Fixtures of the operations of sign-in.
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { OperationId } from '../../../generated/operations.ts'
import { Secret, TOTP } from 'otpauth'
import { confirmTotp, startTotp, type RecoveryCodes } from '../../../services/auth/totp.ts'
import {
  createSession,
  type AskedLimits,
  type SessionTokens,
} from '../../../services/auth/sessions/sessions.ts'
import { hashCode, hashPassword } from '../../../services/auth/passwords/hash.ts'
import { newCookieToken, newOneTimeToken, tokenDigest } from '../../../infra/encryption/tokens.ts'
import * as sql from '../../../generated/sql/auth.ts'
import { addPasskey, startRegistration, verifyRegistration } from '../../../services/auth/passkeys.ts'
import { createOidcProviders, encryptFlow } from '../../../services/auth/oidc/oidc.ts'
import type { TokenPurpose } from '../../../services/auth/tokens/mailed-tokens.ts'
import { newId } from '../../../infra/ids.ts'
import { Lazy } from '../../../infra/concurrency/lazy.ts'
import { createExport, createInvitation, createProject, createUser } from '../database/db-fixtures.ts'
import { PasskeyDevice } from '../auth/passkey-device.ts'
import type { Fixture, FixtureContext, RequestBuilder } from './operation-fixture.ts'
import type { TestServer } from '../server/server.ts'

export const password = 'correct horse battery staple'
const passwordHash = hashPassword(password, 'test')
const unknownToken = newOneTimeToken()
const unknownRefreshToken = `plat_refresh_ses_01jd6y8m5qe8btc4y5w1r0n3fz.0.${'A'.repeat(43)}`

/** The domain that people of test servers can sign up with. */
export const newEmail = (domain = 'example.com'): string => `${randomBytes(6).toString('hex')}@${domain}`

export async function setPassword({ services }: TestServer, userId: string): Promise<void> {
  await sql.storePassword(services.database, { user_id: userId, hash: await passwordHash })
}

export async function createSignIn(
  { services }: TestServer,
  userId: string,
  limits: AskedLimits = {},
): Promise<SessionTokens> {
  const device = { ip: '127.0.0.1', userAgent: 'test', limits }
  return await services.database.transaction((tx) =>
    createSession(tx, services, { userId, methods: ['password'], ...device }),
  )
}

/** Moves the refreshes of a session 30 seconds back: its old refresh tokens no longer have a successor. */
export async function ageRefreshes({ services }: TestServer, id: string): Promise<void> {
  const { signIn } = services.database.prisma
  const { refreshedAt } = await signIn.findUniqueOrThrow({ where: { id } })
  const earlier = refreshedAt.map((time) => new Date(time.getTime() - 30_000))
  await signIn.update({ where: { id }, data: { refreshedAt: earlier } })
}

/** A token as if it had been sent by e-mail. */
export async function createOneTimeToken(
  { services }: TestServer,
  purpose: TokenPurpose,
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

/** With the access token of a session, for a caller with a password. */
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

/** A provider that every test server knows as `local`. It serves its metadata only. */
const issuer = new Lazy(async () => {
  const server = createServer((_request, response) => {
    const metadata = {
      issuer: url,
      authorization_endpoint: `${url}/authorize`,
      token_endpoint: `${url}/token`,
      jwks_uri: `${url}/jwks`,
    }
    response.setHeader('content-type', 'application/json').end(JSON.stringify(metadata))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  server.unref()
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const setting = {
    name: 'local',
    issuer: url,
    clientId: 'test',
    clientSecret: 'test',
    verifiedEmails: false,
  }
  return createOidcProviders([setting], () => {})
})

/** The operations that need an identity provider. */
export const providerOperations: OperationId[] = ['startOidcSignIn', 'finishOidcSignIn']

const withProvider =
  (build: RequestBuilder): RequestBuilder =>
  async (context) => {
    const { find } = await issuer.get()
    context.server.services.oidcProviders.find = find
    return await build(context)
  }

/** A provider that no server listens for. */
const deadProvider = createOidcProviders(
  [{ name: 'dead', issuer: 'http://127.0.0.1:9', clientId: 'x', clientSecret: 'x', verifiedEmails: false }],
  () => {},
)
const withDeadProvider =
  (build: RequestBuilder): RequestBuilder =>
  async (context) => {
    context.server.services.oidcProviders.find = deadProvider.find
    return await build(context)
  }

const unknownProvider = (query: Record<string, string>): RequestBuilder =>
  withProvider(() => ({ params: { provider: 'unknown' }, query }))

/** The cookie of a browser that has begun a sign-in on a page, by default that of the server. */
function beganSignIn({ server }: FixtureContext, provider = 'local', page?: string): string {
  const flow = { provider, state: 'state', nonce: 'nonce', verifier: 'a'.repeat(43) }
  const goal = { redirectTo: page ?? `${server.url}/sign-in/token`, challenge: null }
  const rest = { ...goal, expiresAt: Date.now() + 60_000 }
  return `oidc=${encryptFlow(server.services.cipher, { ...flow, ...rest })}`
}

export async function createIdentity({ server, caller }: FixtureContext): Promise<string> {
  const id = newId('idn')
  await sql.insertIdentity(server.services.database, {
    id,
    user_id: caller.id,
    provider: 'local',
    subject: id,
    email: caller.email,
    created_at: new Date().toISOString(),
  })
  return id
}

/** A device whose passkeys are for this machine, as those of test servers are. */
export const newDevice = ({ url }: TestServer): PasskeyDevice =>
  new PasskeyDevice(`http://localhost:${new URL(url).port}`)

/** The answer of a device to a new challenge of the caller. */
export async function newCredential({ server, caller }: FixtureContext, device: PasskeyDevice) {
  const { database, config } = server.services
  const { id } = caller
  const user = await database.prisma.user.findUniqueOrThrow({ where: { id } })
  return device.create(await startRegistration(database, config, user))
}

export async function createPasskey(
  context: FixtureContext,
  device = newDevice(context.server),
): Promise<string> {
  const { services, url } = context.server
  const { id: userId } = context.caller
  const { database, config } = services
  const answer = await newCredential(context, device)
  const passkey = await verifyRegistration(database, config, { userId, answer })
  const user = await database.prisma.user.findUniqueOrThrow({ where: { id: userId } })
  const added = await database.transaction((tx) =>
    addPasskey(tx, { ...services, filesUrl: () => url }, user, { name: 'Phone', passkey }),
  )
  return added.id
}

/** The request of `build`, with the access token of the caller's session. */
const signedIn =
  (build: RequestBuilder): RequestBuilder =>
  async (context) => ({ ...(await build(context)), ...(await withSession()(context)), body: undefined })

const onPasskey: RequestBuilder = async (context) => ({ params: { id: await createPasskey(context) } })
const onIdentity: RequestBuilder = async (context) => ({ params: { id: await createIdentity(context) } })

const onExport: RequestBuilder = async ({ server, caller: { id } }) => {
  await createExport(server, id)
  return {}
}

const onSignIn: RequestBuilder = async ({ server, caller }) => ({
  params: { id: (await createSignIn(server, caller.id)).id },
})

const unknown =
  (body: object = {}): RequestBuilder =>
  () => ({ body: { ...body, token: unknownToken } })

const fromElsewhere = { origin: 'https://elsewhere.example' }

/** The cookie of a browser that signed in some minutes ago. */
export async function browserCookie(
  { services }: TestServer,
  userId: string,
  minutesAgo = 0,
): Promise<{ cookie: string }> {
  const device = { ip: '127.0.0.1', userAgent: 'test', inCookie: true }
  const { id } = await services.database.transaction((tx) =>
    createSession(tx, services, { userId, methods: ['password'], ...device }),
  )
  const createdAt = new Date(Date.now() - minutesAgo * 60_000)
  if (minutesAgo > 0) await services.database.prisma.signIn.update({ where: { id }, data: { createdAt } })
  return { cookie: `session=${newCookieToken(services.cipher, id)}` }
}

const inBrowser =
  (build: RequestBuilder = () => ({}), minutesAgo = 0): RequestBuilder =>
  async (context) => ({
    ...(await build(context)),
    headers: await browserCookie(context.server, context.caller.id, minutesAgo),
  })

const passkeyForm: RequestBuilder = async (context) => ({ body: { passkey: await createPasskey(context) } })
const identityForm: RequestBuilder = async (context) => ({
  body: { identity: await createIdentity(context) },
})

/** The page of an invitation of the caller, and the form that accepts it. */
const invitationPage =
  ({
    form = false,
    status = 'active',
  }: { form?: boolean; status?: 'active' | 'archived' } = {}): RequestBuilder =>
  async (context) => {
    const project = await createProject({ ...context, role: 'none' }, status)
    const id = await createInvitation(context.server, project, context.caller.email)
    return { params: { id }, ...(form && { body: { answer: 'accept' } }) }
  }

const unknownInvitation =
  (body?: Record<string, unknown>): RequestBuilder =>
  () => ({ params: { id: 'inv_01jd6y8m5qe8btc4y5w1r0n3fz' }, body })

const form = (body: RequestBuilder) => ({
  build: body,
  byStatus: { 403: () => ({ headers: fromElsewhere, body: {} }), 422: () => ({ body: {} }) },
})

const pageFixtures = {
  showSignInPage: { build: () => ({}) },
  submitSignIn: form(async ({ server, caller }) => {
    await setPassword(server, caller.id)
    return { body: { email: caller.email, password } }
  }),
  showSignUpPage: { build: () => ({}) },
  submitSignUp: form(() => ({ body: { email: newEmail(), name: 'Ada Lovelace' } })),
  showSignInHelp: { build: () => ({}) },
  submitSignInHelp: form(() => ({ body: { email: newEmail(), send: 'link' } })),
  showTokenPage: { build: () => ({ query: { kind: 'link', token: unknownToken } }) },
  submitToken: form(async ({ server, caller }) => ({
    body: { kind: 'link', token: await createOneTimeToken(server, 'link', { email: caller.email }) },
  })),
  showAccountPage: { build: inBrowser(), byStatus: { 303: () => ({}) } },
  submitSignOut: {
    build: inBrowser(() => ({ body: { session: 'ses_01jd6y8m5qe8btc4y5w1r0n3fz' } })),
    byStatus: { 403: () => ({ headers: fromElsewhere, body: {} }) },
  },
  submitPasskeyRemoval: {
    build: inBrowser(passkeyForm),
    byStatus: { 403: () => ({ headers: fromElsewhere, body: {} }), 422: inBrowser(passkeyForm, 11) },
  },
  submitIdentityRemoval: {
    build: inBrowser(identityForm),
    byStatus: { 403: () => ({ headers: fromElsewhere, body: {} }), 422: inBrowser(identityForm, 11) },
  },
  showInvitationPage: {
    build: inBrowser(invitationPage()),
    byStatus: { 303: unknownInvitation(), 404: inBrowser(unknownInvitation()) },
  },
  submitInvitation: {
    build: inBrowser(invitationPage({ form: true })),
    byStatus: {
      403: async (context) => ({ ...(await unknownInvitation({})(context)), headers: fromElsewhere }),
      404: inBrowser(unknownInvitation({ answer: 'accept' })),
      422: inBrowser(invitationPage({ form: true, status: 'archived' })),
    },
  },
} satisfies Partial<Record<OperationId, Fixture>>

export const authFixtures = {
  ...pageFixtures,
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
      403: async ({ server }) => ({
        body: {
          token: await createOneTimeToken(server, 'sign_up', { email: newEmail() }),
          scopes: ['admin'],
        },
      }),
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
    byStatus: {
      401: unknown({ method: 'link' }),
      403: async ({ server }) => {
        const { email } = await server.person()
        const token = await createOneTimeToken(server, 'link', { email })
        return { body: { method: 'link', token, scopes: ['admin'] } }
      },
    },
  },
  refreshSession: {
    build: async ({ server }) => ({
      body: { refresh_token: (await createSignIn(server, await createUser(server))).refresh_token },
    }),
    byStatus: {
      401: () => ({ body: { refresh_token: unknownRefreshToken } }),
      403: async ({ server }) => {
        const { refresh_token } = await createSignIn(server, await createUser(server))
        return { body: { refresh_token, scopes: ['admin'] } }
      },
    },
  },
  moveSessionToCookie: {
    build: async ({ server }) => ({
      body: { refresh_token: (await createSignIn(server, await createUser(server))).refresh_token },
    }),
    byStatus: {
      401: () => ({ body: { refresh_token: unknownRefreshToken } }),
      403: () => ({
        headers: { origin: 'https://elsewhere.example' },
        body: { refresh_token: unknownRefreshToken },
      }),
    },
  },
  startOidcSignIn: {
    build: withProvider(({ server }) => ({
      params: { provider: 'local' },
      query: { redirect_to: `${server.url}/sign-in/token` },
    })),
    byStatus: {
      404: unknownProvider({}),
      503: withDeadProvider(({ server }) => ({
        params: { provider: 'dead' },
        query: { redirect_to: `${server.url}/sign-in/token` },
      })),
    },
  },
  finishOidcSignIn: {
    build: withProvider((context) => ({
      params: { provider: 'local' },
      query: { state: 'state', error: 'access_denied' },
      headers: { cookie: beganSignIn(context) },
    })),
    byStatus: {
      401: withProvider(() => ({ params: { provider: 'local' }, query: { state: 'state', code: 'code' } })),
      404: unknownProvider({ state: 'state' }),
      503: withDeadProvider((context) => ({
        params: { provider: 'dead' },
        query: { state: 'state', code: 'code' },
        headers: { cookie: beganSignIn(context, 'dead', 'https://app.example.com/') },
      })),
    },
  },
  listIdentities: {
    build: async (context) => {
      await createIdentity(context)
      return {}
    },
  },
  getIdentity: { build: onIdentity },
  removeIdentity: { build: signedIn(onIdentity) },
  startPasskeySignIn: { build: () => ({}) },
  startPasskey: { build: withSession() },
  listPasskeys: {
    build: async (context) => {
      await createPasskey(context)
      return {}
    },
  },
  addPasskey: {
    build: async (context) => {
      const credential = await newCredential(context, newDevice(context.server))
      return await withSession(() => ({ name: 'Phone', credential }))(context)
    },
    byStatus: {
      409: async (context) => {
        const device = newDevice(context.server)
        await createPasskey(context, device)
        const credential = await newCredential(context, device)
        return await withSession(() => ({ name: 'Phone', credential }))(context)
      },
    },
  },
  getPasskey: { build: onPasskey },
  updatePasskey: {
    build: async (context) => ({ ...(await signedIn(onPasskey)(context)), body: { name: 'Laptop' } }),
  },
  removePasskey: { build: signedIn(onPasskey) },
  introspectToken: {
    build: async ({ server, caller }) => ({
      body: { token: (await createSignIn(server, caller.id)).access_token },
    }),
  },
  getCurrentSession: { build: withSession() },
  signOut: { build: withSession() },
  getCurrentUser: { build: () => ({}) },
  exportAccount: { build: () => ({}) },
  getAccountExport: { build: onExport, byStatus: { 404: () => ({}) } },
  downloadAccountExport: { build: onExport, byStatus: { 404: () => ({}) } },
  deleteCurrentUser: {
    build: withSession(),
    byStatus: {
      409: async (context) => {
        await context.caller.client.post('/projects', { name: 'Mine alone' })
        return await withSession()(context)
      },
    },
  },
  requestMagicLink: { build: () => ({ body: { email: newEmail() } }) },
  requestPasswordReset: { build: () => ({ body: { email: newEmail() } }) },
  resetPassword: {
    build: async ({ server, caller }) => ({
      body: { token: await createOneTimeToken(server, 'password_reset', { email: caller.email }), password },
    }),
    byStatus: {
      401: unknown({ password }),
      403: async ({ server }) => {
        const { email } = await server.person()
        const token = await createOneTimeToken(server, 'password_reset', { email })
        return { body: { token, password, scopes: ['admin'] } }
      },
    },
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
      const { secret } = await database.transaction((tx) =>
        startTotp(tx, cipher, { userId, email, issuer: 'Test' }),
      )
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
