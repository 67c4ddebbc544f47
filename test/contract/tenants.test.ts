// Tenant isolation: a request for a resource of another tenant is answered with 403, for an unknown one with
// 404. The answer shows nothing of the other tenant, and nothing changes.
import t, { type Test } from 'tap'
import { secured, send, requestFor, operationInfos, toUnknownId } from '../support/operation-fixtures.ts'
import type { OperationRequest } from '../support/operation-fixture.ts'
import { insertedCheckout, insertedOrder, insertedSubscription } from '../support/db-fixtures-payments.ts'
import { recordChanges } from '../support/changes.ts'
import { createFile, createKnowledgeBase, createProject, createSession } from '../support/db-fixtures.ts'
import { startServer } from '../support/server.ts'

const server = await startServer(t)
const changes = await recordChanges(t, server)
// Left out: operations for admins, and the product catalog, which all users share.
const withIds = secured.filter(
  (info) => info.path.includes('{') && !info.scopes!.includes('admin') && info.tag !== 'payments-catalogue',
)
const otherTenant = await server.person({ name: 'A stranger by name' })

async function assertAnswer(t: Test, request: OperationRequest, status: number, what: string): Promise<void> {
  const before = await changes()
  const reply = await send(request)
  t.equal(reply.status, status, `${request.id} ${what}: ${reply.text.slice(0, 200)}`)
  t.notMatch(
    reply.text,
    /Theirs|@example\.com|A stranger by name/,
    `${request.id} ${what} shows no data of the other tenant`,
  )
  t.same(await changes(), before, `${request.id} ${what} changes nothing`)
}

for (const { id, projectAccess } of withIds) {
  t.test(`${id} gives no access to another tenant's resource`, async (t) => {
    const theirs = await requestFor(server, id, { caller: otherTenant })
    // An invitation is not visible to users from outside the project, unless they are invited.
    const whenOthers = projectAccess?.role === 'none' ? 404 : 403
    await assertAnswer(t, { ...theirs, caller: await server.person() }, whenOthers, 'of another tenant')
    const own = await requestFor(server, id)
    for (const [name, value] of Object.entries(own.params!)) {
      await assertAnswer(
        t,
        { ...own, params: { ...own.params, [name]: toUnknownId(value) } },
        404,
        `with an unknown ${name}`,
      )
      // Inside a project, a member or invitation of another project does not exist.
      const status = name === 'id' ? whenOthers : 404
      await assertAnswer(
        t,
        { ...own, params: { ...own.params, [name]: theirs.params![name] } },
        status,
        `with ${name} of another tenant`,
      )
    }
  })
}

t.test("an API key cannot be limited to another tenant's project", async (t) => {
  const request = await requestFor(server, 'createApiKey')
  const theirs = await createProject({ server, caller: request.caller, role: 'none' })
  await assertAnswer(
    t,
    { ...request, body: { ...request.body, project_ids: [theirs] } },
    403,
    'with project_ids of another tenant',
  )
  await assertAnswer(
    t,
    { ...request, body: { ...request.body, project_ids: [toUnknownId(theirs)] } },
    404,
    'with unknown project_ids',
  )
})

t.test("the default project cannot be another tenant's project", async (t) => {
  const request = await requestFor(server, 'updateSettings')
  const theirs = await createProject({ server, caller: request.caller, role: 'none' })
  await assertAnswer(
    t,
    { ...request, body: { default_project_id: theirs } },
    403,
    'with default_project_id of another tenant',
  )
  await assertAnswer(
    t,
    { ...request, body: { default_project_id: toUnknownId(theirs) } },
    404,
    'with an unknown default_project_id',
  )
})

t.test('the event log shows no events of another tenant', async (t) => {
  for (const id of ['listEvents', 'streamEvents'] as const) {
    const request = await requestFor(server, id)
    const theirs = await createProject({ server, caller: otherTenant, role: 'owner' })
    await assertAnswer(
      t,
      { ...request, query: { project_id: theirs } },
      403,
      'with project_id of another tenant',
    )
    await assertAnswer(
      t,
      { ...request, query: { project_id: toUnknownId(theirs) } },
      404,
      'with an unknown project_id',
    )
  }
  const other = await requestFor(server, 'listEvents')
  await other.caller.client.post('/projects', { name: 'Theirs' })
  const mine = await requestFor(server, 'listEvents')
  const typesOf = async (request: OperationRequest) =>
    (await send(request)).body.data.map(({ type }: { type: string }) => type)
  t.same(await typesOf(other), ['profile.updated', 'project.created'], 'the other tenant has events')
  t.same(await typesOf(mine), ['profile.updated'], 'the caller sees only its own events')
})

t.test("files cannot be listed or stored in another tenant's project", async (t) => {
  const theirs = await createProject({ server, caller: otherTenant, role: 'owner' })
  for (const id of ['listFiles', 'getStorageUsage'] as const) {
    const request = await requestFor(server, id)
    await assertAnswer(
      t,
      { ...request, query: { project_id: theirs } },
      403,
      'with project_id of another tenant',
    )
    await assertAnswer(
      t,
      { ...request, query: { project_id: toUnknownId(theirs) } },
      404,
      'with an unknown project_id',
    )
  }
  const request = await requestFor(server, 'uploadFile')
  await assertAnswer(
    t,
    { ...request, body: { ...request.body, project_id: theirs } },
    403,
    'with project_id of another tenant',
  )
  await assertAnswer(
    t,
    { ...request, body: { ...request.body, project_id: toUnknownId(theirs) } },
    404,
    'with an unknown project_id',
  )
})

