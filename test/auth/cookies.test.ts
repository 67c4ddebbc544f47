// Sessions of browsers: the cookie, what it may do, and requests that other sites make a browser send.
import t from 'tap'
import { createClient } from '../support/http/client.ts'
import { ageRefreshes, createSignIn } from '../support/operations/operation-fixtures-auth.ts'
import { startServer, type Person, type TestServer } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'

const app = 'https://app.example.com'
const server = await startServer(t, { env: { CORS_ORIGINS: app } })
const { services } = server
const own = new URL(server.url).origin
const refusal = (reason: string) => ({ status: 401, body: { error: { details: { reason } } } })
const csrf = { status: 403, body: { error: { details: { constraint: 'origin' } } } }
const samePage = { 'sec-fetch-site': 'same-origin', origin: own }

/** Moves a new session into a cookie. */
async function signIn(person: Person, on: TestServer = server) {
  const tokens = await createSignIn(on, person.id)
  const reply = await createClient(on.url, null).post(
    '/auth/sessions/cookie',
    { refresh_token: tokens.refresh_token },
    { headers: samePage },
  )
  t.equal(reply.status, 200, reply.text)
  const setCookie = reply.headers.get('set-cookie')!
  return { ...tokens, setCookie, cookie: setCookie.split(';')[0] }
}

const browser = (cookie: string, headers: Record<string, string> = samePage, on = server.url) => {
  const client = createClient(on, null)
  const sent = { headers: { cookie, ...headers } }
  return {
    get: (path: string) => client.get(path, sent),
    post: (path: string, body?: unknown) => client.post(path, body, sent),
    delete: (path: string) => client.delete(path, sent),
  }
}

t.test('the cookie does what the session may do, and the tokens do nothing', async (t) => {
  const person = await server.person()
  const { cookie, setCookie, access_token: token, refresh_token, id } = await signIn(person)
  t.match(setCookie, /^session=ses_[^;]+; Max-Age=7776000; Path=\/; HttpOnly; SameSite=Lax$/)
  const { get, post } = browser(cookie)
  t.match((await get('/key')).body, { type: 'session', id, user_id: person.id })
  t.equal((await post('/projects', { name: 'Mine' })).status, 201)
  t.match(await createClient(server.url, token).get('/key'), refusal('revoked'))
  const anyone = createClient(server.url, null)
  const refresh = () => anyone.post('/auth/sessions/refresh', { refresh_token })
  t.match(await refresh(), refusal('revoked'), 'another page that refreshes gets no tokens')
  t.equal((await get('/key')).status, 200, 'and does not end the session')
  await ageRefreshes(server, id)
  t.match(await refresh(), refusal('reused'))
  t.match(await get('/key'), refusal('revoked'), 'a later reuse ends the session')
})

t.test('a move into a cookie whose answer was lost is repeated, on every server', async (t) => {
  const second = await startServer(t, { databaseUrl: server.databaseUrl })
  const { id, cookie, refresh_token } = await signIn(await server.person())
  const move = (url: string) =>
    createClient(url, null).post('/auth/sessions/cookie', { refresh_token }, { headers: samePage })
  for (const url of [server.url, second.url]) {
    const again = await move(url)
    t.match(again, { status: 200, body: { id, current: true } })
    t.notOk('in_cookie' in again.body)
    t.equal(again.headers.get('set-cookie')!.split(';')[0], cookie)
  }
  await ageRefreshes(server, id)
  t.match(await move(second.url), refusal('reused'))
  t.match(await browser(cookie).get('/key'), refusal('revoked'))
})

t.test('signing out ends the session on every server, and deletes the cookie', async (t) => {
  const second = await startServer(t, { databaseUrl: server.databaseUrl })
  await waitUntil(() => services.principals.listening && second.services.principals.listening)
  const { cookie } = await signIn(await server.person())
  t.equal((await browser(cookie, samePage, second.url).get('/key')).status, 200)
  const out = await browser(cookie).delete('/auth/sessions/current')
  t.equal(out.status, 204)
  t.match(out.headers.get('set-cookie'), /^session=; Max-Age=0; /)
  for (const url of [server.url, second.url])
    t.match(await browser(cookie, samePage, url).get('/key'), refusal('revoked'))
})

