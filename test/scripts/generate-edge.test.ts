// Cases in which other OpenAPI servers silently skip validation, tested with a server generated from the
// mini spec.
import t from 'tap'
import { miniProject } from '../support/generator/mini-project.ts'

const edgeOperations = ['postAlias', 'getMerged', 'postStrict', 'postOptional', 'getNumber', 'getBatch']
const thingOperations = ['listThings', 'createThing', 'getThing', 'updateThing', 'useThing', 'watchThings']
const failing = thingOperations.map((id) => `  async ${id} () { return { status: 500 } }`)
const handlers = {
  'handlers/things.ts': `export const things = {\n${failing.join(',\n')}\n}\n`,
  'handlers/edge.ts': `const given = async ({ operation, params, query, body }) => ({
  status: 200,
  body: JSON.stringify({ operation: operation.id, params, query, body }),
})
export const edge = { ${edgeOperations.map((id) => `${id}: given`).join(', ')} }\n`,
}

const project = await miniProject(t.testdir(), handlers)
await project.generate()
const app = await project.build()
t.teardown(() => app.close())

interface Given {
  status: number
  given?: any
  problems?: string[]
}

async function call(
  method: 'GET' | 'POST',
  url: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Given> {
  const response = await app.inject({
    method,
    url: `/v1${url}`,
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    payload: typeof body === 'string' ? body : body === undefined ? undefined : JSON.stringify(body),
  })
  if (response.statusCode === 200) return { status: 200, given: response.json() }
  const { details } = response.json().error
  return {
    status: response.statusCode,
    problems: (details.errors ?? []).map((e: any) => `${e.location} ${e.field} ${e.constraint}`),
  }
}

t.test('a body schema that is a reference to a reference is validated', async (t) => {
  t.match(await call('POST', '/aliases', { name: 'ab' }), { status: 200, given: { body: { name: 'ab' } } })
  t.strictSame(await call('POST', '/aliases', { name: 1 }), { status: 400, problems: ['body name type'] })
  t.strictSame(await call('POST', '/aliases', {}), { status: 400, problems: ['body name required'] })
  t.strictSame(await call('POST', '/aliases', { name: 'ab', other: 1 }), {
    status: 400,
    problems: ['body other additionalProperties'],
  })
})

t.test('a referenced parameter with a referenced schema is validated', async (t) => {
  t.match(await call('POST', '/aliases?size=3', { name: 'ab' }), {
    status: 200,
    given: { query: { size: 3 } },
  })
  t.strictSame(await call('POST', '/aliases?size=4', { name: 'ab' }), {
    status: 400,
    problems: ['query size maximum'],
  })
})

t.test('keywords beside a $ref and the referenced schema are both validated', async (t) => {
  t.match(await call('POST', '/aliases', { name: 'ab', short: 'abc' }), { status: 200 })
  t.strictSame(await call('POST', '/aliases', { name: 'ab', short: 'abcd' }), {
    status: 400,
    problems: ['body short maxLength'],
  })
  t.strictSame(await call('POST', '/aliases', { name: 'ab', short: 'a' }), {
    status: 400,
    problems: ['body short minLength'],
  })
})

t.test('a property may have the name of a keyword', async (t) => {
  t.strictSame(await call('POST', '/aliases', { name: 'ab', default: 9 }), {
    status: 400,
    problems: ['body default maximum'],
  })
})

t.test(
  "the path's query parameters count beside the operation's, which replace those of the same name",
  async (t) => {
    t.match(await call('GET', '/merged?color=red&shape=abc'), {
      status: 200,
      given: { query: { color: 'red', shape: 'abc' } },
    })
    t.strictSame(await call('GET', '/merged?shape=abcd'), {
      status: 400,
      problems: ['query color required', 'query shape maxLength'],
    })
    t.match(await call('GET', '/merged?color=red&size=20'), { status: 200, given: { query: { size: 20 } } })
    t.strictSame(await call('GET', '/merged?color=red&size=21'), {
      status: 400,
      problems: ['query size maximum'],
    })
    t.strictSame(await call('GET', '/merged?color=red&other=1'), {
      status: 400,
      problems: ['query other additionalProperties'],
    })
  },
)

t.test('an undeclared media type gets 415', async (t) => {
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/vnd.api+json',
    'multipart/form-data; boundary=x',
  ]) {
    t.equal((await call('POST', '/strict', '{"count":1}', { 'content-type': type })).status, 415, type)
  }
  t.match(
    await call('POST', '/strict', '{"count":1}', { 'content-type': 'Application/JSON; charset=utf-8' }),
    { status: 200 },
  )
})

t.test('a missing required body gets 400, and an optional one may be missing', async (t) => {
  t.strictSame(await call('POST', '/strict'), { status: 400, problems: ['body body required'] })
  t.match(await call('POST', '/optional'), { status: 200, given: { body: { flag: true } } })
  t.strictSame(await call('POST', '/optional', { count: 'x' }), {
    status: 400,
    problems: ['body count type'],
  })
})

t.test('values in a body are not coerced', async (t) => {
  for (const [field, value] of [
    ['count', '1'],
    ['count', null],
    ['count', true],
    ['count', 1.5],
    ['name', null],
    ['name', 1],
    ['flag', 'true'],
    ['flag', 0],
    ['flag', null],
    ['tags', 'one'],
    ['tags', null],
  ] as const) {
    t.strictSame(
      await call('POST', '/strict', { [field]: value }),
      { status: 400, problems: [`body ${field} type`] },
      `${field}: ${JSON.stringify(value)}`,
    )
  }
  for (const body of ['null', '[]', '"text"', '1'])
    t.equal((await call('POST', '/strict', body)).status, 400, body)
})

