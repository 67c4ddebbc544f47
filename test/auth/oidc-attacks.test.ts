// Attacks on the sign-in at identity providers: forged and stolen answers, answers of another provider, and
// ID tokens that are not for this sign-in.
import { createHash } from 'node:crypto'
import t from 'tap'
import { BrowserJar } from '../support/auth/browser-jar.ts'
import { startHostileProvider, type HostileProvider, type Lies } from '../support/auth/hostile-provider.ts'
import { startServer } from '../support/server/server.ts'

const page = 'https://app.example.com/sign-in'
const [provider, other] = [await startHostileProvider(t), await startHostileProvider(t, { name: 'other' })]
const server = await startServer(t, {
  env: { SIGN_IN_URL: page, OIDC_PROVIDERS: JSON.stringify([provider.setting, other.setting]) },
})

/** Begins a sign-in in a browser. @returns the parameters that the provider gets. */
async function begin(jar: BrowserJar, at: HostileProvider = provider): Promise<URLSearchParams> {
  const response = await jar.fetch(`${server.url}/v1/auth/oidc/${at.setting.name}/authorize`)
  const { searchParams } = new URL(response.headers.get('location')!)
  at.nonce = searchParams.get('nonce')!
  return searchParams
}

/** The browser returns from the provider. */
async function finish(
  jar: BrowserJar,
  query: Record<string, string | null>,
  name = 'hostile',
): Promise<{ status: number; answer: URLSearchParams }> {
  const given = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== null)
  const response = await jar.fetch(
    `${server.url}/v1/auth/oidc/${name}/callback?${new URLSearchParams(given)}`,
  )
  const hash = new URL(response.headers.get('location') ?? page).hash.slice(1)
  return { status: response.status, answer: new URLSearchParams(hash) }
}

const valid = (started: URLSearchParams) => ({
  code: 'code',
  state: started.get('state'),
  iss: provider.setting.issuer,
})

async function signInWith(lies: Lies): Promise<{ status: number; answer: URLSearchParams }> {
  const jar = new BrowserJar()
  const started = await begin(jar)
  provider.lies = lies
  return await finish(jar, valid(started)).finally(() => {
    provider.lies = {}
  })
}

t.test('a truthful answer signs in, and the code goes with the verifier of its challenge', async (t) => {
  const jar = new BrowserJar()
  const started = await begin(jar)
  const { status, answer } = await finish(jar, valid(started))
  t.equal(status, 303)
  t.match(answer.get('token'), /^plat_once_/)
  const sent = provider.tokenRequests.at(-1)!
  const challenge = createHash('sha256').update(sent.get('code_verifier')!).digest('base64url')
  t.equal(challenge, started.get('code_challenge'))
  t.equal((await finish(jar, valid(started))).status, 401, 'the same answer again is refused')
})

t.test('ID tokens that are refused', async (t) => {
  const now = Math.floor(Date.now() / 1000)
  const cases: Record<string, Lies> = {
    'of another sign-in (nonce)': { claims: { nonce: 'of another sign-in' } },
    'without a nonce': { claims: { nonce: undefined } },
    'for another application (aud)': { claims: { aud: 'another' } },
    'of another issuer': { claims: { iss: other.setting.issuer } },
    'that has expired': { claims: { iat: now - 7_200, exp: now - 3_600 } },
    'without a subject': { claims: { sub: undefined } },
    'with an empty subject': { claims: { sub: '' } },
    'with a subject of 256 characters': { claims: { sub: 's'.repeat(256) } },
    'issued in the future': { claims: { iat: now + 600, exp: now + 900 } },
    'signed with another key': { signature: 'other key' },
    'without a signature': { signature: 'none' },
    'that is missing': { noToken: true },
  }
  for (const [name, lies] of Object.entries(cases)) {
    const { status, answer } = await signInWith(lies)
    t.equal(status, 401, name)
    t.equal(answer.get('token'), null, name)
  }
})

t.test('answers that are refused before the provider is asked', async (t) => {
  const [victim, attacker] = [new BrowserJar(), new BrowserJar()]
  const [mine, theirs] = [await begin(victim), await begin(attacker)]
  const asked = provider.tokenRequests.length
  const cases: Record<string, [jar: BrowserJar, query: Record<string, string | null>, name?: string]> = {
    'the state of another browser': [victim, valid(theirs)],
    'no state': [victim, { ...valid(mine), state: null }],
    'an empty state': [victim, { ...valid(mine), state: '' }],
    'a browser that began nothing': [new BrowserJar(), valid(mine)],
    'the issuer of another provider (mix-up)': [victim, { ...valid(mine), iss: other.setting.issuer }],
    'no issuer, though the provider names it': [victim, { ...valid(mine), iss: null }],
    'the callback of another provider': [victim, { ...valid(mine), iss: other.setting.issuer }, 'other'],
  }
  for (const [name, [jar, query, at]] of Object.entries(cases))
    t.equal((await finish(jar, query, at)).status, 401, name)
  t.equal(provider.tokenRequests.length, asked)
})

