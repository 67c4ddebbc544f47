// What the server owns no client sets: each such field in each body is 400 by name, and nothing is written.
import t, { type Test } from 'tap'
import { askFor, send, successOf, withBody, type Ask } from '../support/contract.ts'
import { createDump } from '../support/contract-rows.ts'
import { allows, bodyOf, replyOf } from '../support/contract-schema.ts'
import { startServer } from '../support/server.ts'

const server = await startServer(t)
const dump = await createDump(t, server)

/** Names that some answer, column or language has. */
const tempting = [
  'id', 'owner_id', 'user_id', 'project_id', 'role', 'status', 'created_at', 'updated_at', 'archived_at', 'deleted_at', 'revoked_at', 'last_used_at',
  'version', 'member_count', 'your_role', 'email_verified', 'avatar_url', 'scopes', 'start', 'key', 'digest', 'added_by', 'invited_by', 'api_key',
  'all_projects', 'project_status', 'is_admin', 'password', 'ownerId', 'createdAt', 'memberCount', 'constructor', 'toString', 'hasOwnProperty',
  'amount', 'unit_amount', 'total_amount', 'refunding_amount', 'currency', 'price', 'paid_at', 'payment_status', 'space_id', 'gateway', 'gateway_reference', 'due_at', 'period'
]

async function refuses (t: Test, ask: Ask, body: Record<string, unknown>, field: string): Promise<void> {
  const reply = await send({ ...ask, body })
  t.equal(reply.status, 400, `${ask.id} ${field}`)
  t.match(reply.body?.error, { code: 'INVALID_REQUEST', details: { field, constraint: 'additionalProperties' } }, `${ask.id} ${field}`)
  t.same(reply.body?.error?.details.errors?.map((problem: { message: string }) => ({ ...problem, message: '' })),
    [{ field, constraint: 'additionalProperties', message: '', location: 'body' }], `${ask.id} ${field} is the only problem`)
}

for (const { id, form } of withBody) {
  t.test(`${id} takes no field that the server owns${form ? ', in a form' : ''}`, async (t) => {
    const ask = await askFor(server, id, { form })
    const { properties = {} } = bodyOf(id, { form })
    const answered = Object.keys(replyOf(id, successOf(id))?.properties ?? {})
    const before = await dump()
    for (const name of new Set([...answered, ...tempting])) {
      if (name in properties && Object.hasOwn(properties, name)) continue
      // A form's parser stops at a name that every object has, and does not say which.
      const field = form && name in Object.prototype ? 'body' : name
      await refuses(t, ask, { ...ask.body, [name]: 'mine' }, field)
    }
    for (const [group, schema] of Object.entries(properties)) {
      if (!allows(schema, 'object') || schema.properties === undefined) continue
      await refuses(t, ask, { ...ask.body, [group]: { ...ask.body![group] as object, id: 'mine' } }, `${group}.id`)
    }
    for (const [list, { items }] of Object.entries(properties)) {
      if (items?.properties === undefined || !Array.isArray(ask.body![list])) continue
      const [first] = ask.body![list] as object[]
      for (const name of tempting) if (!Object.hasOwn(items.properties, name)) await refuses(t, ask, { ...ask.body, [list]: [{ ...first, [name]: 'mine' }] }, `${list}[0].${name}`)
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
    t.match(reply.body.error.details.errors, [{ field: 'role', constraint: 'additionalProperties', location: 'query' }], id)
    t.same(await dump(), before, `${id} writes nothing`)
  }
})
