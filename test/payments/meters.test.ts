// Meters: which fields fit together, and who knows a meter.
import t, { type Test } from 'tap'
import { startServer } from '../support/server/server.ts'

const server = await startServer(t)
const { client } = server.admin

let count = 0
const fields = (more: object = {}): object => ({
  key: `tokens_${count++}`,
  name: 'Tokens',
  aggregation: 'sum',
  property: 'tokens',
  ...more,
})

const refused: Array<[string, object, string]> = [
  ['a sum without a property', { property: null }, 'property'],
  ['a count with a property', { aggregation: 'count' }, 'property'],
  ['a source of events', { source: 'tokens' }, 'property'],
  ['a source that is not added up', { source: 'tokens', property: null, aggregation: 'max' }, 'aggregation'],
  ['a dimension that is there twice', { dimensions: ['model', 'model'] }, 'dimensions[1]'],
  ['a dimension with the name of a period', { dimensions: ['model', 'day'] }, 'dimensions[1]'],
  [
    'a dimension that the platform does not have',
    { source: 'tokens', property: null, dimensions: ['region'] },
    'dimensions[0]',
  ],
]
for (const [what, change, field] of refused) {
  t.test(`a meter is refused: ${what}`, async (t: Test) => {
    const reply = await client.post('/payments/meters', fields(change))
    t.match(reply, { status: 400, body: { error: { details: { field } } } })
  })
}

t.test('a meter with a source is the operator’s', async (t: Test) => {
  const source = { source: 'tokens', property: undefined, dimensions: ['model', 'project_id'] }
  const created = await client.post('/payments/meters', fields(source))
  t.match(created, { status: 201, body: { source: 'tokens', property: null, organization_id: null } })
  const owner = await server.person()
  const { id } = (await owner.client.post('/organizations', { name: 'Shop' })).body
  const refusal = await owner.client.post('/payments/meters', fields({ ...source, organization_id: id }))
  t.match(refusal, { status: 400, body: { error: { details: { field: 'source' } } } })
})

t.test('a key belongs to one meter of a seller', async (t: Test) => {
  const owner = await server.person()
  const { id: organization_id } = (await owner.client.post('/organizations', { name: 'Shop' })).body
  const key = 'seats'
  const own = await owner.client.post('/payments/meters', fields({ key, organization_id }))
  t.match(own, { status: 201, body: { organization_id, key } })
  t.match(await client.post('/payments/meters', fields({ key })), { status: 201 })
  const taken = { error: { details: { constraint: 'key_taken', field: 'key' } } }
  t.match(await client.post('/payments/meters', fields({ key })), { status: 409, body: taken })
  const again = await owner.client.post('/payments/meters', fields({ key, organization_id }))
  t.match(again, { status: 409, body: taken })
})

t.test('only its seller knows a meter', async (t: Test) => {
  const [owner, stranger] = [await server.person(), await server.person()]
  const { id: organization_id } = (await owner.client.post('/organizations', { name: 'Shop' })).body
  const { id } = (await owner.client.post('/payments/meters', fields({ organization_id }))).body
  const { id: operators } = (await client.post('/payments/meters', fields())).body
  for (const [person, meter] of [
    [stranger, id],
    [stranger, operators],
    [owner, operators],
    [server.admin, id],
  ] as const) {
    t.match(await person.client.get(`/payments/meters/${meter}`), { status: 404 })
    t.match(await person.client.put(`/payments/meters/${meter}`, { name: 'Mine' }), { status: 404 })
  }
  t.match(await owner.client.put(`/payments/meters/${id}`, { active: false }), {
    status: 200,
    body: { active: false },
  })
  t.match(await stranger.client.get(`/payments/meters?organization_id=${organization_id}`), { status: 404 })
  t.match(await stranger.client.get('/payments/meters'), { status: 403 })
})
