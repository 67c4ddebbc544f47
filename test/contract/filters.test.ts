// The filters of each list: what they let through, what they keep back, and that the total agrees.
import t, { type Test } from 'tap'
import type { OperationId } from '../../generated/operations.ts'
import { askFor, infos, send } from '../support/operation-fixtures.ts'
import type { Ask } from '../support/operation-fixture.ts'
import {
  insertedOrder,
  insertedPrice,
  insertedProduct,
  insertedRefund,
  insertedSubscription,
} from '../support/db-fixtures-payments.ts'
import {
  insertedDelivery,
  insertedDocument,
  insertedFile,
  insertedInvitation,
  insertedKnowledgeBase,
  insertedMember,
  insertedProject,
  insertedSession,
  insertedUser,
} from '../support/db-fixtures.ts'
import { cursorLists, queryOf } from '../support/contract-schema.ts'
import { startServer } from '../support/server.ts'

const server = await startServer(t)
const { prisma } = server.services.database
const everywhere = ['page', 'limit', 'sort', 'order', 'after']
const tried = new Set<string>()

/** The query finds exactly these. */
async function finds(t: Test, ask: Ask, query: Record<string, string>, ids: string[]): Promise<void> {
  for (const name of Object.keys(query)) tried.add(`${ask.id} ${name}`)
  const reply = await send({ ...ask, query })
  const what = JSON.stringify(query)
  t.equal(reply.status, 200, what)
  t.same(reply.body.data.map(({ id }: { id: string }) => id).sort(), [...ids].sort(), what)
  if (reply.body.pagination !== undefined)
    t.equal(reply.body.pagination.total, ids.length, `${what} is counted`)
}

t.test('projects are found by status, category, tag and text', async (t) => {
  const { id: callerId, ...caller } = await server.person()
  const ask: Ask = { id: 'listProjects', server, caller: { id: callerId, ...caller } }
  const make = async (fields: Record<string, unknown>) =>
    (await caller.client.post('/projects', fields)).body.id as string
  const launch = await make({ name: 'Launch 100%', category: 'ai', tags: ['q4', 'big'] })
  const other = await make({
    name: 'Other',
    description: 'Before the LAUNCH_day',
    category: 'AI',
    tags: ['q4x'],
  })
  const archived = await make({ name: 'Old', category: 'ai', tags: ['q4'] })
  const deleted = await make({ name: 'Gone launch', category: 'ai', tags: ['q4'] })
  await caller.client.post(`/projects/${archived}/archive`)
  await caller.client.delete(`/projects/${deleted}`)
  await finds(t, ask, {}, [launch, other, archived])
  await finds(t, ask, { status: 'active' }, [launch, other])
  await finds(t, ask, { status: 'archived' }, [archived])
  await finds(t, ask, { status: 'deleted' }, [deleted])
  await finds(t, ask, { category: 'ai' }, [launch, archived])
  await finds(t, ask, { category: 'a' }, [])
  await finds(t, ask, { tag: 'q4' }, [launch, archived])
  await finds(t, ask, { tag: 'q4", "big' }, [])
  await finds(t, ask, { q: 'launch' }, [launch, other])
  await finds(t, ask, { q: '100%' }, [launch])
  await finds(t, ask, { q: 'LAUNCH_' }, [other])
  await finds(t, ask, { q: '%' }, [launch])
  await finds(t, ask, { q: '_' }, [other])
  await finds(t, ask, { q: '\\' }, [])
  await finds(t, ask, { q: "' OR 1=1 --" }, [])
  await finds(t, ask, { q: 'launch', status: 'active', category: 'ai', tag: 'big' }, [launch])
})

t.test('users are found by status, role and text', async (t) => {
  const ask = await askFor(server, 'listUsers')
  const make = async (fields: { name: string; status?: 'active' | 'disabled'; role?: 'user' | 'admin' }) => {
    const id = await insertedUser(server)
    await prisma.user.update({
      where: { id },
      data: { ...fields, email: `${fields.name.split(' ')[0].toLowerCase()}@found.example` },
    })
    return id
  }
  const ada = await make({ name: 'Ada Lovelace' })
  const grace = await make({ name: 'Grace Found', status: 'disabled' })
  const linus = await make({ name: 'Linus 50%_', role: 'admin' })
  const gone = await make({ name: 'Gone Found' })
  await server.admin.client.delete(`/users/${gone}`)
  await finds(t, ask, { q: '@FOUND.example' }, [ada, grace, linus])
  await finds(t, ask, { q: 'lovelace' }, [ada])
  await finds(t, ask, { q: 'found' }, [ada, grace, linus])
  await finds(t, ask, { status: 'disabled' }, [grace])
  await finds(t, ask, { status: 'active', q: '@found.example' }, [ada, linus])
  await finds(t, ask, { role: 'admin', q: '@found.example' }, [linus])
  await finds(t, ask, { role: 'user', q: '@found.example' }, [ada, grace])
  await finds(t, ask, { q: "' OR 1=1 --" }, [])
})

