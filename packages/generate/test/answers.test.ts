// What a generated server sends of a handler's answer, and that it refuses an undeclared one.
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { generateProject } from '../project.ts'

const ref = (name: string): object => ({ $ref: `#/components/schemas/${name}` })
const text = { type: 'string' }
const object = (properties: object, more: object = {}): object => ({ type: 'object', properties, ...more })
const one = (kind: string, name: string): object =>
  object({ kind: { const: kind }, [name]: { type: 'integer' } }, { required: ['kind', name] })

/** What is sent of a value by a schema. */
const cases: Array<{ name: string; schema: object; value: unknown; sent: unknown }> = [
  {
    name: 'undeclared and writeOnly properties are left out',
    schema: ref('Account'),
    value: { id: 1, secret: 'x', password: 'x', row: 2, none: undefined, at: new Date(0) },
    sent: { id: 1, at: '1970-01-01T00:00:00.000Z' },
  },
  {
    name: 'writeOnly in a part of allOf, and behind a reference',
    schema: { allOf: [object({ a: text, b: ref('Secret') }), object({ a: { writeOnly: true }, c: text })] },
    value: { a: 'x', b: 'x', c: 'x', d: 'x' },
    sent: { c: 'x' },
  },
  {
    name: 'an object without properties is free',
    schema: { type: 'object' },
    value: { a: { b: 1 } },
    sent: { a: { b: 1 } },
  },
  {
    name: 'additional properties, patterns and unevaluated properties',
    schema: object({
      any: object({ a: text }, { additionalProperties: true }),
      each: { type: 'object', additionalProperties: ref('Account') },
      like: { type: 'object', patternProperties: { '^x-': text } },
      rest: { allOf: [object({ a: text })], unevaluatedProperties: object({ b: text }) },
    }),
    value: {
      any: { a: 'x', b: [1] },
      each: { one: { id: 1, row: 2 } },
      like: { 'x-a': 'x', b: 'x' },
      rest: { a: 'x', c: { b: 'x', d: 'x' } },
    },
    sent: {
      any: { a: 'x', b: [1] },
      each: { one: { id: 1 } },
      like: { 'x-a': 'x' },
      rest: { a: 'x', c: { b: 'x' } },
    },
  },
  {
    name: 'lists, and lists of several types',
    schema: object({
      all: { type: 'array', items: ref('Account') },
      pair: { prefixItems: [object({ a: text })], items: object({ b: text }) },
    }),
    value: {
      all: [{ id: 1, row: 2 }],
      pair: [
        { a: 'x', b: 'x' },
        { a: 'x', b: 'x' },
      ],
    },
    sent: { all: [{ id: 1 }], pair: [{ a: 'x' }, { b: 'x' }] },
  },
  {
    name: 'null in place of an object, by anyOf and by a list of types',
    schema: object({
      a: { anyOf: [ref('Account'), { type: 'null' }] },
      b: { type: ['object', 'null'], properties: { id: text } },
      c: { anyOf: [ref('Account'), { type: 'null' }] },
    }),
    value: { a: null, b: null, c: { id: 1, row: 2 } },
    sent: { a: null, b: null, c: { id: 1 } },
  },
  {
    name: 'the alternative of a constant',
    schema: { type: 'array', items: { oneOf: [one('cat', 'lives'), one('dog', 'age')] } },
    value: [
      { kind: 'cat', lives: 9, age: 1 },
      { kind: 'dog', lives: 9, age: 1 },
    ],
    sent: [
      { kind: 'cat', lives: 9 },
      { kind: 'dog', age: 1 },
    ],
  },
  {
    name: 'all alternatives that the value may be',
    schema: { allOf: [object({ a: text }), { anyOf: [object({ b: text }), object({ c: text }), text] }] },
    value: { a: 'x', b: 'x', c: 'x', d: 'x' },
    sent: { a: 'x', b: 'x', c: 'x' },
  },
  {
    name: 'an alternative that is any object',
    schema: { anyOf: [object({ a: text }), { type: 'object' }] },
    value: { a: 'x', b: 'x' },
    sent: { a: 'x', b: 'x' },
  },
  {
    name: 'alternatives that only require properties',
    schema: { ...object({ a: text, b: text }), anyOf: [{ required: ['a'] }, { required: ['b'] }] },
    value: { a: 'x', c: 'x' },
    sent: { a: 'x' },
  },
  {
    name: 'properties of conditions and dependencies',
    schema: {
      ...object({ a: text }),
      if: { required: ['a'] },
      // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
      then: object({ b: text }),
      dependentSchemas: { a: object({ c: text }) },
    },
    value: { a: 'x', b: 'x', c: 'x', d: 'x' },
    sent: { a: 'x', b: 'x', c: 'x' },
  },
  {
    name: 'a recursive schema',
    schema: ref('Tree'),
    value: { name: 'a', row: 1, nodes: [{ name: 'b', row: 1, nodes: [] }] },
    sent: { name: 'a', nodes: [{ name: 'b', nodes: [] }] },
  },
]
const json = (schema: object): object => ({ description: 'It.', content: { 'application/json': { schema } } })
const operation = (operationId: string, responses: object): object => ({ get: { operationId, responses } })
const document = {
  openapi: '3.1.0',
  info: { title: 'Answers', version: '1' },
  paths: {
    ...Object.fromEntries(
      cases.map(({ schema }, i) => [`/${i}`, operation(`case${i}`, { 200: json(schema) })]),
    ),
    '/checked': operation('checked', {
      200: json(object({ name: text }, { required: ['name'] })),
      201: { ...json(text), headers: { 'X-Count': { required: true, schema: { type: 'integer' } } } },
      204: { description: 'None.' },
      '4XX': { description: 'Wrong.', content: { 'text/*': {} } },
    }),
    '/open': operation('open', {}),
  },
  components: {
    schemas: {
      Account: object(
        {
          id: { type: 'integer' },
          secret: { ...text, writeOnly: true },
          password: ref('Secret'),
          at: { ...text, format: 'date-time' },
        },
        { required: ['id', 'secret'] },
      ),
      Secret: { ...text, writeOnly: true },
      Tree: object({ name: text, nodes: { type: 'array', items: ref('Tree') } }),
    },
  },
}

