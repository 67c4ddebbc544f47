// The requests of a user that a server works on at once: the others wait, and too many are refused.
import pg from 'pg'
import t from 'tap'
import { createClient } from '../support/http/client.ts'
import { startServer } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'

const server = await startServer(t, { env: { DATABASE_POOL_SIZE: '5', REQUESTS_PER_USER: '6' } })

t.test('a user whose requests wait for a lock leaves connections to others', async (t) => {
  const [busy, other] = [await server.person(), await server.person()]
  const secondKey = (await busy.client.post('/user/api-keys', { name: 'second', scopes: ['projects:write'] }))
    .body
  const clients = [busy.client, createClient(server.url, secondKey.key)]
  const { id } = (await busy.client.post('/projects', { name: 'Hot' })).body
  const holder = new pg.Client({ connectionString: server.databaseUrl })
  await holder.connect()
  t.teardown(() => holder.end())
  await holder.query('BEGIN')
  await holder.query('SELECT 1 FROM projects WHERE id = $1 FOR UPDATE', [id])

  let refused = 0
  const changes = Array.from({ length: 9 }, async (_, i) => {
    const reply = await clients[i % 2].call('PATCH', `/projects/${id}`, { body: { name: `Name ${i}` } })
    if (reply.status === 429) refused++
    return reply
  })
  await waitUntil(() => refused === 3, 'three requests to be refused')
  const answer = busy.client.post('/ai/chat', { message: 'Hello' })
  t.equal((await other.client.get('/projects')).status, 200)
  t.equal((await other.client.post('/projects', { name: 'Meanwhile' })).status, 201)
  t.match((await other.client.get('/user/limits')).body.limits.find(isOpenRequests), { limit: 6, used: 1 })
  const { rows } = await holder.query(
    `SELECT count(*)::int AS waiting FROM pg_stat_activity
     WHERE datname = current_database() AND wait_event_type = 'Lock'`,
  )
  t.equal(rows[0].waiting, 2, 'two of the five connections')

  await holder.query('COMMIT')
  const replies = await Promise.all(changes)
  t.equal((await answer).status, 200, 'answers of AI models have a limit of their own')
  t.equal(replies.filter(({ status }) => status === 200).length, 6)
  const waits = server.logs
    .map((line) => JSON.parse(line))
    .filter(({ operation }) => operation === 'updateProject')
    .flatMap(({ waited_ms: waited }) => waited?.connection ?? [])
  t.equal(waits.length, 4, 'the log says for what the other four waited')
  t.ok(Math.min(...waits) >= 1)
  const [tooMany] = replies.filter(({ status }) => status === 429)
  t.match(tooMany.body.error, { code: 'RATE_LIMITED', details: { constraint: 'max_open' } })
  t.match(tooMany.headers.get('retry-after'), /^\d+$/)
  await waitUntil(async () => {
    const { body } = await busy.client.get('/user/limits')
    return body.limits.find(isOpenRequests).used === 1
  }, 'the last request to end')
})

t.test('a stream takes a turn only until it is open', async (t) => {
  const { client, key } = await server.person()
  const over = new AbortController()
  for (let i = 0; i < 8; i++) {
    const stream = await fetch(`${server.url}/v1/events/stream`, {
      headers: { authorization: `Bearer ${key}` },
      signal: over.signal,
    })
    t.equal(stream.status, 200)
  }
  t.equal((await client.get('/projects')).status, 200)
  over.abort()
})

function isOpenRequests({ name }: { name: string }): boolean {
  return name === 'open_requests'
}
