// The mock serves contracts of other APIs: what a client creates can be read, listed, changed and deleted,
// the ids depend only on the seed, and the contract tests find nothing.
import { join } from 'node:path'
import t from 'tap'
import { openapi } from '@platform-api/contract/profile.ts'
import { runContract } from '@platform-api/contract/run-all.ts'
import { createMock } from '../server.ts'
import { asOpenapi31, readOpenapi } from '@platform-api/openapi/read.ts'

const contractOf = (name: string): Promise<any> =>
  readOpenapi(join(import.meta.dirname, '../../../test/support/contract/foreign-servers', name))

/** An object in the query, and more text than a URL may have. */
const secrets = {
  openapi: '3.1.0',
  info: { title: 'Secrets', version: '1' },
  paths: {
    '/secrets': {
      get: {
        operationId: 'listSecrets',
        parameters: [
          {
            name: 'scope',
            in: 'query',
            required: true,
            style: 'deepObject',
            schema: {
              type: 'object',
              required: ['type'],
              properties: { type: { enum: ['user', 'account'] }, user: { type: 'string' } },
            },
          },
          { name: 'run', in: 'query', schema: { oneOf: [{ type: 'integer' }, { type: 'string' }] } },
          ...Array.from({ length: 60 }, (_, i) => ({
            name: `text${i}`,
            in: 'query',
            schema: { type: 'string', minLength: 70, maxLength: 90 },
          })),
        ],
        responses: {
          '200': { description: 'All.', content: { 'application/json': { schema: { type: 'object' } } } },
          '400': { description: 'Invalid.' },
        },
      },
    },
  },
}

const json = (schema?: object) => ({ content: { 'application/json': { ...(schema && { schema }) } } })
const answer = (more: object = {}) => ({ description: 'An answer.', ...more })
const body = (content: object) => ({ requestBody: { required: true, content } })
const uuid = { name: 'taskId', in: 'path', required: true, schema: { type: 'string', format: 'uuid' } }
const version = { name: 'Api-Version', in: 'header', required: true, schema: { enum: ['1', '2'] } }
const task = { $ref: '#/components/schemas/Task' }
const taskBody = json({ $ref: '#/components/schemas/NewTask' })

