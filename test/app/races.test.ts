// Races of 50 concurrent requests: exactly one succeeds, no update is lost, and every project keeps an owner.
import t from 'tap'
import { acquaint, createMember } from '../support/database/db-fixtures.ts'
import { startServer, type Person, type TestServer } from '../support/server/server.ts'
import type { Reply } from '../support/http/client.ts'

const concurrency = 50

function race(call: (i: number) => Promise<Reply>): Promise<Reply[]> {
  return Promise.all(Array.from({ length: concurrency }, (_, i) => call(i)))
}

function tally(replies: Reply[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { status, body } of replies) {
    const name = `${status} ${body?.error?.details.constraint ?? ''}`.trim()
    counts[name] = (counts[name] ?? 0) + 1
  }
  return counts
}

async function projectWithOwners(
  server: TestServer,
  count: number,
): Promise<{ id: string; owners: Person[]; memberIds: string[] }> {
  const owners = await Promise.all(Array.from({ length: count }, () => server.person()))
  const { body: project } = await owners[0].client.post('/projects', { name: 'shared' })
  for (const owner of owners.slice(1)) await createMember(server, project.id, owner.id, 'owner')
  const {
    body: { data },
  } = await owners[0].client.get(`/projects/${project.id}/members?limit=100`)
  const memberIds = owners.map((owner) => data.find((m: any) => m.user.id === owner.id).id)
  return { id: project.id, owners, memberIds }
}

