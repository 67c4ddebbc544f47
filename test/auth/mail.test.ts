// Flows with e-mails: sign-up, links to sign in, resets, a new address. The server has no SMTP server, so the
// e-mails stay in the outbox, unless a test starts one.
import t from 'tap'
import { queueMail } from '../../services/mail/mails.ts'
import type { OutboxMail } from '../../services/mail/outbox.ts'
import { createClient } from '../support/http/client.ts'
import {
  createSignIn,
  newEmail,
  password,
  setPassword,
} from '../support/operations/operation-fixtures-auth.ts'
import { createInvitation, createProject } from '../support/database/db-fixtures.ts'
import { mailsTo as outboxTo, noteSent, openSmtp, sentTo } from '../support/auth/mails.ts'
import { startWorkingServer, type WorkingServer } from '../support/server/working-server.ts'
import { waitUntil } from '../support/server/wait.ts'

const page = 'https://app.example.com/sign-in'
const server = await startWorkingServer(t, { env: { SIGN_IN_URL: page } })
const anyone = createClient(server.url, null)
const refusal = (reason: string) => ({ status: 401, body: { error: { details: { reason } } } })

const mailsTo = (recipient: string, count: number, on: WorkingServer = server): Promise<OutboxMail[]> =>
  outboxTo(on, recipient, count)

function tokenIn({ text }: OutboxMail, kind: string): string {
  const [, found, token] = /https:\/\/app\.example\.com\/sign-in#kind=(\w+)&token=(\S+)/.exec(text!) ?? []
  t.equal(found, kind)
  return token
}

t.test('a person signs up, confirms the address, and signs in', async (t) => {
  const email = newEmail()
  const asked = await anyone.post('/auth/sign-up', { email: email.toUpperCase(), name: 'Ada' })
  t.equal(asked.status, 202)
  const signIn = () => anyone.post('/auth/sessions', { method: 'password', email, password })
  t.match(await signIn(), refusal('credentials'), 'not before the confirmation')
  const [mail] = await mailsTo(email, 1)
  t.equal(mail.subject, 'Confirm your email address')
  const token = tokenIn(mail, 'sign_up')
  t.match(
    await anyone.post('/auth/sessions', { method: 'link', token }),
    refusal('unknown'),
    'another purpose',
  )
  const confirmed = await anyone.post('/auth/confirmations', { token, password })
  t.equal(confirmed.status, 201, confirmed.text)
  const { body: profile } = await createClient(server.url, confirmed.body.access_token).get('/user/profile')
  t.match(profile, { email, email_verified: true, name: 'Ada' })
  t.match(await anyone.post('/auth/confirmations', { token }), refusal('unknown'), 'the token works once')
  t.equal((await signIn()).status, 201)
  const { body: events } = await server.admin.client.get('/events?type=user.created')
  t.match(events.data.at(-1), { actor: { type: 'system' }, data: { object: { id: profile.id } } })
})

t.test('of ten confirmations at once one succeeds', async (t) => {
  const email = newEmail()
  await anyone.post('/auth/sign-up', { email, name: 'Ada' })
  const token = tokenIn((await mailsTo(email, 1))[0], 'sign_up')
  const replies = await Promise.all(
    Array.from({ length: 10 }, () => anyone.post('/auth/confirmations', { token })),
  )
  t.same(replies.map(({ status }) => status).toSorted(), [201, ...Array(9).fill(401)])
})

t.test('only the owner of an address learns of a sign-up with it', async (t) => {
  const person = await server.person({ email: newEmail() })
  const asked = await anyone.post('/auth/sign-up', { email: person.email, name: 'Eve' })
  t.match(asked, { status: 202, body: { email: person.email } })
  const [mail] = await mailsTo(person.email, 1)
  t.equal(mail.subject, 'You have an account already')
  t.notMatch(mail.text, /plat_once_|https:/)
  t.equal(await server.services.database.prisma.oneTimeToken.count({ where: { email: person.email } }), 0)
})

t.test('two people who sign up with one address do not both get it', async (t) => {
  const email = newEmail()
  for (const name of ['One', 'Two']) await anyone.post('/auth/sign-up', { email, name })
  const mails = await mailsTo(email, 2)
  const replies = await Promise.all(
    mails.map((mail) => anyone.post('/auth/confirmations', { token: tokenIn(mail, 'sign_up') })),
  )
  const [created, refused] = replies.map(({ status }) => status).toSorted()
  t.equal(created, 201)
  t.ok(refused === 401 || refused === 409, `${refused}`)
})

