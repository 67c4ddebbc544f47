// Sessions that are limited to scopes and projects: where the limits begin, what they refuse, and that
// nothing widens them.
import t from 'tap'
import { createClient } from '../support/http/client.ts'
import { operationInfos, requestFor, send, successStatus } from '../support/operations/operation-fixtures.ts'
import {
  browserCookie,
  createOneTimeToken,
  createPasskey,
  createSignIn,
  newDevice,
  newEmail,
  password,
  setPassword,
} from '../support/operations/operation-fixtures-auth.ts'
import { isLongForm } from '../support/long-form.ts'
import { startServer, type Person } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'
import type { AskedLimits } from '../../services/auth/sessions/sessions.ts'
import type { Scope } from '../../services/users/scopes.ts'

const server = await startServer(t)
const { services } = server
const anyone = createClient(server.url, null)
const refused = (constraint: string) => ({ status: 403, body: { error: { details: { constraint } } } })
const withToken = (token: string, url = server.url) => createClient(url, token)
const refresh = (refresh_token: string, limits: AskedLimits = {}, url = server.url) =>
  createClient(url, null).post('/auth/sessions/refresh', { refresh_token, ...limits })

async function signIn({ id }: Person, limits: AskedLimits = {}) {
  const session = await createSignIn(server, id, limits)
  return { ...session, client: withToken(session.access_token) }
}

async function projectOf({ client }: Person): Promise<string> {
  return (await client.post('/projects', { name: 'Mine' })).body.id
}

t.test('each way to sign in takes limits, and the session shows them', async (t) => {
  const person = await server.person()
  await setPassword(server, person.id)
  const device = newDevice(server)
  await createPasskey({ server, caller: person, role: 'none' }, device)
  const { body: options } = await anyone.post('/auth/passkey-options')
  const { email } = person
  const limits = { scopes: ['user:read', 'projects:read'], project_ids: [await projectOf(person)] }
  const token = (purpose: 'link' | 'oidc' | 'password_reset') =>
    createOneTimeToken(server, purpose, { email })
  for (const [path, body] of [
    ['/auth/sessions', { method: 'password', email, password }],
    ['/auth/sessions', { method: 'link', token: await token('link') }],
    ['/auth/sessions', { method: 'oidc', token: await token('oidc') }],
    ['/auth/sessions', { method: 'passkey', credential: device.get(options) }],
    ['/auth/password-resets/confirm', { token: await token('password_reset'), password }],
    [
      '/auth/confirmations',
      { token: await createOneTimeToken(server, 'sign_up', { email: newEmail() }), password },
    ],
  ] as const) {
    const { status, body: session } = await anyone.post(path, { ...body, ...limits })
    t.equal(status, 201, path)
    t.match(session, limits)
    const client = withToken(session.access_token)
    t.match((await client.get('/auth/sessions/current')).body, { id: session.id, ...limits })
    t.match((await client.get('/key')).body, { type: 'session', ...limits })
    t.match(await client.post('/projects', { name: 'Theirs' }), refused('scope'))
    t.equal((await client.delete('/auth/sessions/current')).status, 204)
  }
  const limited = await signIn(person, { scopes: ['user:read'] })
  const { data } = (await limited.client.get('/user/sessions')).body
  t.match(data[0], { id: limited.id, scopes: ['user:read'], project_ids: null })
  t.match((await person.client.get('/events?type=sign_in.created')).body.data.at(-1).data.object, {
    id: limited.id,
    scopes: ['user:read'],
  })
})

