// Organizations and their members, what their roles give in projects, invitations, and transfers of projects.
import t from 'tap'
import { startServer, type Person } from '../support/server/server.ts'
import { acquaint } from '../support/database/db-fixtures.ts'

const server = await startServer(t)
const { prisma } = server.services.database

/** An organization with an owner, an admin and a member. */
async function company() {
  const [owner, admin, member] = [await server.person(), await server.person(), await server.person()]
  await acquaint(server, owner, admin, member)
  const { body: organization } = await owner.client.post('/organizations', { name: 'Acme' })
  const path = `/organizations/${organization.id}`
  const add = async (person: Person, role: string) =>
    (await owner.client.post(`${path}/members`, { user_id: person.id, role })).body.id as string
  return {
    owner,
    admin,
    member,
    organization,
    path,
    ids: { admin: await add(admin, 'admin'), member: await add(member, 'member') },
  }
}

async function projectOf({ client }: Person, organizationId: string): Promise<string> {
  const reply = await client.post('/projects', { name: 'Launch', organization_id: organizationId })
  t.equal(reply.status, 201, reply.text)
  return reply.body.id
}

const roleIn = async ({ client }: Person, project: string): Promise<string | number> => {
  const reply = await client.get(`/projects/${project}`)
  return reply.status === 200 ? reply.body.your_role : reply.status
}

t.test('owners and admins of an organization are members of its projects', async (t) => {
  const { owner, admin, member, organization, path, ids } = await company()
  const project = await projectOf(admin, organization.id)
  t.same([await roleIn(owner, project), await roleIn(admin, project)], ['owner', 'owner'])
  t.equal(await roleIn(member, project), 403)
  const { body } = await owner.client.get(`/projects/${project}`)
  t.match(body, { organization_id: organization.id, member_count: 2, owner_id: admin.id })
  t.equal((await owner.client.get('/projects')).body.pagination.total, 2, 'with the common project')

  t.equal((await owner.client.put(`${path}/members/${ids.member}`, { role: 'admin' })).status, 200)
  t.equal(await roleIn(member, project), 'admin', 'a promoted member is in all projects')
  t.equal((await owner.client.put(`${path}/members/${ids.member}`, { role: 'member' })).status, 200)
  t.equal(await roleIn(member, project), 403, 'and a demoted one in none')

  t.equal((await owner.client.put(`${path}/members/${ids.admin}`, { role: 'member' })).status, 200)
  t.equal(await roleIn(admin, project), 'owner', 'what an admin was in the project stays after a demotion')
  t.equal((await owner.client.delete(`${path}/members/${ids.admin}`)).status, 204)
  t.equal(await roleIn(admin, project), 403, 'and ends with the membership in the organization')
  const { owner_id: ownerId } = (await owner.client.get(`/projects/${project}`)).body
  t.equal(ownerId, owner.id, 'the project has another main owner')
})

t.test('a role in the project and a role through the organization do not end each other', async (t) => {
  const { owner, member, organization, path, ids } = await company()
  const project = await projectOf(owner, organization.id)
  const added = await owner.client.post(`/projects/${project}/members`, {
    user_id: member.id,
    role: 'editor',
  })
  t.match(added, { status: 201, body: { role: 'editor', organization_role: null } })
  const inProject = `/projects/${project}/members/${added.body.id}`
  await owner.client.put(`${path}/members/${ids.member}`, { role: 'admin' })
  t.match((await owner.client.get(inProject)).body, { role: 'admin', organization_role: 'admin' })
  t.match(await owner.client.delete(inProject), {
    status: 409,
    body: { error: { details: { constraint: 'organization_role' } } },
  })
  t.match((await owner.client.put(inProject, { role: 'viewer' })).body, { role: 'admin' })
  await owner.client.put(`${path}/members/${ids.member}`, { role: 'member' })
  t.equal(await roleIn(member, project), 'viewer')
})

