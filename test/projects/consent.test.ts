// A user becomes a member only with consent, and invitations reveal nothing about a user. Every member can
// leave. The invitations and file links of a member end with the membership.
import t from 'tap'
import { acquaint } from '../support/database/db-fixtures.ts'
import { startServer, type Person } from '../support/server/server.ts'
import { download, uploadFile } from '../support/storage/storage.ts'
import { team } from '../support/server/team.ts'
import { apiErrorOf } from '../support/http/typed-client.ts'

const server = await startServer(t)
const add = (by: Person, project: string, body: object) =>
  by.client.post(`/projects/${project}/members`, body)
const accept = (by: Person, { project_id: project, id }: { project_id: string; id: string }) =>
  by.client.post(`/projects/${project}/invitations/${id}/accept`)
const projectOf = async (person: Person): Promise<string> =>
  (await person.client.post('/projects', { name: 'x' })).body.id

t.test('an email address is invited, whether a user has it or not', async (t) => {
  const [owner, registered] = [await server.person(), await server.person()]
  const project = await projectOf(owner)
  const known = await add(owner, project, { email: registered.email, role: 'viewer' })
  const unknown = await add(owner, project, { email: `no.${registered.email}`, role: 'viewer' })
  t.equal(known.status, 202)
  t.equal(unknown.status, 202)
  const shapeOf = ({ headers, body }: typeof known) => [
    [...headers.keys()].sort(),
    Object.entries(body).map(([name, value]) => [name, value === null ? null : typeof value]),
  ]
  t.same(shapeOf(known), shapeOf(unknown))
  t.notOk(known.text.includes(registered.id))
  t.match(await registered.client.get(`/projects/${project}`), { status: 403 }, 'not a member yet')
  t.equal((await accept(registered, known.body)).status, 201)
  const again = await add(owner, project, { email: registered.email, role: 'viewer' })
  t.match(again, { status: 409, body: { error: { details: { constraint: 'member_exists' } } } })
})

t.test('an unknown user is invited by id, and the response has no email address', async (t) => {
  const [owner, stranger] = [await server.person(), await server.person()]
  const project = await projectOf(owner)
  const invited = await add(owner, project, { user_id: stranger.id, role: 'editor' })
  t.match(invited, { status: 202, body: { user_id: stranger.id, email: null, status: 'pending' } })
  t.notOk(invited.text.includes(stranger.email))
  t.notOk((await owner.client.get('/events?limit=100')).text.includes(stranger.email))
  const twice = await add(owner, project, { user_id: stranger.id, role: 'editor' })
  t.match(twice, { status: 409, body: { error: { details: { constraint: 'invitation_exists' } } } })
  t.same((await stranger.client.get('/user/invitations')).body.data, [invited.body])
  const other = await server.person()
  t.match(
    await add(owner, project, { user_id: other.id, role: 'viewer' }),
    { status: 202 },
    'several users are invited at once',
  )
  await owner.client.delete(
    `/projects/${project}/invitations/${(await other.client.get('/user/invitations')).body.data[0].id}`,
  )
  t.match(await accept(other, invited.body), { status: 404 })
  t.match(await accept(stranger, invited.body), { status: 201, body: { role: 'editor' } })
})

t.test('an invitation by id needs no verified email address', async (t) => {
  const [owner, stranger] = [await server.person(), await server.person()]
  await server.admin.client.put(`/users/${stranger.id}`, { email_verified: false })
  const { body } = await add(owner, await projectOf(owner), { user_id: stranger.id, role: 'viewer' })
  t.equal((await stranger.client.get('/user/invitations')).body.pagination.total, 1)
  t.equal((await accept(stranger, body)).status, 201)
})