t.test('a sign-in with a scope that the user does not have is refused, and uses nothing up', async (t) => {
  const person = await server.person()
  const token = await createOneTimeToken(server, 'link', { email: person.email })
  const body = { method: 'link', token }
  t.match(await anyone.post('/auth/sessions', { ...body, scopes: ['admin'] }), refused('scope'))
  const { body: session } = await anyone.post('/auth/sessions', { ...body, scopes: ['user:read'] })
  t.same(session.scopes, ['user:read'])
  const admin = await server.person({ role: 'admin' })
  const narrow = await signIn(admin, { scopes: ['user:read'] })
  t.match(await narrow.client.get('/users'), refused('scope'), 'a script of a web page is no operator')
  const operator = await signIn(admin, { scopes: ['admin'] })
  t.equal((await operator.client.get('/users')).status, 200)
  await services.database.prisma.user.update({ where: { id: admin.id }, data: { role: 'user' } })
  await services.principals.waitForInvalidation(admin.id)
  t.match(await operator.client.get('/users'), refused('scope'), 'the scope goes with the role')
})

t.test('a session that is limited to projects reaches nothing else', async (t) => {
  const person = await server.person()
  const [mine, other] = [await projectOf(person), await projectOf(person)]
  const foreign = await projectOf(await server.person())
  const { client } = await signIn(person, { project_ids: [mine, foreign] })
  t.equal((await client.get(`/projects/${mine}`)).status, 200)
  t.match(await client.get(`/projects/${other}`), refused('project_ids'))
  t.equal((await client.get(`/projects/${foreign}`)).status, 403, 'the limit gives no access')
  t.same(
    (await client.get('/projects')).body.data.map(({ id }: { id: string }) => id),
    [mine],
  )
  for (const path of ['/user/sessions', '/user/passkeys', '/user/totp'])
    t.match(await client.get(path), refused('project_ids'), path)
  const made = { name: 'CI', scopes: ['projects:read'] }
  t.match(await client.post('/user/api-keys', made), refused('project_ids'))
  t.match(await client.post('/user/api-keys', { ...made, project_ids: [other] }), refused('project_ids'))
  t.equal((await client.post('/user/api-keys', { ...made, project_ids: [mine] })).status, 201)
})

t.test('a limited session makes no key that may do more', async (t) => {
  const person = await server.person()
  const { client } = await signIn(person, { scopes: ['keys:write', 'projects:read'] })
  const { body: key } = await person.client.post('/user/api-keys', { name: 'x', scopes: ['storage:read'] })
  t.match(await client.post(`/user/api-keys/${key.id}/rotate`), refused('scope'))
  const make = (scopes: Scope[]) => client.post('/user/api-keys', { name: 'CI', scopes })
  t.match(await make(['projects:write']), refused('scope'))
  t.equal((await make(['projects:read'])).status, 201)
})

t.test('a refresh limits a session further, on every server at once', async (t) => {
  const second = await startServer(t, { databaseUrl: server.databaseUrl })
  await waitUntil(() => services.principals.listening && second.services.principals.listening)
  const person = await server.person()
  const project = await projectOf(person)
  const first = await signIn(person)
  const there = withToken(first.access_token, second.url)
  t.equal((await there.post('/projects', { name: 'Mine' })).status, 201)
  const scopes: Scope[] = ['projects:read', 'user:read']
  const next = await refresh(first.refresh_token, { scopes })
  t.match(next, { status: 200, body: { scopes, project_ids: null, current: true } })
  t.match(await there.post('/projects', { name: 'Mine' }), refused('scope'), 'also its earlier tokens')
  const last = await refresh(next.body.refresh_token, { project_ids: [project] })
  t.match(last, { status: 200, body: { scopes, project_ids: [project] } })
  t.match(await there.get('/user/profile'), { status: 200 })
  t.match((await there.get('/key')).body, { scopes: ['user:read', 'projects:read'], project_ids: [project] })
  const { refresh_token: token } = last.body
  t.match(await refresh(token, { scopes: ['projects:write'] }), refused('scope'))
  t.match(await refresh(token, { project_ids: [await projectOf(person)] }), refused('project_ids'))
  const after = await refresh(token)
  t.match(after, { status: 200, body: { scopes, project_ids: [project] } }, 'a refusal uses no token up')
})

