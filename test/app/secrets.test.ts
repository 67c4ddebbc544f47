// Secrets: logs and errors contain none, a SERVER_ERROR has no details, and responses only declared fields.
import t from 'tap'
import { handlers } from '../../generated/routes.ts'
import { createClient } from '../support/http/client.ts'
import { startServer } from '../support/server/server.ts'
import { upload, uploadFile } from '../support/storage/storage.ts'

t.test('the log contains no secrets, bodies, query strings or headers', async (t) => {
  const server = await startServer(t, { env: { LOG_LEVEL: 'trace' } })
  const { client, key, email } = await server.person()
  const canary = 'canary-7f3a'
  const made = await client.post(
    '/user/api-keys',
    { name: canary, scopes: ['user:read'] },
    { headers: { 'idempotency-key': `${canary}-key` } },
  )
  await client.post('/projects', { name: canary, description: canary })
  await client.get(`/projects?q=${canary}`)
  await client.put('/user/profile', { bio: canary })
  await client.post('/projects', { name: canary, unknown: canary })
  await client.post('/projects', undefined, {
    raw: `{"name": "${canary}`,
    headers: { 'content-type': 'application/json' },
  })
  await createClient(server.url, 'plat_live_canary-7f3a').get('/user/profile')
  await client.get('/user/profile', { headers: { cookie: canary, referer: canary, 'user-agent': canary } })
  await server.services.lastUsed.flush()
  const log = server.logs.join('\n')
  t.ok(server.logs.length >= 8)
  for (const secret of [canary, key, made.body.key, email]) t.notOk(log.includes(secret), secret)
})

t.test('a database error is logged without the values of the statement', async (t) => {
  const server = await startServer(t)
  const { client, id } = await server.person()
  const canary = 'canary-51c2'
  const file = await uploadFile(client)
  await server.services.database.pool.query(`
    ALTER TABLE files ADD CONSTRAINT refusing CHECK (path <> 'refused') NOT VALID;
    ALTER TABLE users ADD CONSTRAINT refusing CHECK (locale <> 'de') NOT VALID`)
  const fields = { path: 'refused', metadata: JSON.stringify({ secret: canary }), tags: canary }
  t.equal((await upload(client, { name: canary, fields })).status, 500)
  t.equal(
    (await client.put(`/storage/files/${file.id}`, { path: 'refused', metadata: { secret: canary } })).status,
    500,
  )
  t.equal((await client.put('/user/profile', { locale: 'de', bio: canary })).status, 500)
  const failures = server.logs.map((text) => JSON.parse(text)).filter(({ msg }) => msg === 'request failed')
  t.equal(failures.length, 3)
  t.match(failures[0].err, { code: '23514', table: 'files', constraint: 'refusing', stack: /insertFile/ })
  for (const secret of [canary, id])
    t.notOk(JSON.stringify(failures.map(({ err }) => err)).includes(secret), secret)
})

t.test('an X-Request-ID cannot inject a line into the log', async (t) => {
  const server = await startServer(t)
  const { client } = await server.person()
  const lines = (): string[] => server.logs.filter((line) => !line.includes('the main thread stalled'))
  const before = lines().length
  const long = await client.get('/user/profile', { headers: { 'x-request-id': 'x'.repeat(129) } })
  t.match(long.headers.get('x-request-id'), /^req_/)
  const own = await client.get('/user/profile', { headers: { 'x-request-id': 'my {"id": 1}' } })
  t.equal(own.headers.get('x-request-id'), 'my {"id": 1}')
  t.equal(lines().length, before + 2)
  t.match(JSON.parse(server.logs.at(-1)!), { request_id: /^req_/, client_request_id: 'my {"id": 1}' })
})

t.test('an unexpected error is answered without details, and the log has all of them', async (t) => {
  const server = await startServer(t, {
    handlers: {
      ...handlers,
      async getProfile() {
        throw new Error('password=hunter2 at 10.0.0.5')
      },
    },
  })
  const { client } = await server.person()
  const { status, body, headers } = await client.get('/user/profile')
  t.equal(status, 500)
  t.same(Object.keys(body.error.details), ['reason', 'request_id'])
  t.notOk(JSON.stringify(body).includes('hunter2'))
  const line = server.logs.map((text) => JSON.parse(text)).find((entry) => entry.msg === 'request failed')
  t.equal(line.request_id, headers.get('x-request-id'))
  t.match(line.err, { message: /hunter2/, stack: /secrets\.test/ })
})

t.test('an undeclared field is removed from the response in production', async (t) => {
  const leak = {
    ...handlers,
    async getProfile(request: any, services: any) {
      const answer = (await handlers.getProfile(request, services)) as any
      return { ...answer, body: { ...answer.body, password_hash: 'x' } }
    },
  }
  const production = await startServer(t, { handlers: leak, env: { VALIDATE_RESPONSES: 'false' } })
  const { client } = await production.person()
  const { status, body } = await client.get('/user/profile')
  t.equal(status, 200)
  t.notOk('password_hash' in body)

  const strict = await startServer(t, { handlers: leak })
  t.equal(
    (await (await strict.person()).client.get('/user/profile')).status,
    500,
    'an undeclared field is a 500 with VALIDATE_RESPONSES',
  )
})
