// Alerts by e-mail: a user learns of what may be an attack on the account, once, and not too often. The tests
// of each way to sign in have the others: passkeys, identities, the second factor, the password, the address.
import t from 'tap'
import { tokenDigest } from '../../infra/encryption/tokens.ts'
import { alertUser } from '../../services/mail/mails.ts'
import { readOutbox } from '../../services/mail/outbox.ts'
import { createClient } from '../support/http/client.ts'
import { mailsTo, noteSent, sentTo } from '../support/auth/mails.ts'
import {
  ageRefreshes,
  createIdentity,
  createOneTimeToken,
  createSignIn,
  enableTotp,
  newEmail,
  password,
  setPassword,
} from '../support/operations/operation-fixtures-auth.ts'
import type { Person } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'
import { makeEndpoint, sendTest, startWorkingServer } from '../support/server/working-server.ts'

const server = await startWorkingServer(t, { env: { TRUST_PROXY: '127.0.0.1' } })
const { database } = server.services
const { prisma } = database
const anyone = createClient(server.url, null)
const from = (address: string) => ({ headers: { 'x-forwarded-for': address } })

/** Waits until the worker has decided on all e-mails to the user. @returns those of a kind that it sent. */
async function alertsTo({ email }: Pick<Person, 'email'>, kind: string): Promise<string[]> {
  return await sentTo(server, email, { kind })
}

t.test('a new API key, of a session or of another key', async (t) => {
  const person = await server.person()
  const { access_token: token } = await createSignIn(server, person.id)
  const fields = { name: 'Your account is closed: http://evil.example', scopes: ['projects:read'] }
  for (const client of [createClient(server.url, token), person.client])
    t.equal((await client.post('/user/api-keys', fields)).status, 201)
  const mails = await mailsTo(server, person.email, 2)
  t.same(mails.map(({ subject }) => subject).toSorted(), [
    'A new API key for your account',
    'A new API key for your account, created with another one',
  ])
  for (const { text } of mails) t.notMatch(text, 'evil', 'a stolen key writes nothing into the e-mail')
})

t.test('the last alert says so, and keys of a key do not use up the alerts of a session', async (t) => {
  const person = await server.person()
  const { access_token: token } = await createSignIn(server, person.id)
  const create = (client: Person['client']) =>
    client.post('/user/api-keys', { name: 'key', scopes: ['projects:read'] })
  for (let i = 0; i < 8; i++) t.equal((await create(person.client)).status, 201)
  t.equal((await create(createClient(server.url, token))).status, 201)
  const [ofSession, last, ...others] = await mailsTo(server, person.email, 6)
  t.equal(ofSession.subject, 'A new API key for your account')
  t.match(last.text, /Further alerts of this kind are not mailed for now: .*GET \/v1\/events/)
  for (const { text } of [ofSession, ...others]) t.notMatch(text, 'Further alerts')
})

t.test('seven webhook endpoints that are disabled, each once a day, and at most 20', async (t) => {
  const person = await server.person()
  const ids: string[] = []
  for (let i = 0; i < 7; i++) {
    const endpoint = await makeEndpoint(t, person, { event_types: ['project.*'], answer: { status: 410 } })
    ids.push(endpoint.id)
    await sendTest(person, endpoint)
  }
  const kind = 'webhook_endpoint_disabled'
  const find = () => prisma.mail.findMany({ where: { recipient: person.email, kind, status: 'kept' } })
  await waitUntil(async () => (await find()).length === 7, 'seven alerts')
  await person.client.put(`/webhooks/endpoints/${ids[0]}`, { enabled: true })
  await sendTest(person, { id: ids[0] })
  const isDisabled = async () =>
    (await person.client.get(`/webhooks/endpoints/${ids[0]}`)).body.enabled === false
  await waitUntil(isDisabled, 'the endpoint')
  t.equal((await alertsTo(person, kind)).length, 7, 'not again on the same day')
  await noteSent(server, { recipient: person.email, kind, count: 12, minutesAgo: 20 })
  const about = (detail: string) =>
    database.transaction((tx) => alertUser(tx, server.services, kind, person.id, { detail }))
  await about('the 20th')
  await about('the 21st')
  t.equal((await alertsTo(person, kind)).length, 20)
  const [{ text }] = (await readOutbox(database, server.services.cipher)).filter(
    ({ recipient }) => recipient === person.email,
  )
  t.match(text, /the 20th.*Further alerts of this kind are not mailed for now/s)
})

t.test('a key of a service account, which has no address, has none', async (t) => {
  const owner = await server.person()
  const { body: organization } = await owner.client.post('/organizations', { name: 'Acme' })
  const { body: account } = await owner.client.post('/service-accounts', {
    name: 'Deployments',
    organization_id: organization.id,
    role: 'admin',
  })
  const { body: key } = await owner.client.post(`/service-accounts/${account.id}/api-keys`, {
    name: 'deploy',
    scopes: ['keys:write', 'projects:read'],
  })
  const child = { name: 'child', scopes: ['projects:read'] }
  t.equal((await createClient(server.url, key.key).post('/user/api-keys', child)).status, 201)
  t.equal(await prisma.mail.count({ where: { userId: account.user_id } }), 0)
})