t.test('a refresh that is repeated keeps the limits', async (t) => {
  const { refresh_token: token } = await signIn(await server.person())
  const limits: AskedLimits = { scopes: ['projects:read', 'user:read'] }
  const { body: first } = await refresh(token, limits)
  const { refresh_token: successor } = first
  t.match((await refresh(token, limits)).body, { ...limits, refresh_token: successor })
  t.match((await refresh(token)).body, { ...limits, refresh_token: successor })
  t.match(await refresh(token, { scopes: ['storage:read'] }), refused('scope'))
  t.match((await refresh(token, { scopes: ['user:read'] })).body, { scopes: ['user:read'] })
  t.match(await refresh(token, limits), refused('scope'))
  t.match(await refresh(successor), { status: 200, body: { scopes: ['user:read'] } })
})

t.test('of two refreshes at once with other limits none widens the session again', async (t) => {
  const person = await server.person()
  for (let round = 0; round < (isLongForm ? 20 : 3); round++) {
    const { id, refresh_token: token } = await signIn(person)
    const asked: Scope[][] = [
      ['user:read', 'projects:read'],
      ['user:read', 'storage:read'],
    ]
    const replies = await Promise.all(asked.map((scopes) => refresh(token, { scopes })))
    t.same(replies.map(({ status }) => status).sort(), [200, 403])
    const { scopes } = (await person.client.get(`/user/sessions/${id}`)).body
    t.same(scopes, asked[replies.findIndex(({ status }) => status === 200)])
  }
})

t.test('a session moves into a cookie with limits', async (t) => {
  const { refresh_token } = await signIn(await server.person())
  const move = await anyone.post('/auth/sessions/cookie', { refresh_token, scopes: ['projects:read'] })
  t.match(move, { status: 200, body: { scopes: ['projects:read'] } })
  const sent = { headers: { cookie: move.headers.get('set-cookie')!.split(';')[0] } }
  t.equal((await anyone.get('/projects', sent)).status, 200)
  t.match(await anyone.post('/projects', { name: 'Mine' }, sent), refused('scope'))
})

t.test('a limited session changes nothing that signs its user in', async (t) => {
  const own = ['getCurrentSession', 'signOut']
  const infos = operationInfos.filter(({ needsSession }) => needsSession === true)
  for (const { id } of infos) {
    const request = await requestFor(server, id)
    const { scopes: all } = (await request.caller.client.get('/key')).body as { scopes: Scope[] }
    // All but one that none of these operations needs.
    const limits = { scopes: all.filter((scope) => scope !== 'ai:read') }
    const { access_token: key } = await createSignIn(server, request.caller.id, limits)
    const reply = await send(request, { key })
    if (own.includes(id)) t.equal(reply.status, successStatus(id), id)
    else t.match(reply, refused('session'), id)
  }
})

t.test('the pages of the account do not serve a limited session, and keep its cookie', async (t) => {
  const person = await server.person()
  const passkey = await createPasskey({ server, caller: person, role: 'none' })
  const { cookie } = await browserCookie(server, person.id)
  const data = { allScopes: false, scopes: ['projects:read'] }
  await services.database.prisma.signIn.updateMany({ where: { userId: person.id }, data })
  const own = new URL(server.url).origin
  const page = (path: string, body?: URLSearchParams) =>
    fetch(`${own}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      body,
      headers: { cookie, origin: own, 'sec-fetch-site': 'same-origin' },
      redirect: 'manual',
    })
  for (const reply of [
    await page('/account'),
    await page('/account/passkeys', new URLSearchParams({ passkey })),
    await page('/invitations/inv_01jd6y8m5qe8btc4y5w1r0n3fz'),
  ]) {
    t.equal(reply.status, 303)
    t.equal(new URL(reply.headers.get('location')!, own).pathname, '/sign-in')
    t.notMatch(reply.headers.get('set-cookie') ?? '', /^session=/)
  }
  t.equal((await person.client.get(`/user/passkeys/${passkey}`)).status, 200)
})