t.test('a link signs in once, and only who has an account gets one', async (t) => {
  const person = await server.person({ email: newEmail() })
  const unused = newEmail()
  for (const email of [person.email, unused])
    t.match(await anyone.post('/auth/magic-links', { email }), { status: 202, body: { email } })
  const token = tokenIn((await mailsTo(person.email, 1))[0], 'link')
  const replies = await Promise.all(
    Array.from({ length: 5 }, () => anyone.post('/auth/sessions', { method: 'link', token })),
  )
  t.same(replies.map(({ status }) => status).toSorted(), [201, 401, 401, 401, 401])
  t.match(replies.find(({ status }) => status === 201)!.body, { methods: ['link'], user_id: person.id })
  t.same(await sentTo(server, unused), [])
  t.equal(await server.services.database.prisma.oneTimeToken.count({ where: { email: unused } }), 0)
})

t.test('a reset sets the password, ends the sessions and sends an alert to the user', async (t) => {
  const person = await server.person({ email: newEmail() })
  await setPassword(server, person.id)
  const before = await anyone.post('/auth/sessions', { method: 'password', email: person.email, password })
  await anyone.post('/auth/password-resets', { email: person.email })
  const token = tokenIn((await mailsTo(person.email, 1))[0], 'password_reset')
  const confirm = (body: object) => anyone.post('/auth/password-resets/confirm', { token, ...body })
  t.equal((await confirm({ password: 'qwertyuiop' })).status, 400, 'a common password')
  const reset = await confirm({ password: 'an entirely new password' })
  t.equal(reset.status, 201)
  t.match(await createClient(server.url, before.body.access_token).get('/key'), refusal('revoked'))
  t.equal((await person.client.get('/key')).status, 200, 'API keys stay')
  t.match(await confirm({ password: 'yet another password' }), refusal('unknown'))
  const [alert] = await mailsTo(person.email, 2)
  t.equal(alert.subject, 'Your password was changed')
})

t.test('an operator creates a person without a key, who sets a password by a link', async (t) => {
  const email = newEmail()
  const person = { email, name: 'Ada', create_api_key: false, send_invitation: true }
  const made = await server.admin.client.post('/users', person)
  t.match(made, { status: 201, body: { email, api_key: null } })
  const keys = { where: { userId: made.body.id } }
  t.equal(await server.services.database.prisma.apiKey.count(keys), 0)
  const [mail, ...others] = await mailsTo(email, 1)
  t.same([mail.subject, others], ['Your new account', []])
  const confirm = { token: tokenIn(mail, 'password_reset'), password }
  t.match(await anyone.post('/auth/password-resets/confirm', confirm), {
    status: 201,
    body: { user_id: made.body.id },
  })
  t.match(await anyone.post('/auth/password-resets/confirm', confirm), refusal('unknown'))
  const session = await anyone.post('/auth/sessions', { method: 'password', email, password })
  t.equal(session.status, 201)
  const quiet = newEmail()
  const other = await server.admin.client.post('/users', { email: quiet, name: 'Bob' })
  t.type(other.body.api_key.key, 'string', 'a key is the default')
  t.same(await sentTo(server, quiet), [])
})