t.test("sessions and knowledge bases cannot use another tenant's project or resources", async (t) => {
  const theirs = await createProject({ server, caller: otherTenant, role: 'owner' })
  const knowledge = await createKnowledgeBase(server, otherTenant.id, { projectId: theirs })
  const session = await createSession(server, otherTenant.id, { projectId: theirs })
  for (const id of ['listSessions', 'listKnowledgeBases'] as const) {
    const request = await requestFor(server, id)
    await assertAnswer(
      t,
      { ...request, query: { project_id: theirs } },
      403,
      'with project_id of another tenant',
    )
    await assertAnswer(
      t,
      { ...request, query: { project_id: toUnknownId(theirs) } },
      404,
      'with an unknown project_id',
    )
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
    const request = await requestFor(server, id)
    await assertAnswer(
      t,
      { ...request, body: { ...request.body, [field]: value } },
      403,
      `with ${field} of another tenant`,
    )
    await assertAnswer(
      t,
      {
        ...request,
        body: {
          ...request.body,
          [field]: typeof value === 'string' ? toUnknownId(value) : value.map(toUnknownId),
        },
      },
      404,
      `with an unknown ${field}`,
    )
  }
  const request = await requestFor(server, 'createDocument')
  const { text: _text, ...fields } = request.body!
  const file = await createFile(server, otherTenant.id, { projectId: theirs })
  await assertAnswer(
    t,
    { ...request, body: { ...fields, file_id: file } },
    403,
    'with file_id of another tenant',
  )
  await assertAnswer(
    t,
    { ...request, body: { ...fields, file_id: toUnknownId(file) } },
    404,
    'with an unknown file_id',
  )
})

t.test(
  "orders and subscriptions cannot use another tenant's project, and its orders cannot be paid",
  async (t) => {
    const theirs = await createProject({ server, caller: otherTenant, role: 'owner' })
    for (const id of ['listOrders', 'listSubscriptions', 'listCheckouts', 'listAllRefunds'] as const) {
      const request = await requestFor(server, id)
      await assertAnswer(
        t,
        { ...request, query: { project_id: theirs } },
        403,
        'with project_id of another tenant',
      )
      await assertAnswer(
        t,
        { ...request, query: { project_id: toUnknownId(theirs) } },
        404,
        'with an unknown project_id',
      )
    }
    const { body: order } = await requestFor(server, 'createOrder')
    const { body: { order_id: _order, ...session } = {} } = await requestFor(server, 'createCheckout')
    for (const [id, body] of [
      ['createOrder', order],
      ['createCheckout', { ...session, items: order!.items }],
    ] as const) {
      const request = { id, server, caller: await server.person(), body: { ...body, project_id: theirs } }
      await assertAnswer(t, request, 403, 'with project_id of another tenant')
      await assertAnswer(
        t,
        { ...request, body: { ...body, project_id: toUnknownId(theirs) } },
        404,
        'with an unknown project_id',
      )
      const { project_id: _project, ...own } = { project_id: null, ...body }
      await assertAnswer(
        t,
        { ...request, body: { ...own, items: [{ price_id: 'prc_01jd6y8m5qe8btc4y5w1r0n3fz' }] } },
        404,
        'with an unknown price_id',
      )
    }
    const request = await requestFor(server, 'createCheckout')
    for (const where of [theirs, null]) {
      const id = await insertedOrder(server, otherTenant.id, { projectId: where })
      await assertAnswer(
        t,
        { ...request, body: { ...session, order_id: id } },
        403,
        'with order_id of another tenant',
      )
      await insertedCheckout(server, id)
      await assertAnswer(
        t,
        { ...request, body: { ...session, order_id: id } },
        403,
        'with order_id of another tenant that has an open checkout',
      )
    }
    const subscription = await insertedSubscription(server, otherTenant.id)
    const list = await requestFor(server, 'listOrders', { withoutProject: true })
    t.same(
      (await send({ ...list, query: { subscription_id: subscription } })).body.data,
      [],
      "the orders of another tenant's subscription are not found",
    )
  },
)

/** All users share the models and the product catalog. */
const sharedLists = ['listModels', 'listProducts', 'listPrices']

t.test("no list has another tenant's items", async (t) => {
  for (const { id } of operationInfos.filter(
    (info) =>
      !sharedLists.includes(info.id) &&
      info.paged &&
      !info.path.includes('{') &&
      !info.scopes!.includes('admin'),
  )) {
    const mine = await requestFor(server, id)
    await requestFor(server, id, { caller: otherTenant })
    const theirs = new Set(
      (await send({ id, server, caller: otherTenant })).body.data.map((item: { id: string }) => item.id),
    )
    t.ok(theirs.size > 0, `${id}: the other tenant has items`)
    const { body } = await send(mine)
    t.ok(body.data.length > 0, `${id}: the caller has items`)
    t.same(
      body.data.filter((item: { id: string }) => theirs.has(item.id)),
      [],
      `${id}: none belong to the other tenant`,
    )
    t.equal(body.pagination.total, body.data.length, `${id}: the total counts only the caller's items`)
  }
})
