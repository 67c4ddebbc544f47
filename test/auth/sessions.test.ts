// Sessions: what their tokens may do, how they are refreshed, and how they end on every server at once.
// `npm test` repeats concurrent requests a few times, `npm run faults` many times.
import t from 'tap'
import { createClient } from '../support/http/client.ts'
import {
  ageRefreshes,
  createOneTimeToken,
  createSignIn,
  newEmail,
  password,
  setPassword,
} from '../support/operations/operation-fixtures-auth.ts'
import { isLongForm } from '../support/long-form.ts'
import { startServer, type Person } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'

const server = await startServer(t, { env: { TRUST_PROXY: '127.0.0.1' } })
const { services } = server
const anyone = createClient(server.url, null)
const refusal = (reason: string) => ({ status: 401, body: { error: { details: { reason } } } })
const withToken = (token: string, url = server.url) => createClient(url, token)

/** A session as after a sign-in, without the Argon2id hash of its password. */
async function signIn({ id }: Person) {
  const session = await createSignIn(server, id)
  return { ...session, client: withToken(session.access_token) }
}

t.test('a session has all scopes of its user, and no key', async (t) => {
  const person = await server.person()
  await setPassword(server, person.id)
  const reply = await anyone.post('/auth/sessions', { method: 'password', email: person.email, password })
  t.equal(reply.status, 201, reply.text)
  const session = { ...reply.body, client: withToken(reply.body.access_token) }
  t.match(session, { token_type: 'Bearer', expires_in: 900, methods: ['password'], current: true })
  const { body: current } = await session.client.get('/key')
  t.match(current, { type: 'session', id: session.id, user_id: person.id, project_ids: null })
  t.notOk(current.scopes.includes('admin'))
  t.equal((await session.client.get('/users')).status, 403)
  const project = await session.client.post('/projects', { name: 'Mine' })
  t.equal(project.status, 201)
  t.equal((await session.client.get('/auth/sessions/current')).body.id, session.id)
  const { body: events } = await session.client.get('/events?type=project.created')
  t.match(events.data.at(-1).actor, { type: 'session', id: session.id, name: null, user_id: person.id })
  const admin = await signIn(await server.person({ role: 'admin' }))
  t.equal((await admin.client.get('/users')).status, 200)
})

t.test('a key that is made with a session outlives it, and its owner gets an e-mail', async (t) => {
  const person = await server.person()
  const session = await signIn(person)
  const key = await session.client.post('/user/api-keys', { name: 'CI', scopes: ['projects:read'] })
  t.match(key, { status: 201, body: { expires_at: null, created_by_key: null } })
  const mails = { where: { recipient: person.email, kind: 'api_key_created' } }
  t.equal(await services.database.prisma.mail.count(mails), 1)
  t.equal((await session.client.delete('/auth/sessions/current')).status, 204)
  t.equal((await createClient(server.url, key.body.key).get('/projects')).status, 200)
  t.match(await session.client.post('/user/api-keys', { name: 'late', scopes: [] }), refusal('revoked'))
})

t.test('a session makes keys soon after its sign-in only', async (t) => {
  const session = await signIn(await server.person())
  const createdAt = new Date(Date.now() - 11 * 60_000)
  await services.database.prisma.signIn.update({ where: { id: session.id }, data: { createdAt } })
  t.match(await session.client.post('/user/api-keys', { name: 'CI', scopes: ['projects:read'] }), {
    status: 403,
    body: { error: { details: { constraint: 'recent_sign_in' } } },
  })
})

const refreshAt = (url: string, token: string, address = '192.0.2.1') =>
  createClient(url, null).post(
    '/auth/sessions/refresh',
    { refresh_token: token },
    { headers: { 'x-forwarded-for': address } },
  )

const refresh = (token: string, address?: string) => refreshAt(server.url, token, address)

t.test('an old refresh token ends the session', async (t) => {
  const first = await signIn(await server.person())
  const second = await refresh(first.refresh_token)
  t.equal(second.status, 200)
  t.equal(second.body.id, first.id)
  t.not(second.body.refresh_token, first.refresh_token)
  t.equal((await first.client.get('/key')).status, 200, 'the first access token stays valid')
  const third = await refresh(second.body.refresh_token)
  t.equal(third.status, 200)
  await ageRefreshes(server, first.id)
  t.match(await refresh(first.refresh_token), refusal('reused'))
  for (const token of [first.access_token, third.body.access_token])
    t.match(await withToken(token).get('/key'), refusal('revoked'))
  t.match(await refresh(third.body.refresh_token), refusal('revoked'))
})

