// The lineage of API keys: a key makes no key that may do more or outlives it, its revocation can reach all
// keys made with it, and a key that is limited to some projects reaches only these projects and its own keys.
import t from 'tap'
import { sentTo } from '../support/auth/mails.ts'
import { createClient, type Client } from '../support/http/client.ts'
import { newEmail } from '../support/operations/operation-fixtures-auth.ts'
import { startWorkingServer } from '../support/server/working-server.ts'

const server = await startWorkingServer(t)
const inSeconds = (seconds: number): string => new Date(Date.now() + seconds * 1000).toISOString()
const clientOf = (key: string): Client => createClient(server.url, key)
const scopes = ['user:read', 'keys:write']

/** Makes a key with the client and returns it with its own client. */
async function make(client: Client, fields: Record<string, unknown> = {}) {
  const { status, body } = await client.post('/user/api-keys', { name: 'made', scopes, ...fields })
  t.equal(status, 201)
  return { ...body, client: clientOf(body.key) } as { id: string; key: string; client: Client } & typeof body
}

/** The `reason` of the 401 that the client gets; undefined if the key works. */
const refusal = async (client: Client): Promise<string | undefined> =>
  (await client.get('/user/profile')).body.error?.details.reason

t.test('a key makes no key that expires later', async (t) => {
  const { client } = await server.person()
  const end = inSeconds(3600)
  const parent = await make(client, { expires_at: end })
  t.equal((await make(parent.client)).expires_at, end, 'by default the key expires with its parent')
  t.equal((await make(parent.client, { expires_at: end })).expires_at, end)
  for (const late of [null, inSeconds(3601)]) {
    const made = await parent.client.post('/user/api-keys', { name: 'x', scopes, expires_at: late })
    t.match(made, { status: 403, body: { error: { details: { constraint: 'expires_at' } } } })
    const rotated = await parent.client.post(`/user/api-keys/${parent.id}/rotate`, { expires_at: late })
    t.match(rotated, { status: 403, body: { error: { details: { constraint: 'expires_at' } } } })
  }
  const eternal = await make(client)
  const other = await parent.client.post(`/user/api-keys/${eternal.id}/rotate`)
  t.match(other, { status: 403, body: { error: { details: { constraint: 'expires_at' } } } })
  t.equal(await refusal(eternal.client), undefined, 'a refused rotation revokes nothing')
  const rotated = await parent.client.post(`/user/api-keys/${parent.id}/rotate`)
  t.match(rotated, { status: 201, body: { expires_at: end } })
})

t.test('a key names its parent; a rotation keeps it', async (t) => {
  const { client } = await server.person()
  const { data: keys } = (await client.get('/user/api-keys')).body
  t.equal(keys[0].created_by_key, null, 'the first key')
  const child = await make(client)
  t.equal(child.created_by_key, keys[0].id)
  t.equal((await client.get(`/user/api-keys/${child.id}`)).body.created_by_key, keys[0].id)
  const { body: rotated } = await child.client.post(`/user/api-keys/${child.id}/rotate`)
  t.equal(rotated.created_by_key, keys[0].id)
})

t.test('revoking a key revokes the keys made with it only on request', async (t) => {
  const { client } = await server.person()
  const child = await make(client)
  const grandchild = await make(child.client)
  t.equal((await client.delete(`/user/api-keys/${child.id}`)).status, 204)
  t.equal(await refusal(grandchild.client), undefined)
  t.equal((await client.delete(`/user/api-keys/${child.id}?cascade=true`)).status, 204)
  t.equal(await refusal(grandchild.client), 'revoked', 'a later request finds them, too')
})