t.test('a member of a common project and an operator are added by id at once', async (t) => {
  const [owner, colleague, stranger] = await Promise.all([1, 2, 3].map(() => server.person()))
  await acquaint(server, owner, colleague)
  const project = await projectOf(owner)
  t.match(await add(owner, project, { user_id: colleague.id, role: 'viewer' }), {
    status: 201,
    body: { user: { id: colleague.id } },
  })
  const own = await projectOf(server.admin)
  const fields = { name: 'x', scopes: ['admin', 'projects:write'], project_ids: [own] }
  const { body: limited } = await server.admin.client.post('/user/api-keys', fields)
  const byLimited = await server.admin.client.post(
    `/projects/${own}/members`,
    { user_id: stranger.id, role: 'viewer' },
    { headers: { authorization: `Bearer ${limited.key}` } },
  )
  t.equal(byLimited.status, 202, 'a key that is limited to projects is no operator')
  t.equal((await add(server.admin, own, { user_id: stranger.id, role: 'viewer' })).status, 201)
})

t.test('a member leaves an archived project, but cannot remove another member there', async (t) => {
  const { path, owner, admin, viewer, member } = await team(server)
  await owner.api.archiveProject({ path })
  t.match(await apiErrorOf(admin.api.removeMember({ path: member('editor') })), { status: 409 })
  await viewer.api.removeMember({ path: member('viewer') })
  t.match(await apiErrorOf(viewer.api.getProject({ path })), { status: 403 })
  t.match(await apiErrorOf(owner.api.removeMember({ path: member('owner') })), {
    details: { constraint: 'last_owner' },
  })
})

t.test('the invitations of an admin end with the membership', async (t) => {
  const { path, project, owner, admin, member, stranger } = await team(server)
  const fields = { email: stranger.email, role: 'admin' }
  const { body: invited } = await add(admin, project.id, fields)
  await owner.api.removeMember({ path: member('admin') })
  const of = { ...path, invitation_id: invited.id }
  t.equal((await owner.api.getInvitation({ path: of })).status, 'revoked')
  t.equal((await stranger.client.get('/user/invitations')).body.pagination.total, 0)
  const refused = await accept(stranger, invited)
  t.match(refused, { status: 409, body: { error: { details: { constraint: 'revoked' } } } })
  const { body: again } = await add(owner, project.id, { user_id: admin.id, role: 'admin' })
  t.equal((await accept(admin, again)).status, 201)
  t.equal((await accept(stranger, invited)).status, 409, 'a new membership does not bring it back')
  const { status, body: fresh } = await add(owner, project.id, fields)
  t.equal(status, 202, 'the address can be invited again')
  t.equal((await accept(stranger, fresh)).status, 201)
})

t.test('the invitations of an admin end with the role', async (t) => {
  const { project, owner, admin, member, stranger } = await team(server)
  const { body: invited } = await add(admin, project.id, { user_id: stranger.id, role: 'admin' })
  await owner.api.updateMember({ path: member('admin'), body: { role: 'editor' } })
  t.equal((await accept(stranger, invited)).status, 409)
})

t.test('the file links of an editor end with the membership or the role', async (t) => {
  const { project, owner, editor, admin, member } = await team(server)
  const file = await uploadFile(owner.client, { bytes: Buffer.from('x'), fields: { project_id: project.id } })
  const linkOf = async ({ client }: Person): Promise<{ id: string; url: string }> =>
    (await client.post(`/storage/files/${file.id}/links`, {})).body
  const statusOf = async ({ url }: { url: string }): Promise<number> =>
    (await download(server.url, new URL(url).pathname.replace('/v1', ''))).status
  const [first, second, kept] = [await linkOf(editor), await linkOf(admin), await linkOf(owner)]
  t.same([await statusOf(first), await statusOf(second), await statusOf(kept)], [200, 200, 200])
  await owner.api.removeMember({ path: member('editor') })
  await owner.api.updateMember({ path: member('admin'), body: { role: 'viewer' } })
  t.same([await statusOf(first), await statusOf(second), await statusOf(kept)], [410, 410, 200])
  const { data } = (await owner.client.get(`/storage/files/${file.id}/links?status=revoked`)).body
  t.same(data.map(({ id }: any) => id).sort(), [first.id, second.id].sort())
})
