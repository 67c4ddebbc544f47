// The published contract is open for what later versions add to answers; the server's own contract is exact.
import t from 'tap'
import published from '../../generated/openapi.json' with { type: 'json' }
import { replies } from '../../infra/validation/replies.ts'
import type { components } from '../../generated/client/index.js'
import { exactDocument, publishedDocument } from '../../scripts/generate/publish.ts'
import { subschemasOf } from '../../packages/openapi/subschemas.ts'
import { exampleOf } from '../../scripts/generate/examples.ts'
import { methods } from '../../packages/openapi/methods.ts'
import { resolve } from '../../packages/openapi/resolve.ts'
import { thingSchemas, thingsDocument } from '../support/generator/things-document.ts'

type Json = any

const exact = (schema: Json): Json => thingSchemas(exactDocument(thingsDocument(schema))).Thing
const open = (schema: Json): Json => thingSchemas(publishedDocument(thingsDocument(schema))).Thing

t.test('an exact object in an answer has only its properties', async (t) => {
  t.same(exact({ properties: { a: { properties: {} } } }), {
    properties: { a: { properties: {}, additionalProperties: false } },
    additionalProperties: false,
  })
  const map = { type: 'object', additionalProperties: { type: 'string' } }
  t.same(exact(map), map, 'a map stays as it is')
  const free = { properties: { a: {} }, additionalProperties: true }
  t.same(exact(free), free, 'and an object that says that it is open')
})

t.test('a published enum of an answer has its type as an alternative', async (t) => {
  const color = { type: 'string', enum: ['red'] }
  t.same(open({ properties: { color: { ...color, description: 'The color.' } } }).properties.color, {
    description: 'The color.',
    anyOf: [color, { type: 'string' }],
  })
  t.same(open({ items: { $ref: '#/components/schemas/Color' } }).items, {
    anyOf: [{ $ref: '#/components/schemas/Color' }, { type: 'string' }],
  })
  t.same(open({ items: { anyOf: [{ $ref: '#/components/schemas/Color' }, { type: 'null' }] } }).items.anyOf, [
    { $ref: '#/components/schemas/Color' },
    { type: 'string' },
    { type: 'null' },
  ])
  const nullable = { type: ['integer', 'null'], enum: [64, null] }
  t.same(open({ items: nullable }).items.anyOf, [nullable, { type: 'integer' }])
  t.same(open({ properties: { object: { const: 'thing' } } }).properties.object, { const: 'thing' })
})

t.test('the enum itself stays closed, for requests', async (t) => {
  const { Color } = thingSchemas(
    publishedDocument(thingsDocument({ items: { $ref: '#/components/schemas/Color' } })),
  )
  t.same(Color, { type: 'string', enum: ['red', 'blue'] })
})

t.test('a published stream has a schema of its events', async (t) => {
  const events = { made: { $ref: '#/components/schemas/Thing' }, end: { $ref: '#/components/schemas/Color' } }
  const media = { 'text/event-stream': { 'x-stream-events': events } }
  const document = publishedDocument(thingsDocument({}, media))
  const { schema } = document.paths['/things'].get.responses[200].content['text/event-stream']
  t.same(schema.anyOf, [events.made, events.end])
  t.match(schema.description, /`made`, `end`/)
})

t.test('the published contract is open in answers and closed in requests', async (t) => {
  const wrong: string[] = []
  const seen = new Set<Json>()
  /** The discriminator property of each alternative. */
  const tags = new Set<Json>()
  const check = (schema: Json, direction: string, place: string): void => {
    const node = resolve(published, schema)
    if (node === undefined || seen.has(node)) return
    seen.add(node)
    const isClosed = node.additionalProperties === false
    if (node.properties !== undefined && isClosed !== (direction === 'request')) wrong.push(place)
    const hasOther = node.anyOf?.some(
      (other: Json) => other.enum === undefined && other.$ref === undefined && other.type !== 'null',
    )
    for (const alternative of node.discriminator === undefined ? [] : node.oneOf)
      tags.add(resolve(published, alternative).properties[node.discriminator.propertyName])
    for (const [path, inner] of subschemasOf(node)) {
      const isEnum = resolve(published, inner)?.enum !== undefined
      if (direction === 'answer' && isEnum && hasOther !== true && !tags.has(inner))
        wrong.push(`${place}/${path.join('/')}`)
      if (!isEnum) check(inner, direction, `${place}/${path.join('/')}`)
    }
  }
  const contents = (body: Json, direction: string, place: string): void => {
    for (const [type, { schema }] of Object.entries<Json>(resolve(published, body)?.content ?? {}))
      check(schema, direction, `${place} ${type}`)
  }
  for (const [path, item] of Object.entries<Json>(published.paths)) {
    for (const method of methods.filter((name) => item[name] !== undefined)) {
      contents(item[method].requestBody, 'request', `${method} ${path}`)
      for (const [status, response] of Object.entries(item[method].responses))
        contents(response, 'answer', `${method} ${path} ${status}`)
    }
  }
  for (const [type, item] of Object.entries<Json>(published.webhooks))
    contents(item.post.requestBody, 'answer', type)
  t.ok(seen.size > 100)
  t.same(wrong, [])
})

t.test('the server checks its answers against the exact contract', async (t) => {
  const validate = replies.replyAiUsage
  const usage = exampleOf(published, published.components.schemas.AiUsage)
  t.equal(validate(usage), true)
  t.equal(validate({ ...usage, other: 1 }), false)
  t.match(validate.errors, [{ keyword: 'additionalProperties' }])
})

t.test('the types of the client name the known values and allow others', async (t) => {
  type Status = components['schemas']['Subscription']['status']
  const known: Status = 'active'
  const later: Status = 'trialing'
  // @ts-expect-error a constant has no other values
  const kind: components['schemas']['DeletedUser']['deleted'] = false
  t.same([known, later, kind], ['active', 'trialing', false])
})
