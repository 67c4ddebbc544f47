// The order of checks in operations with several resources: existence, permission and state of each.
import pg from 'pg'
import t from 'tap'
import { send, requestFor, successStatus } from '../support/operations/operation-fixtures.ts'
import { catalogFor, pages } from '../support/database/db-fixtures-payments.ts'
import { recordChanges } from '../support/server/changes.ts'
import { createInvitation, createMember, createProject, createUser } from '../support/database/db-fixtures.ts'
import { startServer } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'

const server = await startServer(t)
const changes = await recordChanges(t, server)
const archive = (id: string) =>
  server.services.database.prisma.project.update({
    where: { id },
    data: { status: 'archived', archivedAt: new Date() },
  })

t.test('403 for the permission comes before 409 for an archived project', async (t) => {
  const caller = await server.person()
  const id = await createProject({ server, caller, role: 'viewer' })
  const other = await createMember(server, id, await createUser(server), 'editor')
  const invitation = await createInvitation(server, id, 'someone.else@example.com')
  await archive(id)
  t.equal(
    (await caller.client.delete(`/projects/${id}/members/${other}`)).status,
    403,
    'a viewer removes another member',
  )
  const stranger = await server.person()
  const made = await changes()
  t.equal(
    (await stranger.client.post(`/projects/${id}/invitations/${invitation}/accept`)).status,
    404,
    'a user accepts an invitation for another address',
  )
  t.same(await changes(), made)
  const admin = await server.person()
  const theirs = await createProject({ server, caller: admin, role: 'admin' })
  const member = await createMember(server, theirs, await createUser(server), 'viewer')
  await archive(theirs)
  t.equal(
    (await admin.client.put(`/projects/${theirs}/members/${member}`, { role: 'owner' })).status,
    403,
    'an admin makes a member an owner',
  )
})

t.test('404 for an unknown member or invitation comes before 409 for an archived project', async (t) => {
  for (const [id, name] of [
    ['updateMember', 'member_id'],
    ['removeMember', 'member_id'],
    ['revokeInvitation', 'invitation_id'],
    ['resendInvitation', 'invitation_id'],
    ['acceptInvitation', 'invitation_id'],
    ['declineInvitation', 'invitation_id'],
  ] as const) {
    const request = await requestFor(server, id)
    await archive(request.params!.id)
    const unknownId = `${request.params![name].slice(0, 3)}_01jd6y8m5qe8btc4y5w1r0n3fz`
    t.equal((await send({ ...request, params: { ...request.params, [name]: unknownId } })).status, 404, id)
  }
})

t.test(
  "404 for an unknown webhook endpoint or delivery, then 403 for another user's, come before 409 and 412",
  async (t) => {
    const stranger = await server.person()
    for (const id of ['testWebhookEndpoint', 'recoverWebhookEndpoint', 'redeliverWebhookDelivery'] as const) {
      const request = await requestFor(server, id, { forStatus: 409 })
      t.equal((await send(request)).status, 409, id)
      const before = await changes()
      t.equal(
        (await send(request, { key: stranger.key })).status,
        403,
        `${id} of another user in the wrong state`,
      )
      t.same(await changes(), before)
    }
    for (const id of ['updateWebhookEndpoint', 'deleteWebhookEndpoint'] as const) {
      const request = await requestFor(server, id)
      const before = await changes()
      t.equal(
        (await send(request, { key: stranger.key, headers: { 'if-match': '"stale"' } })).status,
        403,
        `${id} of another user with an old ETag`,
      )
      t.same(await changes(), before)
    }
    const request = await requestFor(server, 'redeliverWebhookDelivery', { forStatus: 409 })
    const { endpoint_id: endpointId } = (
      await request.caller.client.get(`/webhooks/deliveries/${request.params!.id}`)
    ).body
    t.equal((await request.caller.client.delete(`/webhooks/endpoints/${endpointId}`)).status, 204)
    t.equal((await send(request)).status, 404, 'deleting an endpoint deletes its deliveries')
    for (const id of [
      'getWebhookEndpoint',
      'updateWebhookEndpoint',
      'deleteWebhookEndpoint',
      'rotateWebhookSecret',
      'testWebhookEndpoint',
      'recoverWebhookEndpoint',
      'listWebhookDeliveries',
    ] as const) {
      const { body } = await requestFor(server, id)
      t.equal(
        (await send({ ...request, id, params: { id: endpointId }, body })).status,
        404,
        `${id} of a deleted endpoint`,
      )
    }
  },
)

