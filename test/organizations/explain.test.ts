// The answer of `explainAccess` agrees with the outcome of the request. `npm test` asks for each operation
// with the role that it requires and the one below, `npm run faults` with all roles.
import t from 'tap'
import type { OperationId } from '../../generated/operations.ts'
import { createClient } from '../support/http/client.ts'
import { createApiKey, createProject } from '../support/database/db-fixtures.ts'
import { isLongForm } from '../support/long-form.ts'
import { operationInfos, requestFor, send } from '../support/operations/operation-fixtures.ts'
import type { ProjectRole } from '../support/operations/operation-fixture.ts'
import { createSignIn } from '../support/operations/operation-fixtures-auth.ts'
import { startServer, type Person } from '../support/server/server.ts'

const server = await startServer(t)
const { prisma } = server.services.database

const pathOf = (path: string, params: Record<string, string> = {}): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => params[name])

async function explained({ client }: Person, body: object) {
  const reply = await client.post('/explain', body)
  t.equal(reply.status, 200, reply.text)
  return reply.body
}

const failedOf = (explanation: { checks: Array<{ name: string; passed: boolean }> }) =>
  explanation.checks.find(({ passed }) => !passed)

t.test('for every operation on a project: as the answer with each role', async (t) => {
  const caller = await server.person()
  const operations = operationInfos.filter(
    ({ projectAccess, path, needsSession }) =>
      projectAccess !== null && path.includes('{') && needsSession !== true && projectAccess.role !== 'none',
  )
  const roles: ProjectRole[] = ['none', 'viewer', 'editor', 'admin', 'owner']
  for (const { id, method, path, projectAccess } of operations) {
    const required = roles.indexOf(projectAccess!.role as ProjectRole)
    for (const role of isLongForm ? roles : roles.slice(required - 1, required + 1)) {
      const request = await requestFor(server, id as OperationId, { caller, role })
      const explanation = await explained(caller, { method, path: pathOf(path, request.params) })
      const reply = await send(request)
      t.equal(explanation.allowed, reply.status < 300, `${id} as ${role}: ${reply.status}`)
      const failed = failedOf(explanation) as { error?: object } | undefined
      if (failed !== undefined) {
        const { code, message } = reply.body.error
        t.same(failed.error, { status: reply.status, code, message }, `${id} as ${role}`)
      }
    }
  }
})

t.test('the scope, the session, the projects of the key, the state and the rate limit', async (t) => {
  const person = await server.person()
  const project = await createProject({ server, caller: person, role: 'owner' })
  const narrow = await createApiKey(server, person.id, { scopes: ['projects:read'], projectIds: [project] })
  const failed = async (method: string, path: string) =>
    failedOf(await explained(person, { method, path, credential_id: narrow.id }))
  t.match(await failed('PUT', `/v1/projects/${project}`), {
    name: 'scope',
    requires: 'the scope projects:write',
    error: { status: 403, code: 'FORBIDDEN' },
  })
  const other = await createProject({ server, caller: person, role: 'owner' })
  t.match(await failed('GET', `/v1/projects/${other}`), { name: 'role', error: { status: 403 } })
  t.equal(await failed('GET', `/v1/projects/${project}`), undefined)
  await prisma.project.update({
    where: { id: project },
    data: { status: 'archived', archivedAt: new Date() },
  })
  t.match(failedOf(await explained(person, { method: 'PUT', path: `/v1/projects/${project}` })), {
    name: 'status',
    requires: 'a project that is active',
    error: { status: 409 },
  })
  t.match(failedOf(await explained(person, { method: 'POST', path: '/v1/user/totp' })), { name: 'session' })
  await prisma.apiKey.update({ where: { id: narrow.id }, data: { revokedAt: new Date() } })
  t.match(await failed('GET', `/v1/projects/${project}`), { name: 'credential', error: { status: 401 } })
})

t.test('the address of a key that is limited to some', async (t) => {
  const person = await server.person()
  const { body: key } = await person.client.post('/user/api-keys', {
    name: 'office',
    scopes: ['projects:read'],
    allowed_addresses: ['203.0.113.0/24', '2001:db8::/32'],
  })
  const request = { method: 'GET', path: '/v1/projects', credential_id: key.id }
  for (const [ip, passed] of [
    ['203.0.113.7', true],
    ['2001:db8::1', true],
    ['198.51.100.1', false],
    ['127.0.0.1', false],
    ['....', false],
  ] as const) {
    const { allowed, checks } = await explained(person, { ...request, ip })
    t.match(
      checks.find(({ name }: { name: string }) => name === 'address'),
      { passed },
      ip,
    )
    t.equal(allowed, passed, ip)
  }
  const { error } = failedOf(await explained(person, { ...request, ip: '127.0.0.1' })) as any
  const reply = await createClient(server.url, key.key).get('/projects')
  const { code, message } = reply.body.error
  t.same(error, { status: reply.status, code, message })
  t.equal((await explained(person, request)).allowed, true)
})