t.test('a user changes the address by a link to the new one', async (t) => {
  const person = await server.person({ email: newEmail() })
  await setPassword(server, person.id)
  const { body } = await anyone.post('/auth/sessions', { method: 'password', email: person.email, password })
  const client = createClient(server.url, body.access_token)
  const other = await createSignIn(server, person.id)
  const ask = (email: string, fields: object = { current_password: password }) =>
    client.post('/user/email', { email, ...fields })
  const [first, email] = [newEmail(), newEmail()]
  t.match(await ask(email, {}), {
    status: 403,
    body: { error: { details: { constraint: 'current_password' } } },
  })
  t.equal((await ask(first)).status, 202)
  const replaced = tokenIn((await mailsTo(first, 1))[0], 'email_change')
  t.equal((await ask(email)).status, 202)
  const token = tokenIn((await mailsTo(email, 1))[0], 'email_change')
  t.equal((await mailsTo(person.email, 2))[0].subject, 'A new email address for your account')
  const confirm = (token: string, by = client) => by.post('/user/email/confirm', { token })
  t.match(await confirm(replaced), refusal('unknown'), 'the link of an earlier request')
  t.match(await anyone.post('/auth/confirmations', { token }), refusal('unknown'), 'it does not sign in')
  const stranger = createClient(server.url, (await createSignIn(server, server.admin.id)).access_token)
  t.equal((await confirm(token, stranger)).status, 403, 'the session of another user')
  t.equal((await client.get('/user/profile')).body.email, person.email, 'not before the confirmation')
  t.match(await confirm(token), { status: 200, body: { id: person.id, email, email_verified: true } })
  const [alert] = await mailsTo(person.email, 3)
  t.equal(alert.subject, 'The email address of your account was changed')
  t.match(alert.text, /It was changed at:\n\n\w{3}, \d\d \w{3} \d{4} [\d:]{8} GMT\n\n.*ask the operator/s)
  t.notMatch(alert.text, email, 'the former address does not learn the new one')
  t.equal((await client.get('/key')).status, 200)
  t.match(await createClient(server.url, other.access_token).get('/key'), refusal('revoked'))
  const taken = await server.person({ email: newEmail() })
  t.equal((await ask(taken.email)).status, 202)
  t.same(await sentTo(server, taken.email), [], 'an address that is taken gets nothing')
})

t.test('the password of a new account is that of who reads the e-mail', async (t) => {
  const email = newEmail()
  t.equal(
    (await anyone.post('/auth/sign-up', { email, name: 'Ada', password: 'of an attacker' })).status,
    400,
  )
})

t.test(
  'who is invited to a project gets an e-mail, by address or by id, and again when it is resent',
  async (t) => {
    const [owner, user] = [await server.person(), await server.person()]
    const { body: project } = await owner.client.post('/projects', { name: 'Ours' })
    const email = newEmail()
    const invite = (who: object) =>
      owner.client.post(`/projects/${project.id}/members`, { ...who, role: 'viewer' })
    const byAddress = await invite({ email })
    t.equal(byAddress.status, 202)
    const [mail] = await mailsTo(email, 1)
    t.match(mail.text, /You are invited to a project.*https:\/\/app\.example\.com\/sign-in\n/s)
    t.equal((await invite({ user_id: user.id })).status, 202)
    t.equal((await mailsTo(user.email, 1))[0].subject, 'An invitation to a project')
    const resend = `/projects/${project.id}/invitations/${byAddress.body.id}/resend`
    t.equal((await owner.client.post(resend)).status, 200)
    await mailsTo(email, 2)
  },
)

t.test('an address gets at most five e-mails of a kind in 15 minutes', async (t) => {
  const person = await server.person({ email: newEmail() })
  for (let i = 0; i < 8; i++) await anyone.post('/auth/magic-links', { email: person.email })
  t.equal((await sentTo(server, person.email)).length, 5)
})

/** The kinds that strangers can request for an address, with and without an account. */
const forAccounts = ['link', 'password_reset', 'invitation', 'organization_invitation'] as const
const forUnused = ['sign_up', 'email_change'] as const
type OpenKind = (typeof forAccounts)[number] | (typeof forUnused)[number]

/** Whether an e-mail is sent after others that were. */
async function isSentAfter(earlier: Partial<Record<OpenKind, number>>, kind: OpenKind, minutesAgo = 20) {
  const isForUnused = forUnused.some((each) => each === kind)
  const recipient = isForUnused ? newEmail() : (await server.person({ email: newEmail() })).email
  for (const [kind, count] of Object.entries(earlier))
    await noteSent(server, { recipient, kind, count, minutesAgo })
  const mail = { kind, recipient, userId: null, secret: 'plat_once_x' }
  await server.services.database.transaction((tx) => queueMail(tx, server.services, mail))
  const before = earlier[kind] ?? 0
  return (await sentTo(server, recipient, { kind })).length === before + 1
}

