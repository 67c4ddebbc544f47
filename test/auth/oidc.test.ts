// Sign-in at an identity provider that runs here: who gets which account, and where the browser returns to.
import { createHash, randomBytes } from 'node:crypto'
import t from 'tap'
import { createClient } from '../support/http/client.ts'
import { BrowserJar } from '../support/auth/browser-jar.ts'
import { startIdentityProvider, type ProviderPerson } from '../support/auth/identity-provider.ts'
import { createSignIn, enableTotp, codeOf, newEmail } from '../support/operations/operation-fixtures-auth.ts'
import { newId } from '../../infra/ids.ts'
import { startServer, type Person } from '../support/server/server.ts'

const page = 'https://app.example.com/sign-in'
const provider = await startIdentityProvider(t)
const server = await startServer(t, {
  env: {
    SIGN_IN_URL: page,
    CORS_ORIGINS: 'https://app.example.com,https://other.example.com',
    SIGN_IN_REDIRECTS: 'https://other.example.com/from-here?a=b',
    OIDC_PROVIDERS: JSON.stringify([provider.setting]),
  },
})
const { services } = server
provider.allowCallbacks([`${server.url}/v1/auth/oidc/local/callback`])
const anyone = createClient(server.url, null)
const authorize = `${server.url}/v1/auth/oidc/local/authorize`

/** Signs in at the provider. @returns the fragment with which the browser returns. */
async function signInAs(person: ProviderPerson | null, jar = new BrowserJar()): Promise<URLSearchParams> {
  provider.person = person
  const { url, body } = await jar.visit(authorize, page)
  t.ok(url.startsWith(page), `${url} ${body}`)
  return new URLSearchParams(new URL(url).hash.slice(1))
}

const exchange = (fragment: URLSearchParams, more: object = {}) =>
  anyone.post('/auth/sessions', { method: fragment.get('kind'), token: fragment.get('token'), ...more })

const someone = (email = newEmail()): ProviderPerson => ({
  sub: `sub of ${email}`,
  email,
  email_verified: true,
  name: 'Ada Lovelace',
})

t.test('a new person gets an account, and the same one at the next sign-in', async (t) => {
  const person = someone()
  const first = await exchange(await signInAs(person))
  t.match(first, { status: 201, body: { methods: ['oidc'] } })
  const userId = first.body.user_id
  await services.auditRecorder.flush()
  const { body: audited } = await server.admin.client.get(`/audit-log?user_id=${userId}`)
  t.match(audited.data, [
    { operation: 'signIn', outcome: 'done' },
    { operation: 'finishOidcSignIn', outcome: 'done', resource_id: userId },
  ])
  const client = createClient(server.url, first.body.access_token)
  t.match((await client.get('/user/profile')).body, {
    email: person.email,
    name: person.name,
    email_verified: true,
  })
  const { body: identities } = await client.get('/user/identities')
  t.match(identities.data, [{ provider: 'local', email: person.email, user_id: first.body.user_id }])
  const moved = newEmail()
  const second = await exchange(await signInAs({ ...person, email: moved, email_verified: false }))
  t.equal(second.body.user_id, first.body.user_id, 'the identity decides, not the address')
  t.match((await client.get('/user/identities')).body.data, [{ email: moved }])
})

t.test('a user with the verified address is linked, and gets an alert', async (t) => {
  const user = await server.person()
  const session = await exchange(await signInAs(someone(user.email)))
  t.match(session, { status: 201, body: { user_id: user.id } })
  const { prisma } = services.database
  t.equal(await prisma.mail.count({ where: { recipient: user.email, kind: 'identity_linked' } }), 1)
  const client = createClient(server.url, session.body.access_token)
  const { body: identities } = await client.get('/user/identities')
  const { body: events } = await client.get('/events?type=identity.linked')
  t.match(events.data, [{ data: { object: identities.data[0] } }])
  const stranger = createClient(
    server.url,
    (await createSignIn(server, (await server.person()).id)).access_token,
  )
  t.equal((await stranger.get(`/user/identities/${identities.data[0].id}`)).status, 403)
  t.equal((await stranger.delete(`/user/identities/${identities.data[0].id}`)).status, 403)
  t.equal((await client.delete(`/user/identities/${identities.data[0].id}`)).status, 204)
  t.same((await client.get('/user/identities')).body.data, [])
})

/** The number of identities that were linked to a user, and of the alerts about them. */
async function linksOf({ id: userId, email: recipient }: Person): Promise<[linked: number, alerts: number]> {
  const { prisma } = services.database
  const linked = await prisma.identity.count({ where: { userId } })
  return [linked, await prisma.mail.count({ where: { recipient, kind: 'identity_linked' } })]
}

t.test('nothing is linked before the token is used, nor without the code of a second factor', async (t) => {
  const user = await server.person()
  const { secret } = await enableTotp(server, user.id)
  const fragment = await signInAs(someone(user.email))
  t.equal((await exchange(fragment)).status, 401, 'a code is missing')
  t.same(await linksOf(user), [0, 0])
  t.equal((await exchange(fragment, { code: codeOf(secret) })).status, 201)
  t.same(await linksOf(user), [1, 1])
})

