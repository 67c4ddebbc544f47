import t from 'tap'
import { startServer } from '../support/server/server.ts'
import { team } from '../support/server/team.ts'
import { apiErrorOf } from '../support/http/typed-client.ts'

const forbidden = { status: 403, code: 'FORBIDDEN' }
const conflict = (constraint: string) => ({ status: 409, code: 'CONFLICT', details: { constraint } })
const invalidState = (constraint: string) => ({
  status: 409,
  code: 'INVALID_STATE',
  details: { field: 'status', constraint },
})

t.test('members', async (t) => {
  const server = await startServer(t)

  t.test('the creator is the owner, and created_by is null', async (t) => {
    const { path, owner } = await team(server)
    const { data, pagination } = await owner.api.listMembers({
      path,
      query: { sort: 'created_at', order: 'asc' },
    })
    t.match(data[0], {
      role: 'owner',
      created_by: null,
      user: { id: owner.id, email: owner.email, avatar_url: null },
    })
    t.equal(pagination.total, 4)
    t.equal((await owner.api.getProject({ path })).member_count, 4)
  })

  t.test('a viewer and an editor cannot add, change or remove anyone', async (t) => {
    const { path, viewer, editor, stranger, member } = await team(server)
    for (const { api } of [viewer, editor]) {
      t.match(
        await apiErrorOf(api.addMember({ path, body: { user_id: stranger.id, role: 'viewer' } })),
        forbidden,
      )
      t.match(
        await apiErrorOf(api.updateMember({ path: member('viewer'), body: { role: 'admin' } })),
        forbidden,
      )
      t.match(await apiErrorOf(api.removeMember({ path: member('admin') })), forbidden)
    }
    t.equal((await viewer.api.getProject({ path })).member_count, 4)
  })

  t.test('a viewer cannot promote themselves', async (t) => {
    const { viewer, member } = await team(server)
    t.match(
      await apiErrorOf(viewer.api.updateMember({ path: member('viewer'), body: { role: 'owner' } })),
      forbidden,
    )
  })

  t.test('an admin manages all members except owners', async (t) => {
    const { path, admin, stranger, member } = await team(server)
    t.match(
      await apiErrorOf(admin.api.addMember({ path, body: { user_id: stranger.id, role: 'owner' } })),
      forbidden,
    )
    t.match(
      await apiErrorOf(admin.api.updateMember({ path: member('admin'), body: { role: 'owner' } })),
      forbidden,
    )
    t.match(
      await apiErrorOf(admin.api.updateMember({ path: member('owner'), body: { role: 'viewer' } })),
      forbidden,
    )
    t.match(await apiErrorOf(admin.api.removeMember({ path: member('owner') })), forbidden)
    t.equal(
      (await admin.api.updateMember({ path: member('viewer'), body: { role: 'editor' } })).role,
      'editor',
    )
    await admin.api.removeMember({ path: member('editor') })
    t.equal(
      (await admin.api.addMember({ path, body: { user_id: stranger.id, role: 'admin' } })).role,
      'admin',
    )
  })

  t.test('every member can leave, and then has no access', async (t) => {
    const { path, viewer, member } = await team(server)
    await viewer.api.removeMember({ path: member('viewer') })
    t.match(await apiErrorOf(viewer.api.getProject({ path })), forbidden)
    t.same((await viewer.api.listProjects()).data, [])
  })

  t.test('the last owner can neither leave nor be demoted', async (t) => {
    const { owner, member } = await team(server)
    t.match(await apiErrorOf(owner.api.removeMember({ path: member('owner') })), conflict('last_owner'))
    t.match(
      await apiErrorOf(owner.api.updateMember({ path: member('owner'), body: { role: 'admin' } })),
      conflict('last_owner'),
    )
  })

  t.test('owner_id changes to another owner when its owner leaves', async (t) => {
    const { path, owner, admin, member } = await team(server)
    await owner.api.updateMember({ path: member('admin'), body: { role: 'owner' } })
    await owner.api.removeMember({ path: member('owner') })
    t.match(await admin.api.getProject({ path }), { owner_id: admin.id, version: 2 })
  })

  t.test('the database rejects a project without an owner', async (t) => {
    const { project } = await team(server)
    const { prisma } = server.services.database
    await t.rejects(prisma.member.deleteMany({ where: { projectId: project.id, role: 'owner' } }))
    await t.rejects(
      prisma.member.updateMany({ where: { projectId: project.id, role: 'owner' }, data: { role: 'viewer' } }),
    )
    t.equal(await prisma.member.count({ where: { projectId: project.id, role: 'owner' } }), 1)
  })

  t.test('a request has exactly one of user_id and email', async (t) => {
    const { path, owner, stranger } = await team(server)
    t.match(await apiErrorOf(owner.api.addMember({ path, body: { role: 'viewer' } as never })), {
      status: 400,
    })
    t.match(
      await apiErrorOf(
        owner.api.addMember({
          path,
          body: { role: 'viewer', user_id: stranger.id, email: stranger.email } as never,
        }),
      ),
      { status: 400 },
    )
    const { response } = await owner.api
      .addMember({ path, body: { role: 'viewer', email: stranger.email.toUpperCase() } })
      .withResponse()
    t.equal(response.status, 202)
    t.match(
      await apiErrorOf(
        owner.api.addMember({ path, body: { role: 'viewer', user_id: 'usr_01jd6y8m5qe8btc4y5w1r0n3fz' } }),
      ),
      { status: 404 },
    )
  })

  t.test('an archived project is read-only', async (t) => {
    const { path, owner, viewer, member } = await team(server)
    t.match(await owner.api.archiveProject({ path }), { status: 'archived', archived_at: /^\d{4}-/ })
    t.match(
      await apiErrorOf(owner.api.updateProject({ path, body: { name: 'x' } })),
      invalidState('archived'),
    )
    t.match(
      await apiErrorOf(owner.api.addMember({ path, body: { email: 'x@example.com', role: 'viewer' } })),
      invalidState('archived'),
    )
    t.match(
      await apiErrorOf(owner.api.updateMember({ path: member('viewer'), body: { role: 'editor' } })),
      invalidState('archived'),
    )
    t.match(await apiErrorOf(owner.api.removeMember({ path: member('viewer') })), invalidState('archived'))
    t.equal((await owner.api.archiveProject({ path })).status, 'archived')
    t.equal((await viewer.api.getProject({ path })).status, 'archived')
    t.equal((await viewer.api.listProjects({ query: { status: ['archived'] } })).pagination.total, 1)
    t.equal((await owner.api.unarchiveProject({ path })).archived_at, null)
    t.equal((await owner.api.unarchiveProject({ path })).status, 'active')
  })

  t.test('a deleted project returns 404 until an owner restores it, with its previous status', async (t) => {
    const { path, project, owner, admin, stranger } = await team(server)
    await owner.api.archiveProject({ path })
    t.match(await apiErrorOf(admin.api.deleteProject({ path })), forbidden)
    await owner.api.deleteProject({ path })
    t.match(await apiErrorOf(owner.api.getProject({ path })), {
      status: 404,
      details: { constraint: 'deleted' },
      message: /was deleted\. Its owners can restore it until \d{4}-/,
    })
    const unknown = await apiErrorOf(stranger.api.getProject({ path }))
    t.match(unknown, { status: 404, message: `There is no project ${project.id}.` })
    t.notOk(unknown.details?.constraint, 'users outside the project do not learn that it was deleted')
    t.match(await apiErrorOf(owner.api.deleteProject({ path })), { status: 404 })
    t.equal((await owner.api.listProjects()).pagination.total, 0)
    t.match((await owner.api.listProjects({ query: { status: ['deleted'] } })).data, [
      { id: project.id, status: 'deleted', deleted_at: /^\d{4}-/ },
    ])
    t.match(await apiErrorOf(admin.api.restoreProject({ path })), forbidden)
    t.match(await apiErrorOf(stranger.api.restoreProject({ path })), forbidden)
    t.match(await owner.api.restoreProject({ path }), { status: 'archived', deleted_at: null })
    t.equal((await owner.api.restoreProject({ path })).status, 'archived', 'again')
    t.equal((await owner.api.listProjects()).pagination.total, 1)
  })
})