t.test('a checkout is validated before its project and prices are loaded', async (t) => {
  const caller = await server.person()
  const { monthly } = await catalogFor(server)
  const items = [{ price_id: monthly }, { price_id: monthly }]
  const before = await changes()
  for (const [body, field, constraint] of [
    [
      { mode: 'subscription', items, project_id: 'prj_01jd6y8m5qe8btc4y5w1r0n3fz' },
      'items[1].price_id',
      'uniqueItems',
    ],
    [{ project_id: 'prj_01jd6y8m5qe8btc4y5w1r0n3fz' }, 'items', 'required'],
    [{ items, order_id: 'ord_01jd6y8m5qe8btc4y5w1r0n3fz' }, 'order_id', 'oneOf'],
    [
      { project_id: 'prj_01jd6y8m5qe8btc4y5w1r0n3fz', order_id: 'ord_01jd6y8m5qe8btc4y5w1r0n3fz' },
      'project_id',
      'dependentRequired',
    ],
    [{ mode: 'subscription', order_id: 'ord_01jd6y8m5qe8btc4y5w1r0n3fz' }, 'mode', 'exclusive'],
    [
      { order_id: 'ord_01jd6y8m5qe8btc4y5w1r0n3fz', success_url: 'https://ada:secret@shop.example/' },
      'success_url',
      'format',
    ],
    [{ order_id: 'ord_01jd6y8m5qe8btc4y5w1r0n3fz', cancel_url: 'https://:/' }, 'cancel_url', 'format'],
  ] as const)
    t.match(
      await caller.client.post('/payments/checkout', { ...pages, ...body }),
      { status: 400, body: { error: { details: { field, constraint } } } },
      JSON.stringify(body),
    )
  t.same(await changes(), before)
})

for (const id of [
  'cancelOrder',
  'expireCheckout',
  'createCheckout',
  'createSubscription',
  'updateSubscription',
  'pauseSubscription',
  'unpauseSubscription',
  'cancelScheduledChange',
  'cancelSubscription',
  'resumeSubscription',
] as const) {
  t.test(`archiving a project waits for ${id} in it`, async (t) => {
    const { prisma } = server.services.database
    const request = await requestFor(server, id)
    const client = new pg.Client({ connectionString: server.databaseUrl })
    await client.connect()
    t.teardown(() => client.end())
    const blocked = async () =>
      (
        await prisma.$queryRaw<[{ n: number }]>`SELECT count(*)::int AS n FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock'
              AND query NOT LIKE '%number_events%'`
      )[0].n
    await client.query('BEGIN')
    // The operation emits its events at the end of its transaction, so this lock makes it wait there. The
    // numbering of earlier events may wait for it, too.
    await client.query('LOCK TABLE events IN EXCLUSIVE MODE')
    const changing = send(request)
    await waitUntil(async () => (await blocked()) === 1, `${id} to wait for the lock on events`)
    // Prisma sends the statement only when its promise is awaited.
    const archiving = archive(request.project!).then(() => {})
    await waitUntil(async () => (await blocked()) === 2, 'the archiving to wait for the operation')
    await client.query('ROLLBACK')
    t.equal((await changing).status, successStatus(id), (await changing).text)
    await archiving
    t.match(
      await send(request),
      { status: 409, body: { error: { details: { constraint: 'archived' } } } },
      'afterwards the archived project rejects the operation',
    )
  })
}

t.test('the project filter of events is checked before the cursor', async (t) => {
  for (const id of ['listEvents', 'streamEvents'] as const) {
    const request = await requestFor(server, id, { forStatus: 410 })
    const theirs = await createProject({ server, caller: request.caller, role: 'none' })
    t.equal((await send(request)).status, 410, id)
    t.equal(
      (await send({ ...request, query: { ...request.query, project_id: theirs } })).status,
      403,
      `403 comes before 410: ${id}`,
    )
    t.equal(
      (await send({ ...request, query: { ...request.query, project_id: 'prj_01jd6y8m5qe8btc4y5w1r0n3fz' } }))
        .status,
      404,
      `404 comes before 410: ${id}`,
    )
  }
})
