// Schemas of parts and alternatives as schemas without them, and why some have no value.
import t from 'tap'
import { noticesOf } from '../faults.ts'
import { contradictionIn, flatSchemas } from '../intersections.ts'
import { withMergedParts } from '../merge-parts.ts'

const text = { type: 'string' }
const document = {
  components: {
    schemas: {
      Keyed: { type: 'object', required: ['key'], additionalProperties: false, properties: { key: text } },
      Tree: { anyOf: [text, { type: 'array', items: { $ref: '#/components/schemas/Tree' } }] },
      Loop: { allOf: [{ $ref: '#/components/schemas/Loop' }] },
    },
  },
}
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
const flat = (schema: object) => flatSchemas(document, schema)

t.test('each combination of alternatives is a schema of its own', async (t) => {
  t.same(
    flat({
      minLength: 2,
      anyOf: [{ type: ['string', 'null'] }, { type: 'integer' }],
      oneOf: [
        { type: 'string', minLength: 1, maxLength: 9 },
        { type: 'number', minimum: 3 },
      ],
    }),
    [
      { type: 'string', minLength: 2, maxLength: 9 },
      { type: 'integer', minLength: 2, minimum: 3 },
    ],
  )
  t.same(flat({ allOf: [{ enum: [1, 2] }, { const: 2 }] }), [{ enum: [2] }])
  t.equal(flat(ref('Tree')).length, 2)
  t.same(flat(ref('Loop')), [])
})

t.test('a property of several parts meets all of them', async (t) => {
  const [{ properties, required }] = flat({
    allOf: [
      { required: ['kind'], properties: { kind: { enum: ['a'] }, size: { type: 'integer' } } },
      { required: ['size'], properties: { kind: text, size: { type: 'integer' } } },
    ],
  })
  t.same(required, ['kind', 'size'])
  t.same(properties, { kind: { allOf: [{ enum: ['a'] }, text] }, size: { type: 'integer' } })
  const kinds = { allOf: [{ properties: { kind: { enum: ['a'] } } }, { properties: { kind: text } }] }
  const merged = withMergedParts({ components: { schemas: { kinds } } })
  t.same(merged.components.schemas.kinds.properties.kind, { type: 'string', enum: ['a'] })
})

t.test('a part that allows no other properties is not merged', async (t) => {
  const closed = {
    additionalProperties: false,
    properties: { a: text },
    allOf: [{ properties: { b: text } }],
  }
  t.same(withMergedParts({ closed }).closed, closed)
})

for (const [schema, reason] of [
  [
    { allOf: [ref('Keyed'), { required: ['id'] }] },
    'additionalProperties: false refuses "id", which is required',
  ],
  [
    { allOf: [{ type: 'string' }, { type: ['integer', 'null'] }] },
    'it has the types string, and integer or null',
  ],
  [{ allOf: [{ enum: [1] }, { const: 2 }] }, 'its enums have no common value'],
  [{ allOf: [{ type: 'string' }, false] }, 'a part of it is false, which no value meets'],
  [
    { required: ['a'], properties: { a: { allOf: [{ const: 1 }, { const: 2 }] } } },
    'its enums have no common value',
  ],
  [{ allOf: [ref('Keyed'), { properties: { id: text } }] }, null],
  [{ anyOf: [{ allOf: [{ const: 1 }, { const: 2 }] }, text] }, null],
] as const)
  t.test(`${JSON.stringify(schema)} has ${reason === null ? 'values' : 'no value'}`, async (t) => {
    t.equal(contradictionIn(document, schema), reason)
  })

t.test('a notice names the constraint once, and the operations without a success', async (t) => {
  const schema = { allOf: [ref('Keyed'), { required: ['id'] }] }
  const post = { requestBody: { content: { 'application/json': { schema } } }, responses: { 400: {} } }
  t.same(
    noticesOf({
      components: { schemas: { Keyed: document.components.schemas.Keyed } },
      paths: { '/a': { post }, '/b': { post } },
    }),
    [
      'An allOf has no value: additionalProperties: false refuses "id", which is required. ' +
        'It can be neither sent nor answered.',
      'No success is declared, and so none is checked, for POST /a, POST /b.',
    ],
  )
})