t.test('an address gets at most 20 e-mails of each kind in a day that strangers request', async (t) => {
  for (const kind of [...forAccounts, ...forUnused]) {
    t.ok(await isSentAfter({ [kind]: 19 }, kind), `the 20th ${kind}`)
    t.notOk(await isSentAfter({ [kind]: 20 }, kind), `the 21st ${kind}`)
  }
})

t.test('an address gets at most 40 of these together, but the owner can still get in', async (t) => {
  const others = { invitation: 20, email_change: 19 }
  for (const kind of ['organization_invitation', 'sign_up'] as const) {
    t.ok(await isSentAfter(others, kind), `the 40th: ${kind}`)
    t.notOk(await isSentAfter({ ...others, link: 1 }, kind), `the 41st: ${kind}`)
  }
  for (const kind of ['link', 'password_reset'] as const)
    t.ok(await isSentAfter({ sign_up: 20, invitation: 20, organization_invitation: 20 }, kind), kind)
})

t.test('strangers cannot block the resets of a user: above the limit, one is sent each hour', async (t) => {
  t.ok(await isSentAfter({ password_reset: 20, link: 20, sign_up: 20 }, 'password_reset', 61))
  t.notOk(await isSentAfter({ password_reset: 20 }, 'password_reset', 59))
})

t.test('who may sign up', async (t) => {
  for (const [policy, expected] of [
    ['off', [403, 403]],
    ['open', [202, 202]],
    ['invited', [202, 202]],
    ['example.com,example.org', [202, 403]],
  ] as const) {
    const other = await startWorkingServer(t, { env: { SIGN_UP: policy }, sends: false })
    const client = createClient(other.url, null)
    const statuses = []
    for (const email of [newEmail(), newEmail('elsewhere.example')])
      statuses.push((await client.post('/auth/sign-up', { email, name: 'Ada' })).status)
    t.same(statuses, expected, policy)
  }
})

t.test('with `invited`, an address with an invitation gets the e-mail', async (t) => {
  const other = await startWorkingServer(t, { env: { SIGN_UP: 'invited' } })
  const client = createClient(other.url, null)
  const [invited, stranger] = [newEmail(), newEmail()]
  const project = await createProject({ server: other, caller: other.admin, role: 'owner' })
  await createInvitation(other, project, invited)
  for (const email of [stranger, invited]) await client.post('/auth/sign-up', { email, name: 'Ada' })
  const [mail] = await mailsTo(invited, 1, other)
  t.match(mail.text, /Enter this code:\nplat_once_/, 'without SIGN_IN_URL the e-mail has the token')
  const count = () => other.services.database.prisma.mail.count({ where: { recipient: stranger } })
  await waitUntil(async () => (await count()) === 0, 'the decision')
})

t.test('e-mails are sent by SMTP, and again after a failure, with the same Message-ID', async (t) => {
  const smtp = await openSmtp(t, { refusals: 1 })
  const env = { SMTP_URL: smtp.url, MAIL_FROM: 'Platform <no-reply@example.com>', SIGN_IN_URL: page }
  const other = await startWorkingServer(t, { env })
  const person = await other.person({ email: newEmail() })
  await createClient(other.url, null).post('/auth/magic-links', { email: person.email })
  const { prisma } = other.services.database
  const find = () => prisma.mail.findFirstOrThrow({ where: { recipient: person.email } })
  await waitUntil(async () => (await find()).attempts === 1, 'the first attempt')
  t.match(await find(), { status: 'queued', error: /later/ })
  t.match(other.errors[0].message, /could not be sent and is repeated in 1 minutes/)
  t.equal(smtp.received.length, 0)
  await prisma.$executeRawUnsafe(`UPDATE jobs SET due_at = now() WHERE queue = 'mails' AND fetches = 0`)
  await waitUntil(async () => (await find()).status === 'sent', 'the second attempt')
  const [mail] = smtp.received
  t.match(mail, { from: 'no-reply@example.com', to: [person.email] })
  const { id, content, secret } = await find()
  t.same([content, secret], [null, null], 'what was sent is not stored')
  for (const header of [`Message-ID: <${id}@example.com>`, 'Auto-Submitted: auto-generated'])
    t.ok(mail.text.toLowerCase().includes(header.toLowerCase()), header)
  t.match(mail.text, /multipart\/alternative/)
  t.match(mail.text.replaceAll('=\r\n', ''), /token=3D?plat_once_|token=plat_once_/)
})