t.test('the last owner stays, also when two owners leave at once', async (t) => {
  const { owner, admin, path, ids, organization } = await company()
  const own = organization.your_membership.id
  t.match(await owner.client.delete(`${path}/members/${own}`), {
    status: 409,
    body: { error: { details: { constraint: 'last_owner' } } },
  })
  t.equal((await owner.client.put(`${path}/members/${ids.admin}`, { role: 'owner' })).status, 200)
  const replies = await Promise.all([
    owner.client.delete(`${path}/members/${own}`),
    admin.client.delete(`${path}/members/${ids.admin}`),
  ])
  t.same(replies.map(({ status }) => status).sort(), [204, 409])
  t.equal(
    (await server.admin.client.delete(`/users/${replies[0].status === 409 ? owner.id : admin.id}`)).status,
    409,
  )
})

t.test('an email address is invited, sees the invitation when verified, and accepts once', async (t) => {
  const { owner, admin, path } = await company()
  const guest = await server.person()
  const invited = await admin.client.post(`${path}/members`, { email: guest.email, role: 'admin' })
  t.match(invited, { status: 201, body: { status: 'invited', user: null, user_id: null, role: 'admin' } })
  const unknown = await admin.client.post(`${path}/members`, { email: 'unknown@example.org', role: 'admin' })
  t.same(Object.keys(unknown.body), Object.keys(invited.body), 'the same for an address without a user')
  const where = { recipient: guest.email, kind: 'organization_invitation' }
  t.equal(await server.services.database.prisma.mail.count({ where }), 1, 'an e-mail is queued')
  t.equal((await admin.client.post(`${path}/members`, { email: guest.email, role: 'member' })).status, 409)

  const list = (await guest.client.get('/organizations?status=invited')).body
  t.equal(list.pagination.total, 1)
  t.equal(list.data[0].your_membership.id, invited.body.id)
  t.equal((await guest.client.get('/organizations')).body.pagination.total, 0)
  const accept = `${path}/members/${invited.body.id}/accept`
  t.equal((await owner.client.post(accept)).status, 404, 'another user cannot accept')
  const replies = await Promise.all([guest.client.post(accept), guest.client.post(accept)])
  t.same(
    replies.map(({ status, body }) => [status, body.status]),
    [1, 2].map(() => [200, 'active']),
  )
  t.match((await guest.client.get(path)).body, { your_membership: { role: 'admin', status: 'active' } })
})

t.test('an invitation of an unverified address is invisible, and a declined one is gone', async (t) => {
  const { owner, path } = await company()
  const guest = await server.person()
  const { body } = await owner.client.post(`${path}/members`, { email: guest.email, role: 'member' })
  await server.admin.client.put(`/users/${guest.id}`, { email_verified: false })
  t.equal((await guest.client.get('/organizations?status=invited')).body.pagination.total, 0)
  t.equal((await guest.client.post(`${path}/members/${body.id}/accept`)).status, 404)
  const stranger = await server.person()
  const { body: other } = await owner.client.post(`${path}/members`, { user_id: stranger.id, role: 'member' })
  t.match(other, { status: 'invited', user: null, user_id: stranger.id })
  t.equal((await stranger.client.get(path)).status, 403, 'an invited user is no member')
})

t.test('the invitations of a member who leaves or is demoted end', async (t) => {
  const { owner, admin, path, ids } = await company()
  await admin.client.post(`${path}/members`, { email: 'one@example.org', role: 'member' })
  const invited = async () =>
    (await owner.client.get(`${path}/members?status=invited`)).body.pagination.total as number
  t.equal(await invited(), 1)
  await owner.client.put(`${path}/members/${ids.admin}`, { role: 'member' })
  t.equal(await invited(), 0)
})