t.test('text is searched for as it is, with no wildcards', async (t) => {
  const ask = await askFor(server, 'listUsers')
  const id = await insertedUser(server)
  await prisma.user.update({ where: { id }, data: { name: 'Only 50%_\\' } })
  await insertedUser(server)
  for (const q of ['50%', '%_\\', '50%_\\'])
    t.ok(
      (await send({ ...ask, query: { q, limit: '100' } })).body.data.some(
        (user: { id: string }) => user.id === id,
      ),
      q,
    )
  for (const q of ['5_%', 'O%y', '_nly']) await finds(t, ask, { q }, [])
})

t.test('members are found by role', async (t) => {
  const ask = await askFor(server, 'listMembers')
  const { id } = ask.params!
  const viewer = await insertedMember(server, id, await insertedUser(server), 'viewer')
  const editor = await insertedMember(server, id, await insertedUser(server), 'editor')
  const owners = (await prisma.member.findMany({ where: { projectId: id, role: 'owner' } })).map(
    (row) => row.id,
  )
  await finds(t, ask, {}, [viewer, editor, ...owners])
  await finds(t, ask, { role: 'viewer' }, [viewer])
  await finds(t, ask, { role: 'editor' }, [editor])
  await finds(t, ask, { role: 'owner' }, owners)
  await finds(t, ask, { role: 'admin' }, [])
})

t.test('invitations are found by status, an expired one by its time', async (t) => {
  const ask = await askFor(server, 'listInvitations')
  const { id } = ask.params!
  const pending = await insertedInvitation(server, id, 'a@example.com')
  const revoked = await insertedInvitation(server, id, 'b@example.com', 'revoked')
  const expired = await insertedInvitation(server, id, 'c@example.com')
  const accepted = await insertedInvitation(server, id, 'd@example.com')
  await prisma.invitation.update({ where: { id: expired }, data: { expiresAt: new Date(Date.now() - 1) } })
  await prisma.invitation.update({ where: { id: accepted }, data: { status: 'accepted' } })
  await finds(t, ask, {}, [pending, revoked, expired, accepted])
  for (const [status, one] of Object.entries({ pending, revoked, expired, accepted })) {
    await finds(t, ask, { status }, [one])
    t.equal((await send({ ...ask, query: { status } })).body.data[0].status, status)
  }
})

t.test('events are found by type and by project, within those that one may read', async (t) => {
  const caller = await server.person()
  const ask: Ask = { id: 'listEvents', server, caller }
  const make = async (name: string) => (await caller.client.post('/projects', { name })).body.id as string
  const [one, two] = [await make('One'), await make('Two')]
  await caller.client.put(`/projects/${one}`, { name: 'One and only' })
  await caller.client.put('/user/profile', { name: 'Another' })
  const [madeOne, madeTwo, changed, profile] = (await send(ask)).body.data.map(({ id }: { id: string }) => id)
  await finds(t, ask, {}, [madeOne, madeTwo, changed, profile])
  await finds(t, ask, { type: 'project.created' }, [madeOne, madeTwo])
  await finds(t, ask, { type: 'profile.updated' }, [profile])
  await finds(t, ask, { type: 'user.created' }, [])
  await finds(t, ask, { project_id: one }, [madeOne, changed])
  await finds(t, ask, { project_id: two }, [madeTwo])
  await finds(t, ask, { project_id: one, type: 'project.updated' }, [changed])
  await finds(t, ask, { project_id: two, type: 'project.updated' }, [])
  await finds(t, ask, { project_id: two, type: 'profile.updated' }, [])
})

t.test('deliveries are found by status', async (t) => {
  const ask = await askFor(server, 'listWebhookDeliveries')
  await prisma.webhookDelivery.deleteMany({ where: { endpointId: ask.params!.id } })
  const make = (status: 'pending' | 'succeeded' | 'failed') =>
    insertedDelivery(server, ask.caller.id, { status, endpointId: ask.params!.id })
  const all = {
    pending: [await make('pending'), await make('pending')],
    succeeded: [await make('succeeded')],
    failed: [await make('failed')],
  }
  await finds(t, ask, {}, Object.values(all).flat())
  for (const [status, ids] of Object.entries(all)) await finds(t, ask, { status }, ids)
})

