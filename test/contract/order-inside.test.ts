// The order of checks where one operation holds several things: existence, permission and state of each.
import pg from 'pg'
import t from 'tap'
import { askFor, send, successOf } from '../support/operation-fixtures.ts'
import { catalogFor, pages } from '../support/db-fixtures-payments.ts'
import {
  createDump,
  insertedInvitation,
  insertedMember,
  insertedProject,
  insertedUser,
} from '../support/db-fixtures.ts'
import { startServer } from '../support/server.ts'
import { waitUntil } from '../support/wait.ts'

const server = await startServer(t)
const dump = await createDump(t, server)
const archive = (id: string) =>
  server.services.database.prisma.project.update({
    where: { id },
    data: { status: 'archived', archivedAt: new Date() },
  })

t.test('403 for the permission comes before 409 for an archived project', async (t) => {
  const caller = await server.person()
  const id = await insertedProject({ server, caller, rank: 'viewer' })
  const other = await insertedMember(server, id, await insertedUser(server), 'editor')
  const invitation = await insertedInvitation(server, id, 'someone.else@example.com')
  await archive(id)
  t.equal(
    (await caller.client.delete(`/projects/${id}/members/${other}`)).status,
    403,
    'a viewer removes another',
  )
  const stranger = await server.person()
  const made = await dump()
  t.equal(
    (await stranger.client.post(`/projects/${id}/invitations/${invitation}/accept`)).status,
    403,
    'a stranger accepts what is for another address',
  )
  t.same(await dump(), made)
  const admin = await server.person()
  const theirs = await insertedProject({ server, caller: admin, rank: 'admin' })
  const member = await insertedMember(server, theirs, await insertedUser(server), 'viewer')
  await archive(theirs)
  t.equal(
    (await admin.client.put(`/projects/${theirs}/members/${member}`, { role: 'owner' })).status,
    403,
    'an admin makes an owner',
  )
})

t.test(
  '404 for a member or an invitation that is not there comes before 409 for an archived project',
  async (t) => {
    for (const [id, name] of [
      ['updateMember', 'member_id'],
      ['removeMember', 'member_id'],
      ['revokeInvitation', 'invitation_id'],
      ['acceptInvitation', 'invitation_id'],
    ] as const) {
      const ask = await askFor(server, id)
      await archive(ask.params!.id)
      const nobodys = `${ask.params![name].slice(0, 3)}_01jd6y8m5qe8btc4y5w1r0n3fz`
      t.equal((await send({ ...ask, params: { ...ask.params, [name]: nobodys } })).status, 404, id)
    }
  },
)

t.test(
  "404 for a webhook endpoint or a delivery that is not there, then 403 for someone else's, come before 409 and 412",
  async (t) => {
    const stranger = await server.person()
    for (const id of ['testWebhookEndpoint', 'recoverWebhookEndpoint', 'redeliverWebhookDelivery'] as const) {
      const ask = await askFor(server, id, { other: 409 })
      t.equal((await send(ask)).status, 409, id)
      const before = await dump()
      t.equal(
        (await send(ask, { key: stranger.key })).status,
        403,
        `${id} of someone else's in the wrong state`,
      )
      t.same(await dump(), before)
    }
    for (const id of ['updateWebhookEndpoint', 'deleteWebhookEndpoint'] as const) {
      const ask = await askFor(server, id)
      const before = await dump()
      t.equal(
        (await send(ask, { key: stranger.key, headers: { 'if-match': '"stale"' } })).status,
        403,
        `${id} of someone else's with an old ETag`,
      )
      t.same(await dump(), before)
    }
    const ask = await askFor(server, 'redeliverWebhookDelivery', { other: 409 })
    const { endpoint_id: endpointId } = (
      await ask.caller.client.get(`/webhooks/deliveries/${ask.params!.id}`)
    ).body
    t.equal((await ask.caller.client.delete(`/webhooks/endpoints/${endpointId}`)).status, 204)
    t.equal((await send(ask)).status, 404, 'a delivery goes with its endpoint')
    for (const id of [
      'getWebhookEndpoint',
      'updateWebhookEndpoint',
      'deleteWebhookEndpoint',
      'rotateWebhookSecret',
      'testWebhookEndpoint',
      'recoverWebhookEndpoint',
      'listWebhookDeliveries',
    ] as const) {
      const { body } = await askFor(server, id)
      t.equal(
        (await send({ ...ask, id, params: { id: endpointId }, body })).status,
        404,
        `${id} of a deleted one`,
      )
    }
  },
)

t.test(
  'what is wrong with a session by its shape is said before its project and its prices are looked at',
  async (t) => {
    const caller = await server.person()
    const { monthly } = await catalogFor(server)
    const items = [{ price_id: monthly }, { price_id: monthly }]
    const before = await dump()
    for (const [body, field, constraint] of [
      [{ mode: 'subscription', items, project_id: 'prj_01jd6y8m5qe8btc4y5w1r0n3fz' }, 'items', 'maxItems'],
      [{ project_id: 'prj_01jd6y8m5qe8btc4y5w1r0n3fz' }, 'items', 'required'],
      [{ items, order_id: 'ord_01jd6y8m5qe8btc4y5w1r0n3fz' }, 'items', 'exclusive'],
      [
        { project_id: 'prj_01jd6y8m5qe8btc4y5w1r0n3fz', order_id: 'ord_01jd6y8m5qe8btc4y5w1r0n3fz' },
        'project_id',
        'exclusive',
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
    t.same(await dump(), before)
  },
)

for (const id of [
  'cancelOrder',
  'expireCheckout',
  'createCheckout',
  'cancelSubscription',
  'resumeSubscription',
] as const) {
  t.test(`a project is not archived while ${id} is under way in it`, async (t) => {
    const { prisma } = server.services.database
    const ask = await askFor(server, id)
    const holder = new pg.Client({ connectionString: server.databaseUrl })
    await holder.connect()
    t.teardown(() => holder.end())
    const blocked = async () =>
      (
        await prisma.$queryRaw<
          [{ n: number }]
        >`SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
      )[0].n
    await holder.query('BEGIN')
    // What it does it tells at its end.
    await holder.query('LOCK TABLE events IN EXCLUSIVE MODE')
    const changing = send(ask)
    await waitUntil(async () => (await blocked()) === 1, `${id} to wait`)
    // Prisma sends it when somebody waits for it.
    const archiving = archive(ask.project!).then(() => {})
    await waitUntil(async () => (await blocked()) === 2, 'the project to wait')
    await holder.query('ROLLBACK')
    t.equal((await changing).status, successOf(id), (await changing).text)
    await archiving
    t.match(
      await send(ask),
      { status: 409, body: { error: { details: { constraint: 'archived' } } } },
      'and from then on nothing changes',
    )
  })
}

t.test('a page of events in a project is asked for before one after events that are gone', async (t) => {
  for (const id of ['listEvents', 'streamEvents'] as const) {
    const ask = await askFor(server, id, { other: 410 })
    const theirs = await insertedProject({ server, caller: ask.caller, rank: 'none' })
    t.equal((await send(ask)).status, 410, id)
    t.equal(
      (await send({ ...ask, query: { ...ask.query, project_id: theirs } })).status,
      403,
      `403 comes before 410: ${id}`,
    )
    t.equal(
      (await send({ ...ask, query: { ...ask.query, project_id: 'prj_01jd6y8m5qe8btc4y5w1r0n3fz' } })).status,
      404,
      `404 comes before 410: ${id}`,
    )
  }
})
