// Lists: what page, limit, sort and order may be, and that walking the pages meets every item exactly once.
import t from 'tap'
import type { OperationId } from '../../generated/operations.ts'
import { askFor, infos, operationIds, pathOf, send } from '../support/operation-fixtures.ts'
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
  insertedEndpoints,
  insertedEvent,
  insertedFile,
  insertedInvitation,
  insertedKey,
  insertedKnowledgeBase,
  insertedLink,
  insertedMember,
  insertedMessage,
  insertedProject,
  insertedSession,
  insertedUser,
} from '../support/db-fixtures.ts'
import { cursorLists, queryOf } from '../support/contract-schema.ts'
import { createClient, type Reply } from '../support/client.ts'
import { startServer, type Person } from '../support/server.ts'

/** Models that nobody asks anything. */
const models = ['m-7', 'a-1', 'Z', 'm-10', 'm-1', 'b', 'zz']
const server = await startServer(t, {
  env: {
    AI_UPSTREAMS: JSON.stringify([
      { name: 'nowhere', base_url: 'http://127.0.0.1:9/v1', models: models.map((id) => ({ id })) },
    ]),
  },
})
const { prisma } = server.services.database
const lists = infos.filter((info) => info.paged)
const count = 7
const many = <T>(make: (i: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, i) => make(i)))