t.test('a key that may not call an operation does not learn through another what exists', async (t) => {
  const person = await server.person()
  const project = await createProject({ server, caller: person, role: 'owner' })
  const { secret } = await createApiKey(server, person.id, { scopes: ['user:read'] })
  const narrow = createClient(server.url, secret)
  const { body: keys } = await person.client.get('/user/api-keys?limit=1&order=asc')
  for (const other of [{ user_id: person.id }, { credential_id: keys.data[0].id }])
    for (const path of [`/v1/projects/${project}`, '/v1/projects/prj_01jd6y8m5qe8btc4y5w1r0n3fz'])
      t.match(await narrow.post('/explain', { method: 'GET', path, ...other }), {
        status: 403,
        body: { error: { details: { constraint: 'scope' } } },
      })
})

t.test('a public operation has no checks, and an unknown path is not found', async (t) => {
  const person = await server.person()
  t.same(await explained(person, { method: 'GET', path: '/healthz' }), {
    operation_id: 'getHealth',
    allowed: true,
    checks: [],
  })
  t.equal((await person.client.post('/explain', { method: 'PUT', path: '/healthz' })).status, 404)
})

t.test('for every operation on a service account: as the answer with each role', async (t) => {
  const caller = await server.person()
  const operations = operationInfos.filter(({ path }) => path.startsWith('/v1/service-accounts/{id}'))
  t.ok(operations.length > 5)
  for (const { id, method, path } of operations)
    for (const role of ['none', 'viewer', 'admin', 'owner'] as ProjectRole[]) {
      const request = await requestFor(server, id as OperationId, { caller, role })
      const { allowed, checks } = await explained(caller, { method, path: pathOf(path, request.params) })
      const { status, body } = await send(request)
      t.equal(allowed, status < 300, `${id} as ${role}: ${status}`)
      const error = status < 300 ? null : { status, code: body.error.code, message: body.error.message }
      t.same(
        checks.find(({ name }: { name: string }) => name === 'role'),
        { name: 'role', passed: status < 300, requires: 'the role admin', error },
        `${id} as ${role}`,
      )
    }
})

t.test('others may be asked about by operators, and by admins of service accounts', async (t) => {
  const [person, stranger] = [await server.person(), await server.person()]
  const body = { method: 'GET', path: '/v1/projects' }
  const key = await createApiKey(server, person.id)
  for (const who of [{ user_id: person.id }, { credential_id: key.id }]) {
    t.equal((await stranger.client.post('/explain', { ...body, ...who })).status, 403)
    t.equal((await explained(server.admin, { ...body, ...who })).allowed, true)
    t.equal((await explained(person, { ...body, ...who })).allowed, true)
  }
  const both = { ...body, user_id: person.id, credential_id: key.id }
  t.equal((await person.client.post('/explain', both)).status, 400)
  t.equal((await explained(person, { ...body, api_key_id: key.id, credential_id: key.id })).allowed, true)
  const two = { ...body, api_key_id: (await createApiKey(server, person.id)).id, credential_id: key.id }
  t.match(await person.client.post('/explain', two), {
    status: 400,
    body: { error: { details: { field: 'api_key_id', constraint: 'one_of' } } },
  })
  const session = { ...body, credential_id: (await createSignIn(server, person.id)).id }
  t.equal((await stranger.client.post('/explain', session)).status, 404)
  t.equal((await explained(server.admin, session)).allowed, true)
  t.equal((await explained(person, session)).allowed, true)
  await prisma.signIn.update({
    where: { id: session.credential_id },
    data: { expiresAt: new Date(Date.now() - 1000) },
  })
  t.match(failedOf(await explained(person, session)), { name: 'credential', error: { status: 401 } })
  const project = (await person.client.post('/projects', { name: 'P' })).body.id
  const { body: account } = await person.client.post('/service-accounts', {
    name: 'CI',
    project_id: project,
    role: 'viewer',
  })
  const { body: robot } = await person.client.post(`/service-accounts/${account.id}/api-keys`, {
    name: 'CI',
    scopes: ['projects:read', 'projects:write'],
  })
  const asked = { method: 'PUT', path: `/v1/projects/${project}`, credential_id: robot.id }
  t.match(failedOf(await explained(person, asked)), { name: 'role', requires: 'the role editor' })
  t.equal((await stranger.client.post('/explain', asked)).status, 403)
})
