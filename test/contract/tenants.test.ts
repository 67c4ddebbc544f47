// Another tenant's things: 403 where they exist, 404 where nothing does, no foreign byte in the answer and no effect.
import t, { type Test } from 'tap'
import { askFor, infos, nobodys, secured, send } from '../support/operation-fixtures.ts'
import type { Ask } from '../support/operation-fixture.ts'
import { insertedCheckout, insertedOrder, insertedSubscription } from '../support/db-fixtures-payments.ts'
import {
  createDump,
  insertedFile,
  insertedKnowledgeBase,
  insertedProject,
  insertedSession,
} from '../support/db-fixtures.ts'
import { startServer } from '../support/server.ts'

const server = await startServer(t)
const dump = await createDump(t, server)
// What only an operator may ask has no other tenant, nor has the catalogue, which is there for all.
const withIds = secured.filter(
  (info) => info.path.includes('{') && !info.scopes!.includes('admin') && info.tag !== 'payments-catalogue',
)
const stranger = await server.person({ name: 'A stranger by name' })

async function answers(t: Test, ask: Ask, status: number, what: string): Promise<void> {
  const before = await dump()
  const reply = await send(ask)
  t.equal(reply.status, status, `${ask.id} ${what}: ${reply.text.slice(0, 200)}`)
  t.notMatch(reply.text, /Theirs|@example\.com|A stranger by name/, `${ask.id} ${what} tells nothing of it`)
  t.same(await dump(), before, `${ask.id} ${what} changes nothing`)
}

for (const { id, projectAccess } of withIds) {
  t.test(`${id} gives nothing of another tenant's`, async (t) => {
    const theirs = await askFor(server, id, { caller: stranger })
    await answers(t, { ...theirs, caller: await server.person() }, 403, 'of a stranger')
    const own = await askFor(server, id)
    for (const [name, value] of Object.entries(own.params!)) {
      await answers(
        t,
        { ...own, params: { ...own.params, [name]: nobodys(value) } },
        404,
        `with ${name} of nothing`,
      )
      // Inside a project, another project's member or invitation is not there at all.
      const status = name === 'id' && projectAccess?.role !== 'none' ? 403 : 404
      await answers(
        t,
        { ...own, params: { ...own.params, [name]: theirs.params![name] } },
        status,
        `with ${name} of a stranger`,
      )
    }
  })
}

t.test("a key is not made for another tenant's project", async (t) => {
  const ask = await askFor(server, 'createApiKey')
  const theirs = await insertedProject({ server, caller: ask.caller, rank: 'none' })
  await answers(
    t,
    { ...ask, body: { ...ask.body, project_ids: [theirs] } },
    403,
    'with project_ids of a stranger',
  )
  await answers(
    t,
    { ...ask, body: { ...ask.body, project_ids: [nobodys(theirs)] } },
    404,
    'with project_ids of nothing',
  )
})

t.test("another tenant's project is no default project", async (t) => {
  const ask = await askFor(server, 'updateSettings')
  const theirs = await insertedProject({ server, caller: ask.caller, rank: 'none' })
  await answers(
    t,
    { ...ask, body: { default_project_id: theirs } },
    403,
    'with default_project_id of a stranger',
  )
  await answers(
    t,
    { ...ask, body: { default_project_id: nobodys(theirs) } },
    404,
    'with default_project_id of nothing',
  )
})

t.test('the log tells nothing of another tenant', async (t) => {
  for (const id of ['listEvents', 'streamEvents'] as const) {
    const ask = await askFor(server, id)
    const theirs = await insertedProject({ server, caller: stranger, rank: 'owner' })
    await answers(t, { ...ask, query: { project_id: theirs } }, 403, 'with project_id of a stranger')
    await answers(t, { ...ask, query: { project_id: nobodys(theirs) } }, 404, 'with project_id of nothing')
  }
  const other = await askFor(server, 'listEvents')
  await other.caller.client.post('/projects', { name: 'Theirs' })
  const mine = await askFor(server, 'listEvents')
  const typesOf = async (ask: Ask) => (await send(ask)).body.data.map(({ type }: { type: string }) => type)
  t.same(await typesOf(other), ['profile.updated', 'project.created'], 'the stranger has some')
  t.same(await typesOf(mine), ['profile.updated'], 'and the caller its own alone')
})

t.test("the space of another tenant's project is no place for files", async (t) => {
  const theirs = await insertedProject({ server, caller: stranger, rank: 'owner' })
  for (const id of ['listFiles', 'getStorageUsage'] as const) {
    const ask = await askFor(server, id)
    await answers(t, { ...ask, query: { project_id: theirs } }, 403, 'with project_id of a stranger')
    await answers(t, { ...ask, query: { project_id: nobodys(theirs) } }, 404, 'with project_id of nothing')
  }
  const ask = await askFor(server, 'uploadFile')
  await answers(
    t,
    { ...ask, body: { ...ask.body, project_id: theirs } },
    403,
    'with project_id of a stranger',
  )
  await answers(
    t,
    { ...ask, body: { ...ask.body, project_id: nobodys(theirs) } },
    404,
    'with project_id of nothing',
  )
})