t.test('a project is transferred to an organization and back to a person', async (t) => {
  const { owner, admin, organization } = await company()
  const maker = await server.person()
  await acquaint(server, owner, maker)
  const { body: project } = await maker.client.post('/projects', { name: 'Mine' })
  const transfer = `/projects/${project.id}/transfer`
  t.equal((await maker.client.post(transfer, { organization_id: organization.id })).status, 403)
  t.equal((await owner.client.post(transfer, { organization_id: organization.id })).status, 403)
  await maker.client.post(`/projects/${project.id}/members`, { user_id: owner.id, role: 'owner' })
  const moved = await owner.client.post(transfer, { organization_id: organization.id })
  t.match(moved, { status: 200, body: { organization_id: organization.id, member_count: 3 } })
  t.equal(await roleIn(admin, project.id), 'admin')
  const types = (await owner.client.get(`/events?project_id=${project.id}`)).body.data
  t.ok(types.some(({ type }: { type: string }) => type === 'project.transferred'))

  t.match(await owner.client.post(transfer, { user_id: maker.id }), {
    status: 403,
    body: { error: { details: { constraint: 'owner' } } },
  })
  const back = await maker.client.post(transfer, { user_id: maker.id })
  t.match(back, { status: 200, body: { organization_id: null, owner_id: maker.id, member_count: 2 } })
  t.equal(await roleIn(admin, project.id), 403)
  t.equal(await roleIn(owner, project.id), 'owner', 'the role in the project stays')
})

t.test('a transfer and a change of the admins at once leave no former admin in the project', async (t) => {
  for (let round = 0; round < 5; round++) {
    const { owner, admin, organization, path, ids } = await company()
    const { body: project } = await owner.client.post('/projects', { name: 'Mine' })
    const replies = await Promise.all([
      owner.client.post(`/projects/${project.id}/transfer`, { organization_id: organization.id }),
      owner.client.delete(`${path}/members/${ids.admin}`),
    ])
    t.same(
      replies.map(({ status }) => status),
      [200, 204],
    )
    t.equal(await roleIn(admin, project.id), 403)
  }
})

t.test('an organization with projects cannot be deleted; a deleted one is gone for all', async (t) => {
  const { owner, admin, member, organization, path } = await company()
  const project = await projectOf(owner, organization.id)
  t.match(await owner.client.delete(path), {
    status: 409,
    body: { error: { details: { constraint: 'has_projects' } } },
  })
  t.equal((await admin.client.delete(path)).status, 403)
  await owner.client.delete(`/projects/${project}`)
  t.equal((await owner.client.delete(path)).status, 204)
  for (const { client } of [owner, admin, member]) t.equal((await client.get(path)).status, 404)
  t.equal((await owner.client.post(`/projects/${project}/restore`)).status, 200, 'by its own owner')
  t.equal(await roleIn(admin, project), 403)
})

t.test('the members of an organization read its events', async (t) => {
  const { member, organization, path, owner } = await company()
  await owner.client.put(path, { name: 'Acme Inc.' })
  const { data } = (await member.client.get('/events?limit=100')).body
  const own = data.filter(({ organization_id: id }: { organization_id: string }) => id === organization.id)
  const types = own.map(({ type }: { type: string }) => type)
  t.same(types, [
    'organization.created',
    'organization_member.added',
    'organization_member.added',
    'organization.updated',
  ])
  t.equal(own[0].project_id, null)
  t.equal(own[3].data.previous_attributes.name, 'Acme')
  const stranger = await server.person()
  t.equal((await stranger.client.get(`/events/${own[0].id}`)).status, 403)
  t.equal((await member.client.get(`/events/${own[0].id}`)).status, 200)
  await owner.client.post(`${path}/members`, { email: 'two@example.org', role: 'member' })
  const last = (await owner.client.get('/events?order=desc&limit=1')).body.data[0]
  t.equal(last.type, 'organization_invitation.created')
  t.equal((await member.client.get(`/events/${last.id}`)).status, 403, 'invitations are for admins')
})

