// Changing an API key, and the IP addresses that it can be used from.
import t from 'tap'
import { createClient, type Client } from '../support/http/client.ts'
import { startServer } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'
import { Networks } from '../../services/users/networks.ts'

const server = await startServer(t, { env: { TRUST_PROXY: '127.0.0.1' } })
const scopes = ['user:read', 'keys:write']
const forbidden = (constraint: string) => ({ status: 403, body: { error: { details: { constraint } } } })

/** Makes a key with the client and returns it with its own client. */
async function make(client: Client, fields: Record<string, unknown> = {}) {
  const { status, body } = await client.post('/user/api-keys', { name: 'made', scopes, ...fields })
  t.equal(status, 201)
  return { ...body, client: createClient(server.url, body.key) } as {
    id: string
    client: Client
  } & typeof body
}

/** The status that a client gets from an address. */
const statusFrom = async (client: Client, address: string, path = '/user/profile'): Promise<number> =>
  (await client.get(path, { headers: { 'x-forwarded-for': address } })).status

t.test('a key is used from its addresses only', async (t) => {
  const { client } = await server.person()
  const key = await make(client, { allowed_addresses: ['203.0.113.7', '198.51.100.0/24', '2001:db8::/32'] })
  for (const address of ['203.0.113.7', '198.51.100.255', '2001:db8::1', '::ffff:203.0.113.7'])
    t.equal(await statusFrom(key.client, address), 200, address)
  for (const address of ['203.0.113.8', '198.51.101.0', '2001:db9::1', '127.0.0.1', 'unknown'])
    t.equal(await statusFrom(key.client, address), 403, address)
  t.match(await key.client.get('/key'), forbidden('allowed_addresses'), 'also where no scope is needed')
  t.match(await key.client.delete(`/user/api-keys/${key.id}`), forbidden('allowed_addresses'))
  t.equal(await statusFrom(key.client, '203.0.113.7'), 200, 'a refused request changes nothing')
  const current = await key.client.get('/key', { headers: { 'x-forwarded-for': '203.0.113.7' } })
  t.same(current.body.allowed_addresses, key.allowed_addresses)
})

t.test('a changed list applies to the next request on every server', async (t) => {
  const second = await startServer(t, { databaseUrl: server.databaseUrl })
  await waitUntil(() => server.services.principals.listening && second.services.principals.listening)
  const { client } = await server.person()
  const key = await make(client)
  const other = createClient(second.url, key.key)
  for (let i = 0; i < 20; i++) {
    t.equal((await other.get('/user/profile')).status, 200)
    await client.put(`/user/api-keys/${key.id}`, { allowed_addresses: ['203.0.113.7'] })
    t.match(await other.get('/user/profile'), forbidden('allowed_addresses'))
    await client.put(`/user/api-keys/${key.id}`, { allowed_addresses: null })
  }
})

t.test('a key makes and changes no key that can be used from more addresses than itself', async (t) => {
  const { client } = await server.person()
  const wide = await make(client)
  const parent = await make(client, { allowed_addresses: ['127.0.0.0/8', '2001:db8::/32'] })
  t.same((await make(parent.client)).allowed_addresses, parent.allowed_addresses, 'the default')
  t.ok(await make(parent.client, { allowed_addresses: ['127.0.0.1', '2001:db8:1::/48'] }))
  for (const list of [null, ['0.0.0.0/0'], ['127.0.0.1', '203.0.113.7'], ['2001:d00::/24'], ['::/0']]) {
    const made = await parent.client.post('/user/api-keys', { name: 'x', scopes, allowed_addresses: list })
    t.match(made, forbidden('allowed_addresses'))
    const changed = await parent.client.put(`/user/api-keys/${parent.id}`, { allowed_addresses: list })
    t.match(changed, forbidden('allowed_addresses'))
  }
  t.match(await parent.client.post(`/user/api-keys/${wide.id}/rotate`), forbidden('allowed_addresses'))
  t.match(await parent.client.put(`/user/api-keys/${wide.id}`, { name: 'x' }), forbidden('allowed_addresses'))
  const rotated = await client.post(`/user/api-keys/${parent.id}/rotate`)
  t.same(rotated.body.allowed_addresses, parent.allowed_addresses, 'a rotation keeps the list')
})

