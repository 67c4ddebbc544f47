// API keys: which keys are rejected, and that a change of a key applies on every server.
import { hash } from 'node:crypto'
import t from 'tap'
import { createClient } from '../support/http/client.ts'
import { startServer } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'
import { keyRetentionTasks } from '../../services/users/api-keys.ts'
import { allScopes } from '../../services/users/scopes.ts'
import { runRetention } from '../support/database/retention.ts'
import { isWellFormed, newSecret } from '../../infra/encryption/api-key-format.ts'

t.test('the format of a key', async (t) => {
  t.test('a typo of one character is detected without a database query', async (t) => {
    const secret = newSecret('live')
    t.ok(isWellFormed(secret))
    for (let i = 10; i < secret.length; i++) {
      const typo = secret.slice(0, i) + (secret[i] === 'a' ? 'b' : 'a') + secret.slice(i + 1)
      t.notOk(isWellFormed(typo), `character ${i}`)
    }
  })
  t.test('a thousand keys are all different and have one format', async (t) => {
    const keys = Array.from({ length: 1000 }, () => newSecret('test'))
    t.equal(new Set(keys).size, 1000)
    t.ok(keys.every((key) => /^plat_test_[0-9A-Za-z]{49}$/.test(key)))
  })
})

t.test('two servers on one database', async (t) => {
  const first = await startServer(t)
  const second = await startServer(t, { databaseUrl: first.databaseUrl })
  await waitUntil(() => first.services.principals.listening && second.services.principals.listening)
  const onSecond = (key: string) => createClient(second.url, key)

  t.test('a key revoked on one server is rejected by the other', async (t) => {
    const person = await first.person()
    const made = await person.client.post('/user/api-keys', { name: 'x', scopes: ['user:read'] })
    const other = onSecond(made.body.key)
    t.equal((await other.get('/user/profile')).status, 200)
    t.equal((await other.get('/user/profile')).status, 200, 'the second server has cached the key')
    t.equal((await person.client.delete(`/user/api-keys/${made.body.id}`)).status, 204)
    const refused = await other.get('/user/profile')
    t.equal(refused.status, 401, 'in the next request')
    t.equal(refused.body.error.details.reason, 'revoked')
    t.equal(refused.headers.get('www-authenticate'), 'Bearer error="invalid_token"')
  })

  t.test('a hundred revoked keys are each rejected by the other server in the next request', async (t) => {
    const person = await first.person()
    let served = 0
    for (let i = 0; i < 100; i++) {
      const made = await person.client.post('/user/api-keys', { name: 'x', scopes: ['user:read'] })
      const other = onSecond(made.body.key)
      await other.get('/user/profile')
      await person.client.delete(`/user/api-keys/${made.body.id}`)
      if ((await other.get('/user/profile')).status !== 401) served++
    }
    t.equal(served, 0)
  })

  t.test('a key revoked on a server is rejected by this server in the next request', async (t) => {
    const person = await first.person()
    for (let i = 0; i < 20; i++) {
      const made = await person.client.post('/user/api-keys', {
        name: 'x',
        scopes: ['user:read', 'keys:write'],
      })
      const own = createClient(first.url, made.body.key)
      await own.get('/user/profile')
      await own.delete(`/user/api-keys/${made.body.id}`)
      t.equal((await own.get('/user/profile')).status, 401)
    }
  })

  t.test('disabling, demoting or deleting the owner applies on every server', async (t) => {
    const person = await first.person({ role: 'admin' })
    const other = onSecond(person.key)
    t.equal((await other.get('/users')).status, 200)
    await first.admin.client.put(`/users/${person.id}`, { role: 'user' })
    t.equal((await other.get('/users')).status, 403)
    await first.admin.client.put(`/users/${person.id}`, { status: 'disabled' })
    t.equal((await other.get('/user/profile')).body.error?.details.reason, 'disabled')
    await first.admin.client.put(`/users/${person.id}`, { status: 'active' })
    t.equal((await other.get('/user/profile')).status, 200)
    await first.admin.client.delete(`/users/${person.id}`)
    t.equal((await other.get('/user/profile')).body.error?.details.reason, 'unknown')
  })

  t.test('a server that cannot receive notifications caches no keys', async (t) => {
    const person = await first.person()
    const other = onSecond(person.key)
    await other.get('/user/profile')
    const { prisma } = first.services.database
    await prisma.$executeRawUnsafe(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE application_name = 'platform listener' AND datname = current_database()`,
    )
    await waitUntil(() => !second.services.principals.listening, 'the server to notice the lost connection')
    second.statements.length = 0
    await other.get('/user/profile')
    t.ok(
      second.statements.some((text) => text.includes('api_keys')),
      'the key was read from the database',
    )
    await waitUntil(() => second.services.principals.listening, 'listening again')
    t.equal((await other.get('/user/profile')).status, 200)
  })
})

t.test('what is stored of a key', async (t) => {
  const server = await startServer(t)
  const { client, id } = await server.person()
  const made = await client.post('/user/api-keys', { name: 'secret', scopes: ['user:read'] })
  const { prisma } = server.services.database

  t.test('the secret is only in the response that creates the key', async (t) => {
    t.match(made.body, {
      name: 'secret',
      start: made.body.key.slice(0, 14),
      last_used_at: null,
      revoked_at: null,
      replaced_by: null,
    })
    t.notOk('key' in (await client.get(`/user/api-keys/${made.body.id}`)).body)
    t.notOk((await client.get('/user/api-keys')).text.includes(made.body.key))
    const row = await prisma.apiKey.findUniqueOrThrow({
      where: { id: made.body.id },
      omit: { digest: false },
    })
    t.equal(Buffer.from(row.digest).toString('hex'), hash('sha256', made.body.key, 'hex'))
    t.notOk(JSON.stringify(row).includes(made.body.key))
  })

  t.test('a stored idempotent response does not contain the secret in plain text', async (t) => {
    const headers = { 'idempotency-key': 'keep-me-3b1f' }
    const first = await client.post('/user/api-keys', { name: 'idem', scopes: ['user:read'] }, { headers })
    const record = await prisma.idempotencyRecord.findFirstOrThrow({ where: { ownerId: id } })
    t.notOk(Buffer.from(record.answer).includes(first.body.key))
    t.equal(
      (await client.post('/user/api-keys', { name: 'idem', scopes: ['user:read'] }, { headers })).body.key,
      first.body.key,
    )
  })

  t.test('a key with fewer permissions cannot get the secret by repeating the request', async (t) => {
    const narrow = await client.post('/user/api-keys', { name: 'narrow', scopes: ['keys:write'] })
    const body = { name: 'wide', scopes: ['projects:read', 'keys:write'] }
    const headers = { 'idempotency-key': 'wide-1' }
    t.equal((await client.post('/user/api-keys', body, { headers })).status, 201)
    const repeated = await createClient(server.url, narrow.body.key).post('/user/api-keys', body, { headers })
    t.equal(repeated.status, 403)
    t.notOk(repeated.text.includes('plat_'))
  })

  t.test('last_used_at is written without a write for each request', async (t) => {
    const own = createClient(server.url, made.body.key)
    server.statements.length = 0
    for (let i = 0; i < 20; i++) await own.get('/user/profile')
    await server.services.lastUsed.flush()
    t.equal(server.statements.filter((text) => text.includes('SET last_used_at')).length, 1)
    const { body } = await client.get(`/user/api-keys/${made.body.id}`)
    t.ok(Math.abs(Date.now() - Date.parse(body.last_used_at)) < 60_000)
  })

  t.test('a rotated key stays valid during the overlap', async (t) => {
    const rotated = await client.post(`/user/api-keys/${made.body.id}/rotate`, { overlap_seconds: 3600 })
    t.equal(rotated.status, 201)
    t.same(rotated.body.scopes, ['user:read'])
    t.not(rotated.body.key, made.body.key)
    t.equal((await createClient(server.url, made.body.key).get('/user/profile')).status, 200)
    t.equal((await createClient(server.url, rotated.body.key).get('/user/profile')).status, 200)
    const { body: old } = await client.get(`/user/api-keys/${made.body.id}`)
    t.ok(Date.parse(old.expires_at) > Date.now())
    t.equal(old.replaced_by, rotated.body.id)
    // A retry of the rotation must not return a key that ends with the overlap.
    const retried = await client.post(`/user/api-keys/${made.body.id}/rotate`, { overlap_seconds: 3600 })
    t.equal(retried.status, 409)
    t.match(retried.body.error, {
      code: 'INVALID_STATE',
      message: `The key was replaced by ${rotated.body.id}.`,
      details: { field: 'replaced_by', constraint: 'replaced' },
    })
    const again = await client.post(`/user/api-keys/${rotated.body.id}/rotate`)
    t.equal(
      (await createClient(server.url, rotated.body.key).get('/user/profile')).body.error.details.reason,
      'revoked',
    )
    t.equal((await client.post(`/user/api-keys/${rotated.body.id}/rotate`)).status, 409)
    t.equal((await createClient(server.url, again.body.key).get('/user/profile')).status, 200)
  })

  t.test('a key can have all scopes', async (t) => {
    const made = await server.admin.client.post('/user/api-keys', { name: 'all', scopes: allScopes })
    t.match(made, { status: 201, body: { scopes: allScopes } })
    t.equal(
      (await server.admin.client.put(`/user/api-keys/${made.body.id}`, { scopes: allScopes })).status,
      200,
    )
  })

  t.test('an expired key no longer counts as a key of its user', async (t) => {
    const person = await server.person()
    const used = async () => {
      const { limits } = (await person.client.get('/user/limits')).body
      return limits.find(({ name }: any) => name === 'api_keys').used
    }
    const before = await used()
    const made = await person.client.post('/user/api-keys', { name: 'x', scopes: ['user:read'] })
    t.equal(await used(), before + 1)
    const expiresAt = new Date(Date.now() - 1_000)
    await server.services.database.prisma.apiKey.update({ where: { id: made.body.id }, data: { expiresAt } })
    await runRetention(server.services.database, { tasks: keyRetentionTasks() })
    t.equal(await used(), before)
    const { body } = await person.client.get(`/user/api-keys/${made.body.id}`)
    t.equal(body.revoked_at, expiresAt.toISOString())
    const refused = await createClient(server.url, made.body.key).get('/user')
    t.match(refused, { status: 401, body: { error: { details: { reason: 'expired' } } } })
  })

  t.test('a key cannot create a key with more permissions than its own', async (t) => {
    const narrow = await server.person({ scopes: ['keys:write', 'user:read'] })
    t.equal(
      (await narrow.client.post('/user/api-keys', { name: 'x', scopes: ['user:read', 'user:write'] })).status,
      403,
    )
    t.equal((await client.post('/user/api-keys', { name: 'x', scopes: ['admin'] })).status, 403)
    t.equal((await narrow.client.post('/user/api-keys', { name: 'x', scopes: ['user:read'] })).status, 201)
  })

  t.test('a key limited to one project cannot access other projects', async (t) => {
    const one = (await client.post('/projects', { name: 'one' })).body
    const two = (await client.post('/projects', { name: 'two' })).body
    const made = await client.post('/user/api-keys', {
      name: 'x',
      scopes: ['projects:read', 'projects:write', 'keys:write'],
      project_ids: [one.id],
    })
    const bound = createClient(server.url, made.body.key)
    t.same(
      (await bound.get('/projects')).body.data.map((p: any) => p.id),
      [one.id],
    )
    t.equal((await bound.get('/projects')).body.pagination.total, 1)
    t.equal((await bound.get(`/projects/${one.id}`)).status, 200)
    t.equal((await bound.get(`/projects/${two.id}`)).status, 403)
    t.equal((await bound.delete(`/projects/${two.id}`)).status, 403)
    t.equal((await bound.post('/projects', { name: 'three' })).status, 403)
    t.equal((await bound.post('/user/api-keys', { name: 'y', scopes: ['projects:read'] })).status, 403)
    t.equal(
      (await bound.post('/user/api-keys', { name: 'y', scopes: ['projects:read'], project_ids: [two.id] }))
        .status,
      403,
    )
    t.equal(
      (await bound.post('/user/api-keys', { name: 'y', scopes: ['projects:read'], project_ids: [one.id] }))
        .status,
      201,
    )
  })

  t.test("another user's key returns 403 and does not change", async (t) => {
    const other = await server.person()
    t.equal((await other.client.get(`/user/api-keys/${made.body.id}`)).status, 403)
    t.equal((await other.client.delete(`/user/api-keys/${made.body.id}`)).status, 403)
    t.equal((await other.client.post(`/user/api-keys/${made.body.id}/rotate`)).status, 403)
  })
})
