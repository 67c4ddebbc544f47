// A right that is taken away is gone, with the next request and on every server, from everything that was
// handed out by it; the keys of service accounts stay, and are listed by the user who made them.
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import t from 'tap'
import { createClient, type Client } from '../support/http/client.ts'
import { acquaint } from '../support/database/db-fixtures.ts'
import { createSignIn, newEmail } from '../support/operations/operation-fixtures-auth.ts'
import { startServer, type Person } from '../support/server/server.ts'
import { waitForLock } from '../support/server/wait.ts'
import { upload } from '../support/storage/storage.ts'
import { insertApiKey } from '../../services/users/api-keys.ts'

const server = await startServer(t)
const second = await startServer(t, { databaseUrl: server.databaseUrl })
const refusal = (constraint: string) => ({ status: 403, body: { error: { details: { constraint } } } })
const elsewhere = ({ key }: { key: string }): Client => createClient(second.url, key)

/** An organization with a project and a file in it, in which Bob is an admin of the project. */
async function team() {
  const [owner, bob] = [await server.person(), await server.person()]
  const { body: organization } = await owner.client.post('/organizations', { name: 'Acme' })
  const { body: project } = await owner.client.post('/projects', {
    name: 'P',
    organization_id: organization.id,
  })
  await acquaint(server, owner, bob)
  const path = `/projects/${project.id}`
  const { body: member } = await owner.client.post(`${path}/members`, { user_id: bob.id, role: 'admin' })
  const { body: file } = await upload(owner.client, {
    bytes: 'TOPSECRET',
    fields: { project_id: project.id },
  })
  const { body: limited } = await owner.client.post(`/organizations/${organization.id}/roles`, {
    name: 'Projects only',
    permissions: { projects: 'admin', storage: 'none', ai: 'none', payments: 'none' },
  })
  const limit = () => owner.client.put(`${path}/members/${member.id}`, { custom_role_id: limited.id })
  return { owner, bob, organization, project, path, member, file, limit }
}

t.test('a custom role takes effect for keys of service accounts and for invitations (F1, F2)', async (t) => {
  const { owner, bob, project, path, file, limit } = await team()
  const fields = { name: 'CI', project_id: project.id, role: 'admin' }
  const { body: account } = await owner.client.post('/service-accounts', fields)
  const accomplice = await server.person()
  const invited = await bob.client.post(`${path}/members`, { user_id: accomplice.id, role: 'admin' })
  t.equal(invited.status, 202)
  t.equal((await limit()).status, 200)
  t.match(await elsewhere(bob).get(`/storage/files/${file.id}/download`), refusal('role'))
  const scopes = ['storage:read', 'storage:write', 'ai:read', 'payments:read']
  const asked = bob.client.post(`/service-accounts/${account.id}/api-keys`, { name: 'k', scopes })
  t.match(await asked, refusal('role'), 'no key for what Bob may not do')
  const invitation = `${path}/invitations/${invited.body.id}`
  t.match(await accomplice.client.post(`${invitation}/accept`), {
    status: 409,
    body: { error: { details: { constraint: 'revoked' } } },
  })
  t.match((await accomplice.client.get('/user/invitations')).body.data, [])
  t.match(await bob.client.post(`${invitation}/resend`), refusal('role'), 'Bob may not renew it')
  t.equal(
    (await owner.client.post(`${invitation}/resend`)).status,
    409,
    'and another admin does not renew his',
  )
})

t.test('what an admin handed out ends with the admin: links, invitations, keys, sessions', async (t) => {
  const losses: Record<string, (made: Awaited<ReturnType<typeof team>>) => Promise<unknown>> = {
    'the custom role': ({ limit }) => limit(),
    'the role': ({ owner, path, member }) =>
      owner.client.put(`${path}/members/${member.id}`, { role: 'viewer' }),
    'the membership': ({ owner, path, member }) => owner.client.delete(`${path}/members/${member.id}`),
    'the account': ({ bob }) => server.admin.client.put(`/users/${bob.id}`, { status: 'disabled' }),
  }
  for (const [lost, lose] of Object.entries(losses)) {
    const made = await team()
    const { bob, path, file } = made
    const { body: link } = await bob.client.post(`/storage/files/${file.id}/links`, {})
    const invitee = await server.person()
    const { body: invitation } = await bob.client.post(`${path}/members`, {
      user_id: invitee.id,
      role: 'editor',
    })
    const { body: key } = await bob.client.post('/user/api-keys', { name: 'k', scopes: ['storage:write'] })
    const { access_token: token } = await createSignIn(server, bob.id)
    t.equal((await fetch(link.url)).status, 200)
    await lose(made)
    t.equal((await fetch(link.url)).status, 410, `the link, without ${lost}`)
    const accept = elsewhere(invitee).post(`${path}/invitations/${invitation.id}/accept`)
    t.equal((await accept).status, 409, `the invitation, without ${lost}`)
    for (const secret of [key.key, token]) {
      const { status } = await createClient(second.url, secret).post(`/storage/files/${file.id}/links`, {})
      t.ok(status === 403 || status === 401, `${status} for a key and a session, without ${lost}`)
    }
  }
})