/** Makes seven items, all alike in every field that a list is sorted by, and asks for their list. */
const seeds: Partial<Record<OperationId, () => Promise<{ ask: Ask; ids: string[] }>>> = {
  async listMyInvitations() {
    const ask = await askFor(server, 'listProjects')
    const ids = await many(
      async () =>
        await insertedInvitation(
          server,
          await insertedProject({ server, caller: ask.caller, rank: 'none' }),
          ask.caller.email,
        ),
    )
    await prisma.invitation.updateMany({ where: { id: { in: ids } }, data: { createdAt: new Date() } })
    return { ask: { ...ask, id: 'listMyInvitations' }, ids }
  },
  async listApiKeys() {
    const ask = await askFor(server, 'listApiKeys')
    const ids = await many(async () => (await insertedKey(server, ask.caller.id)).id)
    await prisma.apiKey.updateMany({
      where: { id: { in: ids } },
      data: { createdAt: new Date(), name: 'alike' },
    })
    return { ask, ids }
  },
  async listUsers() {
    const at = new Date()
    const ids = await many(async () => await insertedUser(server))
    await prisma.user.updateMany({
      where: { id: { in: ids } },
      data: { createdAt: at, updatedAt: at, name: 'Alike' },
    })
    return { ask: await askFor(server, 'listUsers'), ids }
  },
  async listProjects() {
    const ask = await askFor(server, 'listApiKeys')
    const ids = await many(async () => await insertedProject({ server, caller: ask.caller, rank: 'viewer' }))
    await prisma.project.updateMany({ where: { id: { in: ids } }, data: { updatedAt: new Date() } })
    return { ask: { ...ask, id: 'listProjects' }, ids }
  },
  async listMembers() {
    const ask = await askFor(server, 'listMembers')
    const ids = await many(
      async () => await insertedMember(server, ask.params!.id, await insertedUser(server), 'viewer'),
    )
    await prisma.member.updateMany({ where: { id: { in: ids } }, data: { createdAt: new Date() } })
    return { ask, ids }
  },
  async listInvitations() {
    const ask = await askFor(server, 'listInvitations')
    const ids = await many(
      async (i) => await insertedInvitation(server, ask.params!.id, `guest${i}@example.com`),
    )
    await prisma.invitation.updateMany({ where: { id: { in: ids } }, data: { createdAt: new Date() } })
    return { ask, ids }
  },
  async listFiles() {
    const ask = await askFor(server, 'listFiles')
    const ids = await many(() =>
      insertedFile(server, ask.caller.id, { projectId: ask.project, content: 'alike', name: 'Alike.txt' }),
    )
    await prisma.file.updateMany({ where: { id: { in: ids } }, data: { createdAt: new Date() } })
    return { ask, ids }
  },
  async listFileLinks() {
    const ask = await askFor(server, 'listFileLinks')
    const at = new Date()
    const ids = await many(async () => (await insertedLink(server, ask.params!.id, ask.caller.id)).id)
    await prisma.fileLink.updateMany({
      where: { id: { in: ids } },
      data: { createdAt: at, expiresAt: new Date(at.getTime() + 86_400_000) },
    })
    return { ask, ids }
  },
  async listModels() {
    return { ask: await askFor(server, 'listModels'), ids: models }
  },
  async listSessions() {
    const ask = await askFor(server, 'listSessions')
    const ids = await many(() => insertedSession(server, ask.caller.id, { projectId: ask.project }))
    const at = new Date()
    await prisma.session.updateMany({ where: { id: { in: ids } }, data: { createdAt: at, updatedAt: at } })
    return { ask, ids }
  },
  async listSessionMessages() {
    const ask = await askFor(server, 'listSessionMessages')
    const ids = await many((i) =>
      insertedMessage(server, ask.params!.id, ask.caller.id, { role: i % 2 === 0 ? 'user' : 'assistant' }),
    )
    await prisma.message.updateMany({ where: { id: { in: ids } }, data: { createdAt: new Date() } })
    return { ask, ids }
  },
  async listKnowledgeBases() {
    const ask = await askFor(server, 'listKnowledgeBases')
    const ids = await many(() =>
      insertedKnowledgeBase(server, ask.caller.id, { projectId: ask.project, name: 'Alike' }),
    )
    await prisma.knowledgeBase.updateMany({ where: { id: { in: ids } }, data: { createdAt: new Date() } })
    return { ask, ids }
  },
  async listDocuments() {
    const ask = await askFor(server, 'listDocuments')
    const ids = await many(() => insertedDocument(server, ask.params!.id, { name: 'Alike' }))
    await prisma.document.updateMany({ where: { id: { in: ids } }, data: { createdAt: new Date() } })
    return { ask, ids }
  },
  async listProducts() {
    const ask = await askFor(server, 'listProducts')
    const ids = await many(() => insertedProduct(server, { name: 'Alike' }))
    await prisma.product.updateMany({ where: { id: { in: ids } }, data: { createdAt: new Date() } })
    return { ask, ids }
  },
  async listPrices() {
    const product = await insertedProduct(server)
    const ids = await many(() => insertedPrice(server, product))
    return { ask: await askFor(server, 'listPrices'), ids }
  },
  async listOrders() {
    const ask = await askFor(server, 'listOrders')
    const ids = await many(() => insertedOrder(server, ask.caller.id, { projectId: ask.project }))
    return { ask, ids }
  },
  async listRefunds() {
    const ask = await askFor(server, 'listRefunds')
    const ids = await many(() => insertedRefund(server, ask.params!.id))
    await prisma.refund.updateMany({ where: { id: { in: ids } }, data: { createdAt: new Date() } })
    return { ask, ids }
  },
  async listSubscriptions() {
    const ask = await askFor(server, 'listSubscriptions')
    const ids = await many(() => insertedSubscription(server, ask.caller.id, { projectId: ask.project }))
    const at = new Date()
    await prisma.subscription.updateMany({
      where: { id: { in: ids } },
      data: { createdAt: at, periodEnd: new Date(at.getTime() + 86_400_000) },
    })
    return { ask, ids }
  },
  async listWebhookEndpoints() {
    const ask = await askFor(server, 'listApiKeys')
    const ids = await insertedEndpoints(server, ask.caller.id, count)
    await prisma.webhookEndpoint.updateMany({ where: { id: { in: ids } }, data: { createdAt: new Date() } })
    return { ask: { ...ask, id: 'listWebhookEndpoints' }, ids }
  },
  async listWebhookDeliveries() {
    const ask = await askFor(server, 'listWebhookDeliveries')
    const ids = await many(
      async () => await insertedDelivery(server, ask.caller.id, { endpointId: ask.params!.id }),
    )
    await prisma.webhookDelivery.updateMany({ where: { id: { in: ids } }, data: { createdAt: new Date() } })
    return { ask, ids }
  },
  async listEvents() {
    const ask = await askFor(server, 'listApiKeys')
    const ids: string[] = []
    for (let i = 0; i < count; i++) ids.push(await insertedEvent(server, ask.caller.id))
    return { ask: { ...ask, id: 'listEvents' }, ids }
  },
}
const with_ = (ask: Ask, query: Record<string, string>): Ask => ({
  ...ask,
  query: { ...ask.query, ...query },
})
const linksOf = (reply: Reply): Record<string, string> =>
  Object.fromEntries(
    [...reply.headers.get('link')!.matchAll(/<([^>]+)>; rel="(\w+)"/g)].map(([, url, rel]) => [rel, url]),
  )
