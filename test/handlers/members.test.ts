import t from 'tap'
import { startServer, type Person, type TestServer } from '../support/server.ts'

async function team (server: TestServer) {
  const [owner, admin, editor, viewer, stranger] = await Promise.all(Array.from({ length: 5 }, () => server.person()))
  const { body: project } = await owner.client.post('/projects', { name: 'team' })
  const ids: Record<string, string> = {}
  for (const [role, person] of [['admin', admin], ['editor', editor], ['viewer', viewer]] as Array<[string, Person]>) {
    ids[role] = (await owner.client.post(`/projects/${project.id}/members`, { user_id: person.id, role })).body.id
  }
  ids.owner = (await owner.client.get(`/projects/${project.id}/members?role=owner`)).body.data[0].id
  return { path: `/projects/${project.id}`, project, owner, admin, editor, viewer, stranger, ids }
}

t.test('members', async (t) => {
  const server = await startServer(t)

  t.test('the creator is the owner, added by nobody', async (t) => {
    const { path, owner } = await team(server)
    const { body } = await owner.client.get(`${path}/members?sort=created_at&order=asc`)
    t.match(body.data[0], { role: 'owner', added_by: null, user: { id: owner.id, email: owner.email, avatar_url: null } })
    t.equal(body.pagination.total, 4)
    t.equal((await owner.client.get(path)).body.member_count, 4)
  })

  t.test('a viewer and an editor cannot add, change or remove anyone', async (t) => {
    const { path, viewer, editor, stranger, ids } = await team(server)
    for (const { client } of [viewer, editor]) {
      t.equal((await client.post(`${path}/members`, { user_id: stranger.id, role: 'viewer' })).status, 403)
      t.equal((await client.put(`${path}/members/${ids.viewer}`, { role: 'admin' })).status, 403)
      t.equal((await client.delete(`${path}/members/${ids.admin}`)).status, 403)
    }
    t.equal((await viewer.client.get(path)).body.member_count, 4)
  })

  t.test('a viewer cannot promote itself', async (t) => {
    const { path, viewer, ids } = await team(server)
    t.equal((await viewer.client.put(`${path}/members/${ids.viewer}`, { role: 'owner' })).status, 403)
  })

  t.test('an admin rules over all but owners', async (t) => {
    const { path, admin, stranger, ids } = await team(server)
    t.equal((await admin.client.post(`${path}/members`, { user_id: stranger.id, role: 'owner' })).status, 403)
    t.equal((await admin.client.put(`${path}/members/${ids.admin}`, { role: 'owner' })).status, 403)
    t.equal((await admin.client.put(`${path}/members/${ids.owner}`, { role: 'viewer' })).status, 403)
    t.equal((await admin.client.delete(`${path}/members/${ids.owner}`)).status, 403)
    t.equal((await admin.client.put(`${path}/members/${ids.viewer}`, { role: 'editor' })).body.role, 'editor')
    t.equal((await admin.client.delete(`${path}/members/${ids.editor}`)).status, 204)
    t.equal((await admin.client.post(`${path}/members`, { user_id: stranger.id, role: 'admin' })).status, 201)
  })

  t.test('anyone may leave, and then sees nothing', async (t) => {
    const { path, viewer, ids } = await team(server)
    t.equal((await viewer.client.delete(`${path}/members/${ids.viewer}`)).status, 204)
    t.equal((await viewer.client.get(path)).status, 403)
    t.same((await viewer.client.get('/projects')).body.data, [])
  })

  t.test('the last owner can neither leave nor be demoted', async (t) => {
    const { path, owner, ids } = await team(server)
    for (const refused of [await owner.client.delete(`${path}/members/${ids.owner}`), await owner.client.put(`${path}/members/${ids.owner}`, { role: 'admin' })]) {
      t.equal(refused.status, 409)
      t.match(refused.body.error, { code: 'CONFLICT', details: { constraint: 'last_owner' } })
    }
  })

  t.test('owner_id passes on when its owner leaves', async (t) => {
    const { path, owner, admin, ids } = await team(server)
    await owner.client.put(`${path}/members/${ids.admin}`, { role: 'owner' })
    t.equal((await owner.client.delete(`${path}/members/${ids.owner}`)).status, 204)
    t.match((await admin.client.get(path)).body, { owner_id: admin.id, version: 2 })
  })

  t.test('the database itself refuses a project with no owner', async (t) => {
    const { project } = await team(server)
    const { prisma } = server.services.database
    await t.rejects(prisma.member.deleteMany({ where: { projectId: project.id, role: 'owner' } }))
    await t.rejects(prisma.member.updateMany({ where: { projectId: project.id, role: 'owner' }, data: { role: 'viewer' } }))
    t.equal(await prisma.member.count({ where: { projectId: project.id, role: 'owner' } }), 1)
  })

  t.test('exactly one of user_id and email is given', async (t) => {
    const { path, owner, stranger } = await team(server)
    t.equal((await owner.client.post(`${path}/members`, { role: 'viewer' })).status, 400)
    t.equal((await owner.client.post(`${path}/members`, { role: 'viewer', user_id: stranger.id, email: stranger.email })).status, 400)
    t.equal((await owner.client.post(`${path}/members`, { role: 'viewer', email: stranger.email.toUpperCase() })).status, 201)
    t.equal((await owner.client.post(`${path}/members`, { role: 'viewer', user_id: 'usr_01jd6y8m5qe8btc4y5w1r0n3fz' })).status, 404)
  })

  t.test('an archived project is read-only', async (t) => {
    const { path, owner, viewer, ids } = await team(server)
    t.match((await owner.client.post(`${path}/archive`)).body, { status: 'archived', archived_at: /^\d{4}-/ })
    for (const refused of [
      await owner.client.put(path, { name: 'x' }),
      await owner.client.post(`${path}/members`, { email: 'x@example.com', role: 'viewer' }),
      await owner.client.put(`${path}/members/${ids.viewer}`, { role: 'editor' }),
      await owner.client.delete(`${path}/members/${ids.viewer}`),
      await owner.client.post(`${path}/archive`)
    ]) {
      t.equal(refused.status, 409)
      t.match(refused.body.error, { code: 'INVALID_STATE', details: { constraint: 'archived' } })
    }
    t.equal((await viewer.client.get(path)).status, 200)
    t.same((await viewer.client.get('/projects?status=archived')).body.pagination.total, 1)
    t.equal((await owner.client.post(`${path}/unarchive`)).body.archived_at, null)
    t.equal((await owner.client.post(`${path}/unarchive`)).status, 409)
  })

  t.test('a deleted project is gone until an owner restores it, in the state it had', async (t) => {
    const { path, project, owner, admin, stranger } = await team(server)
    await owner.client.post(`${path}/archive`)
    t.equal((await admin.client.delete(path)).status, 403)
    t.equal((await owner.client.delete(path)).status, 204)
    t.equal((await owner.client.get(path)).status, 404)
    t.equal((await owner.client.delete(path)).status, 404)
    t.same((await owner.client.get('/projects')).body.pagination.total, 0)
    t.same((await owner.client.get('/projects?status=deleted')).body.data.map((p: any) => p.id), [project.id])
    t.equal((await admin.client.post(`${path}/restore`)).status, 403)
    t.equal((await stranger.client.post(`${path}/restore`)).status, 403)
    t.equal((await owner.client.post(`${path}/restore`)).body.status, 'archived')
    t.equal((await owner.client.post(`${path}/restore`)).status, 409)
    t.equal((await owner.client.get('/projects')).body.pagination.total, 1)
  })
})