t.test('two tokens at once link once', async (t) => {
  const user = await server.person()
  const fragments = [await signInAs(someone(user.email)), await signInAs(someone(user.email))]
  const replies = await Promise.all(fragments.map((fragment) => exchange(fragment)))
  t.same(
    replies.map(({ status }) => status),
    [201, 201],
  )
  t.same(await linksOf(user), [1, 1])
})

t.test('the page of this server asks before it links, in the browser that began only', async (t) => {
  const user = await server.person()
  provider.person = someone(user.email)
  const tokenPage = `${server.url}/sign-in/token`
  const [jar, stranger] = [new BrowserJar(), new BrowserJar()]
  const shown = await jar.visit(`${authorize}?redirect_to=${encodeURIComponent(tokenPage)}`, 'https://never/')
  t.match(shown.body, 'Link your account of local?')
  t.match(shown.body, user.email)
  t.notMatch(await (await stranger.fetch(shown.url)).text(), user.email, 'another browser learns nothing')
  const body = new URLSearchParams({ kind: 'oidc', token: new URL(shown.url).searchParams.get('token')! })
  const submit = (by: BrowserJar, headers: Record<string, string> = { 'sec-fetch-site': 'same-origin' }) =>
    by.fetch(tokenPage, { method: 'POST', headers, body })
  t.equal((await submit(stranger)).status, 422)
  t.equal((await submit(jar, { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' })).status, 403)
  const { prisma } = services.database
  const where = { userId: user.id }
  t.equal(await prisma.identity.count({ where }), 0)
  const replies = await Promise.all(Array.from({ length: 5 }, () => submit(jar)))
  t.same(replies.map(({ status }) => status).toSorted(), [303, 422, 422, 422, 422])
  t.same([await prisma.identity.count({ where }), await prisma.signIn.count({ where })], [1, 1])
})

t.test('an identity that another account has meanwhile is not linked a second time', async (t) => {
  const user = await server.person()
  const person = someone(user.email)
  const fragment = await signInAs(person)
  const other = await server.person()
  const id = newId('idn')
  const data = { id, userId: other.id, provider: 'local', subject: person.sub }
  const now = new Date()
  await services.database.prisma.identity.create({
    data: { ...data, createdAt: now, updatedAt: now, lastUsedAt: now },
  })
  t.equal((await exchange(fragment)).status, 401)
  t.equal(await services.database.prisma.signIn.count({ where: { userId: user.id } }), 0)
})

t.test('no user is linked by an address that one side has not verified', async (t) => {
  const user = await server.person()
  const unverified = { ...someone(user.email), email_verified: false }
  t.equal((await signInAs(unverified)).get('error'), 'email_not_verified')
  t.equal((await signInAs({ sub: 'no address' })).get('error'), 'email_not_verified')
  await services.database.prisma.user.update({ where: { id: user.id }, data: { emailVerified: false } })
  t.equal((await signInAs(someone(user.email))).get('error'), 'account_not_verified')
  t.equal(await services.database.prisma.identity.count({ where: { userId: user.id } }), 0)
})

t.test('the policy of sign-ups holds', async (t) => {
  t.equal((await signInAs(someone(newEmail('elsewhere.example')))).get('error'), 'sign_up')
})

t.test('a disabled user gets no token', async (t) => {
  const user = await server.person()
  await exchange(await signInAs(someone(user.email)))
  await services.database.prisma.user.update({ where: { id: user.id }, data: { status: 'disabled' } })
  t.equal((await signInAs(someone(user.email))).get('error'), 'disabled')
})

t.test('a second factor is asked for', async (t) => {
  const user = await server.person()
  const { secret } = await enableTotp(server, user.id)
  const fragment = await signInAs(someone(user.email))
  t.match(await exchange(fragment), {
    status: 401,
    body: { error: { details: { reason: 'second_factor' } } },
  })
  const session = await exchange(fragment, { code: codeOf(secret) })
  t.match(session, { status: 201, body: { methods: ['oidc', 'totp'] } })
})

t.test('a person who refuses at the provider returns with the reason', async (t) => {
  t.equal((await signInAs(null)).get('error'), 'denied')
})

t.test('the token works once, and for nothing else', async (t) => {
  const fragment = await signInAs(someone())
  const token = fragment.get('token')
  for (const [path, body] of [
    ['/auth/sessions', { method: 'link', token }],
    ['/auth/password-resets/confirm', { token, password: 'correct horse battery staple' }],
    ['/auth/confirmations', { token }],
  ] as const)
    t.equal((await anyone.post(path, body)).status, 401, path)
  const replies = await Promise.all(Array.from({ length: 10 }, () => exchange(fragment)))
  t.equal(replies.filter(({ status }) => status === 201).length, 1)
})

t.test('two first sign-ins at once make one account', async (t) => {
  const person = someone()
  provider.person = person
  const jars = [new BrowserJar(), new BrowserJar(), new BrowserJar()]
  const callbacks = await Promise.all(
    jars.map((jar) => jar.visit(authorize, `${server.url}/v1/auth/oidc/local/callback`)),
  )
  const replies = await Promise.all(callbacks.map(({ url }, i) => jars[i].fetch(url)))
  t.same(
    replies.map(({ status }) => status),
    [303, 303, 303],
  )
  t.equal(await services.database.prisma.user.count({ where: { email: person.email! } }), 1)
  t.equal(await services.database.prisma.identity.count({ where: { subject: person.sub } }), 1)
})

t.test('the browser returns to known pages only', async (t) => {
  const start = (to: string) =>
    fetch(`${authorize}?redirect_to=${encodeURIComponent(to)}`, { redirect: 'manual' })
  for (const to of [
    'https://evil.example/sign-in',
    'https://app.example.com.evil.example/',
    'https://app.example.com@evil.example/',
    'http://app.example.com/sign-in',
    'javascript:alert(1)',
    '//evil.example/',
    'https://app.example.com\\.evil.example/',
    'https://app.example.com/go?to=https://evil.example',
    'https://app.example.com/sign-in/../go',
    'https://other.example.com/',
  ])
    t.equal((await start(to)).status, 400, to)
  const { status, headers } = await start('https://other.example.com/from-here?a=b')
  t.equal(status, 303)
  const location = new URL(headers.get('location')!)
  t.equal(location.origin, provider.issuer)
  t.equal(location.searchParams.get('code_challenge_method'), 'S256')
  t.match(headers.get('set-cookie'), /^oidc=.*; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/i)
})

t.test('with a challenge, the token works with its verifier only', async (t) => {
  provider.person = someone()
  const verifier = randomBytes(32).toString('base64url')
  const challenge = createHash('sha256').update(verifier).digest('base64url')
  const { url } = await new BrowserJar().visit(`${authorize}?challenge=${challenge}`, page)
  const fragment = new URLSearchParams(new URL(url).hash.slice(1))
  t.equal((await exchange(fragment)).status, 401)
  t.equal((await exchange(fragment, { verifier: 'a'.repeat(43) })).status, 401)
  t.equal((await exchange(fragment, { verifier })).status, 201)
  t.equal((await exchange(await signInAs(someone()), { verifier })).status, 401, 'nor without a challenge')
})

t.test('an identity with the former address of a user no longer signs in', async (t) => {
  const user = await server.person()
  t.equal((await exchange(await signInAs(someone(user.email)))).status, 201)
  const changed = await server.admin.client.put(`/users/${user.id}`, { email: newEmail() })
  t.equal(changed.status, 200, changed.text)
  t.equal(await services.database.prisma.identity.count({ where: { userId: user.id } }), 0)
  const again = await exchange(await signInAs(someone(user.email)))
  t.not(again.body.user_id, user.id, 'a new owner of the address gets another account')
})

t.test('an address that only looks like another after a change of case is not that address', async (t) => {
  const user = await server.person({ email: `k${newEmail()}` })
  const kelvin = { ...someone(user.email), email: user.email.replace(/^k/, '\u212a') }
  t.equal((await signInAs(kelvin)).get('error'), 'email_not_verified')
})

t.test('an unknown provider is 404', async (t) => {
  for (const step of ['authorize', 'callback?state=x'])
    t.equal((await anyone.get(`/auth/oidc/unknown/${step}`)).status, 404)
})

t.test('a page of this server shows no text of the link that leads to it', async (t) => {
  for (const path of ['Call%20555-0100/authorize', 'local/authorize?Call_555-0100=1']) {
    const shown = await fetch(`${server.url}/v1/auth/oidc/${path}`, { headers: { accept: 'text/html' } })
    t.ok([400, 404].includes(shown.status), `${path}: ${shown.status}`)
    // The page shows the id of the request, whose random digits may be 555.
    const text = (await shown.text()).replaceAll(shown.headers.get('x-request-id')!, '')
    t.notMatch(text, '555')
  }
})

t.test('a provider that cannot be reached is 503', async (t) => {
  const dead = { ...provider.setting, name: 'dead', issuer: 'http://127.0.0.1:1' }
  const other = await startServer(t, {
    databaseUrl: server.databaseUrl,
    env: { SIGN_IN_URL: page, OIDC_PROVIDERS: JSON.stringify([dead]) },
  })
  const reply = await createClient(other.url, null).get('/auth/oidc/dead/authorize')
  t.match(reply, { status: 503, body: { error: { code: 'UNAVAILABLE' } } })
  const shown = await fetch(`${other.url}/v1/auth/oidc/dead/authorize`, { headers: { accept: 'text/html' } })
  t.equal(shown.status, 503)
  const html = await shown.text()
  t.match(html, 'Temporarily unavailable')
  t.match(html, `href="${page}"`, 'with a link to the sign-in of the application')
})
