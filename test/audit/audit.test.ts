// The audit log: what is recorded, who reads it, and that a change of its entries is found.
import t from 'tap'
import { AuditRecorder } from '../../services/audit/recorder.ts'
import { verifyChain } from '../../services/audit/chain.ts'
import { auditRetentionTasks } from '../../services/audit/audit-log.ts'
import { createClient } from '../support/http/client.ts'
import { createApiKey, createMember } from '../support/database/db-fixtures.ts'
import { createServiceAccount } from '../support/operations/operation-fixtures-organizations.ts'
import {
  ageRefreshes,
  createOneTimeToken,
  createPasskey,
  createSignIn,
  newDevice,
  newEmail,
  password,
  setPassword,
} from '../support/operations/operation-fixtures-auth.ts'
import { visitorOf, visitorWith } from '../support/browser/page-visitor.ts'
import { startServer, type TestServer } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'

const server = await startServer(t)
const { services } = server
const { prisma } = services.database

/** The number of refused entries of an operation. */
async function refusals(operation: string): Promise<number> {
  await services.auditRecorder.flush()
  const { body } = await server.admin.client.get(`/audit-log?operation=${operation}&outcome=refused&limit=1`)
  return body.pagination.total
}

/** Waits until a user has `count` entries. @returns them, newest first. */
async function entriesOf(userId: string, count: number, on: TestServer = server): Promise<any[]> {
  const entries = await waitUntil(async () => {
    await on.services.auditRecorder.flush()
    const { body } = await server.admin.client.get(`/audit-log?user_id=${userId}&limit=100`)
    return body.data.length >= count && body.data
  }, `${count} entries of ${userId}`)
  t.equal(entries.length, count)
  return entries
}

const withoutNumbers = (entries: object[]) => entries.map((entry) => ({ ...entry, sequence: null }))
const verify = () => verifyChain(services.database, services.cipher)

t.test('changes and refusals are recorded, with the credential and the address; reads are not', async (t) => {
  const person = await server.person()
  const { id: session, access_token: token } = await createSignIn(server, person.id)
  const signedIn = createClient(server.url, token)
  const { body: project } = await person.client.post('/projects', { name: 'Ours' })
  await person.client.get(`/projects/${project.id}`)
  await signedIn.put(`/projects/${project.id}`, { name: 'Mine' })
  await person.client.get('/users')
  await person.client.delete('/projects/prj_01jd6y8m5qe8btc4y5w1r0n3fz')
  const entries = await entriesOf(person.id, 4)
  t.match(entries, [
    { operation: 'deleteProject', status: 404, outcome: 'failed' },
    { operation: 'listUsers', method: 'GET', status: 403, outcome: 'refused', resource_id: null },
    { operation: 'updateProject', status: 200, outcome: 'done', credential_id: session },
    { operation: 'createProject', status: 201, outcome: 'done', credential_id: /^key_/, ip: '127.0.0.1' },
  ])
  t.match(entries[2], { project_id: project.id, resource_id: project.id, request_id: /^req_/ })
  const { body: own } = await person.client.get('/audit-log')
  t.same(own.data, withoutNumbers(entries), 'the user reads the same, without the numbers')
  const stranger = await server.person()
  const { body: foreign } = await stranger.client.get(`/audit-log?user_id=${person.id}`)
  t.same(foreign.data, [], 'another user does not')
  const { secret } = await createApiKey(server, person.id, { projectIds: [project.id] })
  t.equal((await createClient(server.url, secret).get('/audit-log')).status, 403, 'nor a limited key')
})