t.test('files are found by project, type, visibility, tag, folder and name', async (t) => {
  const caller = await server.person()
  const ask: Ask = { id: 'listFiles', server, caller }
  const project = await insertedProject({ server, caller, rank: 'viewer' })
  const [one, two] = [
    await insertedFile(server, server.admin.id, { projectId: project }),
    await insertedFile(server, caller.id, { projectId: project, tags: ['q4'] }),
  ]
  const make = (fields: Parameters<typeof insertedFile>[2]) => insertedFile(server, caller.id, fields)
  const report = await make({
    name: 'Report 100%.pdf',
    path: 'reports/2026',
    contentType: 'application/pdf',
    tags: ['q4', 'big'],
  })
  const photo = await make({
    name: 'photo_1.PNG',
    path: 'reports/2026/may',
    contentType: 'image/png',
    visibility: 'public',
    tags: ['q4x'],
  })
  const notes = await make({ name: 'reporting.txt', path: 'reports/2026x', contentType: 'text/plain' })
  const wild = await make({
    name: 'wild',
    path: 'reports/202_',
    contentType: 'image/p%',
    visibility: 'public',
  })
  const top = await make({ name: 'top.txt', contentType: 'text/plain' })
  await make({
    name: 'report gone',
    path: 'reports/2026',
    contentType: 'image/png',
    visibility: 'public',
    tags: ['q4'],
    expiresAt: new Date(Date.now() - 1000).toISOString(),
  })
  await insertedFile(server, server.admin.id, { tags: ['q4'], visibility: 'public' })

  await finds(t, ask, {}, [report, photo, notes, wild, top])
  await finds(t, ask, { project_id: project }, [one, two])
  await finds(t, ask, { project_id: project, tag: 'q4' }, [two])
  await finds(t, ask, { content_type: 'image/' }, [photo, wild])
  await finds(t, ask, { content_type: 'image/png' }, [photo])
  await finds(t, ask, { content_type: 'image/p%' }, [wild])
  await finds(t, ask, { content_type: 'mage' }, [])
  await finds(t, ask, { visibility: 'public' }, [photo, wild])
  await finds(t, ask, { visibility: 'private' }, [report, notes, top])
  await finds(t, ask, { tag: 'q4' }, [report])
  await finds(t, ask, { tag: 'q4", "big' }, [])
  await finds(t, ask, { path: 'reports' }, [report, photo, notes, wild])
  await finds(t, ask, { path: 'reports/' }, [report, photo, notes, wild])
  await finds(t, ask, { path: 'reports/2026' }, [report, photo])
  await finds(t, ask, { path: 'reports/202_' }, [wild])
  await finds(t, ask, { path: 'report' }, [])
  await finds(t, ask, { path: 'REPORTS' }, [])
  await finds(t, ask, { q: 'REPORT' }, [report, notes])
  await finds(t, ask, { q: '100%' }, [report])
  await finds(t, ask, { q: '_' }, [photo])
  await finds(t, ask, { q: "' OR 1=1 --" }, [])
  await finds(
    t,
    ask,
    { q: 'report', path: 'reports/2026', tag: 'big', content_type: 'application/', visibility: 'private' },
    [report],
  )
})

t.test('sessions are found by project, status and title', async (t) => {
  const caller = await server.person()
  const ask: Ask = { id: 'listSessions', server, caller }
  const project = await insertedProject({ server, caller, rank: 'viewer' })
  const theirs = [
    await insertedSession(server, server.admin.id, { projectId: project, title: 'Launch' }),
    await insertedSession(server, caller.id, { projectId: project }),
  ]
  const launch = await insertedSession(server, caller.id, { title: 'Launch 100%' })
  const other = await insertedSession(server, caller.id, { title: 'Before the LAUNCH_day' })
  const archived = await insertedSession(server, caller.id, { title: 'Old launch' })
  const nameless = await insertedSession(server, caller.id, { title: null })
  await prisma.session.update({ where: { id: archived }, data: { status: 'archived' } })
  await finds(t, ask, {}, [launch, other, archived, nameless])
  await finds(t, ask, { project_id: project }, theirs)
  await finds(t, ask, { project_id: project, q: 'launch' }, [theirs[0]])
  await finds(t, ask, { project_id: project, status: 'archived' }, [])
  await finds(t, ask, { status: 'active' }, [launch, other, nameless])
  await finds(t, ask, { status: 'archived' }, [archived])
  await finds(t, ask, { q: 'launch' }, [launch, other, archived])
  await finds(t, ask, { q: '100%' }, [launch])
  await finds(t, ask, { q: '_' }, [other])
  await finds(t, ask, { q: "' OR 1=1 --" }, [])
  await finds(t, ask, { q: 'launch', status: 'archived' }, [archived])
})