t.test('a refresh token that is used again, once for a session', async (t) => {
  const person = await server.person()
  const { id, refresh_token } = await createSignIn(server, person.id)
  const refresh = () => anyone.post('/auth/sessions/refresh', { refresh_token })
  t.equal((await refresh()).status, 200)
  await ageRefreshes(server, id)
  await Promise.all(Array.from({ length: 10 }, refresh))
  t.same(await alertsTo(person, 'refresh_token_reused'), ['refresh_token_reused'])
  const [{ text }] = await mailsTo(server, person.email, 1)
  t.match(text, /An old refresh token of a session was used again.*change your password now\.\n/s)
})

/** Stores failed attempts, as if wrong passwords or codes had come from one network. */
async function fail(attemptsOf: string, failures: number): Promise<void> {
  const account = Buffer.from(tokenDigest(attemptsOf), 'hex')
  await prisma.signInFailure.create({
    data: { account, network: '203.0.113.9', failures, failedAt: new Date() },
  })
}

const guess = (email: string, address: string) =>
  anyone.post('/auth/sessions', { method: 'password', email, password: 'wrong' }, from(address))

t.test('more than 100 wrong passwords in a day, once a day', async (t) => {
  const person = await server.person({ email: newEmail() })
  await setPassword(server, person.id)
  await fail(person.email, 100)
  t.equal((await guess(person.email, '198.51.100.1')).status, 401)
  t.same(await alertsTo(person, 'sign_ins_blocked'), [], 'not yet')
  const networks = Array.from({ length: 10 }, (_, i) => `198.51.101.${i}`)
  await Promise.all(networks.map((network) => guess(person.email.toUpperCase(), network)))
  t.same(await alertsTo(person, 'sign_ins_blocked'), ['sign_ins_blocked'])
  const [{ subject }] = await mailsTo(server, person.email, 1)
  t.equal(subject, 'Many failed sign-ins to your account')
})

t.test('an address without an account costs the same work, and gets nothing', async (t) => {
  const unknown = newEmail()
  await fail(unknown, 101)
  for (let i = 0; i < 3; i++) t.equal((await guess(unknown, `198.51.102.${i}`)).status, 401)
  const dedupeKey = { endsWith: tokenDigest(unknown) }
  const find = () => prisma.mail.findMany({ where: { dedupeKey } })
  await waitUntil(async () => (await find()).every(({ status }) => status === 'dropped'), 'the decision')
  t.match(await find(), [{ recipient: '', content: null, subject: null }], 'one, without the address')
  t.equal((await find()).length, 1)
})

t.test('more than 100 wrong codes of the second factor', async (t) => {
  const person = await server.person({ email: newEmail() })
  await setPassword(server, person.id)
  await enableTotp(server, person.id)
  await fail(`second factor ${person.id}`, 101)
  const body = { method: 'password', email: person.email, password, code: '000000' }
  for (let i = 0; i < 2; i++) await anyone.post('/auth/sessions', body, from(`198.51.103.${i}`))
  t.same(await alertsTo(person, 'sign_ins_blocked'), ['sign_ins_blocked'])
})

t.test('a webhook endpoint of the audit log, which outlives the key that creates it', async (t) => {
  const admin = await server.person({ role: 'admin' })
  const url = 'http://127.0.0.1:9/tap'
  const body = { url, event_types: ['audit.recorded'] }
  const { body: endpoint } = await admin.client.post('/webhooks/endpoints', body)
  const [created] = await mailsTo(server, admin.email, 1)
  t.equal(created.subject, 'A new webhook endpoint for your account')
  t.match(created.text, `\n\n${endpoint.id}\n\n`)
  t.notMatch(created.text, url)
})

t.test('a webhook endpoint whose URL or event types are changed, by a key or in a session', async (t) => {
  const person = await server.person()
  const { access_token: token } = await createSignIn(server, person.id)
  const body = { url: 'http://127.0.0.1:9/mine', event_types: ['project.*'] }
  const { body: endpoint } = await createClient(server.url, token).post('/webhooks/endpoints', body)
  const path = `/webhooks/endpoints/${endpoint.id}`
  for (const change of [{ description: 'mine' }, body, { enabled: false }, { enabled: true }])
    t.equal((await person.client.put(path, change)).status, 200)
  t.same(await sentTo(server, person.email), ['webhook_endpoint_created'], 'not for other changes')
  for (const change of [{ url: 'http://127.0.0.1:9/theirs' }, { event_types: ['*'] }])
    t.equal((await person.client.put(path, change)).status, 200)
  const redirected = 'webhook_endpoint_redirected'
  t.same(await sentTo(server, person.email), ['webhook_endpoint_created', redirected, redirected])
  const [{ text }] = await mailsTo(server, person.email, 3)
  t.match(text, `\n\n${endpoint.id}\n\n`)
})