const follow = async (url: string, { key }: Person): Promise<Reply> => {
  const { origin, pathname, search } = new URL(url)
  return await createClient(origin, key).get(pathname + search)
}

t.test('every list is seeded here', async (t) => {
  const all = [...lists.map(({ id }) => id), ...cursorLists]
  t.same(
    all.filter((id) => seeds[id] === undefined),
    [],
  )
  t.same(
    operationIds.filter((id) => id.startsWith('list')).sort(),
    all.sort(),
    'and every one of them has pages, or goes on after what was seen',
  )
})

const wrong: Record<string, string[]> = {
  page: [
    '0',
    '-1',
    '1.5',
    'abc',
    '',
    '9223372036854775808',
    '1000001',
    '١',
    'NaN',
    '1,2',
    '-9223372036854775809',
    'null',
    'true',
    '1e400',
    'Infinity',
    '0x10',
    '1e1',
    ' 1 ',
    '+1',
    '01',
    '1.0',
    '-0',
  ],
  limit: [
    '0',
    '-1',
    '1.5',
    'abc',
    '',
    '101',
    '9223372036854775808',
    'NaN',
    '1 OR 1=1',
    '1e400',
    'Infinity',
    '0x10',
    '1e1',
    ' 1',
    '١',
  ],
  sort: [
    '',
    'id',
    'password',
    'created_at desc',
    "created_at'; DROP TABLE users; --",
    '__proto__',
    'constructor',
    'CREATED_AT',
    'created_at,id',
    '1',
  ],
  order: ['', 'up', 'ASC', 'desc nulls last', '1'],
  after: [
    '-1',
    '1.5',
    'abc',
    '',
    '9007199254740992',
    '9223372036854775808',
    '١',
    'NaN',
    '1,2',
    'null',
    'true',
    '1e400',
    'Infinity',
    '0x10',
    '1e1',
    ' 1 ',
    '+1',
    '01',
    '1.0',
    '-0',
  ],
}

