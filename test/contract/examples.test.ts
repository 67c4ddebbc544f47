// Examples in the contract: sends the example request of each operation with real ids and compares the answer
// with the example response. Validates the examples of answers, events and errors.
import t, { type Test } from 'tap'
import contract from '../../generated/openapi.json' with { type: 'json' }
import { eventTypes, type EventType } from '../../generated/events.ts'
import { operations, type OperationId } from '../../generated/operations.ts'
import { replies } from '../../infra/validation/replies.ts'
import { resolve } from '../../packages/openapi/resolve.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { requestFor, operationIds, send, served } from '../support/operations/operation-fixtures.ts'
import { createClient } from '../support/http/client.ts'
import { startServer } from '../support/server/server.ts'
import { events, exampleRequest, examples } from '../support/operations/example-fixtures.ts'

type Json = any

const server = await startServer(t)

// All other prices in the fixtures are one-time or monthly.
const last: OperationId[] = ['advanceTestClock']

t.test('the example request of every operation gets the example response', async (t) => {
  for (const { id } of [
    ...served.filter(({ id }) => !last.includes(id)),
    ...served.filter(({ id }) => last.includes(id)),
  ]) {
    const { status, body, headers } = await send(await exampleRequest(server, id))
    t.ok(status < 400, `${id} answers ${status}: ${status < 400 ? 'a success' : JSON.stringify(body)}`)
    if (status >= 400) continue
    const example = examples[id].replies[status]
    // The file of an export is JSON, too, and the contract declares bytes.
    const schema = schemaOf(id, status)
    if (headers.get('content-type')?.startsWith('application/json') !== true || !schema) continue
    t.not(example, undefined, `${id} has an example for ${status}`)
    t.same(differences(example, body, schema, id), [], `${id} answers with the fields of its example`)
  }
})

t.test('the example of every response matches the contract', async (t) => {
  for (const id of operationIds) {
    for (const [status, { contentType, serializer, events }] of Object.entries(
      (operations[id] as OperationInfo).replies,
    )) {
      if (
        Number(status) >= 300 ||
        contentType === null ||
        (contentType !== 'application/json' && events === undefined)
      )
        continue
      const example = examples[id].replies[status]
      // The example of an operation that may also stream is its JSON.
      if (events !== undefined && contentType !== 'application/json') {
        const expected = [...String(example).matchAll(/^event: (.+)\ndata: (.+)$/gm)]
        t.same(
          expected.map(([, name]) => name),
          Object.keys(events),
          `${id} has an example of each event`,
        )
        for (const [, name, data] of expected) allows(t, events[name], JSON.parse(data), `${id} ${name}`)
      } else if (serializer !== undefined) {
        allows(t, serializer, example, `${id} ${status}`)
      }
    }
  }
})

t.test('the example of every event matches the contract', async (t) => {
  t.same(
    events.map(({ type }) => type),
    Object.keys(eventTypes),
  )
  for (const { type, example } of events) {
    allows(t, eventTypes[type as EventType].payload, example, type)
    for (const [field, former] of Object.entries(example.data.previous_attributes))
      t.notSame(example.data.object[field], former, `${type} has a new ${field}`)
    if (type.endsWith('.updated'))
      t.not(
        Object.keys(example.data.previous_attributes).length,
        type === 'avatar.updated' ? -1 : 0,
        `${type} lists the changed attributes`,
      )
  }
})

t.test('the example of every error is the error that the server answers with', async (t) => {
  const request = await requestFor(server, 'updateProject')
  const path = `/projects/${request.params!.id}`
  const reader = await server.person({ scopes: ['projects:read'] })
  const archived = await requestFor(server, 'updateProject', { forStatus: 409 })
  const expired = await server.person({ expiresAt: new Date(Date.now() - 1000) })
  const { client } = request.caller
  const answered: Record<string, Json> = {
    Unauthorized: await createClient(server.url, expired.key).put(path, { name: 'New' }),
    Forbidden: await reader.client.put(path, { name: 'New' }),
    NotFound: await client.get('/projects/prj_01jd6y8m5qe8btc4y5w1r0n3fz'),
    NotAcceptable: await client.get(path, { headers: { accept: 'text/csv' } }),
    Conflict: await send(archived),
    PreconditionFailed: await client.put(path, { name: 'New' }, { headers: { 'if-match': '"other"' } }),
    PayloadTooLarge: await client.put(path, { name: 'x'.repeat(1024 * 1024) }),
    UnsupportedMediaType: await client.call('PUT', path, {
      raw: 'name=New',
      headers: { 'content-type': 'text/plain' },
    }),
    IdempotencyMismatch: await (async () => {
      await client.post('/projects', { name: 'One' }, { headers: { 'idempotency-key': 'once' } })
      return await client.post('/projects', { name: 'Two' }, { headers: { 'idempotency-key': 'once' } })
    })(),
  }
  for (const [
    name,
    {
      body: { error },
    },
  ] of Object.entries(answered)) {
    const example = (contract.components.responses as Json)[name].content['application/json'].example.error
    const { request_id: _expectedId, ...expected } = example.details
    const { request_id: _actualId, ...actual } = error.details
    t.same({ code: error.code, details: actual }, { code: example.code, details: expected }, name)
    t.equal(
      error.message.replace(/_[0-9a-hjkmnp-tv-z]{26}/g, '_01jd6y8m5qe8btc4y5w1r0n3fz'),
      example.message,
      name,
    )
  }
})

function allows(t: Test, serializer: string, value: Json, name: string): void {
  const validate = replies[serializer]
  t.ok(validate(value), `${name}: ${JSON.stringify(validate.errors)}`)
}

function schemaOf(id: OperationId, status: number): Json {
  const item: Json = Object.values<Json>(contract.paths).find(
    (item) => item[operations[id].method.toLowerCase()]?.operationId === id,
  )
  return resolve(contract, item[operations[id].method.toLowerCase()].responses[status]).content?.[
    'application/json'
  ]?.schema
}

/**
 * The fields that only one of two answers has, and fields whose types differ. An optional or nullable field
 * may be absent or null in one answer.
 */
function differences(example: Json, answer: Json, given: Json, at: string): string[] {
  if (example === null || answer === null) return []
  if (typeof example !== typeof answer || Array.isArray(example) !== Array.isArray(answer))
    return [`${at} is ${typeof answer}, and ${typeof example} in the example`]
  const schema = resolve(contract, given) ?? {}
  const inner = schema.anyOf ?? schema.oneOf
  if (schema.properties === undefined && inner !== undefined)
    return differences(example, answer, inner[0], at)
  if (Array.isArray(example))
    return example.length === 0 || answer.length === 0
      ? []
      : differences(example[0], answer[0], schema.items, `${at}[]`)
  if (typeof example !== 'object' || schema.properties === undefined) return []
  const missing = Object.keys(example)
    .filter((key) => !Object.hasOwn(answer, key) && schema.required?.includes(key))
    .map((key) => `${at}.${key} is only in the example`)
  const unshown = Object.keys(answer)
    .filter((key) => !Object.hasOwn(example, key))
    .map((key) => `${at}.${key} is not in the example`)
  return [
    ...missing,
    ...unshown,
    ...Object.keys(example)
      .filter((key) => Object.hasOwn(answer, key))
      .flatMap((key) => differences(example[key], answer[key], schema.properties[key], `${at}.${key}`)),
  ]
}