t.test('a webhook endpoint that is disabled, by its id and without its URL', async (t) => {
  const person = await server.person()
  const endpoint = await makeEndpoint(t, person, { event_types: ['project.*'], answer: { status: 410 } })
  const { host } = new URL(endpoint.receiver.url)
  await person.client.put(`/webhooks/endpoints/${endpoint.id}`, { url: `http://${host}/secret-path` })
  await sendTest(person, endpoint)
  const [{ subject, text }] = await mailsTo(server, person.email, 3)
  t.equal(subject, 'A webhook endpoint was disabled')
  t.match(text, `\n\n${endpoint.id}\n\n`)
  for (const part of [host, 'secret-path']) t.notMatch(text, part)
})

t.test('an address gets at most 20 alerts of a kind in a day', async (t) => {
  const person = await server.person()
  await database.transaction(async (tx) => {
    for (let i = 0; i < 25; i++) await alertUser(tx, server.services, 'passkey_added', person.id)
  })
  t.ok((await alertsTo(person, 'passkey_added')).length < 25)
  const other = await server.person()
  const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000)
  const sent = Array.from({ length: 20 }, (_, i) => ({
    id: `mail_00000000000000000000000${String(i).padStart(3, '0')}`,
    kind: 'passkey_added',
    recipient: other.email,
    userId: other.id,
    status: 'sent',
    createdAt: hoursAgo(1 + i),
  }))
  await prisma.mail.createMany({ data: sent })
  const alert = () => database.transaction((tx) => alertUser(tx, server.services, 'passkey_added', other.id))
  await alert()
  t.equal((await alertsTo(other, 'passkey_added')).length, 20, 'the next one is dropped')
  await prisma.mail.update({ where: { id: sent[19].id }, data: { createdAt: hoursAgo(25) } })
  await alert()
  t.equal((await alertsTo(other, 'passkey_added')).length, 21, 'until the first is a day old')
})

t.test('an alert whose change is rolled back is not sent', async (t) => {
  const person = await server.person()
  const undone = database.transaction(async (tx) => {
    await alertUser(tx, server.services, 'passkey_added', person.id)
    throw new Error('undone')
  })
  await t.rejects(undone, /undone/)
  t.equal(await prisma.mail.count({ where: { recipient: person.email } }), 0)
})

t.test('a former address, and what it signed in with, when a user or an operator changes it', async (t) => {
  const byUser = async (person: Person): Promise<void> => {
    const { access_token: key } = await createSignIn(server, person.id)
    const token = await createOneTimeToken(server, 'email_change', { email: newEmail(), userId: person.id })
    const confirmed = await createClient(server.url, key).post('/user/email/confirm', { token })
    t.equal(confirmed.status, 200, confirmed.text)
  }
  const byOperator = async ({ id }: Person): Promise<void> => {
    const changed = await server.admin.client.put(`/users/${id}`, { email: newEmail() })
    t.equal(changed.status, 200, changed.text)
  }
  for (const change of [byUser, byOperator]) {
    const person = await server.person()
    await createIdentity({ server, caller: person, role: 'owner' })
    await change(person)
    const kinds = (await mailsTo(server, person.email, 2)).map(({ subject }) => subject).toSorted()
    t.same(kinds, [
      'A way to sign in to your account was removed',
      'The email address of your account was changed',
    ])
  }
})

t.test('a former address that was not verified gets none', async (t) => {
  const person = await server.person()
  await prisma.user.update({ where: { id: person.id }, data: { emailVerified: false } })
  await server.admin.client.put(`/users/${person.id}`, { email: newEmail() })
  t.equal(await prisma.mail.count({ where: { recipient: person.email } }), 0)
})

t.test('an address that is not verified gets none', async (t) => {
  const person = await server.person()
  await setPassword(server, person.id)
  await prisma.user.update({ where: { id: person.id }, data: { emailVerified: false } })
  const { access_token: token } = await createSignIn(server, person.id)
  const session = createClient(server.url, token)
  const change = { current_password: password, password: 'another good password' }
  t.equal((await session.post('/user/password', change)).status, 204)
  const key = { name: 'key', scopes: ['projects:read'] }
  t.equal((await session.post('/user/api-keys', key)).status, 201)
  t.equal(await prisma.mail.count({ where: { recipient: person.email } }), 0)
})

t.test('a user who is disabled gets none', async (t) => {
  const person = await server.person()
  await prisma.user.update({ where: { id: person.id }, data: { status: 'disabled' } })
  await database.transaction((tx) => alertUser(tx, server.services, 'passkey_added', person.id))
  t.equal(await prisma.mail.count({ where: { recipient: person.email } }), 0)
})