t.test('knowledge bases are found by project, name and description', async (t) => {
  const caller = await server.person()
  const ask: Ask = { id: 'listKnowledgeBases', server, caller }
  const project = await insertedProject({ server, caller, rank: 'viewer' })
  const theirs = [
    await insertedKnowledgeBase(server, server.admin.id, { projectId: project, name: 'Handbook' }),
    await insertedKnowledgeBase(server, caller.id, { projectId: project }),
  ]
  const handbook = await insertedKnowledgeBase(server, caller.id, { name: 'Handbook 100%' })
  const other = await insertedKnowledgeBase(server, caller.id, {
    name: 'Other',
    description: 'Not the HANDBOOK_2026',
  })
  await finds(t, ask, {}, [handbook, other])
  await finds(t, ask, { project_id: project }, theirs)
  await finds(t, ask, { project_id: project, q: 'handbook' }, [theirs[0]])
  await finds(t, ask, { q: 'handbook' }, [handbook, other])
  await finds(t, ask, { q: '100%' }, [handbook])
  await finds(t, ask, { q: 'book_' }, [other])
  await finds(t, ask, { q: '\\' }, [])
  await finds(t, ask, { q: "' OR 1=1 --" }, [])
})

t.test('documents are found by status and name', async (t) => {
  const caller = await server.person()
  const base = await insertedKnowledgeBase(server, caller.id)
  await insertedDocument(server, await insertedKnowledgeBase(server, caller.id))
  const ask: Ask = { id: 'listDocuments', server, caller, params: { id: base } }
  const queued = await insertedDocument(server, base, { status: 'queued', name: 'Report 100%.md' })
  const processing = await insertedDocument(server, base, { status: 'processing', name: 'notes_1.md' })
  const ready = [
    await insertedDocument(server, base, { name: 'reporting.md' }),
    await insertedDocument(server, base),
  ]
  const failed = await insertedDocument(server, base, { status: 'failed' })
  await finds(t, ask, {}, [queued, processing, ...ready, failed])
  await finds(t, ask, { status: 'queued' }, [queued])
  await finds(t, ask, { status: 'processing' }, [processing])
  await finds(t, ask, { status: 'ready' }, ready)
  await finds(t, ask, { status: 'failed' }, [failed])
  await finds(t, ask, { q: 'REPORT' }, [queued, ready[0]])
  await finds(t, ask, { q: '100%' }, [queued])
  await finds(t, ask, { q: '_' }, [processing])
  await finds(t, ask, { q: "' OR 1=1 --" }, [])
  await finds(t, ask, { q: 'report', status: 'ready' }, [ready[0]])
})

t.test('products are found by name and whether they are sold', async (t) => {
  const ask = await askFor(server, 'listProducts')
  const sold = await insertedProduct(server, { name: 'Bicycle 100%' })
  const archived = await insertedProduct(server, { name: 'Old BICYCLE_bell' })
  await prisma.product.update({ where: { id: archived }, data: { active: false } })
  await finds(t, ask, { q: 'bicycle' }, [sold, archived])
  await finds(t, ask, { q: 'bicycle', active: 'true' }, [sold])
  await finds(t, ask, { q: 'bicycle', active: 'false' }, [archived])
  await finds(t, ask, { active: 'false' }, [archived])
  await finds(t, ask, { q: '100%' }, [sold])
  await finds(t, ask, { q: 'bicycle_' }, [archived])
  await finds(t, ask, { q: "' OR 1=1 --" }, [])
})

t.test('prices are found by product, currency and whether something is sold at them', async (t) => {
  const ask = await askFor(server, 'listPrices')
  const product = await insertedProduct(server)
  const euros = await insertedPrice(server, product)
  const yen = await insertedPrice(server, product, { currency: 'jpy' })
  const archived = await insertedPrice(server, product)
  await insertedPrice(server, await insertedProduct(server), { currency: 'jpy' })
  await prisma.price.update({ where: { id: archived }, data: { active: false } })
  await finds(t, ask, { product_id: product }, [euros, yen, archived])
  await finds(t, ask, { product_id: product, currency: 'eur' }, [euros, archived])
  await finds(t, ask, { product_id: product, currency: 'jpy' }, [yen])
  await finds(t, ask, { product_id: product, currency: 'usd' }, [])
  await finds(t, ask, { product_id: product, active: 'true' }, [euros, yen])
  await finds(t, ask, { active: 'false' }, [archived])
})