/** What published documents declare, and servers and runners seldom expect. */
const tasks = {
  openapi: '3.1.0',
  info: { title: 'Tasks', version: '1' },
  paths: {
    '/tasks': {
      get: {
        operationId: 'listTasks',
        parameters: [{ name: 'scope', in: 'query', schema: { enum: ['home', 'work'] } }],
        responses: {
          200: answer(
            json({
              type: 'object',
              properties: { tasks: { type: 'array', items: task }, totalResults: { type: 'integer' } },
            }),
          ),
        },
      },
      post: {
        operationId: 'createTask',
        parameters: [{ name: 'Idempotency-Key', in: 'header', schema: { type: 'string' } }],
        ...body(taskBody.content),
        // Other operations say that the id is a UUID.
        responses: { 201: answer(json(task)), 422: answer(json()) },
      },
    },
    '/tasks/{taskId}': {
      parameters: [uuid, version],
      get: { operationId: 'getTask', responses: { 200: answer(json(task)), 422: answer() } },
      patch: {
        operationId: 'updateTask',
        ...body(json({ $ref: '#/components/schemas/NewTask' }).content),
        responses: {
          200: answer(json({ type: 'object', required: ['id'], properties: { id: { type: 'string' } } })),
          422: answer(),
        },
      },
      delete: { operationId: 'deleteTask', responses: { 204: answer(json()), 422: answer() } },
    },
    '/tasks/{taskId}/open': {
      parameters: [uuid],
      put: {
        operationId: 'openTask',
        ...body({ 'text/plain': { schema: { type: 'boolean' } } }),
        responses: { 204: answer() },
      },
    },
    '/lines': {
      post: {
        operationId: 'addLines',
        ...body({ 'application/x-ndjson': { schema: { type: 'array', items: { type: 'object' } } } }),
        responses: { 202: answer() },
      },
    },
    '/bytes': {
      put: {
        operationId: 'putBytes',
        ...body({ 'application/octet-stream': {} }),
        responses: { 204: answer() },
      },
    },
    '/socket': {
      get: { operationId: 'openSocket', responses: { 101: answer(), 200: answer(), 400: answer() } },
    },
    '/session': { post: { operationId: 'openSession', responses: { 101: answer(), 400: answer() } } },
    '/failure': { get: { operationId: 'fail', responses: { 418: answer() } } },
    '/shapes#round': {
      put: { operationId: 'putCircle', ...body(json(task).content), responses: { 200: answer() } },
    },
    '/shapes#square': {
      put: {
        operationId: 'putSquare',
        ...body({ 'text/csv': { schema: { type: 'string' } } }),
        responses: { 200: answer() },
      },
    },
    '/forms': {
      post: {
        operationId: 'addForm',
        ...body({
          'multipart/form-data': {
            schema: {
              type: 'object',
              required: ['name'],
              properties: {
                name: { type: 'string' },
                size: { anyOf: [{ type: 'string', pattern: '^[SML]$' }, { type: 'null' }] },
              },
            },
          },
        }),
        responses: { 200: answer() },
      },
    },
  },
  components: {
    schemas: {
      // Both parts declare the kind, and the base also allows others.
      Task: {
        allOf: [
          {
            type: 'object',
            required: ['id', 'kind'],
            properties: { id: { type: 'string' }, kind: { enum: ['task'] } },
          },
          {
            type: 'object',
            properties: {
              kind: { type: 'string' },
              title: { type: 'string' },
              color: { type: 'string' },
              scopes: { type: 'array', items: { enum: ['home', 'work'] } },
              created_at: { type: 'string' },
            },
          },
        ],
      },
      NewTask: {
        type: 'object',
        required: ['title', 'reason'],
        properties: {
          title: { type: 'string', maxLength: 50 },
          color: { type: 'string', default: 'red' },
          picture: { type: 'string', format: 'binary' },
          created_at: { type: 'string' },
          level: { oneOf: [{ allOf: [{ type: 'integer', minimum: 1 }, { maximum: 3 }] }, { type: 'null' }] },
        },
      },
    },
  },
}

const text = { type: 'string' }
const named = (properties: object, required = Object.keys(properties)) => ({
  type: 'object',
  required,
  properties,
})
const asked = (operationId: string, schema: object) => ({
  operationId,
  requestBody: { required: true, ...json(schema) },
  responses: { 200: answer(json(named({ done: { type: 'boolean' } }))), 400: answer(), 422: answer() },
})
const listed = (operationId: string, item: object, more: object = {}) => ({
  operationId,
  ...more,
  responses: { 200: answer(json(named({ rows: { type: 'array', items: item } }))), 400: answer() },
})
const parameter = (where: string, name: string, schema: object = text) => ({
  name,
  in: where,
  required: true,
  schema,
})
const operators = 'add subtract multiply divide power root least most first last'.split(' ')
const expression = { $ref: '#/components/schemas/Expression' }
const lists = { type: 'array', items: text }
const kit = { $ref: '#/components/schemas/Kit' }
const site = { $ref: '#/components/schemas/Site' }
const failure = answer(json(named({ message: text })))