t.test('the projects of an organization count against its limit', async (t) => {
  const { owner, organization, path } = await company()
  await projectOf(owner, organization.id)
  const used = (limits: Array<{ name: string; used: number }>) =>
    limits.find(({ name }) => name === 'projects')!.used
  t.equal(used((await owner.client.get(`${path}/limits`)).body.limits), 1)
  t.equal(used((await owner.client.get('/user/limits')).body.limits), 0)
})

t.test('a deleted user leaves organizations', async (t) => {
  const { owner, admin, path } = await company()
  t.equal((await server.admin.client.delete(`/users/${admin.id}`)).status, 204)
  t.equal((await owner.client.get(`${path}/members`)).body.pagination.total, 2)
})

t.test('a repeated request is refused after its sender has lost the role', async (t) => {
  const { owner, admin, path, ids } = await company()
  const add = () =>
    admin.client.call('POST', `${path}/members`, {
      body: { email: 'three@example.org', role: 'member' },
      headers: { 'idempotency-key': 'once' },
    })
  t.equal((await add()).status, 201)
  t.equal((await add()).headers.get('idempotent-replayed'), 'true')
  await owner.client.put(`${path}/members/${ids.admin}`, { role: 'member' })
  t.equal((await add()).status, 403)
})

t.test('so is one that created a project or a service account of the organization', async (t) => {
  const { owner, admin, organization, path, ids } = await company()
  const place = { organization_id: organization.id }
  const headers = { 'idempotency-key': 'once' }
  const { body: account } = await admin.client.post('/service-accounts', {
    name: 'Other',
    role: 'member',
    ...place,
  })
  const requests = [
    ['/projects', { name: 'Launch', ...place }],
    ['/service-accounts', { name: 'CI', role: 'member', ...place }],
    [`/service-accounts/${account.id}/api-keys`, { name: 'CI', scopes: ['projects:read'] }],
  ] as const
  const repeat = () =>
    Promise.all(requests.map(async ([to, body]) => await admin.client.call('POST', to, { body, headers })))
  t.same(
    (await repeat()).map(({ status }) => status),
    [201, 201, 201],
  )
  t.ok((await repeat()).every((reply) => reply.headers.get('idempotent-replayed') === 'true'))
  await owner.client.put(`${path}/members/${ids.admin}`, { role: 'member' })
  t.same(
    (await repeat()).map(({ status }) => status),
    [201, 403, 403],
    'the role in the new project stays after a demotion',
  )
  await owner.client.delete(`${path}/members/${ids.admin}`)
  const refused = await repeat()
  t.ok(refused.every(({ status, text }) => status === 403 && !text.includes(organization.id)))
})

t.test('transfers do not exceed the project limit of the new owner, also several at once', async (t) => {
  const own = await startServer(t, { env: { QUOTA_PROJECTS: '2' } })
  const [owner, other] = [await own.person(), await own.person()]
  await acquaint(own, owner, other)
  const { body: organization } = await owner.client.post('/organizations', { name: 'Acme' })
  const projects: string[] = []
  for (let i = 0; i < 2; i++) {
    const { body } = await other.client.post('/projects', { name: `P ${i}` })
    projects.push(body.id)
    await other.client.post(`/projects/${body.id}/members`, { user_id: owner.id, role: 'owner' })
  }
  await owner.client.post('/projects', { name: 'One', organization_id: organization.id })
  const replies = await Promise.all(
    projects.map((id) => owner.client.post(`/projects/${id}/transfer`, { organization_id: organization.id })),
  )
  t.same(replies.map(({ status }) => status).sort(), [200, 403])
  t.match(
    replies.find(({ status }) => status === 403),
    { body: { error: { details: { constraint: 'projects' } } } },
  )
})