t.test('a cascade reaches every descendant, also through rotations, and no other key', async (t) => {
  const { client } = await server.person()
  const beside = await make(client)
  const leaked = await make(client)
  const child = await make(leaked.client)
  const { body: next } = await leaked.client.post(`/user/api-keys/${leaked.id}/rotate`)
  const late = await make(clientOf(next.key))
  const { body: grown } = await client.post(`/user/api-keys/${child.id}/rotate`)
  const grandchild = await make(clientOf(grown.key))
  const after = (await client.get('/events?limit=100')).body.next_cursor
  t.equal((await client.delete(`/user/api-keys/${leaked.id}?cascade=true`)).status, 204)
  for (const key of [next.key, late.key, grown.key, grandchild.key])
    t.equal(await refusal(clientOf(key)), 'revoked')
  t.equal(await refusal(client), undefined)
  t.equal(await refusal(beside.client), undefined)
  const { data: events } = (await client.get(`/events?cursor=${after}&type=api_key.revoked`)).body
  t.same(
    events.map(({ data }: any) => [data.object.id, data.previous_attributes.revoked_at]).sort(),
    [next.id, late.id, grown.id, grandchild.id].map((id) => [id, null]).sort(),
    'one event for each key',
  )
})

t.test('a cascade reaches what a leaked key made of a key beside it, with an alert', async (t) => {
  const email = newEmail()
  const { client } = await server.person({ email })
  const beside = await make(client)
  const leaked = await make(client)
  const path = `/user/api-keys/${beside.id}/rotate`
  const { body: taken } = await leaked.client.post(path, { overlap_seconds: 60 })
  t.equal(taken.created_by_key, leaked.id)
  const alerts = await sentTo(server, email, { kind: 'api_key_created_by_key' })
  t.equal(alerts.length, 3, 'for both that were made, and for the rotation')
  t.equal((await client.delete(`/user/api-keys/${leaked.id}?cascade=true`)).status, 204)
  t.equal(await refusal(clientOf(taken.key)), 'revoked')
})

t.test('a key that only makes keys takes them along by default', async (t) => {
  const { client } = await server.person()
  const maker = await make(client, { scopes: ['keys:write'] })
  const made = await make(maker.client, { scopes: ['keys:write'] })
  const { body: next } = await maker.client.post(`/user/api-keys/${maker.id}/rotate`, { overlap_seconds: 60 })
  t.equal((await client.delete(`/user/api-keys/${maker.id}`)).status, 204)
  t.equal((await client.get(`/user/api-keys/${made.id}`)).body.revoked_at, null, 'the new key has them now')
  t.equal((await client.delete(`/user/api-keys/${next.id}`)).status, 204)
  t.not((await client.get(`/user/api-keys/${made.id}`)).body.revoked_at, null)
  const kept = await make(client, { scopes: ['keys:write'] })
  const child = await make(kept.client, { scopes: ['keys:write'] })
  t.equal((await client.delete(`/user/api-keys/${kept.id}?cascade=false`)).status, 204)
  t.equal((await client.get(`/user/api-keys/${child.id}`)).body.revoked_at, null)
})

t.test('a key that makes keys while it is revoked leaves none behind', async (t) => {
  const { client, id } = await server.person()
  for (let round = 0; round < 5; round++) {
    const leaked = await make(client)
    const racing = Array.from({ length: 8 }, () =>
      leaked.client.post('/user/api-keys', { name: `race ${round}`, scopes }),
    )
    const revoked = await client.delete(`/user/api-keys/${leaked.id}?cascade=true`)
    const statuses = (await Promise.all(racing)).map(({ status }) => status)
    t.equal(revoked.status, 204)
    t.ok(
      statuses.every((status) => status === 201 || status === 401),
      `${statuses}`,
    )
    const where = { userId: id, name: `race ${round}`, revokedAt: null }
    t.equal(await server.services.database.prisma.apiKey.count({ where }), 0)
  }
})