t.test('invitations', async (t) => {
  const server = await startServer(t)
  const { path, owner, admin, viewer } = await team(server)

  t.test('an unknown address is invited, seen by admins, and by its person once there is one', async (t) => {
    const invited = await admin.client.post(`${path}/members`, { email: 'Grace@Example.com', role: 'editor' })
    t.equal(invited.status, 202)
    t.match(invited.body, { email: 'grace@example.com', role: 'editor', status: 'pending', invited_by: admin.id })
    t.equal((await viewer.client.get(`${path}/invitations`)).status, 403)
    t.equal((await owner.client.get(`${path}/invitations?status=pending`)).body.pagination.total, 1)
    t.equal((await owner.client.post(`${path}/members`, { email: 'grace@example.com', role: 'viewer' })).body.error.details.constraint, 'invitation_exists')

    const grace = await server.person({ email: 'grace@example.com' })
    t.same((await grace.client.get('/user/invitations')).body.data, [invited.body])
    const accept = `${path}/invitations/${invited.body.id}/accept`
    t.equal((await viewer.client.post(accept)).status, 403, 'it is for nobody else')
    const member = await grace.client.post(accept)
    t.equal(member.status, 201)
    t.match(member.body, { role: 'editor', added_by: admin.id, user: { id: grace.id } })
    t.match((await grace.client.post(accept)).body.error, { code: 'INVALID_STATE', details: { constraint: 'accepted' } })
    t.equal((await grace.client.get(path)).body.your_role, 'editor')
    t.equal((await grace.client.get('/user/invitations')).body.pagination.total, 0)
  })

  t.test('an unverified address accepts nothing', async (t) => {
    const { body: invitation } = await owner.client.post(`${path}/members`, { email: 'eve@example.com', role: 'admin' })
    const eve = await server.person({ email: 'eve@example.com' })
    await server.admin.client.put(`/users/${eve.id}`, { email_verified: false })
    t.equal((await eve.client.get('/user/invitations')).body.pagination.total, 0)
    t.equal((await eve.client.post(`${path}/invitations/${invitation.id}/accept`)).status, 403)
  })

  t.test('a revoked or expired one is over', async (t) => {
    const { body: revoked } = await owner.client.post(`${path}/members`, { email: 'r@example.com', role: 'viewer' })
    t.equal((await viewer.client.delete(`${path}/invitations/${revoked.id}`)).status, 403)
    t.equal((await admin.client.delete(`${path}/invitations/${revoked.id}`)).status, 204)
    t.equal((await admin.client.delete(`${path}/invitations/${revoked.id}`)).status, 409)
    const r = await server.person({ email: 'r@example.com' })
    t.equal((await r.client.post(`${path}/invitations/${revoked.id}/accept`)).body.error.details.constraint, 'revoked')

    const { body: old } = await owner.client.post(`${path}/members`, { email: 'old@example.com', role: 'viewer' })
    await server.services.database.prisma.invitation.update({ where: { id: old.id }, data: { expiresAt: new Date(Date.now() - 1000) } })
    const person = await server.person({ email: 'old@example.com' })
    t.equal((await person.client.post(`${path}/invitations/${old.id}/accept`)).body.error.details.constraint, 'expired')
    t.same((await owner.client.get(`${path}/invitations?status=expired`)).body.data.map((i: any) => i.id), [old.id])
    t.equal((await owner.client.post(`${path}/members`, { user_id: person.id, role: 'viewer' })).status, 201)
  })

  t.test('an invitation of one project is none of another', async (t) => {
    const { body: other } = await owner.client.post('/projects', { name: 'other' })
    const { body: invitation } = await owner.client.post(`${path}/members`, { email: 'z@example.com', role: 'viewer' })
    t.equal((await owner.client.get(`/projects/${other.id}/invitations/${invitation.id}`)).status, 404)
    t.equal((await owner.client.delete(`/projects/${other.id}/invitations/${invitation.id}`)).status, 404)
  })
})