t.test('a refresh token that is sent again soon has the same successor, on two servers', async (t) => {
  const second = await startServer(t, {
    databaseUrl: server.databaseUrl,
    env: { TRUST_PROXY: '127.0.0.1' },
  })
  for (let round = 0; round < (isLongForm ? 20 : 2); round++) {
    const { id, client, refresh_token: first } = await signIn(await server.person())
    const replies = await Promise.all(
      Array.from({ length: 10 }, (_, i) => refreshAt([server.url, second.url][i % 2], first)),
    )
    t.same(new Set(replies.map(({ status }) => status)), new Set([200]))
    const successors = new Set(replies.map(({ body }) => body.refresh_token))
    t.equal(successors.size, 1)
    for (const { body } of replies)
      t.match(await withToken(body.access_token).get('/key'), { status: 200, body: { id } })
    const [successor] = successors
    const next = await refreshAt(second.url, successor)
    t.equal(next.status, 200, 'the successor works')
    const [again, successorAgain] = [await refresh(first), await refresh(successor)]
    t.equal(again.body.refresh_token, successor, 'an older token never gets a newer one than its successor')
    t.equal(successorAgain.body.refresh_token, next.body.refresh_token)
    await ageRefreshes(server, id)
    const last = await refresh(next.body.refresh_token)
    t.equal(last.status, 200, 'the latest token works at any time')
    t.equal((await refresh(next.body.refresh_token)).body.refresh_token, last.body.refresh_token)
    t.match(await refreshAt(second.url, successor), refusal('reused'))
    t.match(await client.get('/key'), refusal('revoked'))
  }
})

t.test('a refresh token that is sent again from another network ends the session', async (t) => {
  const { refresh_token, client } = await signIn(await server.person())
  t.equal((await refresh(refresh_token, '2001:db8::1')).status, 200)
  t.equal((await refresh(refresh_token, '2001:db8::2')).status, 200, 'an address of the same network')
  t.match(await refresh(refresh_token, '2001:db8:0:1::1'), refusal('reused'))
  t.match(await client.get('/key'), refusal('revoked'))
})

t.test('of many refreshes in a row, the last ten have successors', async (t) => {
  const { id, refresh_token: first } = await signIn(await server.person())
  const tokens = [first]
  for (let i = 0; i < 12; i++) tokens.push((await refresh(tokens.at(-1)!)).body.refresh_token)
  t.equal((await refresh(tokens.at(-10)!)).body.refresh_token, tokens.at(-9))
  const row = await services.database.prisma.signIn.findUniqueOrThrow({ where: { id } })
  t.equal(row.refreshedAt.length, 10)
  t.match(await refresh(first), refusal('reused'))
})

t.test('a token that is sent again after the session or its user has ended is refused', async (t) => {
  const [ended, disabled] = [await signIn(await server.person()), await signIn(await server.person())]
  for (const { refresh_token } of [ended, disabled]) t.equal((await refresh(refresh_token)).status, 200)
  t.equal((await ended.client.delete('/auth/sessions/current')).status, 204)
  t.match(await refresh(ended.refresh_token), refusal('revoked'))
  await services.database.prisma.user.update({
    where: { id: disabled.user_id },
    data: { status: 'disabled' },
  })
  t.match(await refresh(disabled.refresh_token), refusal('disabled'))
})

t.test('after a sign-out, another server refuses the token with the next request', async (t) => {
  const second = await startServer(t, { databaseUrl: server.databaseUrl })
  await waitUntil(() => services.principals.listening && second.services.principals.listening)
  const person = await server.person()
  const rounds = isLongForm ? 100 : 25
  let refused = 0
  for (let i = 0; i < rounds; i++) {
    const { access_token: token } = await createSignIn(server, person.id)
    t.equal((await withToken(token, second.url).get('/key')).status, 200)
    t.equal((await withToken(token).delete('/auth/sessions/current')).status, 204)
    if ((await withToken(token, second.url).get('/key')).status === 401) refused++
  }
  t.equal(refused, rounds)
})