t.test('an invitation to a role that its maker has lost is not accepted', async (t) => {
  const { owner, admin, path, ids } = await company()
  await owner.client.put(`${path}/members/${ids.admin}`, { role: 'owner' })
  const puppet = await server.person()
  const invited = await admin.client.post(`${path}/members`, { email: puppet.email, role: 'owner' })
  t.equal(invited.status, 201)
  await owner.client.put(`${path}/members/${ids.admin}`, { role: 'admin' })
  t.equal((await puppet.client.post(`${path}/members/${invited.body.id}/accept`)).status, 404)
})

t.test('a removed member does not come back through an invitation to a project', async (t) => {
  const { owner, organization, path } = await company()
  const project = await projectOf(owner, organization.id)
  const guest = await server.person()
  const invited = await owner.client.post(`/projects/${project}/members`, {
    email: guest.email,
    role: 'admin',
  })
  const joined = await owner.client.post(`${path}/members`, { email: guest.email, role: 'member' })
  await guest.client.post(`${path}/members/${joined.body.id}/accept`)
  await owner.client.delete(`${path}/members/${joined.body.id}`)
  const accept = `/projects/${project}/invitations/${invited.body.id}/accept`
  t.equal((await guest.client.post(accept)).status, 409)
  t.equal(await roleIn(guest, project), 403)
})

t.test('an invitation is read, sent again, accepted, declined and revoked at its own path', async (t) => {
  const { owner, admin, member, path } = await company()
  const other = await company()
  const guest = await server.person()
  const invite = async (role = 'member'): Promise<string> =>
    (await owner.client.post(`${path}/members`, { email: guest.email, role })).body.id
  const id = await invite('admin')
  const at = `${path}/invitations/${id}`
  t.match((await admin.client.get(`${path}/invitations`)).body, { data: [{ id }], pagination: { total: 1 } })
  t.equal((await member.client.get(`${path}/invitations`)).status, 403)
  t.equal((await member.client.get(at)).status, 404)
  t.equal((await other.owner.client.get(at)).status, 404)
  t.equal((await other.owner.client.post(`${other.path}/invitations/${id}/resend`)).status, 404)
  t.equal((await other.owner.client.delete(`${other.path}/invitations/${id}`)).status, 404)
  t.match((await guest.client.get(at)).body, { id, status: 'invited', role: 'admin' })
  for (const action of ['accept', 'decline'])
    t.equal((await owner.client.post(`${at}/${action}`)).status, 404, `the inviter: ${action}`)

  await prisma.organizationMember.update({ where: { id }, data: { expiresAt: new Date(0) } })
  t.equal((await guest.client.post(`${at}/accept`)).status, 409)
  for (const { client } of [member, guest]) t.equal((await client.post(`${at}/resend`)).status, 403)
  const resent = await admin.client.post(`${at}/resend`)
  t.match(resent, { status: 200, body: { id, status: 'invited', created_by: admin.id } })
  t.equal(await prisma.mail.count({ where: { recipient: guest.email } }), 2)
  const answers = await Promise.all([1, 2, 3].map(() => guest.client.post(`${at}/accept`)))
  t.same(
    answers.map(({ status, body }) => [status, body.status]),
    [1, 2, 3].map(() => [200, 'active']),
  )
  const events = await prisma.event.findMany({ where: { type: 'organization_invitation.accepted' } })
  t.equal(events.filter((event) => (event.data as any).object.id === id).length, 1, 'accepted once')
  t.equal((await guest.client.post(`${at}/decline`)).status, 409, 'a membership is not declined')
  for (const reply of [owner.client.get(at), owner.client.delete(at), owner.client.post(`${at}/resend`)])
    t.equal((await reply).status, 404, 'a member is no invitation')

  await owner.client.delete(`${path}/members/${id}`)
  const ofOwner = `${path}/invitations/${await invite('owner')}`
  t.equal((await admin.client.post(`${ofOwner}/resend`)).status, 403, 'an admin hands out no ownership')
  t.equal((await admin.client.delete(ofOwner)).status, 403)
  t.equal((await owner.client.delete(ofOwner)).status, 204)
  t.equal((await guest.client.post(`${ofOwner}/accept`)).status, 404)
  const last = `${path}/invitations/${await invite()}`
  t.equal((await guest.client.post(`${last}/decline`)).status, 204)
  t.equal((await guest.client.post(`${last}/accept`)).status, 404)
})

