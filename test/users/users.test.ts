import t from 'tap'
import { acquaint, createMember } from '../support/database/db-fixtures.ts'
import { runRetention } from '../support/database/retention.ts'
import { createClient } from '../support/http/client.ts'
import { createSignIn, newEmail } from '../support/operations/operation-fixtures-auth.ts'
import { startServer } from '../support/server/server.ts'

t.test('users, as an admin manages them', async (t) => {
  const server = await startServer(t)
  const { client } = server.admin

  t.test('a new user has a working first key and is not an admin', async (t) => {
    const made = await client.post('/users', {
      email: 'Ada@Example.com',
      name: 'Ada',
      timezone: 'Europe/London',
      metadata: { team: 'a' },
    })
    t.equal(made.status, 201)
    t.match(made.body, {
      email: 'ada@example.com',
      email_verified: true,
      role: 'user',
      status: 'active',
      locale: 'en',
      timezone: 'Europe/London',
      metadata: { team: 'a' },
    })
    const ada = createClient(server.url, made.body.api_key.key)
    t.equal((await ada.get('/user/profile')).body.id, made.body.id)
    t.equal((await ada.get('/users')).status, 403)
    t.notOk((await client.get(`/users/${made.body.id}`)).text.includes('api_key'))
  })

  t.test('an email address is unique, ignoring case', async (t) => {
    const again = await client.post('/users', { email: 'ADA@example.com', name: 'Other' })
    t.equal(again.status, 409)
    t.match(again.body.error, { code: 'CONFLICT', details: { field: 'email', constraint: 'email_taken' } })
    const other = await server.person()
    t.equal(
      (await client.put(`/users/${other.id}`, { email: 'ada@EXAMPLE.com' })).body.error.details.constraint,
      'email_taken',
    )
  })

  t.test('a field that is sent as it is changes nothing', async (t) => {
    const { services } = server
    const person = await server.person({ email: newEmail() })
    const session = await createSignIn(server, person.id)
    const { email, role, status, email_verified } = (await client.get(`/users/${person.id}`)).body
    const same = { email, role, status, email_verified, name: 'Renamed' }
    t.match(await client.put(`/users/${person.id}`, same), { status: 200, body: same })
    t.equal((await createClient(server.url, session.access_token).get('/user')).status, 200)
    t.equal(await services.database.prisma.mail.count({ where: { recipient: email } }), 0)

    const scopes = ['admin', 'users:admin']
    const made = await client.post('/user/api-keys', { name: 'short', scopes, expires_in_seconds: 3600 })
    const short = createClient(server.url, made.body.key)
    const { body: admin } = await client.get(`/users/${server.admin.id}`)
    const unchanged = { email: admin.email, role: 'admin', status: 'active' }
    t.equal((await short.put(`/users/${admin.id}`, { ...unchanged, name: 'Admin' })).status, 200)
    t.equal((await short.put(`/users/${person.id}`, { role: 'admin' })).status, 403)
  })

  t.test('a session makes admins and keys of others only soon after its sign-in', async (t) => {
    const { id, access_token: token } = await createSignIn(server, server.admin.id)
    const session = createClient(server.url, token)
    const person = await server.person()
    const make = (fields: object) => session.post('/users', { email: newEmail(), name: 'New', ...fields })
    t.equal((await make({})).status, 201)
    await server.services.database.prisma.signIn.update({
      where: { id },
      data: { createdAt: new Date(Date.now() - 11 * 60_000) },
    })
    const refused = { status: 403, body: { error: { details: { constraint: 'recent_sign_in' } } } }
    t.match(await make({}), refused)
    t.match(await make({ role: 'admin', create_api_key: false }), refused)
    t.match(await session.put(`/users/${person.id}`, { role: 'admin' }), refused)
    t.equal((await make({ create_api_key: false })).status, 201)
    t.equal((await session.put(`/users/${person.id}`, { name: 'Other' })).status, 200)
  })

  t.test('an invitation is sent only to a verified address', async (t) => {
    const body = { email: newEmail(), name: 'New', email_verified: false, send_invitation: true }
    t.match(await client.post('/users', body), {
      status: 400,
      body: { error: { details: { field: 'email_verified' } } },
    })
  })

  t.test('the scope admin has no effect when the owner of the key is not an admin', async (t) => {
    const pretender = await server.person({ role: 'user', scopes: ['admin', 'user:read'] })
    t.equal((await pretender.client.get('/users')).status, 403)
  })

  t.test('users are searched by name and email address, and filtered', async (t) => {
    await server.person({ name: 'Grace 100%_Hopper', email: 'grace@navy.example' })
    const find = async (query: string) =>
      (await client.get(`/users?${query}`)).body.data.map((u: any) => u.name)
    t.same(await find('q=HOPPER'), ['Grace 100%_Hopper'])
    t.same(await find('q=100%25_h'), ['Grace 100%_Hopper'])
    t.same(await find('q=%25%25'), [])
    t.same(await find('q=navy.example'), ['Grace 100%_Hopper'])
    t.ok((await client.get('/users?role=admin')).body.data.every((u: any) => u.role === 'admin'))
  })

  t.test('the last admin cannot be disabled, demoted or deleted', async (t) => {
    for (const refused of [
      await client.put(`/users/${server.admin.id}`, { role: 'user' }),
      await client.put(`/users/${server.admin.id}`, { status: 'disabled' }),
      await client.delete(`/users/${server.admin.id}`),
    ])
      t.equal(refused.body.error.details.constraint, 'last_admin')
  })

  t.test('a deleted user is anonymized, and shared projects continue', async (t) => {
    const leaving = await server.person({ name: 'Leaving' })
    const staying = await server.person()
    const { body: project } = await leaving.client.post('/projects', { name: 'shared' })
    t.equal((await client.delete(`/users/${leaving.id}`)).body.error.details.constraint, 'last_owner')
    await createMember(server, project.id, staying.id, 'owner')
    t.equal((await client.delete(`/users/${leaving.id}`)).status, 204)
    t.equal((await client.get(`/users/${leaving.id}`)).status, 404)
    t.equal((await leaving.client.get('/user/profile')).status, 401)
    t.match((await staying.client.get(`/projects/${project.id}`)).body, {
      owner_id: staying.id,
      member_count: 1,
    })
    const row = JSON.stringify(
      await server.services.database.prisma.user.findUnique({ where: { id: leaving.id } }),
    )
    t.notOk(row.includes('Leaving') || row.includes(leaving.email))
    t.equal(
      (await client.post('/users', { email: leaving.email, name: 'New' })).status,
      201,
      'the email address can be used again',
    )
  })

  t.test('a deleted user owns nothing, and cannot become a member', async (t) => {
    const { prisma } = server.services.database
    const leaving = await server.person()
    const staying = await server.person()
    const { body: shared } = await leaving.client.post('/projects', { name: 'shared, then deleted' })
    const watching = await server.person()
    const { body: alone } = await leaving.client.post('/projects', { name: 'alone, then deleted' })
    await createMember(server, alone.id, watching.id, 'viewer')
    await createMember(server, shared.id, staying.id, 'owner')
    for (const { id } of [shared, alone]) await leaving.client.delete(`/projects/${id}`)
    t.equal((await client.delete(`/users/${leaving.id}`)).status, 204)
    t.equal(await prisma.member.count({ where: { userId: leaving.id } }), 0)
    t.same(
      await prisma.member.findMany({ where: { projectId: alone.id } }),
      [],
      'a project that no member could restore has no members',
    )
    t.equal((await watching.client.get(`/projects/${alone.id}`)).status, 404)
    t.match(await runRetention(server.services.database), { projects: 1 })
    t.equal(await prisma.project.findUnique({ where: { id: alone.id } }), null, 'and goes')
    t.match((await staying.client.post(`/projects/${shared.id}/restore`)).body, {
      owner_id: staying.id,
      member_count: 1,
    })
    t.equal(
      (await staying.client.post(`/projects/${shared.id}/members`, { user_id: leaving.id, role: 'viewer' }))
        .status,
      404,
    )
    await t.rejects(
      prisma.member.create({
        data: { id: 'mem_x', projectId: shared.id, userId: leaving.id, role: 'viewer' },
      }),
    )
  })

  t.test(
    'a user who is deleted while joining and creating projects has no memberships afterwards',
    async (t) => {
      const { prisma } = server.services.database
      const host = await server.person()
      const { body: project } = await host.client.post('/projects', { name: 'open house' })
      for (let i = 0; i < 15; i++) {
        const guest = await server.person()
        await acquaint(server, host, guest)
        const [deleted] = await Promise.all([
          client.delete(`/users/${guest.id}`),
          host.client.post(`/projects/${project.id}/members`, { user_id: guest.id, role: 'viewer' }),
          guest.client.post('/projects', { name: 'founded' }),
        ])
        const left = await prisma.member.count({ where: { userId: guest.id } })
        t.ok(
          deleted.status === 409 || (deleted.status === 204 && left === 0),
          `${deleted.status} with ${left} memberships left`,
        )
      }
    },
  )
})