t.test('an invitation of a disabled admin of an organization has ended', async (t) => {
  const [owner, admin, invitee] = [await server.person(), await server.person(), await server.person()]
  const { body: organization } = await owner.client.post('/organizations', { name: 'Acme' })
  const path = `/organizations/${organization.id}/members`
  await acquaint(server, owner, admin)
  await owner.client.post(path, { user_id: admin.id, role: 'admin' })
  const { body: invitation } = await admin.client.post(path, { user_id: invitee.id, role: 'member' })
  await server.admin.client.put(`/users/${admin.id}`, { status: 'disabled' })
  t.match((await owner.client.get(`${path}/${invitation.id}`)).body, { status: 'expired' })
  t.match(await invitee.client.post(`${path}/${invitation.id}/accept`), { status: 409 })
  const changed = await owner.client.put(`${path}/${invitation.id}`, { role: 'admin' })
  t.match(changed.body, { status: 'invited', created_by: owner.id }, 'an owner can make it theirs')
  t.match(await invitee.client.post(`${path}/${invitation.id}/accept`), {
    status: 200,
    body: { role: 'admin' },
  })
})

t.test('the keys that a removed admin made for service accounts are found by their maker', async (t) => {
  const [owner, admin] = [await server.person(), await server.person()]
  const { body: organization } = await owner.client.post('/organizations', { name: 'Acme' })
  const path = `/organizations/${organization.id}/members`
  await acquaint(server, owner, admin)
  const { body: member } = await owner.client.post(path, { user_id: admin.id, role: 'admin' })
  const accounts: string[] = []
  for (const name of ['one', 'two']) {
    const fields = { name, organization_id: organization.id, role: 'member' }
    accounts.push((await owner.client.post('/service-accounts', fields)).body.id)
  }
  const keysOf = (id: string) => `/service-accounts/${id}/api-keys`
  const key = { name: 'k', scopes: ['projects:read', 'keys:write'] }
  await owner.client.post(keysOf(accounts[0]), key)
  const { body: made } = await admin.client.post(keysOf(accounts[1]), key)
  t.equal(made.created_by, admin.id)
  const { body: child } = await createClient(server.url, made.key).post('/user/api-keys', key)
  t.equal(child.created_by, admin.id, 'what the key makes has the same maker')
  const program = createClient(server.url, made.key)
  const { body: rotated } = await program.post(`/user/api-keys/${child.id}/rotate`)
  t.equal(rotated.created_by, admin.id, 'and so has a rotated key')
  await owner.client.delete(`${path}/${member.id}`)
  t.equal((await createClient(second.url, made.key).get('/key')).status, 200, 'the key goes on')
  const query = `organization_id=${organization.id}&key_created_by=${admin.id}`
  const found = await owner.client.get(`/service-accounts?${query}`)
  t.match(found.body, { data: [{ id: accounts[1] }], pagination: { total: 1 } })
  const keys = await owner.client.get(`${keysOf(accounts[1])}?created_by=${admin.id}`)
  t.same(
    keys.body.data.map(({ id }: { id: string }) => id),
    [rotated.id, child.id, made.id],
  )
  t.equal((await owner.client.delete(`${keysOf(accounts[1])}/${made.id}`)).status, 204)
  for (const secret of [made.key, child.key, rotated.key])
    t.equal((await createClient(second.url, secret).get('/key')).status, 401, 'and ends with what it made')
  t.equal((await owner.client.get(`/service-accounts?${query}`)).body.pagination.total, 0)
})