t.test('pages of other sites change nothing with the cookie', async (t) => {
  const { cookie } = await signIn(await server.person())
  const pages: Record<string, Record<string, string>> = {
    'another site': { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
    'a neighbouring host': { 'sec-fetch-site': 'same-site', origin: 'https://blog.example.com' },
    'another site, without the origin': { 'sec-fetch-site': 'cross-site' },
    'a page without an origin': { 'sec-fetch-site': 'cross-site', origin: 'null' },
    'an old browser': { origin: 'https://evil.example' },
    'an old browser, without an origin': { origin: 'null' },
    'an origin that begins like ours': { origin: `${own}.evil.example` },
    'an origin that begins like the application': { origin: `${app}.evil.example` },
  }
  for (const [name, headers] of Object.entries(pages)) {
    t.match(await browser(cookie, headers).post('/projects', { name: 'Theirs' }), csrf, name)
    t.match(await browser(cookie, headers).delete('/auth/sessions/current'), csrf, name)
    t.equal((await browser(cookie, headers).get('/key')).status, 200, `${name} may ask, and cannot read`)
  }
  const { total } = (await browser(cookie).get('/projects')).body.pagination
  t.equal(total, 0)
})

t.test('pages of the server and of CORS_ORIGINS, and programs, change what they may', async (t) => {
  const { cookie } = await signIn(await server.person())
  const pages: Record<string, string>[] = [
    samePage,
    { origin: own },
    { 'sec-fetch-site': 'same-site', origin: app },
    { origin: app },
    {},
  ]
  for (const headers of pages)
    t.equal((await browser(cookie, headers).post('/projects', { name: 'Ours' })).status, 201)
  const preflight = await fetch(`${server.url}/v1/projects`, {
    method: 'OPTIONS',
    headers: { origin: app, 'access-control-request-method': 'POST' },
  })
  t.equal(preflight.headers.get('access-control-allow-credentials'), 'true')
  t.equal(preflight.headers.get('access-control-allow-origin'), app)
})

t.test('every operation that may change something refuses other sites', async (t) => {
  const { operations } = await import('../../generated/operations.ts')
  const { cookie } = await signIn(await server.person())
  const headers = { cookie, 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
  let asked = 0
  for (const { id, method, url, scopes } of Object.values(operations)) {
    if (scopes === null || method === 'GET' || method === 'OPTIONS') continue
    const path = url.replace(/:\w+/g, 'x')
    const reply = await fetch(server.url + path, { method, headers })
    t.equal(reply.status, 403, id)
    t.match(await reply.json(), csrf.body, id)
    asked++
  }
  t.ok(asked > 60)
})

t.test('another site cannot sign a browser in to its own account', async (t) => {
  const { refresh_token } = await createSignIn(server, (await server.person()).id)
  const reply = await createClient(server.url, null).post(
    '/auth/sessions/cookie',
    { refresh_token },
    { headers: { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' } },
  )
  t.match(reply, csrf)
  t.equal(reply.headers.get('set-cookie'), null)
})

t.test('a cookie that was changed, or is of a session in use elsewhere, is refused', async (t) => {
  const person = await server.person()
  const { cookie } = await signIn(person)
  const { id } = await createSignIn(server, person.id)
  const signature = cookie.split('.')[1]
  for (const [name, value] of [
    ['another session', `session=${id}.${signature}`],
    ['no signature', cookie.split('.')[0]],
    ['another signature', `${cookie.slice(0, -2)}AA`],
    ['an access token', `session=${(await createSignIn(server, person.id)).access_token}`],
    ['nothing', 'session='],
  ])
    t.equal((await browser(value).get('/key')).status, 401, name)
  const { cipher } = services
  const { newCookieToken } = await import('../../infra/encryption/tokens.ts')
  t.match(await browser(`session=${newCookieToken(cipher, id)}`).get('/key'), refusal('unknown'))
})

t.test(
  'the cookie of an ended session is deleted, and does not stand in the way of public files',
  async (t) => {
    const person = await server.person()
    const form = new FormData()
    form.append('file', new Blob(['Hello']), 'hello.txt')
    form.append('visibility', 'public')
    const upload = await fetch(`${server.url}/v1/storage/upload`, {
      method: 'POST',
      headers: { authorization: `Bearer ${person.key}` },
      body: form,
    })
    const { id } = (await upload.json()) as { id: string }
    const { cookie } = await signIn(await server.person())
    await browser(cookie).delete('/auth/sessions/current')
    const refused = await browser(cookie).get('/projects')
    t.equal(refused.status, 401)
    t.match(refused.headers.get('set-cookie'), /^session=; Max-Age=0; /)
    t.equal((await browser(cookie).get(`/storage/files/${id}/download`)).text, 'Hello')
  },
)

t.test('with FILES_URL, the cookie downloads private files from the API', async (t) => {
  const own = await startServer(t, { env: { FILES_URL: 'http://files.example.com' } })
  const person = await own.person()
  const { cookie } = await signIn(person, own)
  const form = new FormData()
  form.append('file', new Blob(['Mine']), 'mine.txt')
  const upload = await fetch(`${own.url}/v1/storage/upload`, {
    method: 'POST',
    headers: { cookie, origin: new URL(own.url).origin },
    body: form,
  })
  const { id } = (await upload.json()) as { id: string }
  const reply = await browser(cookie, samePage, own.url).get(`/storage/files/${id}/download`)
  t.equal(reply.text, 'Mine')
})

t.test('an API key in Authorization wins over the cookie', async (t) => {
  const [mine, other] = [await server.person(), await server.person()]
  const { cookie } = await signIn(mine)
  const reply = await other.client.get('/key', { headers: { cookie } })
  t.equal(reply.body.user_id, other.id)
  const cross = { cookie, 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
  t.equal((await other.client.post('/projects', { name: 'By key' }, { headers: cross })).status, 201)
})

t.test('use keeps the session alive, up to its maximum', async (t) => {
  const { cookie, id } = await signIn(await server.person())
  const { prisma } = services.database
  const early = new Date(Date.now() + 3_600_000)
  await prisma.signIn.update({ where: { id }, data: { expiresAt: early, lastUsedAt: new Date(0) } })
  await browser(cookie).get('/key')
  await services.lastUsed.flush()
  const { expiresAt } = await prisma.signIn.findUniqueOrThrow({ where: { id } })
  t.ok(expiresAt.getTime() > Date.now() + 13 * 86_400_000, `${expiresAt.toISOString()}`)
  const old = new Date(Date.now() - 89 * 86_400_000)
  const longAgo = { createdAt: old, expiresAt: early, lastUsedAt: new Date(0) }
  await prisma.signIn.update({ where: { id }, data: longAgo })
  await browser(cookie).get('/key')
  await services.lastUsed.flush()
  const again = await prisma.signIn.findUniqueOrThrow({ where: { id } })
  t.ok(again.expiresAt.getTime() <= old.getTime() + 90 * 86_400_000)
})

t.test('over HTTPS the cookie belongs to this host alone', async (t) => {
  const secure = await startServer(t, {
    databaseUrl: server.databaseUrl,
    env: { PUBLIC_URL: 'https://api.example.com' },
  })
  const tokens = await createSignIn(secure, (await server.person()).id)
  const reply = await createClient(secure.url, null).post(
    '/auth/sessions/cookie',
    { refresh_token: tokens.refresh_token },
    { headers: { origin: 'https://api.example.com', 'sec-fetch-site': 'same-origin' } },
  )
  t.match(reply.headers.get('set-cookie'), /^__Host-session=[^;]+; .*Path=\/; .*Secure/)
})