t.test('with 50 racers', async (t) => {
  const server = await startServer(t)
  const { prisma } = server.services.database

  t.test(
    'when a user changes one project 60 times at once, all succeed and another user does not wait',
    async (t) => {
      const { id, owners } = await projectWithOwners(server, 1)
      const other = await server.person()
      let left = 60
      const replies = Array.from({ length: left }, async (_, i) => {
        const reply = await owners[0].client.put(`/projects/${id}`, { description: `Number ${i}` })
        left--
        return reply
      })
      t.equal((await other.client.post('/projects', { name: 'Of another' })).status, 201)
      t.ok(left > 0, `the other user was answered while ${left} waited`)
      t.same(tally(await Promise.all(replies)), { 200: 60 })
    },
  )

  t.test('when 50 owners leave a project at once, one stays', async (t) => {
    const { id, owners, memberIds } = await projectWithOwners(server, concurrency)
    const replies = await race((i) => owners[i].client.delete(`/projects/${id}/members/${memberIds[i]}`))
    t.same(tally(replies), { 204: concurrency - 1, '409 last_owner': 1 })
    const remaining = await prisma.member.findMany({ where: { projectId: id } })
    t.equal(remaining.length, 1)
    const project = await prisma.project.findUniqueOrThrow({ where: { id } })
    t.equal(project.ownerId, remaining[0].userId, 'the remaining member owns the project')
    t.equal(project.memberCount, 1)
  })

  t.test('when two owners demote each other at once, one stays owner', async (t) => {
    const { id, owners, memberIds } = await projectWithOwners(server, 2)
    const replies = await race((i) =>
      owners[i % 2].client.put(`/projects/${id}/members/${memberIds[(i + 1) % 2]}`, { role: 'viewer' }),
    )
    t.ok(
      replies.every((r) => [200, 403, 409].includes(r.status)),
      JSON.stringify(tally(replies)),
    )
    t.equal(await prisma.member.count({ where: { projectId: id, role: 'owner' } }), 1)
  })

  t.test('a user is added to a project once', async (t) => {
    const owner = await server.person()
    const guest = await server.person()
    await acquaint(server, owner, guest)
    const {
      body: { id },
    } = await owner.client.post('/projects', { name: 'one' })
    const replies = await race(() =>
      owner.client.post(`/projects/${id}/members`, { user_id: guest.id, role: 'editor' }),
    )
    t.same(tally(replies), { 201: 1, '409 member_exists': concurrency - 1 })
    t.equal((await prisma.project.findUniqueOrThrow({ where: { id } })).memberCount, 2)
    t.equal(
      (await guest.client.get('/projects?limit=1')).body.pagination.total,
      2,
      'this project and the common one',
    )
  })

  t.test('an API key is rotated once, and the new key keeps its expiry', async (t) => {
    const { client } = await server.person()
    const expiresAt = new Date(Date.now() + 30 * 86_400_000).toISOString()
    const { body: old } = await client.post('/user/api-keys', {
      name: 'old',
      scopes: ['user:read'],
      expires_at: expiresAt,
    })
    const replies = await race(() => client.post(`/user/api-keys/${old.id}/rotate`, { overlap_seconds: 120 }))
    t.same(tally(replies), { 201: 1, '409 replaced': concurrency - 1 })
    const { body: key } = replies.find(({ status }) => status === 201)!
    t.equal(key.expires_at, expiresAt, 'not the end of the overlap')
    t.ok(Date.parse((await client.get(`/user/api-keys/${old.id}`)).body.expires_at) < Date.now() + 121_000)
  })

  t.test('an email address is invited once', async (t) => {
    const owner = await server.person()
    const {
      body: { id },
    } = await owner.client.post('/projects', { name: 'one' })
    const replies = await race(() =>
      owner.client.post(`/projects/${id}/members`, { email: 'new@example.com', role: 'editor' }),
    )
    t.same(tally(replies), { 202: 1, '409 invitation_exists': concurrency - 1 })
  })

  t.test('requests with one idempotency key have one effect and one answer', async (t) => {
    const { client, id } = await server.person()
    const headers = { 'idempotency-key': 'race-1' }
    const replies = await race(() => client.post('/projects', { name: 'once' }, { headers }))
    const created = replies.filter((r) => r.status === 201)
    t.ok(created.length >= 1)
    t.equal(new Set(created.map((r) => r.text)).size, 1, 'all successful answers are identical')
    t.equal(created.filter((r) => r.headers.get('idempotent-replayed') === null).length, 1)
    t.ok(
      replies.every((r) => r.status === 201 || r.body.error.details.constraint === 'in_progress'),
      JSON.stringify(tally(replies)),
    )
    t.equal(await prisma.project.count({ where: { ownerId: id } }), 1)
    const again = await client.post('/projects', { name: 'once' }, { headers })
    t.equal(again.text, created[0].text)
    t.equal(again.headers.get('idempotent-replayed'), 'true')
  })

  t.test('of concurrent updates with the same If-Match, one succeeds', async (t) => {
    const { client } = await server.person()
    const created = await client.post('/projects', { name: 'v0' })
    const etag = created.headers.get('etag')!
    const replies = await race((i) =>
      client.put(`/projects/${created.body.id}`, { name: `w${i}` }, { headers: { 'if-match': etag } }),
    )
    t.same(tally(replies), { 200: 1, '412 etag': concurrency - 1 })
    const { body } = await client.get(`/projects/${created.body.id}`)
    t.equal(body.version, 2)
    t.equal(body.name, replies.find((r) => r.status === 200)!.body.name)
  })

  t.test('concurrent updates without If-Match all take effect', async (t) => {
    const { client } = await server.person()
    const created = await client.post('/projects', { name: 'v0' })
    const replies = await race((i) =>
      client.put(
        `/projects/${created.body.id}`,
        i % 2 === 0 ? { description: `d${i}` } : { category: `c${i}` },
      ),
    )
    t.same(tally(replies), { 200: concurrency })
    t.equal((await client.get(`/projects/${created.body.id}`)).body.version, concurrency + 1)
  })

  t.test('a project is archived once', async (t) => {
    const { client } = await server.person()
    const {
      body: { id },
    } = await client.post('/projects', { name: 'a' })
    t.same(tally(await race(() => client.post(`/projects/${id}/archive`))), { 200: concurrency })
    t.equal((await client.get(`/projects/${id}`)).body.version, 2)
  })

  t.test('when all admins delete each other at once, one stays', async (t) => {
    const admins = [
      server.admin,
      ...(await Promise.all(Array.from({ length: 9 }, () => server.person({ role: 'admin' })))),
    ]
    const replies = await race((i) => admins[i % 10].client.delete(`/users/${admins[(i + 1) % 10].id}`))
    t.ok(
      replies.every((r) => [204, 401, 404, 409].includes(r.status)),
      JSON.stringify(tally(replies)),
    )
    t.ok((await prisma.user.count({ where: { role: 'admin', status: 'active' } })) >= 1)
  })
})