t.test('a key that is limited makes no admin, and takes over none', async (t) => {
  const limited = async (fields: object): Promise<Client> => {
    const operator = await server.person({ role: 'admin' })
    const { key } = await server.services.database.transaction((tx) =>
      insertApiKey(tx, 'test', {
        userId: operator.id,
        name: 'limited',
        scopes: ['admin', 'user:read'],
        projectIds: null,
        expiresAt: null,
        ...fields,
      }),
    )
    return createClient(server.url, key)
  }
  const all = (await server.admin.client.get('/key')).body.scopes
  const soon = new Date(Date.now() + 3_600_000)
  const victim: Person = await server.person({ role: 'admin' })
  const user: Person = await server.person()
  const disabled: Person = await server.person({ role: 'admin' })
  await server.admin.client.put(`/users/${disabled.id}`, { status: 'disabled' })
  for (const [fields, constraint] of [
    [{}, 'scope'],
    [{ scopes: all, expiresAt: soon }, 'expires_at'],
    [{ scopes: all, allowedAddresses: ['127.0.0.0/8'] }, 'allowed_addresses'],
  ] as const) {
    const client = await limited(fields)
    const admin = { email: newEmail(), name: 'New', role: 'admin' }
    t.match(await client.post('/users', admin), refusal(constraint))
    t.match(await client.put(`/users/${user.id}`, { role: 'admin' }), refusal(constraint))
    t.match(await client.put(`/users/${victim.id}`, { email: newEmail() }), refusal(constraint))
    t.equal((await client.post('/users', { email: newEmail(), name: 'New' })).status, 201, 'it makes users')
    t.equal((await client.put(`/users/${user.id}`, { email: newEmail() })).status, 200)
    t.match(await client.put(`/users/${disabled.id}`, { status: 'active' }), refusal(constraint))
  }
  t.equal((await server.admin.client.put(`/users/${user.id}`, { role: 'admin' })).status, 200)
})

/** Sends a POST whose body arrives when `meanwhile` is done. */
async function heldBack(key: string, path: string, body: object, meanwhile: () => Promise<unknown>) {
  const text = JSON.stringify(body)
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'content-length': String(text.length),
  }
  const request = httpRequest(`${server.url}/v1${path}`, { method: 'POST', headers })
  const answered = once(request, 'response')
  request.write(text.slice(0, 3))
  const before = await server.admin.client.get('/key')
  t.equal(before.status, 200)
  await meanwhile()
  request.end(text.slice(3))
  const [response] = (await answered) as [IncomingMessage]
  response.resume()
  return response.statusCode
}

t.test('a right that is taken away while the body is held back is not handed out', async (t) => {
  const operatorOf = async () => await server.person({ role: 'admin' })
  const { client: admin } = server.admin
  const newAdmin = () => ({ email: newEmail(), name: 'New', role: 'admin' })
  const keyOf = async ({ client }: Person): Promise<string> => (await client.get('/key')).body.id

  const first = await operatorOf()
  const revoke = async () => await first.client.delete(`/user/api-keys/${await keyOf(first)}`)
  t.equal(await heldBack(first.key, '/users', newAdmin(), revoke), 401, 'the key was revoked')

  const next = await operatorOf()
  const disable = () => admin.put(`/users/${next.id}`, { status: 'disabled' })
  t.equal(await heldBack(next.key, '/users', newAdmin(), disable), 401, 'the operator was disabled')

  const last = await operatorOf()
  const demote = () => admin.put(`/users/${last.id}`, { role: 'user' })
  t.equal(await heldBack(last.key, '/users', newAdmin(), demote), 403, 'the operator was demoted')

  const person = await server.person()
  const id = await keyOf(person)
  const narrow = () => person.client.put(`/user/api-keys/${id}`, { scopes: ['keys:write', 'user:read'] })
  const wide = { name: 'k', scopes: ['projects:write'] }
  t.equal(await heldBack(person.key, '/user/api-keys', wide, narrow), 403, 'the key lost scopes')
})

t.test('a limited key does not get the secret of another by its Idempotency-Key', async (t) => {
  const person = await server.person()
  const body = { name: 'k', scopes: ['projects:read'] }
  const headers = { 'idempotency-key': 'the-same' }
  const { status } = await person.client.call('POST', '/user/api-keys', { body, headers })
  t.equal(status, 201)
  const soon = new Date(Date.now() + 3_600_000)
  const { scopes } = (await person.client.get('/key')).body
  for (const limits of [{ expires_at: soon.toISOString() }, { allowed_addresses: ['127.0.0.0/8'] }]) {
    const { body: limited } = await person.client.post('/user/api-keys', { name: 'l', scopes, ...limits })
    const client = createClient(server.url, limited.key)
    t.match(await client.call('POST', '/user/api-keys', { body, headers }), refusal('scope'))
  }
})

