// Service accounts: users that are programs. They outlive people, act in events, and use the limits of what
// they belong to.
import t from 'tap'
import { createClient, type Client } from '../support/http/client.ts'
import { runRetention } from '../support/database/retention.ts'
import { acquaint } from '../support/database/db-fixtures.ts'
import { createSignIn } from '../support/operations/operation-fixtures-auth.ts'
import { upload } from '../support/storage/storage.ts'
import { startServer, type Person } from '../support/server/server.ts'

const server = await startServer(t)
const scopes = ['projects:read', 'projects:write', 'organizations:read', 'organizations:write', 'keys:write']
const allOf = [...scopes, 'user:read', 'user:write', 'storage:read', 'storage:write', 'ai:write', 'ai:read']

/** A service account of a new organization, with a key. */
async function program({ client }: Person, role: 'admin' | 'member' = 'admin') {
  const { body: organization } = await client.post('/organizations', { name: 'Acme' })
  const { body: account } = await client.post('/service-accounts', {
    name: 'Deployments',
    organization_id: organization.id,
    role,
  })
  const { body: key } = await client.post(`/service-accounts/${account.id}/api-keys`, {
    name: 'deploy',
    scopes: allOf,
  })
  return { organization, account, key, robot: createClient(server.url, key.key) }
}

const refusal = (constraint: string) => ({ status: 403, body: { error: { details: { constraint } } } })

t.test(
  'a service account of an organization works in its projects, and in no space of its own',
  async (t) => {
    const owner = await server.person()
    const { organization, robot } = await program(owner)
    const made = await robot.post('/projects', { name: 'By a program', organization_id: organization.id })
    t.match(made, { status: 201, body: { owner_id: owner.id, your_role: 'admin' } })
    t.match(await robot.delete(`/projects/${made.body.id}`), refusal('role'), 'it owns nothing')
    t.match(await robot.post('/projects', { name: 'Of its own' }), refusal('service_account'))
    t.match(await robot.post('/organizations', { name: 'Of its own' }), refusal('service_account'))
    t.match(await robot.put('/user/profile', { name: 'A person' }), refusal('service_account'))
    t.match(await robot.post('/ai/sessions', { title: 'Own' }), refusal('service_account'))
    t.match(await upload(robot, { bytes: 'own' }), refusal('service_account'))
    t.equal((await upload(robot, { bytes: 'ours', fields: { project_id: made.body.id } })).status, 201)
  },
)

t.test('a service account is the actor of its events, and is named in them', async (t) => {
  const owner = await server.person()
  const { organization, account, key, robot } = await program(owner)
  const { body: project } = await robot.post('/projects', { name: 'Built', organization_id: organization.id })
  const { data } = (await owner.client.get(`/events?project_id=${project.id}`)).body
  t.match(data[0].actor, {
    type: 'api_key',
    id: key.id,
    name: 'deploy',
    user_id: account.user_id,
    service_account_id: account.id,
  })
})

t.test('a service account outlives the people who made it', async (t) => {
  const owner = await server.person()
  const { organization, robot } = await program(owner)
  const second = await server.person()
  await server.admin.client.post(`/organizations/${organization.id}/members`, {})
  const path = `/organizations/${organization.id}/members`
  const { body: invited } = await owner.client.post(path, { user_id: second.id, role: 'owner' })
  await second.client.post(`${path}/${invited.id}/accept`)
  t.equal((await server.admin.client.delete(`/users/${owner.id}`)).status, 204)
  t.equal((await robot.get('/key')).status, 200)
})

t.test('a deleted service account is refused at once, and what it made in projects stays', async (t) => {
  const owner = await server.person()
  const { organization, account, robot } = await program(owner)
  const { body: project } = await robot.post('/projects', { name: 'Built', organization_id: organization.id })
  t.equal((await owner.client.delete(`/service-accounts/${account.id}`)).status, 204)
  t.equal((await robot.get('/key')).status, 401)
  t.equal((await owner.client.get(`/service-accounts/${account.id}`)).status, 404)
  const { data } = (await owner.client.get('/events?type=organization_member.removed')).body
  t.match(data, [
    {
      organization_id: organization.id,
      data: {
        object: { user_id: account.user_id, role: 'admin', status: 'active', organization_name: 'Acme' },
      },
    },
  ])
  const { body } = await owner.client.get(`/projects/${project.id}`)
  t.match(body, { owner_id: owner.id, member_count: 1 }, 'the project stays')
})

