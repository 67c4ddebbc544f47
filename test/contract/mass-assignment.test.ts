// What the server owns no client sets: each such field in each body is 400 by name, and nothing is written.
import t, { type Test } from 'tap'
import { askFor, send, successOf, withBody } from '../support/operation-fixtures.ts'
import type { Ask } from '../support/operation-fixture.ts'
import { createDump } from '../support/db-fixtures.ts'
import { allows, bodyOf, replyOf } from '../support/contract-schema.ts'
import { startServer } from '../support/server.ts'

const server = await startServer(t)
const dump = await createDump(t, server)

/** Names that some answer, column or language has. */
const tempting = [
  'id',
  'owner_id',
  'user_id',
  'project_id',
  'role',
  'status',
  'created_at',
  'updated_at',
  'archived_at',
  'deleted_at',
  'revoked_at',
  'last_used_at',
  'version',
  'member_count',
  'your_role',
  'email_verified',
  'avatar_url',
  'scopes',
  'start',
  'key',
  'digest',
  'added_by',
  'invited_by',
  'api_key',
  'all_projects',
  'project_status',
  'is_admin',
  'password',
  'ownerId',
  'createdAt',
  'memberCount',
  'constructor',
  'toString',
  'hasOwnProperty',
  'amount',
  'unit_amount',
  'total_amount',
  'refunding_amount',
  'currency',
  'price',
  'paid_at',
  'payment_status',
  'space_id',
  'gateway',
  'gateway_reference',
  'due_at',
  'period',
]

/** What is wrong with the body is that these fields are not known, and nothing else: each is named. */
async function refuses(t: Test, ask: Ask, body: Record<string, unknown>, fields: string[]): Promise<void> {
  const reply = await send({ ...ask, body })
  t.equal(reply.status, 400, `${ask.id} ${fields.join(', ')}`)
  t.match(
    reply.body?.error,
    { code: 'INVALID_REQUEST', details: { constraint: 'additionalProperties' } },
    ask.id,
  )
  t.ok(fields.includes(reply.body?.error?.details.field), `${ask.id} is refused for one of them`)
  t.same(
    reply.body?.error?.details.errors
      ?.map((problem: { message: string }) => ({ ...problem, message: '' }))
      .toSorted(byField),
    fields
      .map((field) => ({ field, constraint: 'additionalProperties', message: '', location: 'body' }))
      .toSorted(byField),
    `${ask.id} names each of them`,
  )
}

const byField = (a: { field: string }, b: { field: string }): number => (a.field < b.field ? -1 : 1)
const mine = (names: string[]): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, 'mine']))

for (const { id, form } of withBody) {
  t.test(`${id} takes no field that the server owns${form ? ', in a form' : ''}`, async (t) => {
    const ask = await askFor(server, id, { form })
    const { properties = {} } = bodyOf(id, { form })
    const answered = Object.keys(replyOf(id, successOf(id))?.properties ?? {})
    const before = await dump()
    const names = [...new Set([...answered, ...tempting])].filter((name) => !Object.hasOwn(properties, name))
    // A form's parser stops at a name that every object has, and does not say which.
    const everywhere = form ? names.filter((name) => name in Object.prototype) : []
    const others = names.filter((name) => !everywhere.includes(name))
    // No more at once than a form may have fields.
    for (let i = 0; i < others.length; i += 20)
      await refuses(t, ask, { ...ask.body, ...mine(others.slice(i, i + 20)) }, others.slice(i, i + 20))
    await refuses(t, ask, { ...ask.body, id: 'mine' }, ['id'])
    for (const name of everywhere) await refuses(t, ask, { ...ask.body, [name]: 'mine' }, ['body'])
    for (const [group, schema] of Object.entries(properties)) {
      if (!allows(schema, 'object') || schema.properties === undefined) continue
      await refuses(t, ask, { ...ask.body, [group]: { ...(ask.body![group] as object), id: 'mine' } }, [
        `${group}.id`,
      ])
    }
    for (const [list, { items }] of Object.entries(properties)) {
      if (items?.properties === undefined || !Array.isArray(ask.body![list])) continue
      const [first] = ask.body![list] as object[]
      const unknown = tempting.filter((name) => !Object.hasOwn(items.properties!, name))
      await refuses(
        t,
        ask,
        { ...ask.body, [list]: [{ ...first, ...mine(unknown) }] },
        unknown.map((name) => `${list}[0].${name}`),
      )
    }
    t.same(await dump(), before, 'nothing is written')
    const reply = await send(ask)
    t.equal(reply.status, successOf(id), 'and without it the body is right')
  })
}

t.test('a field in the query is no field of the body', async (t) => {
  for (const { id, form } of withBody) {
    const ask = await askFor(server, id, { form })
    const before = await dump()
    const reply = await send({ ...ask, query: { role: 'owner' } })
    t.equal(reply.status, 400, id)
    t.match(
      reply.body.error.details.errors,
      [{ field: 'role', constraint: 'additionalProperties', location: 'query' }],
      id,
    )
    t.same(await dump(), before, `${id} writes nothing`)
  }
})