t.test('admins of an organization read its entries, and only these', async (t) => {
  const [owner, member, stranger] = await Promise.all([server.person(), server.person(), server.person()])
  const { body: organization } = await owner.client.post('/organizations', { name: 'Ours' })
  const inside = { name: 'Inside', organization_id: organization.id }
  const { body: project } = await owner.client.post('/projects', inside)
  await owner.client.post('/projects', { name: 'Private' })
  await createMember(server, project.id, member.id, 'viewer')
  await member.client.put(`/projects/${project.id}`, { name: 'Refused to a member' })
  await stranger.client.put(`/projects/${project.id}`, { name: 'Refused to a stranger' })
  await stranger.client.delete(`/organizations/${organization.id}`)
  const account = await createServiceAccount(server, { organization_id: organization.id })
  const { secret } = await createApiKey(server, account.userId, { scopes: ['user:read', 'user:write'] })
  await createClient(server.url, secret).put('/user/profile', { name: 'A program' })
  const path = `/audit-log?organization_id=${organization.id}`
  await services.auditRecorder.flush()
  const { body } = await owner.client.get(`${path}&order=asc`)
  const shown = body.data.map((entry: any) => [entry.operation, entry.outcome, entry.user_id])
  t.same(shown, [
    ['createOrganization', 'done', owner.id],
    ['createProject', 'done', owner.id],
    ['updateProject', 'refused', member.id],
    ['updateProfile', 'refused', account.userId],
  ])
  t.ok(body.data.every((entry: any) => entry.organization_id === organization.id && entry.sequence === null))
  t.match(await verify(), { broken: null })

  for (const { client } of [member, stranger]) t.equal((await client.get(path)).status, 403, 'no admin')
  const withScopes = async (scopes: any) =>
    createClient(server.url, (await createApiKey(server, owner.id, { scopes })).secret)
  t.equal((await (await withScopes(['user:read'])).get(path)).status, 403, 'without the scope')
  t.equal((await (await withScopes(['user:read'])).get('/audit-log')).status, 200, 'own entries')
  const auditor = await withScopes(['user:read', 'audit:read'])
  t.same((await auditor.get(`${path}&order=asc`)).body, body)
  t.equal((await auditor.get('/audit-log?organization_id=org_01jd6y8m5qe8btc4y5w1r0n3fz')).status, 404)

  // An entry stays with the organization that the project had then.
  const { body: next } = await member.client.post('/organizations', { name: 'Next' })
  await prisma.project.update({ where: { id: project.id }, data: { organizationId: next.id } })
  const later = await member.client.get(`/audit-log?organization_id=${next.id}&project_id=${project.id}`)
  t.same(later.body.data, [])
})

t.test('what operators read of others is recorded, and sign-ins are', async (t) => {
  const operator = await server.person({ role: 'admin', scopes: ['admin', 'user:read'] })
  const person = await server.person()
  await operator.client.get(`/users/${person.id}`)
  const [entry] = await entriesOf(operator.id, 1)
  t.match(entry, { operation: 'getUser', method: 'GET', resource_id: person.id, outcome: 'done' })
  const anyone = createClient(server.url, null)
  await anyone.post('/auth/sessions', { method: 'password', email: newEmail(), password: 'wrong' })
  await waitUntil(async () => {
    await services.auditRecorder.flush()
    const { body } = await server.admin.client.get('/audit-log?operation=signIn')
    return body.data.some((one: any) => one.user_id === null && one.outcome === 'refused')
  }, 'the refused sign-in')
})

t.test('entries of sign-ins name the user, also of refused ones', async (t) => {
  const person = await server.person({ email: newEmail() })
  await setPassword(server, person.id)
  const anyone = createClient(server.url, null)
  const signIn = (fields: object) => anyone.post('/auth/sessions', fields)
  const withPassword = { method: 'password', email: person.email }
  t.equal((await signIn({ ...withPassword, password: 'wrong' })).status, 401)
  const { body: first } = await signIn({ ...withPassword, password })
  const link = { method: 'link', token: await createOneTimeToken(server, 'link', { email: person.email }) }
  const { body: second } = await signIn(link)
  t.equal((await signIn(link)).status, 401, 'the token is unknown now, so the entry names no user')
  const token = await createOneTimeToken(server, 'oidc', { email: person.email })
  const { body: atProvider } = await signIn({ method: 'oidc', token })
  const refresh = { refresh_token: first.refresh_token }
  t.equal((await anyone.post('/auth/sessions/refresh', refresh)).status, 200)
  await ageRefreshes(server, first.id)
  t.equal((await anyone.post('/auth/sessions/refresh', refresh)).status, 401)
  const device = newDevice(server)
  await createPasskey({ server, caller: person, role: 'none' }, device)
  const passkey = async (options: object = {}) => {
    const { body } = await anyone.post('/auth/passkey-options')
    return await signIn({ method: 'passkey', credential: device.get(body, options) })
  }
  t.equal((await passkey({ verified: false })).status, 401)
  const { body: third } = await passkey()
  const entries = await entriesOf(person.id, 8)
  t.match(entries, [
    { operation: 'signIn', status: 201, credential_id: third.id },
    { operation: 'signIn', status: 401, outcome: 'refused', credential_id: null },
    { operation: 'refreshSession', status: 401, credential_id: first.id },
    { operation: 'refreshSession', status: 200, credential_id: first.id },
    { operation: 'signIn', status: 201, credential_id: atProvider.id },
    { operation: 'signIn', status: 201, credential_id: second.id },
    { operation: 'signIn', status: 201, credential_id: first.id },
    { operation: 'signIn', status: 401, outcome: 'refused', credential_id: null, ip: '127.0.0.1' },
  ])
  t.same((await person.client.get('/audit-log')).body.data, withoutNumbers(entries), 'the user reads them')
  t.same((await (await server.person()).client.get('/audit-log')).body.data, [], 'another user does not')
})

