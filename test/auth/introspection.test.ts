// Checks of tokens (RFC 7662): what a back end learns about a token that it got, and what it does not.
import t from 'tap'
import { createClient, type Client, type Reply } from '../support/http/client.ts'
import { createApiKey } from '../support/database/db-fixtures.ts'
import { browserCookie, createSignIn } from '../support/operations/operation-fixtures-auth.ts'
import { startServer } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'

const server = await startServer(t)
const { services } = server
const backEnd = await server.person()

const introspect = (token: string, client: Client = backEnd.client, more = {}): Promise<Reply> =>
  client.call('POST', '/auth/introspect', {
    raw: new URLSearchParams({ token, ...more }).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })

const seconds = (time: string | Date): number => Math.floor(new Date(time).getTime() / 1000)

t.test('the access token of a session', async (t) => {
  const person = await server.person()
  const session = await createSignIn(server, person.id)
  const { status, body } = await introspect(session.access_token)
  t.equal(status, 200)
  const { body: current } = await createClient(server.url, session.access_token).get('/key')
  t.same(body, {
    active: true,
    scope: current.scopes.join(' '),
    sub: person.id,
    exp: Number(session.access_token.split('.')[1]),
    iat: seconds(session.created_at),
    token_type: 'Bearer',
    session_id: session.id,
    project_ids: null,
  })
  const left = body.exp - seconds(new Date())
  t.ok(left > 800 && left <= 900, `${left} seconds are left`)
})

t.test('the token of a limited session, asked by itself', async (t) => {
  const person = await server.person()
  const { id: project } = (await person.client.post('/projects', { name: 'Mine' })).body
  const limits = { scopes: ['projects:read' as const], project_ids: [project] }
  const { access_token: token } = await createSignIn(server, person.id, limits)
  t.match((await introspect(token, createClient(server.url, token))).body, {
    active: true,
    scope: 'projects:read',
    project_ids: [project],
  })
})

t.test('an API key', async (t) => {
  const person = await server.person()
  const expires_at = new Date(Date.now() + 3_600_000).toISOString()
  const fields = { name: 'CI', scopes: ['projects:read', 'user:read'], expires_at }
  const { body: key } = await person.client.post('/user/api-keys', fields)
  const { body } = await introspect(key.key, backEnd.client, { token_type_hint: 'access_token' })
  t.same(body, {
    active: true,
    scope: 'user:read projects:read',
    sub: person.id,
    exp: seconds(expires_at),
    iat: seconds(key.created_at),
    token_type: 'Bearer',
    client_id: key.id,
    project_ids: null,
  })
  t.notOk('exp' in (await introspect(person.key)).body, 'a key that does not expire')
})

t.test('a token that is not valid is only not active', async (t) => {
  const person = await server.person()
  const [session, ended] = [await createSignIn(server, person.id), await createSignIn(server, person.id)]
  t.equal((await person.client.delete(`/user/sessions/${ended.id}`)).status, 204)
  const revoked = await createApiKey(server, person.id)
  t.equal((await person.client.delete(`/user/api-keys/${revoked.id}`)).status, 204)
  const { cookie } = await browserCookie(server, person.id)
  const disabled = await server.person()
  const { access_token: disabledToken } = await createSignIn(server, disabled.id)
  await server.admin.client.put(`/users/${disabled.id}`, { status: 'disabled' })
  const expired = `${session.id}.1600000000`
  const { access_token: token } = session
  for (const [what, text] of Object.entries({
    'an unknown key': person.key.slice(0, -1) + (person.key.endsWith('a') ? 'b' : 'a'),
    'a revoked key': revoked.secret,
    'the token of an ended session': ended.access_token,
    'the token of a disabled user': disabledToken,
    'the key of a disabled user': disabled.key,
    'an expired token': `plat_access_${expired}.${services.cipher.sign(expired, 'access token')}`,
    'a forged token': `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`,
    'a refresh token': session.refresh_token,
    'a cookie': cookie.split('=')[1],
    'a token of another issuer': `${'a'.repeat(2000)}.${'b'.repeat(2000)}.${'c'.repeat(2000)}`,
    'a token after a space': ` ${token}`,
    'two tokens': `${token} ${token}`,
    'text of another alphabet': 'ключ',
  })) {
    const { status, body } = await introspect(text)
    t.equal(status, 200, what)
    t.same(body, { active: false }, what)
  }
})

t.test('a session that ends is not active for the next check, on every server', async (t) => {
  const second = await startServer(t, { databaseUrl: server.databaseUrl })
  await waitUntil(() => services.principals.listening && second.services.principals.listening)
  const { access_token: token } = await createSignIn(server, (await server.person()).id)
  const there = createClient(second.url, backEnd.key)
  t.equal((await introspect(token, there)).body.active, true)
  const client = createClient(server.url, token)
  t.equal((await client.delete('/auth/sessions/current')).status, 204)
  t.same((await introspect(token, there)).body, { active: false })
})

t.test('who may ask', async (t) => {
  t.equal((await introspect(backEnd.key, createClient(server.url, null))).status, 401)
  const { secret } = await createApiKey(server, backEnd.id, { scopes: [], projectIds: [] })
  t.equal((await introspect(backEnd.key, createClient(server.url, secret))).body.active, true)
  const limited = await startServer(t, { env: { RATE_LIMIT_REFRESH: '3' } })
  const { client, key } = await limited.person()
  const statuses = []
  for (let i = 0; i < 4; i++) statuses.push((await introspect(key, client)).status)
  t.same(statuses, [200, 200, 200, 429])
  const empty = await introspect('')
  t.match(empty, { status: 400, body: { error: { details: { field: 'token' } } } })
})