t.test('a browser gets an error of the callback as a page, and every other client as JSON', async (t) => {
  const callback = `${server.url}/v1/auth/oidc/hostile/callback`
  const browserAccept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
  const cases: Record<string, number> = {
    '?state=x&code=y': 401,
    '?error=access_denied&error_description=%3Cscript%3Ealert(1)%3C/script%3E&state=x': 401,
    [`?state=${'x'.repeat(201)}`]: 400,
  }
  for (const [query, status] of Object.entries(cases)) {
    const shown = await fetch(callback + query, { headers: { accept: browserAccept }, redirect: 'manual' })
    t.equal(shown.status, status, query)
    t.match(shown.headers.get('content-type'), 'text/html', query)
    t.match(shown.headers.get('content-security-policy'), "default-src 'none'", query)
    const html = await shown.text()
    t.match(html, `href="${page}"`, query)
    t.notMatch(html, '<script', query)
    for (const accept of ['application/json', '*/*']) {
      const reply = await fetch(callback + query, { headers: { accept }, redirect: 'manual' })
      t.equal(reply.status, status, query)
      t.match(await reply.json(), { error: { code: String, details: { request_id: /^req_/ } } }, query)
    }
  }
  const unknown = `${server.url}/v1/auth/oidc/unknown/callback?state=x`
  const shown = await fetch(unknown, { headers: { accept: browserAccept } })
  t.equal(shown.status, 404)
  t.match(await shown.text(), 'Back to the sign-in')
})

t.test('a sign-in that began on the page of this server returns to it with the reason', async (t) => {
  const own = await startServer(t, {
    databaseUrl: server.databaseUrl,
    env: { OIDC_PROVIDERS: JSON.stringify([provider.setting]) },
  })
  const reasonAfter = async (lies: Lies): Promise<string> => {
    const jar = new BrowserJar()
    const started = await jar.fetch(`${own.url}/v1/auth/oidc/hostile/authorize`)
    const { searchParams } = new URL(started.headers.get('location')!)
    provider.nonce = searchParams.get('nonce')!
    provider.lies = lies
    const query = new URLSearchParams(valid(searchParams) as Record<string, string>)
    const reply = await jar
      .fetch(`${own.url}/v1/auth/oidc/hostile/callback?${query}`, { headers: { accept: '*/*' } })
      .finally(() => {
        provider.lies = {}
      })
    t.equal(reply.status, 303)
    const shown = await jar.fetch(reply.headers.get('location')!)
    t.equal(shown.status, 200)
    return await shown.text()
  }
  t.match(await reasonAfter({ signature: 'other key' }), 'The answer of the identity provider is not valid.')
  t.match(await reasonAfter({ status: 500 }), 'The identity provider cannot be reached.')
})

t.test('a cookie that was changed, or is too old, is refused', async (t) => {
  const jar = new BrowserJar()
  const started = await begin(jar)
  const cookie = jar.cookiesFor(server.url)
  const query = new URLSearchParams(valid(started) as Record<string, string>)
  const callback = `${server.url}/v1/auth/oidc/hostile/callback?${query}`
  for (const changed of [
    `${cookie.slice(0, -4)}AAAA`,
    'oidc=',
    `oidc=${Buffer.from('{}').toString('base64url')}`,
  ])
    t.equal((await fetch(callback, { headers: { cookie: changed }, redirect: 'manual' })).status, 401)
  const { encryptFlow } = await import('../../services/auth/oidc/oidc.ts')
  const old = encryptFlow(server.services.cipher, {
    provider: 'hostile',
    state: started.get('state')!,
    nonce: started.get('nonce')!,
    verifier: 'a'.repeat(43),
    redirectTo: page,
    challenge: null,
    expiresAt: Date.now() - 1,
  })
  t.equal((await fetch(callback, { headers: { cookie: `oidc=${old}` }, redirect: 'manual' })).status, 401)
})

t.test('a provider that calls itself another issuer is not used', async (t) => {
  const liar = await startHostileProvider(t, { name: 'liar' })
  liar.lies = { issuer: other.setting.issuer }
  const own = await startServer(t, {
    databaseUrl: server.databaseUrl,
    env: { SIGN_IN_URL: page, OIDC_PROVIDERS: JSON.stringify([liar.setting]) },
  })
  const response = await fetch(`${own.url}/v1/auth/oidc/liar/authorize`, { redirect: 'manual' })
  t.equal(response.status, 503)
})