/** What a run must read and send rightly to find nothing. */
const kits = {
  openapi: '3.1.0',
  info: { title: 'Kits', version: '1' },
  paths: {
    // The list has fewer parameters than what adds to it, and a new site has no kits.
    '/sites': {
      post: {
        ...asked('addSite', named({ name: text })),
        responses: { 201: answer(json(site)), 400: answer() },
      },
    },
    '/sites/{siteId}': {
      parameters: [parameter('path', 'siteId')],
      get: { operationId: 'getSite', responses: { 200: answer(json(site)), 404: answer() } },
    },
    '/sites/{siteId}/kits': {
      parameters: [parameter('path', 'siteId')],
      get: listed('listKits', kit),
    },
    '/sites/{siteId}/services/{service}/kits': {
      parameters: [parameter('path', 'siteId'), parameter('path', 'service')],
      post: {
        ...asked('addKit', named({ name: text })),
        responses: { 201: answer(json(kit)), default: failure },
      },
    },
    '/sites/{siteId}/services/{service}/kits/{kitId}': {
      parameters: ['siteId', 'service', 'kitId'].map((name) => parameter('path', name)),
      get: { operationId: 'getKit', responses: { 200: answer(json(kit)), 404: answer() } },
    },
    // Nothing says the id of a lamp, and that of a shop is no number.
    '/lamps/{lampId}': {
      parameters: [parameter('path', 'lampId')],
      get: { operationId: 'getLamp', responses: { 200: answer(json(named({ watts: text }))) } },
    },
    '/shops': { get: listed('listShops', named({ id: text, name: text })) },
    '/shops/{shopId}': {
      parameters: [parameter('path', 'shopId')],
      get: { operationId: 'getShop', responses: { 200: answer(json(named({ id: text }))) } },
    },
    '/lights': {
      parameters: [parameter('query', 'lampId')],
      post: asked('light', named({ lamp_id: text, shop_id: { type: 'integer' } })),
    },
    // Each alternative has alternatives.
    '/values': { post: asked('evaluate', expression) },
    '/formats': {
      post: asked(
        'check',
        named({
          page: { type: 'string', format: 'url' },
          slug: { type: 'string', pattern: '^(?![0-9]+$)[a-z0-9_-]{3,9}$' },
          code: { type: 'string', pattern: '^[0-9a-f]{8}\\b-[0-9a-f]{4}$' },
        }),
      ),
    },
    // A key in the wrong place is no media type.
    '/misplaced': {
      post: {
        ...asked('misplace', named({ name: text })),
        requestBody: { required: true, content: { ...json(named({ name: text })).content, examples: {} } },
      },
    },
    '/traces': {
      get: {
        operationId: 'trace',
        responses: {
          200: answer({ headers: { 'X-Request-Id': { schema: { type: 'string', format: 'uuid' } } } }),
        },
      },
    },
    // The example repeats an id, and the region is an object.
    '/volumes': {
      get: {
        ...listed('listVolumes', named({ id: text, region: named({ slug: text }) })),
        parameters: [{ name: 'region', in: 'query', schema: { enum: ['east', 'west'] } }],
        responses: {
          200: answer({
            content: {
              'application/json': {
                schema: named({
                  rows: { type: 'array', items: named({ id: text, region: named({ slug: text }) }) },
                }),
                example: { rows: Array(2).fill({ id: 'a', region: { slug: 'east' } }) },
              },
            },
          }),
          400: answer(),
        },
      },
    },
    '/<upload>': { put: asked('upload', named({ name: text })) },
    '/sites/{siteId}/rules': {
      parameters: [parameter('path', 'siteId')],
      get: listed('listRules', named({ value: text })),
      put: {
        ...asked('putRules', named({ rows: { type: 'array', items: named({ value: text }) } })),
        responses: { 204: answer(), 400: answer() },
      },
    },
    '/walls': {
      post: asked('addWall', {
        allOf: [
          named({ rows: lists, columns: lists }, []),
          { anyOf: [{ required: ['rows'] }, { required: ['columns'] }] },
        ],
      }),
    },
  },
  components: {
    schemas: {
      Kit: named({ id: text, name: text }),
      Site: named({ id: text, name: text }),
      Expression: {
        anyOf: [text, ...operators.map((name) => named({ [name]: expression }))],
      },
    },
  },
}

/** Bodies that may be null: one of seven that a run generates is. */
const labels = {
  openapi: '3.1.0',
  info: { title: 'Labels', version: '1' },
  paths: Object.fromEntries(
    Array.from({ length: 12 }, (_, i) => [
      `/labels/${i}`,
      { put: asked(`putLabel${i}`, { ...named({ name: text, color: text }), type: ['object', 'null'] }) },
    ]),
  ),
}

const documents: Record<string, object> = { secrets, tasks, kits, labels }