for (const id of [...lists.map((info) => info.id), ...cursorLists, 'streamEvents' as const]) {
  t.test(`${id} refuses what its parameters cannot be`, async (t) => {
    const ask = await askFor(server, id)
    const refused = async (query: string, field: string, constraint?: string): Promise<void> => {
      const { status, body } = await ask.caller.client.get(`${pathOf({ ...ask, query: {} })}?${query}`)
      t.equal(status, 400, query)
      t.match(
        body.error?.details,
        { field, errors: [{ field, location: 'query' }], ...(constraint && { constraint }) },
        query,
      )
    }
    const takes = new Set(queryOf(id).map(({ name }) => name))
    for (const [name, values] of Object.entries(wrong).filter(([name]) => takes.has(name))) {
      const known = queryOf(id).find((parameter) => parameter.name === name)!.schema.enum ?? []
      for (const value of values.filter((value) => !known.includes(value)))
        await refused(`${name}=${encodeURIComponent(value)}`, name)
    }
    for (const { name, schema } of queryOf(id)) {
      const value = schema.enum?.[0] ?? (schema.type === 'integer' ? '1' : 'x')
      await refused(`${name}=${value}&${name}=${value}`, name, schema.enum === undefined ? 'type' : undefined)
      if (schema.enum !== undefined) await refused(`${name}=nothing`, name, 'enum')
      if (schema.maxLength !== undefined)
        await refused(`${name}=${'x'.repeat(schema.maxLength + 1)}`, name, 'maxLength')
    }
    for (const { name } of queryOf(id).filter(
      ({ schema }) => schema.type === 'string' && schema.enum === undefined,
    )) {
      for (const text of ['%00', 'a%00b', '%ff', '%ed%a0%80', '%c0%80', ''])
        await refused(`${name}=${text}`, name)
    }
    for (const name of ['surprise', 'page[]', 'Page', 'offset', '__proto__', 'constructor'])
      await refused(`${encodeURIComponent(name)}=1`, name, 'additionalProperties')
    for (const [query, name, constraint] of [
      ['limit=1000000', 'limit', 'maximum'],
      ['page=0', 'page', 'minimum'],
      ['page=abc', 'page', 'type'],
      ['sort=nothing', 'sort', 'enum'],
      ['after=-1', 'after', 'minimum'],
    ])
      if (takes.has(name)) await refused(query, name, constraint)
  })
}

for (const { id } of lists) {
  t.test(`${id} gives every item once, whatever the order, ties included`, async (t) => {
    const { ask, ids } = await seeds[id]!()
    const sorts = queryOf(id).find(({ name }) => name === 'sort')!.schema.enum!
    for (const sort of sorts) {
      const orders: string[][] = []
      for (const order of ['asc', 'desc']) {
        const whole = await send(with_(ask, { sort, order, limit: '100' }))
        t.equal(whole.status, 200)
        const all = whole.body.data.map((item: { id: string }) => item.id)
        t.same(
          ids.filter((one) => !all.includes(one)),
          [],
          `${sort} ${order} has them all`,
        )
        t.equal(whole.body.pagination.total, all.length)
        const met: string[] = []
        for (let page = 1; page <= Math.ceil(all.length / 3); page++) {
          const { body } = await send(with_(ask, { sort, order, limit: '3', page: String(page) }))
          t.same(body.pagination, {
            page,
            limit: 3,
            total: all.length,
            total_pages: Math.ceil(all.length / 3),
          })
          met.push(...body.data.map((item: { id: string }) => item.id))
        }
        t.same(met, all, `${sort} ${order}: the pages together are the whole, each item once`)
        orders.push(all)
        const values = whole.body.data.map((item: any) =>
          sort === 'name' && id === 'listMembers' ? item.user.name : item[sort],
        )
        const up = order === 'asc' ? values : [...values].reverse()
        if (sort !== 'name')
          t.same(
            up,
            up.toSorted((a: string | number, b: string | number) => (a < b ? -1 : a > b ? 1 : 0)),
            `${sort} ${order} is sorted`,
          )
      }
      t.same(orders[1], [...orders[0]].reverse(), `${sort}: ties are broken by id in either direction`)
    }
  })

  t.test(`${id} links its pages`, async (t) => {
    const { ask } = await seeds[id]!()
    const { caller } = ask
    let reply = await send(with_(ask, { limit: '2', order: 'asc' }))
    const { total, total_pages: last } = reply.body.pagination
    const met: string[] = []
    for (let page = 1; ; page++) {
      t.equal(reply.body.pagination.page, page)
      const links = linksOf(reply)
      t.same(
        Object.keys(links),
        ['first', ...(page > 1 ? ['prev'] : []), ...(page < last ? ['next'] : []), 'last'],
        `page ${page} of ${last}`,
      )
      for (const url of Object.values(links))
        t.ok(url.startsWith(`${server.url}${pathOf({ ...ask, query: {} })}?`), url)
      met.push(...reply.body.data.map((item: { id: string }) => item.id))
      if (page > 1) t.equal((await follow(links.prev, caller)).body.pagination.page, page - 1)
      if (page === 2) {
        t.equal((await follow(links.first, caller)).body.pagination.page, 1)
        t.equal((await follow(links.last, caller)).body.pagination.page, last)
      }
      if (links.next === undefined) break
      reply = await follow(links.next, caller)
    }
    t.equal(new Set(met).size, total, 'the next links lead through every item')
    t.equal(met.length, total, 'and once')
  })

  t.test(`${id}: a page past the end is empty and knows the total`, async (t) => {
    const { ask, ids } = await seeds[id]!()
    for (const page of ['500', '1000000']) {
      const reply = await send(with_(ask, { page, limit: '3' }))
      t.equal(reply.status, 200)
      const { data, pagination } = reply.body
      t.same(data, [])
      t.ok(pagination.total >= ids.length)
      t.same(pagination, {
        page: Number(page),
        limit: 3,
        total: pagination.total,
        total_pages: Math.ceil(pagination.total / 3),
      })
      t.equal(
        (await follow(linksOf(reply).prev, ask.caller)).body.pagination.page,
        pagination.total_pages,
        'prev leads back to the last page',
      )
    }
    const {
      body: { pagination },
    } = await send(ask)
    t.match(pagination, { page: 1, limit: 20 }, 'the defaults')
  })
}