const folder = t.testdir({ 'answers.json': JSON.stringify(document) })
symlinkSync(join(resolve(import.meta.dirname, '../../..'), 'node_modules'), join(folder, 'node_modules'))
await generateProject(join(folder, 'answers.json'), join(folder, 'server'))
/** The answers of the handlers, by the names of their operations. */
const answers: Record<string, object> = {}
Object.assign(globalThis, { answers })
writeFileSync(
  join(folder, 'server/handlers/operations.ts'),
  'export const operations = new Proxy({}, {\n' +
    '  ownKeys: () => Object.keys(globalThis.answers),\n' +
    '  getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }),\n' +
    '  get: (_, id) => async () => globalThis.answers[id],\n' +
    '})\n',
)
for (const [i, { value }] of cases.entries()) answers[`case${i}`] = { status: 200, body: value }
Object.assign(answers, { checked: {}, open: { status: 299, body: { a: 1 } } })
const { createServer } = await import(join(folder, 'server/generated/server.ts'))

async function start(t: Test): Promise<(url: string) => Promise<{ status: number; body: unknown }>> {
  const app = await createServer()
  t.teardown(() => app.close())
  return async (url) => {
    const { statusCode, payload } = await app.inject(url)
    return { status: statusCode, body: payload === '' ? null : JSON.parse(payload) }
  }
}

t.test('an answer has what its schema names', async (t) => {
  const get = await start(t)
  for (const [i, { name, sent }] of cases.entries())
    t.strictSame(await get(`/${i}`), { status: 200, body: sent }, name)
  t.strictSame(await get('/open'), { status: 299, body: { a: 1 } }, 'an operation without responses')
})

const wrong: Array<[answer: object, message: string]> = [
  [
    { status: 200, body: { name: 1 } },
    'checked answered 200: the body at "/name" must be string {"type":"string"}',
  ],
  [{ status: 200, body: {} }, 'checked answered 200: the body at "" must have required property \'name\''],
  [{ status: 200 }, 'checked answered 200: the body is missing'],
  [{ status: 200, type: 'text/csv', body: 'a' }, 'checked answered 200: the type text/csv is not declared'],
  [{ status: 201, body: 'x' }, 'checked answered 201: the header X-Count is missing'],
  [{ status: 204, body: 'x' }, 'checked answered 204: no body is declared'],
  [{ status: 302 }, 'checked answered 302: the status is not declared, only 200, 201, 204, 4XX'],
]

t.test('an answer that is not declared is a 500 with a line in the log', async (t) => {
  const get = await start(t)
  const lines = t.capture(console, 'error')
  for (const [answer, message] of wrong) {
    answers.checked = answer
    const { status, body } = await get('/checked')
    t.equal(status, 500, message)
    t.equal((body as { title: string }).title, 'The server failed', 'clients do not see the reason')
    const [{ args }] = lines()
    t.match(args[0], message)
  }
  for (const answer of [
    { status: 201, headers: { 'x-count': '1' }, body: 'x' },
    { status: 204 },
    { status: 404, type: 'text/plain', body: '"x"' },
  ]) {
    answers.checked = answer
    t.equal((await get('/checked')).status, answer.status)
  }
  t.strictSame(lines(), [])
})

t.test('in production answers are sent unchecked', async (t) => {
  const before = process.env.NODE_ENV
  process.env.NODE_ENV = 'production'
  t.teardown(() => {
    if (before === undefined) delete process.env.NODE_ENV
    else process.env.NODE_ENV = before
  })
  const get = await start(t)
  answers.checked = { status: 200, body: { name: 1, row: 2 } }
  t.strictSame(await get('/checked'), { status: 200, body: { name: 1 } })
})

t.test('the table of answers is in the generated code', (t) => {
  const source = readFileSync(join(folder, 'server/generated/operations.ts'), 'utf8')
  t.match(source, '"4XX":{"media":[{"type":"text/*","sent":"text/plain","pointer":null}],"headers":[]}')
  t.end()
})
