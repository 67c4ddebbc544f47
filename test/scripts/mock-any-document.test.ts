// The mock serves contracts of other APIs: what a client creates can be read, listed, changed and deleted,
// the ids depend only on the seed, and the contract tests find nothing.
import { join } from 'node:path'
import t from 'tap'
import { preparedDocument } from '../../scripts/contract/main.ts'
import { runContract } from '../../scripts/contract/run-all.ts'
import { createMock } from '../../scripts/mock/server.ts'
import { readOpenapi } from '../../scripts/openapi/read.ts'

const contractOf = (name: string): Promise<any> =>
  readOpenapi(join(import.meta.dirname, '../support/foreign-servers', name))

for (const name of ['pet-store.yaml', 'library.yaml'])
  t.test(`the mock of ${name} conforms to its contract`, async (t) => {
    const document = await contractOf(name)
    const mock = await createMock({ document, key: 'a-key-of-the-test' })
    t.teardown(() => mock.close())
    const { findings, unfinished } = await runContract({
      profile: 'openapi',
      document: preparedDocument(document, 'openapi'),
      base: await mock.listen({ host: '127.0.0.1', port: 0 }),
      key: 'a-key-of-the-test',
      secondKey: null,
      seed: 3,
      runs: 3,
      readOnly: false,
      selected: ({ id }) => id !== 'getBook' && id !== 'updateBook',
      time: 120_000,
      onProgress: () => {},
    })
    t.same(findings.all, [])
    t.same(unfinished, [])
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