t.test(
  "the space of another tenant's project is no place for sessions and knowledge bases, nor what they are made of",
  async (t) => {
    const theirs = await insertedProject({ server, caller: stranger, rank: 'owner' })
    const knowledge = await insertedKnowledgeBase(server, stranger.id, { projectId: theirs })
    const session = await insertedSession(server, stranger.id, { projectId: theirs })
    for (const id of ['listSessions', 'listKnowledgeBases'] as const) {
      const ask = await askFor(server, id)
      await answers(t, { ...ask, query: { project_id: theirs } }, 403, 'with project_id of a stranger')
      await answers(t, { ...ask, query: { project_id: nobodys(theirs) } }, 404, 'with project_id of nothing')
    }
    for (const [id, field, value] of [
      ['createSession', 'project_id', theirs],
      ['createKnowledgeBase', 'project_id', theirs],
      ['createChat', 'session_id', session],
      ['streamChat', 'session_id', session],
      ['createSession', 'knowledge_base_ids', [knowledge]],
      ['updateSession', 'knowledge_base_ids', [knowledge]],
      ['createChat', 'knowledge_base_ids', [knowledge]],
      ['streamChat', 'knowledge_base_ids', [knowledge]],
      ['regenerateMessage', 'knowledge_base_ids', [knowledge]],
    ] as const) {
      const ask = await askFor(server, id)
      await answers(t, { ...ask, body: { ...ask.body, [field]: value } }, 403, `with ${field} of a stranger`)
      await answers(
        t,
        {
          ...ask,
          body: { ...ask.body, [field]: typeof value === 'string' ? nobodys(value) : value.map(nobodys) },
        },
        404,
        `with ${field} of nothing`,
      )
    }
    const ask = await askFor(server, 'createDocument')
    const { text: _text, ...fields } = ask.body!
    const file = await insertedFile(server, stranger.id, { projectId: theirs })
    await answers(t, { ...ask, body: { ...fields, file_id: file } }, 403, 'with file_id of a stranger')
    await answers(t, { ...ask, body: { ...fields, file_id: nobodys(file) } }, 404, 'with file_id of nothing')
  },
)

t.test(
  "the space of another tenant's project is no place for orders and subscriptions, nor are their orders to be paid",
  async (t) => {
    const theirs = await insertedProject({ server, caller: stranger, rank: 'owner' })
    for (const id of ['listOrders', 'listSubscriptions'] as const) {
      const ask = await askFor(server, id)
      await answers(t, { ...ask, query: { project_id: theirs } }, 403, 'with project_id of a stranger')
      await answers(t, { ...ask, query: { project_id: nobodys(theirs) } }, 404, 'with project_id of nothing')
    }
    const { body: order } = await askFor(server, 'createOrder')
    const { body: { order_id: _order, ...session } = {} } = await askFor(server, 'createCheckout')
    for (const [id, body] of [
      ['createOrder', order],
      ['createCheckout', { ...session, items: order!.items }],
    ] as const) {
      const ask = { id, server, caller: await server.person(), body: { ...body, project_id: theirs } }
      await answers(t, ask, 403, 'with project_id of a stranger')
      await answers(
        t,
        { ...ask, body: { ...body, project_id: nobodys(theirs) } },
        404,
        'with project_id of nothing',
      )
      const { project_id: _project, ...own } = { project_id: null, ...body }
      await answers(
        t,
        { ...ask, body: { ...own, items: [{ price_id: 'prc_01jd6y8m5qe8btc4y5w1r0n3fz' }] } },
        404,
        'with price_id of nothing',
      )
    }
    const ask = await askFor(server, 'createCheckout')
    for (const where of [theirs, null]) {
      const id = await insertedOrder(server, stranger.id, { projectId: where })
      await answers(t, { ...ask, body: { ...session, order_id: id } }, 403, 'with order_id of a stranger')
      await insertedCheckout(server, id)
      await answers(
        t,
        { ...ask, body: { ...session, order_id: id } },
        403,
        'with order_id of a stranger that is being paid',
      )
    }
    const subscription = await insertedSubscription(server, stranger.id)
    const list = await askFor(server, 'listOrders', { own: true })
    t.same(
      (await send({ ...list, query: { subscription_id: subscription } })).body.data,
      [],
      'nor are the orders of their subscriptions to be found',
    )
  },
)

/** The models and the catalogue are there for all. */
const nobodysLists = ['listModels', 'listProducts', 'listPrices']

t.test("no list has another tenant's items", async (t) => {
  for (const { id } of infos.filter(
    (info) =>
      !nobodysLists.includes(info.id) &&
      info.paged &&
      !info.path.includes('{') &&
      !info.scopes!.includes('admin'),
  )) {
    const mine = await askFor(server, id)
    await askFor(server, id, { caller: stranger })
    const theirs = new Set(
      (await send({ id, server, caller: stranger })).body.data.map((item: { id: string }) => item.id),
    )
    t.ok(theirs.size > 0, `${id}: the stranger has some`)
    const { body } = await send(mine)
    t.ok(body.data.length > 0, `${id}: the caller has some`)
    t.same(
      body.data.filter((item: { id: string }) => theirs.has(item.id)),
      [],
      `${id}: and none is the stranger's`,
    )
    t.equal(body.pagination.total, body.data.length, `${id}: nor are they counted`)
  }
})
