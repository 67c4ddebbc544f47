// Where identity providers put the address and whether it is verified: in the ID token, at the userinfo
// endpoint, or one in each. Each row has a provider of its own.
import t from 'tap'
import { createClient } from '../support/http/client.ts'
import { BrowserJar } from '../support/auth/browser-jar.ts'
import { startHostileProvider, type Lies } from '../support/auth/hostile-provider.ts'
import { newEmail } from '../support/operations/operation-fixtures-auth.ts'
import { startServer } from '../support/server/server.ts'

const page = 'https://app.example.com/sign-in'
const email = newEmail()
const verified = { email, email_verified: true }
const silent = { email: undefined, email_verified: undefined }
const unasked = { userInfo: 500 }

interface Row {
  /** The claims of the ID token about the address. */
  token: object
  /** Those of the userinfo endpoint, or its status; undefined for a provider without one. */
  userInfo?: object | number
  /** Whether the person signs in, or the error. */
  expected: 'signed in' | 'email_not_verified' | 401 | 503
}

const rows: Record<string, Row & { asked?: boolean }> = {
  'all in the ID token': { token: verified, ...unasked, expected: 'signed in', asked: false },
  'all in the ID token, "true"': {
    token: { email, email_verified: 'true' },
    ...unasked,
    expected: 'signed in',
    asked: false,
  },
  'the ID token denies it': {
    token: { email, email_verified: false },
    userInfo: verified,
    expected: 'email_not_verified',
    asked: false,
  },
  'all at userinfo': { token: silent, userInfo: verified, expected: 'signed in' },
  'all at userinfo, "true"': {
    token: silent,
    userInfo: { email, email_verified: 'true' },
    expected: 'signed in',
  },
  'email null in the ID token': {
    token: { email: null, email_verified: undefined },
    userInfo: verified,
    expected: 'signed in',
  },
  'both null in the ID token': {
    token: { email: null, email_verified: null },
    userInfo: verified,
    expected: 'signed in',
  },
  'no address in the ID token': {
    token: { email: '', email_verified: undefined },
    userInfo: verified,
    expected: 'signed in',
  },
  'email in both, verified at userinfo': {
    token: { email, email_verified: undefined },
    userInfo: { email: email.toUpperCase(), email_verified: true },
    expected: 'signed in',
  },
  'email in both, verified null in the ID token': {
    token: { email, email_verified: null },
    userInfo: verified,
    expected: 'signed in',
  },
  'email in both, userinfo denies it': {
    token: { email, email_verified: undefined },
    userInfo: { email, email_verified: false },
    expected: 'email_not_verified',
  },
  'verified in neither': {
    token: { email, email_verified: undefined },
    userInfo: { email },
    expected: 'email_not_verified',
  },
  'another address at userinfo': {
    token: { email, email_verified: undefined },
    userInfo: { email: newEmail(), email_verified: true },
    expected: 'email_not_verified',
  },
  'verified at userinfo, without an address': {
    token: { email, email_verified: undefined },
    userInfo: { email_verified: true },
    expected: 'email_not_verified',
  },
  'verified in the ID token, without an address': {
    token: { email: undefined, email_verified: true },
    userInfo: { email },
    expected: 'email_not_verified',
  },
  'another person at userinfo': { token: silent, userInfo: { ...verified, sub: 'eve' }, expected: 401 },
  'another person at userinfo, for a split answer': {
    token: { email, email_verified: undefined },
    userInfo: { ...verified, sub: 'eve' },
    expected: 401,
  },
  'no person at userinfo': { token: silent, userInfo: { ...verified, sub: undefined }, expected: 401 },
  'userinfo is down': { token: silent, userInfo: 502, expected: 503 },
  'userinfo is down, for a split answer': {
    token: { email, email_verified: undefined },
    userInfo: 502,
    expected: 503,
  },
  'userinfo refuses': { token: silent, userInfo: 404, expected: 401 },
  'no userinfo': { token: silent, expected: 'email_not_verified', asked: false },
  'no userinfo, for a split answer': {
    token: { email, email_verified: undefined },
    expected: 'email_not_verified',
    asked: false,
  },
}

t.test('where a provider puts the address, and whether it is verified', async (t) => {
  const providers = await Promise.all(
    Object.entries(rows).map(async ([what, { token, userInfo, ...row }], i) => {
      const provider = await startHostileProvider(t, {
        name: `row-${i}`,
        hasUserInfo: userInfo !== undefined,
      })
      const sub = `ada of row ${i}`
      provider.lies = {
        claims: { sub, ...token },
        userInfo: typeof userInfo === 'object' ? { sub, ...userInfo } : userInfo,
      } as Lies
      return { what, provider, ...row }
    }),
  )
  const settings = providers.map(({ provider }) => provider.setting)
  const server = await startServer(t, {
    env: { SIGN_IN_URL: page, OIDC_PROVIDERS: JSON.stringify(settings) },
  })
  const anyone = createClient(server.url, null)
  for (const { what, provider, expected, asked = true } of providers) {
    const { name, issuer } = provider.setting
    const jar = new BrowserJar()
    const started = await jar.fetch(`${server.url}/v1/auth/oidc/${name}/authorize`)
    const { searchParams } = new URL(started.headers.get('location')!)
    provider.nonce = searchParams.get('nonce')!
    const query = new URLSearchParams({ code: 'code', state: searchParams.get('state')!, iss: issuer })
    const reply = await jar.fetch(`${server.url}/v1/auth/oidc/${name}/callback?${query}`)
    t.same(provider.userInfoRequests, asked ? ['Bearer access'] : [], `${what}: the requests to userinfo`)
    if (typeof expected === 'number') {
      t.equal(reply.status, expected, what)
      continue
    }
    t.equal(reply.status, 303, what)
    const answer = new URLSearchParams(new URL(reply.headers.get('location')!).hash.slice(1))
    t.equal(answer.get('error'), expected === 'signed in' ? null : expected, what)
    if (expected !== 'signed in') continue
    const session = await anyone.post('/auth/sessions', { method: 'oidc', token: answer.get('token') })
    const { body } = await createClient(server.url, session.body.access_token).get('/user/profile')
    t.match(body, { email, email_verified: true }, what)
  }
})