t.test('orders are found by project, status and subscription', async (t) => {
  const caller = await server.person()
  const ask: Ask = { id: 'listOrders', server, caller }
  const project = await insertedProject({ server, caller, rank: 'viewer' })
  const theirs = [
    await insertedOrder(server, server.admin.id, { projectId: project }),
    await insertedOrder(server, caller.id, { projectId: project, status: 'paid' }),
  ]
  const pending = await insertedOrder(server, caller.id)
  const paid = await insertedOrder(server, caller.id, { status: 'paid' })
  const partly = await insertedOrder(server, caller.id, { status: 'paid' })
  const refunded = await insertedOrder(server, caller.id, { status: 'paid' })
  await insertedRefund(server, partly)
  await insertedRefund(server, refunded, { amount: 1999 })
  const canceled = await insertedOrder(server, caller.id)
  await prisma.order.update({ where: { id: canceled }, data: { status: 'canceled' } })
  const subscription = await insertedSubscription(server, caller.id)
  const { latestOrderId } = await prisma.subscription.findUniqueOrThrow({ where: { id: subscription } })
  await insertedOrder(server, server.admin.id)
  await finds(t, ask, {}, [pending, paid, partly, refunded, canceled, latestOrderId!])
  await finds(t, ask, { project_id: project }, theirs)
  await finds(t, ask, { project_id: project, status: 'paid' }, [theirs[1]])
  await finds(t, ask, { status: 'pending' }, [pending])
  await finds(t, ask, { status: 'paid' }, [paid, latestOrderId!])
  await finds(t, ask, { status: 'partially_refunded' }, [partly])
  await finds(t, ask, { status: 'refunded' }, [refunded])
  await finds(t, ask, { status: 'canceled' }, [canceled])
  await finds(t, ask, { subscription_id: subscription }, [latestOrderId!])
  await finds(t, ask, { subscription_id: subscription, status: 'pending' }, [])
  await finds(t, ask, { subscription_id: 'sub_01jd6y8m5qe8btc4y5w1r0n3fz' }, [])
})

t.test('subscriptions are found by project and status', async (t) => {
  const caller = await server.person()
  const ask: Ask = { id: 'listSubscriptions', server, caller }
  const project = await insertedProject({ server, caller, rank: 'viewer' })
  const theirs = [
    await insertedSubscription(server, server.admin.id, { projectId: project }),
    await insertedSubscription(server, caller.id, { projectId: project, status: 'canceled' }),
  ]
  const incomplete = await insertedSubscription(server, caller.id, { status: 'incomplete' })
  const active = [
    await insertedSubscription(server, caller.id),
    await insertedSubscription(server, caller.id, { status: 'ending' }),
  ]
  const overdue = await insertedSubscription(server, caller.id)
  await prisma.subscription.update({ where: { id: overdue }, data: { status: 'past_due' } })
  const canceled = await insertedSubscription(server, caller.id, { status: 'canceled' })
  await insertedSubscription(server, server.admin.id)
  await finds(t, ask, {}, [incomplete, ...active, overdue, canceled])
  await finds(t, ask, { project_id: project }, theirs)
  await finds(t, ask, { project_id: project, status: 'canceled' }, [theirs[1]])
  await finds(t, ask, { status: 'incomplete' }, [incomplete])
  await finds(t, ask, { status: 'active' }, active)
  await finds(t, ask, { status: 'past_due' }, [overdue])
  await finds(t, ask, { status: 'canceled' }, [canceled])
  const { data } = (await send({ ...ask, query: { sort: 'current_period_end', order: 'asc' } })).body
  t.equal(data.at(-1).id, incomplete, 'one that has no period yet is the last to end')
})

t.test('every filter that the spec declares is tried here', async (t) => {
  const declared = [
    ...infos.filter((info) => info.paged).map(({ id }) => id as OperationId),
    ...cursorLists,
  ].flatMap((id) =>
    queryOf(id)
      .filter(({ name }) => !everywhere.includes(name))
      .map(({ name }) => `${id} ${name}`),
  )
  t.same(
    declared.filter((filter) => !tried.has(filter)),
    [],
  )
})