t.test('a sign-in on the pages names the user, too', async (t) => {
  const person = await server.person({ email: newEmail() })
  await setPassword(server, person.id)
  const { submit } = visitorWith(server, '')
  t.equal((await submit('/sign-in', { email: person.email, password: 'wrong' })).status, 422)
  const { setCookies } = await submit('/sign-in', { email: person.email, password })
  const browser = visitorWith(server, setCookies[0].split(';')[0])
  t.equal((await browser.submit('/account', {})).location, '/sign-in')
  const session = setCookies[0].slice('session='.length).split('.')[0]
  t.match(await entriesOf(person.id, 3), [
    { operation: 'submitSignOut', status: 303, credential_id: session },
    { operation: 'submitSignIn', status: 303, credential_id: session },
    { operation: 'submitSignIn', status: 401, outcome: 'refused', credential_id: null },
  ])
})

t.test('what a page refuses is refused in the log, though the page has another status', async (t) => {
  const [person, other] = [await server.person({ email: newEmail() }), await server.person()]
  const { id: foreign } = await createSignIn(server, other.id)
  const browser = await visitorOf(server, person.id)
  t.match(await browser.submit('/account', { session: foreign }), { status: 303, location: '/account' })
  const unknown = 'psk_01jd6y8m5qe8btc4y5w1r0n3fz'
  t.match(await browser.submit('/account/passkeys', { passkey: unknown }), { status: 303 })
  t.match(await browser.submit('/sign-up', { email: 'ada', name: '' }), { status: 422 })
  t.match(await entriesOf(person.id, 2), [
    { operation: 'submitPasskeyRemoval', status: 404, outcome: 'failed', resource_id: unknown },
    { operation: 'submitSignOut', status: 403, outcome: 'refused', resource_id: foreign },
  ])
  t.equal(await prisma.signIn.count({ where: { id: foreign } }), 1, 'the session goes on')
})

t.test('a form without a session is refused in the log', async (t) => {
  const { submit } = visitorWith(server, '')
  const before = await refusals('submitSignOut')
  t.match(await submit('/account', {}), { status: 303, location: '/sign-in' })
  t.equal(await refusals('submitSignOut'), before + 1)
})

t.test('the entry of a creation names the new thing', async (t) => {
  const person = await server.person()
  const { body: project } = await person.client.post('/projects', { name: 'Ours' })
  const path = `/projects/${project.id}`
  const { status, body: invitation } = await person.client.post(`${path}/members`, {
    email: newEmail(),
    role: 'viewer',
  })
  t.equal(status, 202)
  const { body: key } = await person.client.post('/user/api-keys', { name: 'k', scopes: ['user:read'] })
  t.match(await entriesOf(person.id, 3), [
    { operation: 'createApiKey', resource_id: key.id },
    { operation: 'addMember', project_id: project.id, resource_id: invitation.id },
    { operation: 'createProject', resource_id: project.id },
  ])
})

t.test('requests beyond a limit are not recorded', async (t) => {
  const limited = await startServer(t, { databaseUrl: server.databaseUrl, env: { RATE_LIMIT_WRITE: '3' } })
  const person = await server.person()
  const client = createClient(limited.url, person.key)
  for (let i = 0; i < 8; i++) await client.post('/projects', { name: `Project ${i}` })
  const entries = await entriesOf(person.id, 3, limited)
  t.ok(entries.every(({ status }) => status === 201))
})

t.test('the entries of two servers are one chain', async (t) => {
  const second = await startServer(t, { databaseUrl: server.databaseUrl })
  const person = await server.person()
  await Promise.all(
    Array.from({ length: 40 }, async (_, i) => {
      const on = i % 2 === 0 ? server : second
      await createClient(on.url, person.key).post('/projects', { name: `Project ${i}` })
      if (i % 5 === 0) await on.services.auditRecorder.flush()
    }),
  )
  await second.services.auditRecorder.flush()
  await entriesOf(person.id, 40)
  t.match(await verify(), { broken: null })
})