t.test('an invitation is declined, and revoked, with events for admins', async (t) => {
  const { owner, member, path } = await company()
  const guest = await server.person()
  const invite = async () =>
    (await owner.client.post(`${path}/members`, { user_id: guest.id, role: 'member' })).body.id as string
  t.equal((await guest.client.delete(`${path}/members/${await invite()}`)).status, 204)
  const second = await invite()
  t.equal((await owner.client.put(`${path}/members/${second}`, { role: 'admin' })).status, 200)
  t.equal((await owner.client.delete(`${path}/members/${second}`)).status, 204)
  const typesFor = async ({ client }: Person) =>
    (await client.get('/events?limit=100')).body.data
      .map(({ type }: { type: string }) => type)
      .filter((type: string) => type.startsWith('organization_invitation.'))
  t.same(await typesFor(owner), [
    'organization_invitation.created',
    'organization_invitation.removed',
    'organization_invitation.created',
    'organization_invitation.updated',
    'organization_invitation.removed',
  ])
  t.same(await typesFor(member), [], 'addresses of invited people are not for all members')
})

t.test('a member with a custom role cannot give more than that', async (t) => {
  const { owner, member, organization, path } = await company()
  const project = await projectOf(owner, organization.id)
  const permissions = { projects: 'admin', storage: 'none', ai: 'read', payments: 'none' }
  const { body: role } = await owner.client.post(`${path}/roles`, { name: 'People', permissions })
  const add = { user_id: member.id, role: 'viewer' }
  const { body: own } = await owner.client.post(`/projects/${project}/members`, add)
  const self = `/projects/${project}/members/${own.id}`
  t.equal((await owner.client.put(self, { custom_role_id: role.id })).status, 200)
  const refused = { status: 403, body: { error: { details: { constraint: 'role' } } } }
  t.match(await member.client.put(self, { custom_role_id: null }), refused)
  t.match(await member.client.put(self, { role: 'admin' }), refused)
  const friend = await server.person()
  await acquaint(server, member, friend)
  for (const who of [{ user_id: friend.id }, { email: 'puppet@example.org' }])
    t.match(
      await member.client.post(`/projects/${project}/members`, { ...who, role: 'viewer' }),
      refused,
      'a viewer reads files',
    )
  const program = { name: 'CI', project_id: project, role: 'admin' }
  t.match(await member.client.post('/service-accounts', program), refused)
  t.equal((await member.client.get(`/storage/files?project_id=${project}`)).status, 403)
  const { body: equal } = await owner.client.put(self, { role: 'admin' })
  t.match(equal, { role: 'admin', custom_role_id: null }, 'an equal built-in role replaces the custom one')

  await owner.client.put(self, { custom_role_id: role.id })
  await owner.client.post(`/projects/${project}/transfer`, { user_id: owner.id })
  t.equal(await roleIn(member, project), 403, 'without its organization the role would allow more')
})

t.test('a project always has a main owner who owns it', async (t) => {
  const { owner, admin, organization, path, ids } = await company()
  const project = await projectOf(admin, organization.id)
  await owner.client.put(`${path}/members/${ids.admin}`, { role: 'owner' })
  await admin.client.delete(`${path}/members/${organization.your_membership.id}`)
  const mainOwner = async () =>
    (await server.services.database.prisma.project.findUniqueOrThrow({ where: { id: project } })).ownerId
  t.equal(await mainOwner(), admin.id)
  await admin.client.delete(`/projects/${project}`)
  t.equal((await admin.client.delete(path)).status, 204)
  t.equal(await mainOwner(), admin.id)
  t.equal((await admin.client.post(`/projects/${project}/restore`)).status, 200)
})