for (const name of ['pet-store.yaml', 'library.yaml', 'notes.yaml', ...Object.keys(documents)])
  t.test(`the mock of ${name} conforms to its contract`, async (t) => {
    const document = name in documents ? asOpenapi31(documents[name]) : await contractOf(name)
    const mock = await createMock({ document, key: 'a-key-of-the-test' })
    t.teardown(() => mock.close())
    const { findings, unfinished } = await runContract({
      profile: openapi,
      document: openapi.prepare(structuredClone(document)),
      base: await mock.listen({ host: '127.0.0.1', port: 0 }),
      key: 'a-key-of-the-test',
      secondKey: null,
      seed: 3,
      runs: 3,
      readOnly: false,
      selected: () => true,
      time: 120_000,
      onProgress: () => {},
    })
    t.same(findings.all, [])
    t.same(unfinished, [])
  })

t.test('ETags change with the resource, and conditions are checked', async (t) => {
  const mock = await createMock({ document: await contractOf('library.yaml') })
  t.teardown(() => mock.close())
  const call = async (
    method: 'GET' | 'POST' | 'PATCH',
    url: string,
    { body, ...headers }: Record<string, any> = {},
  ) =>
    await mock.inject({
      method,
      url: `/api${url}`,
      headers: { authorization: 'Bearer any', ...headers },
      ...(body !== undefined && { payload: body }),
    })
  const author = (await call('POST', '/authors', { body: { name: 'Ada' } })).json()
  const body = { title: 'Notes', author_id: author.id, isbn: '9780000000002' }
  const url = `/books/${(await call('POST', '/books', { body })).json().id}`
  const first = await call('GET', url)
  const etag = first.headers.etag as string
  t.match(etag, /^"[\w-]{22}"$/)
  const same = await call('GET', url, { 'if-none-match': `"other", W/${etag}` })
  t.match({ code: same.statusCode, body: same.body, etag: same.headers.etag }, { code: 304, body: '', etag })
  t.equal((await call('GET', url, { 'if-none-match': '"other"' })).statusCode, 200)
  const stale = await call('PATCH', url, { 'if-match': '"other"', body: { title: 'Changed' } })
  t.equal(stale.statusCode, 412)
  t.same((await call('GET', url)).json(), first.json())
  const changed = await call('PATCH', url, { 'if-match': etag, body: { title: 'Changed' } })
  t.match([changed.statusCode, changed.json()], [200, { title: 'Changed' }])
  t.not((await call('GET', url)).headers.etag, etag)
  t.equal((await call('PATCH', url, { 'if-match': '*', body: { title: 'Again' } })).statusCode, 200)
})

t.test('a created resource can be read, listed, replaced and deleted', async (t) => {
  const document = await contractOf('pet-store.yaml')
  const mock = await createMock({ document })
  t.teardown(() => mock.close())
  const call = async (method: string, url: string, payload?: object): Promise<[number, any]> => {
    const answer = await mock.inject({
      method: method as 'GET',
      url,
      headers: { 'x-api-key': 'any' },
      ...(payload !== undefined && { payload }),
    })
    return [answer.statusCode, answer.body === '' ? null : answer.json()]
  }
  t.same(await call('GET', '/pets'), [200, []])
  const headers = { 'x-api-key': 'any', 'content-type': 'nothing' }
  t.equal((await mock.inject({ method: 'POST', url: '/pets', headers, payload: '{}' })).statusCode, 415)
  const [status, pet] = await call('POST', '/pets', { name: 'Mia', species: 'cat' })
  t.equal(status, 201)
  t.match(pet, { name: 'Mia', species: 'cat' })
  t.same(await call('GET', `/pets/${pet.id}`), [200, pet])
  t.same(await call('GET', '/pets?species=cat'), [200, [pet]])
  t.same(await call('GET', '/pets?species=dog'), [200, []])
  await call('PUT', `/pets/${pet.id}`, { name: 'Max', species: 'dog' })
  t.match(await call('GET', `/pets/${pet.id}`), [200, { id: pet.id, name: 'Max', species: 'dog' }])
  t.equal((await call('DELETE', `/pets/${pet.id}`))[0], 204)
  t.equal((await call('GET', `/pets/${pet.id}`))[0], 404)
  t.same(await call('GET', '/pets'), [200, []])
})