for (const id of cursorLists) {
  t.test(`${id} gives every item once, oldest first, and says where to go on`, async (t) => {
    const { ask, ids } = await seeds[id]!()
    const whole = await send(with_(ask, { limit: '100' }))
    t.same(
      whole.body.data.map((item: { id: string }) => item.id),
      ids,
    )
    const last = whole.body.data.at(-1).sequence
    t.equal(whole.body.has_more, false)
    t.ok(whole.body.next_after >= last)
    const met: string[] = []
    let after = 0
    for (let more = true; more;) {
      const { body } = await send(with_(ask, { limit: '3', after: String(after) }))
      t.ok(body.data.every((item: { sequence: number }) => item.sequence > after))
      met.push(...body.data.map((item: { id: string }) => item.id))
      t.ok(body.next_after > after)
      after = body.next_after
      more = body.has_more
    }
    t.same(met, ids, 'the parts together are the whole')
    t.equal((await send(with_(ask, { limit: String(count) }))).body.has_more, false, 'as many as there are')
    t.match(
      (await send(with_(ask, { limit: String(count - 1) }))).body,
      { has_more: true, next_after: whole.body.data[count - 2].sequence },
      'one is left',
    )
    const { body } = await send(with_(ask, { after: String(after) }))
    t.same(
      { ...body, next_after: body.next_after >= after },
      { data: [], has_more: false, next_after: true },
      'and then there is nothing',
    )
    t.same((await send(with_(ask, { after: String(Number.MAX_SAFE_INTEGER) }))).body, {
      data: [],
      has_more: false,
      next_after: Number.MAX_SAFE_INTEGER,
    })
  })
}

t.test('streamEvents refuses a Last-Event-ID that it never gave', async (t) => {
  const ask = await askFor(server, 'streamEvents')
  for (const value of [
    '-1',
    '1.5',
    'abc',
    '9007199254740992',
    'NaN',
    '1, 2',
    'null',
    '',
    '1e400',
    '0x10',
    '1e1',
    '+1',
    '01',
    '1.0',
    '-0',
    'Infinity',
  ]) {
    const { status, body } = await send(ask, { headers: { 'last-event-id': value } })
    t.equal(status, 400, value)
    t.match(body.error?.details, { errors: [{ field: 'last-event-id', location: 'header' }] }, value)
  }
})
