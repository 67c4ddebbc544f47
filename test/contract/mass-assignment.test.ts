// Mass assignment: each body rejects, by name, every field that only the server sets. Nothing is written.
import t, { type Test } from 'tap'
import { send, withBody, requestFor, successStatus } from '../support/operations/operation-fixtures.ts'
import type { OperationRequest } from '../support/operations/operation-fixture.ts'
import { recordChanges } from '../support/server/changes.ts'
import { allows, bodyOf, replyOf } from '../support/contract/contract-schema.ts'
import { oneOfEachKind, pipelineKind } from '../support/operations/kinds.ts'
import { isLongForm } from '../support/long-form.ts'
import { startServer } from '../support/server/server.ts'

const server = await startServer(t)
const changes = await recordChanges(t, server)

/** Names of response fields, columns and properties of JavaScript objects. */
const forbiddenNames = [
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
  'api_key',
  'all_projects',
  'created_by',
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
  'workspace_id',
  'gateway',
  'gateway_reference',
  'due_at',
  'period',
]

/** Asserts that the body is rejected for these unknown fields only, and that the answer names each. */
async function refuses(
  t: Test,
  request: OperationRequest,
  body: Record<string, unknown>,
  fields: string[],
): Promise<void> {
  const reply = await send({ ...request, body })
  t.equal(reply.status, 400, `${request.id} ${fields.join(', ')}`)
  t.match(
    reply.body?.error,
    { code: 'INVALID_REQUEST', details: { constraint: 'additionalProperties' } },
    request.id,
  )
  t.ok(fields.includes(reply.body?.error?.details.field), `${request.id} names one of the fields`)
  t.same(
    reply.body?.error?.details.errors
      ?.map((problem: { message: string }) => ({ ...problem, message: '' }))
      .toSorted(byField),
    fields
      .map((field) => ({ field, constraint: 'additionalProperties', message: '', location: 'body' }))
      .toSorted(byField),
    `${request.id} names each field`,
  )
}

const byField = (a: { field: string }, b: { field: string }): number => (a.field < b.field ? -1 : 1)
const mine = (names: string[]): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, 'mine']))

for (const { id, form } of withBody) {
  t.test(`${id} rejects fields that only the server sets${form ? ', in a form' : ''}`, async (t) => {
    const request = await requestFor(server, id, { form })
    const { properties = {} } = bodyOf(id, { form })
    const answered = Object.keys(replyOf(id, successStatus(id))?.properties ?? {})
    const before = await changes()
    const names = [...new Set([...answered, ...forbiddenNames])].filter(
      (name) => !Object.hasOwn(properties, name),
    )
    // The form parser rejects names such as __proto__ and does not report which.
    const inheritedNames = form ? names.filter((name) => name in Object.prototype) : []
    const others = names.filter((name) => !inheritedNames.includes(name))
    // A form may have a limited number of fields, so they are sent in batches.
    for (let i = 0; i < others.length; i += 20)
      await refuses(
        t,
        request,
        { ...request.body, ...mine(others.slice(i, i + 20)) },
        others.slice(i, i + 20),
      )
    await refuses(t, request, { ...request.body, id: 'mine' }, ['id'])
    for (const name of inheritedNames)
      await refuses(t, request, { ...request.body, [name]: 'mine' }, ['body'])
    for (const [group, schema] of Object.entries(properties)) {
      // Of another alternative of the body.
      if (request.body?.[group] === undefined) continue
      if (!allows(schema, 'object') || schema.properties === undefined) continue
      const name = Object.hasOwn(schema.properties, 'id') ? 'owner_id' : 'id'
      await refuses(
        t,
        request,
        { ...request.body, [group]: { ...(request.body![group] as object), [name]: 'mine' } },
        [`${group}.${name}`],
      )
    }
    for (const [list, { items }] of Object.entries(properties)) {
      if (items?.properties === undefined || !Array.isArray(request.body![list])) continue
      const [first] = request.body![list] as object[]
      const unknown = forbiddenNames.filter((name) => !Object.hasOwn(items.properties!, name))
      await refuses(
        t,
        request,
        { ...request.body, [list]: [{ ...first, ...mine(unknown) }] },
        unknown.map((name) => `${list}[0].${name}`),
      )
    }
    t.same(await changes(), before, 'nothing is written to the database')
    const reply = await send(request)
    t.equal(reply.status, successStatus(id), 'the body without the extra field is accepted')
  })
}

t.test('a body field in the query is an unknown parameter', async (t) => {
  const kindOf = (info: (typeof withBody)[number]) => [pipelineKind(info), info.form]
  for (const { id, form } of isLongForm ? withBody : oneOfEachKind(withBody, kindOf)) {
    const request = await requestFor(server, id, { form })
    const before = await changes()
    const reply = await send({ ...request, query: { role: 'owner' } })
    t.equal(reply.status, 400, id)
    t.match(
      reply.body.error.details.errors,
      [{ field: 'role', constraint: 'additionalProperties', location: 'query' }],
      id,
    )
    t.same(await changes(), before, `${id} writes nothing`)
  }
})
