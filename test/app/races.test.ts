// Fifty callers at once: one winner each, no lost update, never a project with no owner.
import t from 'tap'
import { startServer, type Person, type TestServer } from '../support/server.ts'
import type { Reply } from '../support/client.ts'

const racers = 50

function race(call: (i: number) => Promise<Reply>): Promise<Reply[]> {
  return Promise.all(Array.from({ length: racers }, (_, i) => call(i)))
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
  for (const owner of owners.slice(1))
    await owners[0].client.post(`/projects/${project.id}/members`, { user_id: owner.id, role: 'owner' })
  const {
    body: { data },
  } = await owners[0].client.get(`/projects/${project.id}/members?limit=100`)
  const memberIds = owners.map((owner) => data.find((m: any) => m.user.id === owner.id).id)
  return { id: project.id, owners, memberIds }
}

t.test('with 50 racers', async (t) => {
  const server = await startServer(t)
  const { prisma } = server.services.database

  t.test('of 50 owners who all leave at once, one stays', async (t) => {
    const { id, owners, memberIds } = await projectWithOwners(server, racers)
    const replies = await race((i) => owners[i].client.delete(`/projects/${id}/members/${memberIds[i]}`))
    t.same(tally(replies), { 204: racers - 1, '409 last_owner': 1 })
    const left = await prisma.member.findMany({ where: { projectId: id } })
    t.equal(left.length, 1)
    const project = await prisma.project.findUniqueOrThrow({ where: { id } })
    t.equal(project.ownerId, left[0].userId, 'the project belongs to who stayed')
    t.equal(project.memberCount, 1)
  })

  t.test('of two owners who demote each other at once, one stays owner', async (t) => {
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

  t.test('one user is added once', async (t) => {
    const owner = await server.person()
    const guest = await server.person()
    const {
      body: { id },
    } = await owner.client.post('/projects', { name: 'one' })
    const replies = await race(() =>
      owner.client.post(`/projects/${id}/members`, { user_id: guest.id, role: 'editor' }),
    )
    t.same(tally(replies), { 201: 1, '409 member_exists': racers - 1 })
    t.equal((await prisma.project.findUniqueOrThrow({ where: { id } })).memberCount, 2)
    t.equal(
      (await prisma.projectCount.findFirstOrThrow({ where: { userId: guest.id, status: 'active' } })).count,
      1,
    )
  })

  t.test('one address is invited once', async (t) => {
    const owner = await server.person()
    const {
      body: { id },
    } = await owner.client.post('/projects', { name: 'one' })
    const replies = await race(() =>
      owner.client.post(`/projects/${id}/members`, { email: 'new@example.com', role: 'editor' }),
    )
    t.same(tally(replies), { 202: 1, '409 invitation_exists': racers - 1 })
  })

  t.test('one idempotency key has one effect and one answer', async (t) => {
    const { client, id } = await server.person()
    const headers = { 'idempotency-key': 'race-1' }
    const replies = await race(() => client.post('/projects', { name: 'once' }, { headers }))
    const made = replies.filter((r) => r.status === 201)
    t.ok(made.length >= 1)
    t.equal(new Set(made.map((r) => r.text)).size, 1, 'every success is the same to the letter')
    t.equal(made.filter((r) => r.headers.get('idempotent-replayed') === null).length, 1)
    t.ok(
      replies.every((r) => r.status === 201 || r.body.error.details.constraint === 'in_progress'),
      JSON.stringify(tally(replies)),
    )
    t.equal(await prisma.project.count({ where: { ownerId: id } }), 1)
    const again = await client.post('/projects', { name: 'once' }, { headers })
    t.equal(again.text, made[0].text)
    t.equal(again.headers.get('idempotent-replayed'), 'true')
  })

  t.test('one If-Match lets one change through', async (t) => {
    const { client } = await server.person()
    const made = await client.post('/projects', { name: 'v0' })
    const etag = made.headers.get('etag')!
    const replies = await race((i) =>
      client.put(`/projects/${made.body.id}`, { name: `v${i}` }, { headers: { 'if-match': etag } }),
    )
    t.same(tally(replies), { 200: 1, '412 etag': racers - 1 })
    const { body } = await client.get(`/projects/${made.body.id}`)
    t.equal(body.version, 2)
    t.equal(body.name, replies.find((r) => r.status === 200)!.body.name)
  })

  t.test('changes without If-Match are each kept', async (t) => {
    const { client } = await server.person()
    const made = await client.post('/projects', { name: 'v0' })
    const replies = await race((i) =>
      client.put(`/projects/${made.body.id}`, i % 2 === 0 ? { description: `d${i}` } : { category: `c${i}` }),
    )
    t.same(tally(replies), { 200: racers })
    t.equal((await client.get(`/projects/${made.body.id}`)).body.version, racers + 1)
  })

  t.test('one project is archived once', async (t) => {
    const { client } = await server.person()
    const {
      body: { id },
    } = await client.post('/projects', { name: 'a' })
    t.same(tally(await race(() => client.post(`/projects/${id}/archive`))), {
      200: 1,
      '409 archived': racers - 1,
    })
  })

  t.test('of all admins who delete each other at once, one stays', async (t) => {
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