t.test('a revoked key is refused at once, with the keys that it made', async (t) => {
  const owner = await server.person()
  const { account, key, robot } = await program(owner)
  const child = await robot.post('/user/api-keys', { name: 'child', scopes: ['projects:read'] })
  t.equal(child.status, 201)
  const rotated = await robot.post(`/user/api-keys/${child.body.id}/rotate`)
  t.equal(rotated.status, 201)
  const keys = `/service-accounts/${account.id}/api-keys`
  t.equal((await owner.client.get(keys)).body.pagination.total, 3)
  t.equal((await owner.client.delete(`${keys}/${key.id}`)).status, 204)
  for (const secret of [key.key, child.body.key, rotated.body.key])
    t.equal((await createClient(server.url, secret).get('/key')).status, 401)
})

t.test('a key of a service account has no more than the key that makes it, and never admin', async (t) => {
  const owner = await server.person()
  const { account } = await program(owner)
  const path = `/service-accounts/${account.id}/api-keys`
  const { body: narrow } = await owner.client.post('/user/api-keys', {
    name: 'narrow',
    scopes: ['organizations:write', 'projects:read'],
    expires_at: new Date(Date.now() + 3_600_000).toISOString(),
  })
  const client = createClient(server.url, narrow.key)
  t.match(await client.post(path, { name: 'k', scopes: ['storage:read'] }), refusal('scope'))
  t.match(
    await client.post(path, { name: 'k', scopes: ['projects:read'], expires_at: null }),
    refusal('expires_at'),
  )
  const { status, body } = await client.post(path, { name: 'k', scopes: ['projects:read'] })
  t.equal(status, 201)
  t.equal(body.expires_at, narrow.expires_at)
  const { client: operator } = server.admin
  const { body: organization } = await operator.post('/organizations', { name: 'Of the operator' })
  const own = await operator.post('/service-accounts', {
    name: 'Operator',
    organization_id: organization.id,
    role: 'admin',
  })
  t.match(
    await operator.post(`/service-accounts/${own.body.id}/api-keys`, { name: 'k', scopes: ['admin'] }),
    refusal('scope'),
  )
  t.equal((await operator.put(`/users/${own.body.user_id}`, { role: 'admin' })).status, 404, 'it is no user')
  t.equal((await operator.get(`/users/${own.body.user_id}`)).status, 404)
})

t.test('a session makes keys only soon after its sign-in', async (t) => {
  const owner = await server.person()
  const { account } = await program(owner)
  const { access_token: token, id } = await createSignIn(server, owner.id)
  const session = createClient(server.url, token)
  const path = `/service-accounts/${account.id}/api-keys`
  t.equal((await session.post(path, { name: 'k', scopes: ['projects:read'] })).status, 201)
  await server.services.database.prisma.signIn.update({
    where: { id },
    data: { createdAt: new Date(Date.now() - 11 * 60_000) },
  })
  t.match(await session.post(path, { name: 'k', scopes: ['projects:read'] }), refusal('recent_sign_in'))
})

t.test('a service account of a project is in this project only', async (t) => {
  const owner = await server.person()
  const project = async () => (await owner.client.post('/projects', { name: 'P' })).body.id as string
  const [home, other] = [await project(), await project()]
  const { body: account } = await owner.client.post('/service-accounts', {
    name: 'CI',
    project_id: home,
    role: 'editor',
  })
  t.match((await owner.client.get(`/projects/${home}/members?role=editor`)).body.data[0], {
    role: 'editor',
    user: { id: account.user_id, name: 'CI', email: `${account.id}@service-accounts.invalid` },
  })
  const added = await owner.client.post(`/projects/${other}/members`, {
    user_id: account.user_id,
    role: 'viewer',
  })
  t.equal(added.status, 404, 'elsewhere it does not exist')
  const { body: organization } = await owner.client.post('/organizations', { name: 'Acme' })
  const member = await owner.client.post(`/organizations/${organization.id}/members`, {
    user_id: account.user_id,
    role: 'member',
  })
  t.equal(member.status, 404)
  for (const role of ['member', 'owner'])
    t.equal(
      (await owner.client.post('/service-accounts', { name: 'CI', project_id: home, role })).status,
      400,
      role,
    )
})