const coupon = {
  description: 'It.',
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Coupon' } } },
}
const tags = { type: 'array', items: { type: 'string' } }
const sentTags = { anyOf: [tags, { type: 'string', enum: [''] }] }
const coupons = {
  openapi: '3.1.0',
  info: { title: 'Coupons', version: '1' },
  paths: {
    '/coupons': {
      post: {
        requestBody: {
          content: {
            'application/json': { schema: { $ref: '#/components/schemas/Coupon' } },
            'application/x-www-form-urlencoded': {
              schema: { type: 'object', properties: { tags: sentTags } },
            },
          },
        },
        responses: { '200': coupon },
      },
    },
    '/coupons/{coupon}': {
      get: {
        parameters: [{ name: 'coupon', in: 'path', required: true, schema: { type: 'string' } }],
        responses: { '200': coupon },
      },
    },
  },
  components: { schemas: { Coupon: { type: 'object', properties: { id: { type: 'string' }, tags } } } },
}

t.test('an id that no path can have is replaced', async (t) => {
  const mock = await createMock({ document: coupons })
  t.teardown(() => mock.close())
  const idFor = async (id: string): Promise<string> => {
    const made = await mock.inject({ method: 'POST', url: '/coupons', payload: { id } })
    t.same((await mock.inject(`/coupons/${made.json().id}`)).json(), made.json())
    return made.json().id
  }
  for (const id of ['', '..', '\ud800', 'x'.repeat(2000)]) t.not(await idFor(id), id)
  t.equal(await idFor('SUMMER'), 'SUMMER')
})

t.test('a list of one value stays a list where the form also takes a text', async (t) => {
  const mock = await createMock({ document: coupons })
  t.teardown(() => mock.close())
  const made = await mock.inject({
    method: 'POST',
    url: '/coupons',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: 'tags[0]=new',
  })
  t.same(made.json().tags, ['new'])
})

t.test(
  'a value that is no object can be replaced, and errors are the examples of the document',
  async (t) => {
    const document = await readOpenapi(
      join(import.meta.dirname, '../../../test/support/contract/strangers/tictactoe.yaml'),
    )
    const mock = await createMock({ document })
    t.teardown(() => mock.close())
    const headers = { authorization: 'Bearer any' }
    t.equal((await mock.inject({ url: '/board/1/2', headers })).json(), '.')
    const put = {
      method: 'PUT',
      url: '/board/1/2',
      headers: { ...headers, 'content-type': 'application/json' },
    }
    t.equal((await mock.inject({ ...put, method: 'PUT', payload: '"X"' })).statusCode, 200)
    t.equal((await mock.inject({ url: '/board/1/2', headers })).json(), 'X')
    t.equal((await mock.inject({ url: '/board/2/2', headers })).json(), '.')
    const outside = await mock.inject({ url: '/board/7/2', headers })
    t.same([outside.statusCode, outside.body], [400, 'Illegal coordinates'])
  },
)

t.test('the ids depend on the seed', async (t) => {
  const document = await contractOf('library.yaml')
  const idOf = async (seed: number): Promise<string> => {
    const mock = await createMock({ document, seed })
    const headers = { authorization: 'Bearer any' }
    const answer = await mock.inject({ method: 'POST', url: '/api/authors', headers, payload: { name: 'A' } })
    await mock.close()
    return answer.json().id
  }
  t.equal(await idOf(1), await idOf(1))
  t.not(await idOf(1), await idOf(2))
})

t.test('a key in a cookie may be encoded', async (t) => {
  const mock = await createMock({
    document: {
      openapi: '3.1.0',
      info: { title: 'Cookies', version: '1' },
      security: [{ session: [] }],
      paths: { '/a': { get: { operationId: 'getA', responses: { 204: answer() } } } },
      components: { securitySchemes: { session: { type: 'apiKey', in: 'cookie', name: 'session' } } },
    },
    key: 'any:key',
  })
  t.teardown(() => mock.close())
  for (const [cookie, status] of [
    ['session=any:key', 204],
    ['other=1; session=any%3Akey', 204],
    ['session=other', 401],
  ] as const)
    t.equal((await mock.inject({ url: '/a', headers: { cookie } })).statusCode, status, cookie)
})
