// What `contains`, a lone `if` and alternatives evaluate, `uniqueItems`, and texts, in the validators of all
// tools.
import t from 'tap'
import { forText } from '../text-values.ts'
import { createAjv } from '../validators.ts'

/** The errors, as `where: message`, of the value by the schema. */
function errorsOf(schema: object, value: unknown, schemas: object = {}): string[] {
  const ajv = createAjv({ components: { schemas: { Own: schema, ...schemas } } }, { isText: false })
  const validate = ajv.compile({ $ref: 'contract#/components/schemas/Own' })
  validate(value)
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath}: ${message}`)
}

t.test('an item that contains accepts is evaluated', async (t) => {
  const schema = { prefixItems: [{ const: 1 }], contains: { type: 'string' }, unevaluatedItems: false }
  t.same(errorsOf(schema, [1, 'a', 'b']), [])
  t.same(errorsOf(schema, [1, 'a', 2]), [': must NOT have unevaluated items'])
})

t.test('an if without then evaluates what it accepts', async (t) => {
  const schema = { if: { properties: { a: { const: 1 } }, required: ['a'] }, unevaluatedProperties: false }
  t.same(errorsOf(schema, { a: 1 }), [])
  t.same(errorsOf(schema, { a: 2 }), [': must NOT have unevaluated properties'])
})

t.test('an alternative evaluates only where it accepts the value', async (t) => {
  const anyOf = [{ $ref: '#/components/schemas/Named' }, { properties: { size: { type: 'integer' } } }]
  const schema = { anyOf, unevaluatedProperties: { type: 'boolean' } }
  const schemas = { Named: { required: ['name'], properties: { name: { type: 'string' } } } }
  t.same(errorsOf(schema, { name: 'x', size: 1 }, schemas), [])
  t.same(errorsOf(schema, { name: 'x', size: 'large' }, schemas), ['/size: must be boolean'])
})

t.test('an error inside a list and a recursive schema has its place', async (t) => {
  const child = { $ref: '#/components/schemas/Own' }
  const properties = { children: { type: 'array', items: child } }
  const schema = { allOf: [{ properties }], unevaluatedProperties: false }
  t.same(errorsOf(schema, { children: [{ children: [] }] }), [])
  t.same(errorsOf(schema, { children: [{ other: 1 }] }), [
    '/children/0: must NOT have unevaluated properties',
  ])
})

t.test('uniqueItems takes linear time, and counts equal values as one', async (t) => {
  const schema = { uniqueItems: true }
  const many = Array.from({ length: 30_000 }, (_, i) => ({ id: String(i) }))
  const before = process.cpuUsage().user
  t.same(errorsOf(schema, many), [])
  t.ok(process.cpuUsage().user - before < 3_000_000, 'no comparison of each pair')
  const equal = [
    { a: 1, b: [null] },
    { b: [null], a: 1 },
  ]
  t.same(errorsOf(schema, equal), [': must NOT have duplicate items'])
  t.same(errorsOf(schema, [1, '1', true, 'true', [1], { 0: 1 }]), [])
  t.same(errorsOf({ uniqueItems: false }, [1, 1]), [])
})

/** The value that the text is by the schema; undefined if it is invalid. */
function valueOf(schema: object, text: unknown): unknown {
  const own = { type: 'object', properties: { value: schema } }
  const schemas = { Own: own, Digit: { type: 'integer', maximum: 9 } }
  const ajv = createAjv(forText({ components: { schemas } }), { isText: true })
  const holder = { value: text }
  const isValid = ajv.compile({ $ref: 'contract#/components/schemas/Own' })(holder)
  return isValid ? holder.value : undefined
}

t.test('a text has the type of a constant or an enum', async (t) => {
  t.equal(valueOf({ enum: [10, 20] }, '10'), 10)
  t.equal(valueOf({ enum: [10, 20] }, '11'), undefined)
  t.equal(valueOf({ const: true }, 'true'), true)
  t.same(valueOf({ type: 'array', items: { enum: [1, 2] } }, ['1', '2']), [1, 2])
  for (const schema of [{ enum: [10, 'auto'] }, { type: ['integer', 'string'], enum: [10, 'auto'] }])
    t.same([valueOf(schema, '10'), valueOf(schema, 'auto')], [10, 'auto'])
})

t.test('an alternative gets the text as it was sent', async (t) => {
  for (const digit of [{ type: 'integer', maximum: 9 }, { $ref: '#/components/schemas/Digit' }]) {
    const schema = { anyOf: [digit, { type: 'string' }] }
    t.same([valueOf(schema, '3'), valueOf(schema, '007'), valueOf(schema, '010')], [3, 7, '010'])
    const inside = (kind: string): object => ({
      properties: { kind: { const: kind }, code: kind === 'a' ? { type: 'integer' } : { type: 'string' } },
    })
    const sent = { kind: 'b', code: '010' }
    t.same(valueOf({ type: 'object', oneOf: [inside('a'), inside('b')] }, sent), sent)
  }
})