t.test('an open stream ends when its key loses addresses, and goes on when it gets more', async (t) => {
  const { client } = await server.person()
  const key = await make(client, { allowed_addresses: ['127.0.0.1'] })
  const aborted = new AbortController()
  const { body } = await fetch(`${server.url}/v1/events/stream`, {
    headers: { authorization: `Bearer ${key.key}` },
    signal: aborted.signal,
  })
  let text = ''
  const reading = (async () => {
    for await (const chunk of body!.pipeThrough(new TextDecoderStream())) text += chunk
  })()
  const path = `/user/api-keys/${key.id}`
  await client.put(path, { allowed_addresses: ['127.0.0.0/8'] })
  await waitUntil(() => text.includes('api_key.updated'), 'the event of the first change')
  await client.put(path, { allowed_addresses: ['127.0.0.2'] })
  await waitUntil(() => text.includes('event: end'), 'the stream to end')
  await reading
  t.match(text, /"reason":"unauthorized"/)
  t.notMatch(text, /127\.0\.0\.2/, 'it does not show what came after')
  aborted.abort()
})

t.test('text that is no address and no network is refused by name', async (t) => {
  const { client } = await server.person()
  for (const wrong of [
    '1.2.3',
    '10',
    '1.2.3.4/33',
    '::/129',
    ':::',
    'ffff',
    '1.2.3.4/',
    '0x7f.0.0.1',
    '010.0.0.1',
  ]) {
    const { status, body } = await client.post('/user/api-keys', {
      name: 'x',
      scopes,
      allowed_addresses: ['127.0.0.1', wrong],
    })
    t.equal(status, 400, wrong)
    const constraint = /x|\/$/.test(wrong) ? 'pattern' : 'network'
    t.match(body.error.details, { field: 'allowed_addresses[1]', constraint }, wrong)
  }
})

t.test('scopes are only removed, and the removed ones are missing from the next request on', async (t) => {
  const { client } = await server.person()
  const key = await make(client, { scopes: ['user:read', 'projects:read'] })
  const path = `/user/api-keys/${key.id}`
  t.match(await client.put(path, { scopes: ['user:read', 'projects:write'] }), forbidden('scope'))
  t.equal((await key.client.get('/projects')).status, 200)
  t.match(await client.put(path, { name: 'less', scopes: ['user:read'] }), {
    status: 200,
    body: { name: 'less' },
  })
  t.match(await key.client.get('/projects'), forbidden('scope'))
  t.equal((await key.client.get('/key')).body.name, 'less', 'the name is not the cached one')
  t.match(await client.put(path, { scopes: ['user:read', 'projects:read'] }), forbidden('scope'))
  const lesser = await make(client, { scopes: ['keys:write'] })
  t.match(await lesser.client.put(path, { name: 'x' }), forbidden('scope'), 'a key with more scopes')
  t.match(await (await server.person()).client.put(path, { name: 'x' }), forbidden('owner'))
  await client.delete(path)
  t.match(await client.put(path, { name: 'x' }), { status: 409, body: { error: { code: 'INVALID_STATE' } } })
})

t.test('of changes at once, each is in the events, and an equal one is not', async (t) => {
  const { client } = await server.person()
  const key = await make(client)
  const after = (await client.get('/events?limit=100')).body.next_cursor
  const path = `/user/api-keys/${key.id}`
  const all = await Promise.all(
    Array.from({ length: 10 }, (_, i) => client.put(path, { metadata: { [`k${i}`]: 'v' } })),
  )
  t.ok(all.every(({ status }) => status === 200))
  t.equal(Object.keys((await client.get(path)).body.metadata).length, 10, 'no change is lost')
  await client.put(path, { metadata: { k1: 'v' } })
  const { data } = (await client.get(`/events?cursor=${after}&type=api_key.updated`)).body
  t.equal(data.length, 10)
})

t.test('a key shows the address of its last use', async (t) => {
  const { client } = await server.person()
  const key = await make(client)
  t.equal(key.last_used_ip, null)
  const { etag } = Object.fromEntries((await client.get(`/user/api-keys/${key.id}`)).headers)
  await statusFrom(key.client, '203.0.113.9')
  await server.services.lastUsed.flush()
  const used = await client.get(`/user/api-keys/${key.id}`)
  t.equal(used.body.last_used_ip, '203.0.113.9')
  t.equal(used.headers.get('etag'), etag, 'not part of the ETag')
})

t.test('networks', async (t) => {
  const networks = new Networks(['10.0.0.0/8', '::1'])
  t.ok(networks.includes(new Networks(['10.1.0.0/16', '10.2.3.4', '::1'])))
  for (const wider of ['0.0.0.0/0', '10.0.0.0/7', '11.0.0.1', '::/0', '::2'])
    t.notOk(networks.includes(new Networks([wider])), wider)
  t.ok(new Networks(['0.0.0.0/0']).has('::ffff:1.2.3.4'))
  t.notOk(new Networks(['::/0']).has('1.2.3.4'), 'IPv6 networks have no IPv4 addresses')
})