t.test('a changed, a deleted and a moved entry are found, and an end that was cut off', async (t) => {
  const person = await server.person()
  for (let i = 0; i < 5; i++) await person.client.post('/projects', { name: `Project ${i}` })
  const entries = await entriesOf(person.id, 5)
  const [last, , middle, earlier] = entries.map(({ sequence }) => BigInt(sequence))
  t.match(await verify(), { broken: null })
  const row = await prisma.auditEntry.findUniqueOrThrow({ where: { sequence: middle } })
  for (const data of [
    { userId: null },
    { credentialId: 'key_01jd6y8m5qe8btc4y5w1r0n3fz' },
    { operation: 'deleteProject' },
    { method: 'DELETE' },
    { status: 403 },
    { ip: '192.0.2.9' },
    { organizationId: 'org_01jd6y8m5qe8btc4y5w1r0n3fz' },
    { projectId: 'prj_01jd6y8m5qe8btc4y5w1r0n3fz' },
    { resourceId: 'prj_01jd6y8m5qe8btc4y5w1r0n3fz' },
    { requestId: 'req_00000000000000000000000000000000' },
    { createdAt: new Date(0) },
    { signature: 'A'.repeat(43) },
  ]) {
    await prisma.auditEntry.update({ where: { sequence: middle }, data })
    t.match(await verify(), { broken: { sequence: Number(middle) } }, `changed: ${Object.keys(data)[0]}`)
    await prisma.auditEntry.update({ where: { sequence: middle }, data: row })
  }
  await prisma.auditEntry.delete({ where: { sequence: middle } })
  t.match(await verify(), { broken: { sequence: Number(middle), reason: 'the entry is missing' } }, 'deleted')
  await prisma.auditEntry.create({ data: row })

  const swap = async (): Promise<void> => {
    const other = await prisma.auditEntry.findUniqueOrThrow({ where: { sequence: earlier } })
    const mine = await prisma.auditEntry.findUniqueOrThrow({ where: { sequence: middle } })
    await prisma.auditEntry.update({ where: { sequence: earlier }, data: { sequence: -1n } })
    await prisma.auditEntry.update({ where: { sequence: middle }, data: { sequence: other.sequence } })
    await prisma.auditEntry.update({ where: { sequence: -1n }, data: { sequence: mine.sequence } })
  }
  await swap()
  t.match(await verify(), { broken: { sequence: Number(earlier) } }, 'moved')
  await swap()
  t.match(await verify(), { broken: null })

  const end = await prisma.auditEntry.findUniqueOrThrow({ where: { sequence: last } })
  await prisma.auditEntry.delete({ where: { sequence: last } })
  t.match(await verify(), { broken: { sequence: Number(last), reason: 'the entry is missing' } }, 'cut off')
  await prisma.auditEntry.create({ data: end })
  t.match(await verify(), { broken: null })
})

t.test('entries that were added although the connection failed are not added again', async (t) => {
  const { database, cipher } = services
  const errors: Error[] = []
  let fails = true
  const db = Object.assign(Object.create(database), {
    async transaction(work: never) {
      const result = await database.transaction(work)
      if (fails) throw new Error('the connection was lost')
      return result
    },
  })
  const recorder = new AuditRecorder(db, cipher, { interval: 2 ** 31 - 1, onError: (e) => errors.push(e) })
  const { id: userId } = await server.person()
  const request = {
    userId,
    credentialId: null,
    projectId: null,
    resourceId: null,
    placeIds: [],
    requestId: 'req_test',
    isDelivery: false,
  }
  const record = () =>
    recorder.record({ ...request, operation: 'updateProject', method: 'PUT', status: 200, ip: '192.0.2.1' })
  record()
  await recorder.flush()
  t.equal(errors.length, 1)
  record()
  fails = false
  await recorder.flush()
  await recorder.close()
  t.equal(await prisma.auditEntry.count({ where: { userId } }), 2)
  t.match(await verify(), { broken: null })
})

t.test('old entries are deleted from the beginning, and the remaining ones stay a chain', async (t) => {
  const person = await server.person()
  for (let i = 0; i < 3; i++) await person.client.post('/projects', { name: `Project ${i}` })
  await entriesOf(person.id, 3)
  const all = await prisma.auditEntry.findMany({ orderBy: { sequence: 'asc' } })
  const [task] = auditRetentionTasks(-1)
  const half = Math.floor(all.length / 2)
  // Days in the future count all as old; later entries are kept by their time. One of them was stored late.
  const later = `sequence > ${all[half - 1].sequence} AND sequence <> ${all[half + 1].sequence}`
  const move = (sign: '+' | '-') =>
    prisma.$executeRawUnsafe(
      `UPDATE audit_entries SET created_at = created_at ${sign} interval '9 days' WHERE ${later}`,
    )
  await move('+')
  await task.step(services.database)
  t.equal(await prisma.auditEntry.count(), all.length - half)
  await move('-')
  t.match(await verify(), { entries: all.length - half, broken: null })
})