t.test('of two members who remove each other at once, one is removed', async (t) => {
  const [owner, ada, bob] = [await server.person(), await server.person(), await server.person()]
  for (const place of ['project', 'organization']) {
    const { body } = await owner.client.post(`/${place}s`, { name: 'P' })
    const path = `/${place}s/${body.id}/members`
    for (const person of [ada, bob]) {
      await acquaint(server, owner, person)
      t.equal((await owner.client.post(path, { user_id: person.id, role: 'owner' })).status, 201)
    }
    const members = (await owner.client.get(path)).body.data
    const memberOf = ({ id }: Person): string => members.find(({ user }: any) => user.id === id).id
    const lock = await server.services.database.openSession()
    await lock.query('BEGIN')
    await lock.query(`SELECT FROM ${place}s WHERE id = $1 FOR UPDATE`, [body.id])
    const removals = Promise.all([
      ada.client.delete(`${path}/${memberOf(bob)}`),
      bob.client.delete(`${path}/${memberOf(ada)}`),
    ])
    await waitForLock(server.services.database, { part: `${place}s`, count: 2 })
    await lock.query('ROLLBACK')
    await lock.end()
    const statuses = (await removals).map(({ status }) => status)
    // An organization is not there for others.
    t.strictSame(statuses.sort(), [204, place === 'project' ? 403 : 404], place)
  }
})

t.test('what a caller loses while its request waits, it does not hand out', async (t) => {
  const { database } = server.services
  const target = await server.person()
  const endpoint = { url: 'https://example.com/', event_types: ['project.created'] }
  const cases: Array<{
    loses: string
    sends: (client: Client, endpointId: string) => Promise<unknown>
    refused: object
  }> = [
    {
      loses: `UPDATE api_keys SET scopes = '{keys:write}' WHERE user_id = $1`,
      sends: (client) => client.post('/user/api-keys', { name: 'k', scopes: ['storage:write'] }),
      refused: refusal('scope'),
    },
    {
      loses: 'UPDATE api_keys SET revoked_at = now() WHERE user_id = $1',
      sends: (client) => client.post('/webhooks/endpoints', endpoint),
      refused: { status: 401 },
    },
    {
      loses: 'UPDATE api_keys SET revoked_at = now() WHERE user_id = $1',
      sends: (client, id) => client.put(`/webhooks/endpoints/${id}`, { url: 'https://example.org/' }),
      refused: { status: 401 },
    },
    {
      loses: `UPDATE api_keys SET scopes = '{webhooks:write}' WHERE user_id = $1`,
      sends: (client, id) => client.post(`/webhooks/endpoints/${id}/rotate-secret`),
      refused: refusal('scope'),
    },
    {
      loses: `UPDATE users SET role = 'user' WHERE id = $1`,
      sends: (client) => client.put(`/users/${target.id}`, { role: 'admin' }),
      refused: refusal('scope'),
    },
    {
      loses: `UPDATE users SET role = 'user' WHERE id = $1`,
      sends: (client) => client.post('/users', { email: newEmail(), name: 'Friend', role: 'admin' }),
      refused: refusal('scope'),
    },
  ]
  for (const { loses, sends, refused } of cases) {
    const caller = await server.person({ role: 'admin' })
    const { id: endpointId } = (await caller.client.post('/webhooks/endpoints', endpoint)).body
    const lock = await database.openSession()
    await lock.query('BEGIN')
    await lock.query('SELECT FROM users WHERE id = $1 FOR UPDATE', [caller.id])
    const sent = sends(caller.client, endpointId)
    await waitForLock(database)
    await lock.query(loses, [caller.id])
    await lock.query('COMMIT')
    await lock.end()
    t.match(await sent, refused, loses)
  }
})

t.test('a member who is removed while a request waits changes nothing in the project', async (t) => {
  const { bob, project, path, file, member } = await team()
  const lock = await server.services.database.openSession()
  await lock.query('BEGIN')
  await lock.query('SELECT FROM projects WHERE id = $1 FOR UPDATE', [project.id])
  const sent = bob.client.put(`/storage/files/${file.id}`, { tags: ['changed'] })
  await waitForLock(server.services.database)
  await lock.query('DELETE FROM members WHERE id = $1', [member.id])
  await lock.query('COMMIT')
  await lock.end()
  t.match(await sent, refusal('role'), path)
})