t.test("the caller's own profile and settings", async (t) => {
  const server = await startServer(t)
  const { client } = await server.person({ name: 'Ada' })

  t.test('a profile update merges fields, and read-only fields are rejected', async (t) => {
    const { body } = await client.put('/user/profile', {
      bio: 'hello',
      locale: 'pt-BR',
      metadata: { a: '1' },
    })
    t.match(body, { name: 'Ada', bio: 'hello', locale: 'pt-BR', metadata: { a: '1' } })
    t.equal((await client.put('/user/profile', { bio: null })).body.bio, null)
    for (const field of ['email', 'role', 'status', 'email_verified', 'id', 'created_at']) {
      const refused = await client.put('/user/profile', { [field]: 'x' })
      t.match(refused.body.error.details, { field, constraint: 'additionalProperties' })
    }
    t.equal(
      (await client.put('/user/profile', { timezone: 'Mars/Olympus' })).body.error.details.constraint,
      'format',
    )
  })

  t.test('a settings update merges each group', async (t) => {
    const { body } = await client.put('/user/settings', { theme: 'dark', ai: { store_history: false } })
    t.match(body, { theme: 'dark', ai: { default_model: null, store_history: false } })
    t.match((await client.get('/user/settings')).body, body)
  })

  t.test("a default project must be one of the caller's, and is cleared with the membership", async (t) => {
    const other = await server.person()
    const { body: foreign } = await other.client.post('/projects', { name: 'foreign' })
    t.equal((await client.put('/user/settings', { default_project_id: foreign.id })).status, 403)
    const { body: own } = await client.post('/projects', { name: 'own' })
    t.equal(
      (await client.put('/user/settings', { default_project_id: own.id })).body.default_project_id,
      own.id,
    )
    await client.delete(`/projects/${own.id}`)
    t.equal((await client.get('/user/settings')).body.default_project_id, null)
  })
})

t.test('housekeeping', async (t) => {
  const server = await startServer(t)
  const { client } = await server.person()
  const { prisma } = server.services.database
  const headers = { 'idempotency-key': 'k' }
  const { body: old } = await client.post('/projects', { name: 'old' }, { headers })
  const { body: young } = await client.post('/projects', { name: 'young' })
  for (const { id } of [old, young]) await client.delete(`/projects/${id}`)
  await prisma.project.update({
    where: { id: old.id },
    data: { deletedAt: new Date(Date.now() - 31 * 86_400_000) },
  })
  t.equal(
    (await client.post(`/projects/${old.id}/restore`)).status,
    404,
    'the time to restore has passed, even before the purge',
  )
  await prisma.idempotencyRecord.updateMany({ data: { createdAt: new Date(Date.now() - 25 * 3_600_000) } })
  t.match(await runRetention(server.services.database), { projects: 1, answers: 1 })
  t.match(await runRetention(server.services.database), { projects: 0, answers: 0 })
  t.equal(await prisma.project.findUnique({ where: { id: old.id } }), null)
  t.equal((await client.get('/projects?status=deleted')).body.pagination.total, 1)
  t.equal((await client.post(`/projects/${young.id}/restore`)).status, 200)
})