t.test('service accounts use the limits of what they belong to, together', async (t) => {
  const own = await startServer(t, { env: { QUOTA_PROJECTS: '3', RATE_LIMIT_WRITE: '60' } })
  const owner = await own.person()
  const { body: organization } = await owner.client.post('/organizations', { name: 'Acme' })
  const robots: Client[] = []
  for (const name of ['one', 'two']) {
    const { body: account } = await owner.client.post('/service-accounts', {
      name,
      organization_id: organization.id,
      role: 'admin',
    })
    const { body: key } = await owner.client.post(`/service-accounts/${account.id}/api-keys`, {
      name,
      scopes: allOf,
    })
    robots.push(createClient(own.url, key.key))
  }
  const replies = await Promise.all(
    [0, 1, 2, 3].map((i) =>
      robots[i % 2].post('/projects', { name: `P ${i}`, organization_id: organization.id }),
    ),
  )
  t.same(replies.map(({ status }) => status).sort(), [201, 201, 201, 403])
  const [first, second] = await Promise.all(robots.map((robot) => robot.get('/user/limits')))
  const used = ({ body }: typeof first, limit: string) =>
    body.limits.find(({ name }: { name: string }) => name === limit).used
  t.same([used(first, 'projects'), used(second, 'projects')], [3, 3])
  const remaining = (reply: typeof first) => /remaining=(\d+)|;r=(\d+)/.exec(reply.headers.get('ratelimit')!)
  t.not(remaining(first)![0], remaining(second)![0], 'and one rate limit')
})

t.test('the members of an organization without the role admin manage no service accounts', async (t) => {
  const owner = await server.person()
  const { account, robot, organization } = await program(owner, 'member')
  t.match(await robot.get(`/service-accounts/${account.id}`), refusal('role'))
  t.match(await robot.get(`/service-accounts?organization_id=${organization.id}`), refusal('role'))
  t.equal((await robot.get('/service-accounts')).body.pagination.total, 0)
  t.equal((await owner.client.get('/service-accounts')).body.pagination.total, 1)
  t.equal(
    (await owner.client.get(`/service-accounts?organization_id=${organization.id}`)).body.data.length,
    1,
  )
})

t.test('a person who is disabled takes the programs of her projects along', async (t) => {
  const owner = await server.person()
  const project = (await owner.client.post('/projects', { name: 'P' })).body.id
  const place = { project_id: project, role: 'admin' }
  const { body: account } = await owner.client.post('/service-accounts', { name: 'CI', ...place })
  const path = `/service-accounts/${account.id}`
  const { body: key } = await owner.client.post(`${path}/api-keys`, { name: 'CI', scopes: ['projects:read'] })
  const robot = createClient(server.url, key.key)
  t.equal((await robot.get(`/projects/${project}`)).status, 200)
  const { client: operator } = server.admin
  await operator.put(`/users/${owner.id}`, { status: 'disabled' })
  t.equal((await robot.get(`/projects/${project}`)).status, 401)
  await operator.put(`/users/${owner.id}`, { status: 'active' })
  t.equal((await robot.get(`/projects/${project}`)).status, 200)
  t.equal((await operator.delete(path)).status, 204, 'and an operator deletes one')
  t.equal((await robot.get('/key')).status, 401)
})

t.test(
  "in a person's project only owners manage service accounts, which use the limits of one",
  async (t) => {
    const [owner, admin] = [await server.person(), await server.person()]
    await acquaint(server, owner, admin)
    const project = (await owner.client.post('/projects', { name: 'P' })).body.id
    await owner.client.post(`/projects/${project}/members`, { user_id: admin.id, role: 'admin' })
    const fields = { name: 'CI', project_id: project, role: 'viewer' }
    t.match(await admin.client.post('/service-accounts', fields), refusal('role'))
    const { body: account } = await owner.client.post('/service-accounts', fields)
    t.match(await admin.client.get(`/service-accounts/${account.id}`), refusal('role'))
    t.equal((await admin.client.get('/service-accounts')).body.pagination.total, 0)
  },
)

t.test('a service account of an archived project can be deleted, and its keys revoked', async (t) => {
  const owner = await server.person()
  const project = (await owner.client.post('/projects', { name: 'P' })).body.id
  const fields = { name: 'CI', project_id: project, role: 'viewer' }
  const { body: account } = await owner.client.post('/service-accounts', fields)
  const path = `/service-accounts/${account.id}`
  const { body: key } = await owner.client.post(`${path}/api-keys`, { name: 'CI', scopes: ['projects:read'] })
  await owner.client.post(`/projects/${project}/archive`)
  t.equal((await owner.client.put(path, { name: 'Other' })).status, 409)
  t.equal((await owner.client.delete(`${path}/api-keys/${key.id}`)).status, 204)
  await owner.client.delete(`/projects/${project}`)
  t.equal((await owner.client.delete(path)).status, 204)
})