t.test('a user sees the sessions and ends one of them', async (t) => {
  const person = await server.person()
  const [mine, other] = [await signIn(person), await createSignIn(server, person.id)]
  const { body: list } = await mine.client.get('/user/sessions')
  t.same(
    list.data.map(({ id, current }: { id: string; current: boolean }) => [id, current]),
    [
      [other.id, false],
      [mine.id, true],
    ],
  )
  const stranger = await signIn(await server.person())
  t.equal((await stranger.client.delete(`/user/sessions/${other.id}`)).status, 403)
  t.equal((await stranger.client.get(`/user/sessions/${other.id}`)).status, 403)
  t.equal((await mine.client.delete(`/user/sessions/${other.id}`)).status, 204)
  t.match(await withToken(other.access_token).get('/key'), refusal('revoked'))
  t.equal((await mine.client.delete(`/user/sessions/${other.id}`)).status, 404)
  const { body: events } = await mine.client.get('/events?type=sign_in.ended')
  t.equal(events.data.at(-1).data.object.id, other.id)
})

t.test('a session of a disabled or deleted user is refused', async (t) => {
  const { client: admin } = server.admin
  for (const change of [
    (id: string) => admin.put(`/users/${id}`, { status: 'disabled' }),
    (id: string) => admin.delete(`/users/${id}`),
  ]) {
    const person = await server.person()
    const { client, refresh_token } = await signIn(person)
    t.equal((await client.get('/key')).status, 200)
    t.ok((await change(person.id)).status < 300)
    t.match(await client.get('/key'), refusal('revoked'), 'the session has ended')
    t.match(await anyone.post('/auth/sessions/refresh', { refresh_token }), refusal('revoked'))
    t.match(
      await anyone.post('/auth/sessions', { method: 'password', email: person.email, password }),
      refusal('credentials'),
    )
  }
})

t.test('tokens that were changed, or made with another key, are refused', async (t) => {
  const session = await signIn(await server.person())
  const other = await createSignIn(server, (await server.person()).id)
  const [start, expiry, signature] = session.access_token.split('.')
  const forged = [
    `${start}.${Number(expiry) + 1}.${signature}`,
    `${other.access_token.split('.')[0]}.${expiry}.${signature}`,
    `${start}.${expiry}.${session.refresh_token.split('.')[2]}`,
    `${start}.${expiry}.${signature.slice(0, -1)}${signature.endsWith('A') ? 'B' : 'A'}`,
    `${start}.${expiry}.${'A'.repeat(43)}`,
    `${start}.${expiry}`,
    session.refresh_token,
  ]
  server.statements.length = 0
  for (const token of forged) t.match(await withToken(token).get('/key'), refusal('malformed'), token)
  t.notOk(
    server.statements.some((text) => /sign_ins|api_keys/.test(text)),
    'without a look-up',
  )
  const refresh = session.access_token.replace('access', 'refresh')
  t.match(await anyone.post('/auth/sessions/refresh', { refresh_token: refresh }), refusal('unknown'))
})

t.test('access tokens and sessions expire', async (t) => {
  const { id, access_token: token, refresh_token } = await signIn(await server.person())
  const expired = services.cipher.sign(`${id}.1600000000`, 'access token')
  t.match(await withToken(`plat_access_${id}.1600000000.${expired}`).get('/key'), refusal('expired'))
  const data = { expiresAt: new Date(Date.now() - 1_000) }
  await services.database.prisma.signIn.update({ where: { id }, data })
  await services.principals.waitForInvalidation(id)
  t.match(await withToken(token).get('/key'), refusal('expired'))
  t.match(await anyone.post('/auth/sessions/refresh', { refresh_token }), refusal('expired'))
})

t.test('a user has at most 100 sessions: the least used ends', async (t) => {
  const person = await server.person()
  const first = await createSignIn(server, person.id)
  for (let i = 0; i < 100; i++) await createSignIn(server, person.id)
  t.equal((await person.client.get('/user/sessions?limit=1')).body.pagination.total, 100)
  t.match(await withToken(first.access_token).get('/key'), refusal('revoked'))
})

