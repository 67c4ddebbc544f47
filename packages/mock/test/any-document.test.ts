// The mock serves contracts of other APIs: what a client creates can be read, listed, changed and deleted,
// the ids depend only on the seed, and the contract tests find nothing.
import { join } from 'node:path'
import t from 'tap'
import { openapi } from '@platform-api/contract/profile.ts'
import { runContract } from '@platform-api/contract/run-all.ts'
import { createMock } from '../server.ts'
import { readOpenapi } from '@platform-api/openapi/read.ts'

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

for (const name of ['pet-store.yaml', 'library.yaml', 'secrets'])
  t.test(`the mock of ${name} conforms to its contract`, async (t) => {
    const document = name === 'secrets' ? secrets : await contractOf(name)
    const mock = await createMock({ document, key: 'a-key-of-the-test' })
    t.teardown(() => mock.close())
    const { findings, unfinished } = await runContract({
      profile: openapi,
      document: openapi.prepare(document),
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