t.test('the service accounts of a purged project are gone', async (t) => {
  const owner = await server.person()
  const project = (await owner.client.post('/projects', { name: 'P' })).body.id
  const fields = { name: 'CI', project_id: project, role: 'viewer' }
  const { body: account } = await owner.client.post('/service-accounts', fields)
  const path = `/service-accounts/${account.id}/api-keys`
  const scopes = ['projects:read', 'webhooks:write']
  const { body: key } = await owner.client.post(path, { name: 'CI', scopes })
  const endpoint = { url: 'https://example.com/', event_types: ['project.updated'] }
  const { body: created } = await createClient(server.url, key.key).post('/webhooks/endpoints', endpoint)
  await owner.client.delete(`/projects/${project}`)
  const { database } = server.services
  await database.prisma.project.update({ where: { id: project }, data: { deletedAt: new Date(0) } })
  await runRetention(database)
  t.equal(await database.prisma.project.count({ where: { id: project } }), 0)
  t.equal((await createClient(server.url, key.key).get('/key')).status, 401)
  t.equal(await database.prisma.user.count({ where: { id: account.user_id, status: 'active' } }), 0)
  const left = { id: created.id, deletedAt: null }
  t.equal(await database.prisma.webhookEndpoint.count({ where: left }), 0, 'its webhook endpoints, too')
})

t.test('a project takes its service accounts, with what they have, to another account', async (t) => {
  const [owner, second] = [await server.person(), await server.person()]
  await acquaint(server, owner, second)
  const project = (await owner.client.post('/projects', { name: 'P' })).body.id
  const fields = { name: 'CI', project_id: project, role: 'editor' }
  const { body: account } = await owner.client.post('/service-accounts', fields)
  const path = `/service-accounts/${account.id}/api-keys`
  const { body: key } = await owner.client.post(path, { name: 'CI', scopes: allOf })
  const robot = createClient(server.url, key.key)
  for (let i = 0; i < 3; i++)
    t.equal((await upload(robot, { bytes: `file ${i}`, fields: { project_id: project } })).status, 201)
  const usedBy = async ({ client }: { client: Client }) => {
    const { limits } = (await client.get('/user/limits')).body
    return ['files', 'service_accounts', 'api_keys'].map(
      (limit) => limits.find(({ name }: { name: string }) => name === limit).used,
    )
  }
  t.same(
    [await usedBy(owner), await usedBy(second)],
    [
      [3, 1, 2],
      [0, 0, 1],
    ],
  )
  await owner.client.post(`/projects/${project}/members`, { user_id: second.id, role: 'owner' })
  const taken = await second.client.post(`/projects/${project}/transfer`, { user_id: second.id })
  t.equal(taken.status, 200)
  t.same(
    [await usedBy(owner), await usedBy(second)],
    [
      [0, 0, 1],
      [3, 1, 2],
    ],
  )
  t.same(await usedBy({ client: robot }), [3, 1, 2], 'the program has the limits of the new owner')
})

t.test('the service accounts of an organization leave a project that it loses', async (t) => {
  const owner = await server.person()
  const { organization, robot } = await program(owner)
  const { body: project } = await owner.client.post('/projects', {
    name: 'P',
    organization_id: organization.id,
  })
  t.equal((await robot.get(`/projects/${project.id}`)).status, 200)
  await owner.client.post(`/projects/${project.id}/transfer`, { user_id: owner.id })
  t.equal((await robot.get(`/projects/${project.id}`)).status, 403)
})

t.test('revoking a key with all that it made revokes its keys of service accounts', async (t) => {
  const owner = await server.person()
  const { account } = await program(owner)
  const { body: leaked } = await owner.client.post('/user/api-keys', { name: 'leaked', scopes: allOf })
  const made = await createClient(server.url, leaked.key).post(`/service-accounts/${account.id}/api-keys`, {
    name: 'made',
    scopes: ['projects:read'],
  })
  t.equal(made.body.created_by_key, leaked.id)
  const robot = createClient(server.url, made.body.key)
  t.equal((await robot.get('/key')).status, 200)
  t.equal((await owner.client.delete(`/user/api-keys/${leaked.id}?cascade=true`)).status, 204)
  t.equal((await robot.get('/key')).status, 401)
})