t.test('the sessions of a user end when the password changes, all but that of the request', async (t) => {
  const person = await server.person()
  await setPassword(server, person.id)
  const [mine, other] = [await signIn(person), await createSignIn(server, person.id)]
  const next = 'an entirely new password'
  const change = (body: object) => mine.client.post('/user/password', { password: next, ...body })
  const denied = { status: 403, body: { error: { details: { constraint: 'current_password' } } } }
  t.match(await change({}), denied, 'the present password is needed')
  t.match(await change({ current_password: 'wrong' }), denied)
  t.match(await change({ current_password: password, password: 'Password123' }), {
    status: 400,
    body: { error: { details: { field: 'password', constraint: 'common_password' } } },
  })
  t.equal((await change({ current_password: password })).status, 204)
  t.equal((await mine.client.get('/key')).status, 200)
  t.match(await withToken(other.access_token).get('/key'), refusal('revoked'))
  const method = { method: 'password', email: person.email }
  t.match(await anyone.post('/auth/sessions', { ...method, password }), refusal('credentials'))
  t.equal((await anyone.post('/auth/sessions', { ...method, password: next })).status, 201)
})

t.test('a sign-in and a reset at once leave no session with the old password', async (t) => {
  for (let i = 0; i < 10; i++) {
    const person = await server.person()
    await setPassword(server, person.id)
    const token = await createOneTimeToken(server, 'password_reset', { email: person.email })
    const [signedIn, reset] = await Promise.all([
      anyone.post('/auth/sessions', { method: 'password', email: person.email, password }),
      anyone.post('/auth/password-resets/confirm', { token, password: 'an entirely new password' }),
    ])
    t.equal(reset.status, 201)
    const old = signedIn.body.access_token
    if (old !== undefined) t.match(await withToken(old).get('/key'), refusal('revoked'))
    t.equal((await withToken(reset.body.access_token).get('/key')).status, 200)
  }
})

t.test('what was sent before a reset, a new address or a disabled user does not work later', async (t) => {
  const { client: admin } = server.admin
  const reset = async (email: string): Promise<void> => {
    const token = await createOneTimeToken(server, 'password_reset', { email })
    const body = { token, password: 'an entirely new password' }
    t.equal((await anyone.post('/auth/password-resets/confirm', body)).status, 201)
  }
  const disable = async (id: string): Promise<void> => {
    for (const status of ['disabled', 'active']) await admin.put(`/users/${id}`, { status })
  }
  for (const end of [
    ({ email }: Person) => reset(email),
    ({ id }: Person) => disable(id),
    ({ id }: Person) => admin.put(`/users/${id}`, { email: newEmail(), email_verified: true }),
  ]) {
    const person = await server.person()
    const session = await createSignIn(server, person.id)
    const link = await createOneTimeToken(server, 'link', { email: person.email })
    const change = await createOneTimeToken(server, 'email_change', { email: newEmail(), userId: person.id })
    await end(person)
    t.match(await withToken(session.access_token).get('/key'), refusal('revoked'))
    t.match(await anyone.post('/auth/sessions', { method: 'link', token: link }), refusal('unknown'))
    const { access_token: token } = await createSignIn(server, person.id)
    t.match(await withToken(token).post('/user/email/confirm', { token: change }), refusal('unknown'))
  }
})

t.test('access tokens that have expired do not use up the look-ups of a network', async (t) => {
  const limited = await startServer(t, { env: { RATE_LIMIT_ADDRESS: '5' } })
  const known = await limited.person()
  const { id } = await createSignIn(limited, known.id)
  const claims = `${id}.1600000000`
  const old = `plat_access_${claims}.${limited.services.cipher.sign(claims, 'access token')}`
  for (let i = 0; i < 10; i++) await withToken(old, limited.url).get('/key')
  t.equal((await known.client.get('/key')).status, 200)
})

t.test('an open event stream ends with its session', async (t) => {
  const session = await signIn(await server.person())
  const stream = await fetch(`${server.url}/v1/events/stream`, {
    headers: { authorization: `Bearer ${session.access_token}` },
  })
  t.equal(stream.status, 200)
  const text = stream.text()
  await session.client.delete('/auth/sessions/current')
  t.match(await text, /event: error|unauthorized/i)
})
