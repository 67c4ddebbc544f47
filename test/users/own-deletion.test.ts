// A person deletes the own account: the proof, the refusals, and what ends with it.
import t from 'tap'
import { createClient } from '../support/http/client.ts'
import { createMember } from '../support/database/db-fixtures.ts'
import { browserCookie, createSignIn } from '../support/operations/operation-fixtures-auth.ts'
import { startServer, type Person } from '../support/server/server.ts'

const server = await startServer(t)
const { prisma } = server.services.database
const refused = (status: number, constraint: string) => ({
  status,
  body: { error: { details: { constraint } } },
})

async function signIn({ id }: Person) {
  const session = await createSignIn(server, id)
  return { ...session, client: createClient(server.url, session.access_token) }
}

const statusOf = async ({ id }: Person) => (await prisma.user.findUniqueOrThrow({ where: { id } })).status

t.test('deleting the account ends sessions and keys at once', async (t) => {
  const person = await server.person({ name: 'Leaving Person' })
  const { client, refresh_token } = await signIn(person)
  const { client: other } = await signIn(person)
  const before = await client.get('/user')
  t.match(before, { status: 200, body: { id: person.id, name: 'Leaving Person' } })
  t.equal((await client.delete('/user', { headers: { 'if-match': '"another"' } })).status, 412)
  const etag = before.headers.get('etag')!
  const deleted = await client.delete('/user', { headers: { 'if-match': etag } })
  t.equal(deleted.status, 204)
  t.equal(deleted.headers.get('set-cookie'), null, 'the cookie may be of another session')
  for (const one of [client, other, person.client]) t.equal((await one.get('/user')).status, 401)
  t.equal(
    (await createClient(server.url, null).post('/auth/sessions/refresh', { refresh_token })).status,
    401,
  )
  t.equal((await client.delete('/user')).status, 401, 'a repeated request is refused')

  const row = await prisma.user.findUniqueOrThrow({ where: { id: person.id } })
  t.match(row, { status: 'deleted', email: null, name: 'Deleted user' })
  t.equal(await prisma.apiKey.count({ where: { userId: person.id } }), 0)
  const event = await prisma.event.findFirstOrThrow({
    where: { type: 'user.deleted', data: { path: ['object', 'id'], equals: person.id } },
  })
  t.match(event, { userId: null, actor: { type: 'session', user_id: person.id } }, 'admins read the event')
  await server.services.auditRecorder.flush()
  t.match(
    await prisma.auditEntry.findFirst({ where: { userId: person.id, operation: 'deleteCurrentUser' } }),
    { method: 'DELETE', status: 412 },
  )
  t.equal(
    await prisma.auditEntry.count({
      where: { userId: person.id, operation: 'deleteCurrentUser', status: 204 },
    }),
    1,
  )
})

t.test('the cookie of a browser is deleted', async (t) => {
  const person = await server.person()
  const headers = await browserCookie(server, person.id)
  const anyone = createClient(server.url, null)
  const { status, headers: answered } = await anyone.delete('/user', { headers })
  t.equal(status, 204)
  t.match(answered.get('set-cookie'), /^session=; Max-Age=0; Path=\/; HttpOnly/)
  t.equal((await anyone.get('/user', { headers })).status, 401)
})

t.test('a page of another site cannot delete the account', async (t) => {
  const person = await server.person()
  const { cookie } = await browserCookie(server, person.id)
  const headers = { cookie, 'sec-fetch-site': 'cross-site', origin: 'https://elsewhere.example' }
  t.match(await createClient(server.url, null).delete('/user', { headers }), refused(403, 'origin'))
  t.equal(await statusOf(person), 'active')
})

t.test('without a recent sign-in, or by a key or a limited session, nothing is deleted', async (t) => {
  const person = await server.person()
  t.match(await person.client.delete('/user'), refused(403, 'session'), 'an API key')
  const limited = await createSignIn(server, person.id, { scopes: ['user:read', 'user:write'] })
  t.match(await createClient(server.url, limited.access_token).delete('/user'), refused(403, 'session'))
  const { id, client } = await signIn(person)
  const createdAt = new Date(Date.now() - 11 * 60_000)
  await prisma.signIn.update({ where: { id }, data: { createdAt } })
  t.match(await client.delete('/user'), refused(403, 'recent_sign_in'))
  t.equal(await statusOf(person), 'active')
  t.equal((await client.get('/user')).status, 200, 'the session continues')
})

t.test('the last owner of a project or an organization, and the last admin, stay', async (t) => {
  const person = await server.person()
  const { client } = await signIn(person)
  const { body: project } = await client.post('/projects', { name: 'Mine alone' })
  t.match(await client.delete('/user'), refused(409, 'last_owner'))
  const heir = await server.person()
  await createMember(server, project.id, heir.id, 'owner')
  const { body: organization } = await client.post('/organizations', { name: 'Mine alone' })
  t.match(await client.delete('/user'), refused(409, 'last_owner'))
  t.equal((await client.delete(`/organizations/${organization.id}`)).status, 204)
  t.equal((await client.delete('/user')).status, 204)
  t.match((await heir.client.get(`/projects/${project.id}`)).body, { owner_id: heir.id, member_count: 1 })

  const { client: admin } = await signIn(server.admin as Person)
  t.match(await admin.delete('/user'), refused(409, 'last_admin'))
})

t.test('of two requests at once, one deletes the account', async (t) => {
  const person = await server.person()
  const sessions = await Promise.all([signIn(person), signIn(person)])
  const replies = await Promise.all(sessions.map(({ client }) => client.delete('/user')))
  t.same(replies.map(({ status }) => status).sort(), [204, 401])
  t.equal(
    await prisma.event.count({
      where: { type: 'user.deleted', data: { path: ['object', 'id'], equals: person.id } },
    }),
    1,
  )
})

t.test('of two last owners who leave at once, one stays', async (t) => {
  const [one, two] = await Promise.all([server.person(), server.person()])
  const { body: project } = await one.client.post('/projects', { name: 'Shared' })
  await createMember(server, project.id, two.id, 'owner')
  const sessions = await Promise.all([signIn(one), signIn(two)])
  const replies = await Promise.all(sessions.map(({ client }) => client.delete('/user')))
  t.same(replies.map(({ status }) => status).sort(), [204, 409])
  t.equal(await prisma.member.count({ where: { projectId: project.id, role: 'owner' } }), 1)
})