t.test('an undeclared field is rejected, not removed', async (t) => {
  t.strictSame(await call('POST', '/strict', { count: 1, extra: true }), {
    status: 400,
    problems: ['body extra additionalProperties'],
  })
})

t.test('defaults are filled in, and annotations do not affect validation', async (t) => {
  t.match(await call('POST', '/strict', { count: 2 }), {
    status: 200,
    given: { body: { count: 2, flag: true } },
  })
})

t.test('path, query and header parameters are converted to their types', async (t) => {
  t.match(await call('GET', '/numbers/7?flag=true&list=1&list=2', undefined, { 'x-count': '3' }), {
    status: 200,
    given: { params: { number: 7 }, query: { flag: true, list: [1, 2] } },
  })
  t.match(await call('GET', '/numbers/7?list=1'), { status: 200, given: { query: { list: [1] } } })
  t.strictSame(await call('GET', '/numbers/seven?flag=maybe', undefined, { 'x-count': 'few' }), {
    status: 400,
    problems: ['query flag type', 'header x-count type'],
  })
  t.match(await call('GET', '/numbers/101'), { status: 404 })
})

t.test('a path with a colon matches only itself', async (t) => {
  t.match(await call('GET', '/t:batch'), { status: 200, given: { operation: 'getBatch' } })
  for (const path of ['/tANYTHING', '/t', '/tbatch', '/t:other', '/t:batchy'])
    t.equal((await call('GET', path)).status, 404, path)
})

const more = `paths:
  fields:
    post:
      operationId: postFields
      tags: [edge]
      summary: The fields of a page's form
      security: []
      requestBody:
        required: true
        content:
          application/x-www-form-urlencoded:
            schema:
              type: object
              additionalProperties: false
              required: [name]
              properties:
                name: { type: string, maxLength: 20, examples: [Lamp] }
                choice: { type: string, enum: [a, b] }
      responses: { '200': { $ref: '#/components/responses/Given' } }
  signed:
    post:
      operationId: postSigned
      tags: [edge]
      summary: JSON whose bytes count
      security: []
      requestBody:
        required: true
        x-raw: true
        content: { application/json: { schema: { type: object, additionalProperties: true } } }
      responses: { '200': { $ref: '#/components/responses/Given' } }
`

t.test('form fields are validated, and a signed body reaches the handler unchanged', async (t) => {
  const other = await miniProject(t.testdir(), {
    ...handlers,
    'handlers/edge.ts': handlers['handlers/edge.ts'].replace(
      'export const edge = { ',
      `export const edge = {
  postFields: given, async postSigned ({ body }) { return { status: 200, body: body.toString('hex') } }, `,
    ),
  })
  await other.write(
    'spec/edge.yaml',
    (await other.read('spec/edge.yaml')).replace('paths:\n', () => more),
  )
  await other.write(
    'spec/openapi.yaml',
    (await other.read('spec/openapi.yaml')).replace(
      'paths:\n',
      `paths:
  /fields: { $ref: 'edge.yaml#/paths/fields' }
  /signed: { $ref: 'edge.yaml#/paths/signed' }
`,
    ),
  )
  await other.generate()
  const app = await other.build()
  t.teardown(() => app.close())
  const post = async (url: string, payload: string | Buffer, type = 'application/x-www-form-urlencoded') => {
    const { statusCode, payload: text } = await app.inject({
      method: 'POST',
      url: `/v1${url}`,
      headers: { 'content-type': type },
      payload,
    })
    return {
      status: statusCode,
      said: statusCode === 200 ? text : JSON.parse(text).error.details.constraint,
    }
  }
  const read = async (payload: string) => JSON.parse((await post('/fields', payload)).said).body
  t.same(await read('name=A+b%20%C3%BC&choice=a'), { name: 'A b ü', choice: 'a' })
  t.same(await read('name='), { name: '' })
  for (const [payload, constraint] of [
    ['choice=a', 'required'],
    ['', 'required'],
    ['name=x&name=y', 'type'],
    ['name=x&choice=c', 'enum'],
    [`name=${'x'.repeat(21)}`, 'maxLength'],
    ['name=x&other=1', 'additionalProperties'],
    ['name=x&__proto__=1', 'additionalProperties'],
    ['name=x&constructor=1', 'additionalProperties'],
    ['name[]=x', 'required'],
  ])
    t.same(await post('/fields', payload), { status: 400, said: constraint }, payload)
  for (const type of [
    'application/json',
    'text/plain',
    'multipart/form-data; boundary=x',
    'application/x-www-form-urlencoded; charset=latin1',
  ]) {
    t.same(await post('/fields', 'name=x', type), { status: 415, said: 'media_type' }, type)
  }
  t.equal((await post('/fields', `name=${'x'.repeat(16 * 1024)}`)).status, 413)
  const bytes = Buffer.from(' {"a":1,  "a":2,"__proto__":"\u0000é"}\n')
  for (const body of [bytes, Buffer.from([0xff, 0x00]), Buffer.from('{')])
    t.same(await post('/signed', body, 'application/json'), { status: 200, said: body.toString('hex') })
  t.same(await post('/signed', bytes, 'application/json; charset=latin1'), {
    status: 415,
    said: 'media_type',
  })
  t.same(await post('/signed', 'name=x'), { status: 415, said: 'media_type' })
})

t.test('a missing handler prevents the start and is named', async (t) => {
  const other = await miniProject(t.testdir(), {
    ...handlers,
    'handlers/edge.ts': handlers['handlers/edge.ts'].replace('getMerged: given, ', ''),
  })
  await other.generate()
  await t.rejects(other.build(), /operation getMerged has no handler in handlers\/edge\.ts/)
})
