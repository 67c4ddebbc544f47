// What each role may do in a project is what the spec's x-project-access says, for every operation that has it.
import t from 'tap'
import { ranks } from '../../services/projects/access.ts'
import { askFor, fixtures, infos, projectOf, send, successOf } from '../support/operation-fixtures.ts'
import { type Ask, type Fixture, type Rank } from '../support/operation-fixture.ts'
import { catalogFor, pages } from '../support/db-fixtures-payments.ts'
import { createDump, insertedKey, insertedProject } from '../support/db-fixtures.ts'
import { startServer } from '../support/server.ts'

const server = await startServer(t)
const dump = await createDump(t, server)
const onProjects = infos.filter((info) => info.projectAccess !== null)
const caller = await server.person()

for (const info of onProjects) {
  const { id, projectAccess } = info
  const needed = projectAccess!.role as Rank
  t.test(`${id} is for ${needed === 'none' ? 'anyone it names' : `${needed} and above`}`, async (t) => {
    for (const rank of Object.keys(ranks) as Rank[]) {
      const ask = await askFor(server, id, { caller, rank })
      if (ranks[rank] >= ranks[needed]) {
        const { whenMember }: Fixture = fixtures[id]
        const reply = await send(ask)
        t.equal(
          reply.status,
          (rank === 'none' ? undefined : whenMember) ?? successOf(id),
          `${rank} may: ${reply.text.slice(0, 200)}`,
        )
        continue
      }
      const before = await dump()
      const reply = await send(ask)
      t.equal(reply.status, 403, `${rank} may not: ${reply.text.slice(0, 200)}`)
      t.match(reply.body, { error: { code: 'FORBIDDEN', details: { constraint: 'role' } } }, rank)
      t.same(await dump(), before, `${rank} changes nothing`)
    }
  })
}

t.test(
  'a project in another state than the operation is for is 409 for whoever may, 404 when it is deleted',
  async (t) => {
    const asks: Array<[Ask, 'active' | 'archived' | 'deleted']> = []
    for (const { id, projectAccess } of onProjects) {
      const allowed = projectAccess!.states ?? ['active', 'archived']
      for (const status of ['active', 'archived', 'deleted'] as const) {
        if (allowed.includes(status)) continue
        const ask = await askFor(server, id, { caller })
        const at = new Date()
        await server.services.database.prisma.project.update({
          where: { id: projectOf(ask) },
          data: {
            status,
            archivedAt: status === 'archived' ? at : null,
            deletedAt: status === 'deleted' ? at : null,
          },
        })
        asks.push([ask, status])
      }
    }
    const before = await dump()
    for (const [ask, status] of asks) {
      const reply = await send(ask)
      t.equal(
        reply.status,
        status === 'deleted' ? 404 : 409,
        `${ask.id} of a project that is ${status}: ${reply.text.slice(0, 200)}`,
      )
      if (status !== 'deleted')
        t.match(
          reply.body,
          { error: { code: 'INVALID_STATE', details: { field: 'status', constraint: status } } },
          ask.id,
        )
    }
    t.same(await dump(), before, 'nothing changes')
  },
)

t.test('a session of items is begun by who may order in its project', async (t) => {
  const { price, monthly } = await catalogFor(server)
  for (const [mode, id] of [
    ['payment', price],
    ['subscription', monthly],
  ] as const) {
    const begin = async (rank: Rank, status: 'active' | 'archived' | 'deleted' = 'active') =>
      await caller.client.post('/payments/checkout', {
        mode,
        items: [{ price_id: id }],
        project_id: await insertedProject({ server, caller, rank }, status),
        ...pages,
      })
    for (const rank of Object.keys(ranks) as Rank[]) {
      t.equal((await begin(rank)).status, ranks[rank] >= ranks.editor ? 201 : 403, `${mode}: ${rank}`)
    }
    t.match(await begin('editor', 'archived'), {
      status: 409,
      body: { error: { code: 'INVALID_STATE', details: { constraint: 'archived' } } },
    })
    t.equal((await begin('editor', 'deleted')).status, 404)
  }
  const {
    body: { data },
  } = await caller.client.get('/payments/orders?limit=100')
  t.same(
    data.filter((order: { project_id: string | null }) => order.project_id !== null),
    [],
    "and none of it is the caller's own",
  )
})

const inSome = onProjects.filter(({ path }) => !path.includes('/projects'))

t.test('what may be in a project or in none has a fixture for either', async (t) => {
  t.same(
    inSome.filter(({ id }) => fixtures[id].own === undefined).map(({ id }) => id),
    [],
  )
})

for (const { id, path } of inSome) {
  t.test(`${id} of what is in no project is its owner's alone`, async (t) => {
    const ask = await askFor(server, id, { own: true })
    const elsewhere = await insertedProject({ server, caller: ask.caller, rank: 'owner' })
    const { secret } = await insertedKey(server, ask.caller.id, { projectIds: [elsewhere] })
    const before = await dump()
    t.match(
      await send(ask, { key: secret }),
      { status: 403, body: { error: { code: 'FORBIDDEN', details: { constraint: 'project_ids' } } } },
      'a key for some projects may not',
    )
    if (path.includes('{')) {
      for (const [who, { key }] of Object.entries({ another: caller, admin: server.admin })) {
        t.match(
          await send(ask, { key }),
          { status: 403, body: { error: { code: 'FORBIDDEN', details: { constraint: 'owner' } } } },
          `${who} may not`,
        )
      }
    }
    t.same(await dump(), before, 'and nothing changes')
    t.equal((await send(ask)).status, successOf(id), 'the owner may')
  })
}

t.test('a key for some projects touches no other, whatever its owner may', async (t) => {
  const allowed = await askFor(server, 'getProject', { caller })
  const { secret } = await insertedKey(server, caller.id, { projectIds: [allowed.params!.id] })
  t.equal((await send(allowed, { key: secret })).status, 200)
  const asks: Ask[] = []
  for (const { id } of onProjects) asks.push(await askFor(server, id, { caller }))
  const before = await dump()
  for (const ask of asks) {
    const reply = await send(ask, { key: secret })
    t.equal(reply.status, 403, ask.id)
    t.match(reply.body, { error: { code: 'FORBIDDEN', details: { constraint: 'project_ids' } } }, ask.id)
  }
  t.same(await dump(), before, 'nothing changes')
  const { body } = await send({ ...(await askFor(server, 'listProjects', { caller })) }, { key: secret })
  t.same(
    body.data.map(({ id }: { id: string }) => id),
    [allowed.params!.id],
    'and the list has no other',
  )
})