t.test('a key that is limited to some projects', async (t) => {
  const { client, key } = await server.person()
  const { id: project } = (await client.post('/projects', { name: 'one' })).body
  const { body: all } = await client.get('/user/api-keys')
  const limited = await make(client, {
    scopes: ['user:read', 'user:write', 'keys:write', 'projects:write', 'webhooks:read', 'webhooks:write'],
    project_ids: [project],
  })
  const bound = limited.client
  const child = await make(bound, { project_ids: [project] })
  const forbidden = { status: 403, body: { error: { details: { constraint: 'project_ids' } } } }

  t.test('lists and reads only itself and the keys made with it', async (t) => {
    const { data, pagination } = (await bound.get('/user/api-keys?order=asc')).body
    t.same(
      data.map(({ id }: any) => id),
      [limited.id, child.id],
    )
    t.equal(pagination.total, 2)
    t.equal((await bound.get(`/user/api-keys/${child.id}`)).status, 200)
    t.match(await bound.get(`/user/api-keys/${all.data[0].id}`), forbidden)
  })

  t.test('rotates and revokes no other key', async (t) => {
    t.match(await bound.delete(`/user/api-keys/${all.data[0].id}`), forbidden)
    t.match(await bound.delete(`/user/api-keys/${all.data[0].id}?cascade=true`), forbidden)
    t.match(await bound.post(`/user/api-keys/${all.data[0].id}/rotate`), forbidden)
    t.equal(await refusal(clientOf(key)), undefined)
    t.equal((await bound.delete(`/user/api-keys/${child.id}`)).status, 204)
  })

  t.test('changes neither profile, settings nor avatar', async (t) => {
    t.match(await bound.put('/user/profile', { bio: 'x' }), forbidden)
    t.match(await bound.put('/user/settings', { theme: 'dark' }), forbidden)
    t.match(await bound.delete('/user/avatar'), forbidden)
    t.match(await bound.post('/user/avatar', { any: 'body' }), forbidden)
    t.match(await bound.post('/projects', { name: 'two' }), forbidden)
    t.equal((await bound.get('/user/profile')).body.bio, null)
  })

  t.test('sees only webhook endpoints of its projects', async (t) => {
    const endpoint = { url: 'http://127.0.0.1:9/hidden', event_types: ['*'] }
    const { id } = (await client.post('/webhooks/endpoints', endpoint)).body
    const own = await bound.post('/webhooks/endpoints', { ...endpoint, url: 'http://127.0.0.1:9/own' })
    t.equal(own.status, 201)
    t.match(await bound.get(`/webhooks/endpoints/${id}`), { status: 403 })
    t.equal((await bound.get(`/webhooks/endpoints/${own.body.id}`)).status, 200)
    const { data, pagination } = (await bound.get('/webhooks/endpoints')).body
    t.same(
      data.map(({ url }: any) => url),
      ['http://127.0.0.1:9/own'],
    )
    t.equal(pagination.total, 1)
    t.notOk((await bound.get('/events?limit=100')).text.includes('hidden'), 'nor in the event log')
  })

  t.test('with the scope admin does nothing for the whole platform', async (t) => {
    const { id: mine } = (await server.admin.client.post('/projects', { name: 'of the admin' })).body
    const admin = await make(server.admin.client, {
      scopes: ['admin', 'user:read', 'payments:read', 'payments:write'],
      project_ids: [mine],
    })
    t.match(await admin.client.get('/users'), forbidden)
    t.match(
      await admin.client.post('/users', { name: 'x', email: 'x@example.com', role: 'admin' }),
      forbidden,
    )
    t.match(await admin.client.post('/payments/products', { name: 'x' }), forbidden)
    t.match(await admin.client.get('/payments/test-clock'), forbidden)
    t.match(await admin.client.get('/payments/orders'), { status: 403 })
    const { data } = (await admin.client.get('/events?limit=100')).body
    t.notOk(data.some(({ type }: any) => type.startsWith('user.')))
  })
})

t.test('the first key of a new user is not replayed to a key with fewer permissions', async (t) => {
  const body = { name: 'New', email: 'new@example.com' }
  const headers = { 'idempotency-key': 'new-user' }
  const { admin } = server
  t.equal((await admin.client.post('/users', body, { headers })).status, 201)
  t.equal((await admin.client.post('/users', body, { headers })).status, 201, 'the same key')
  const lesser = await make(admin.client, { scopes: ['admin'] })
  const replayed = await lesser.client.post('/users', body, { headers })
  t.equal(replayed.status, 403)
  t.notOk(replayed.text.includes('plat_'))
})
