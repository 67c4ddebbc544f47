// The second factor: codes of an authenticator app and recovery codes, which every way to sign in needs.
import t from 'tap'
import { createClient, type Client } from '../support/http/client.ts'
import {
  codeOf,
  createOneTimeToken,
  createSignIn,
  enableTotp,
  password,
  setPassword,
} from '../support/operations/operation-fixtures-auth.ts'
import { createCipher } from '../../infra/encryption/cipher.ts'
import { tokenDigest } from '../../infra/encryption/tokens.ts'
import { reencryptTotp } from '../../services/auth/totp.ts'
import { testSecretKey } from '../support/database/database.ts'
import { isLongForm } from '../support/long-form.ts'
import { startServer, type Person } from '../support/server/server.ts'

const server = await startServer(t, { env: { TRUST_PROXY: '127.0.0.1', MAIL_FROM: 'Acme <a@example.com>' } })
const anyone = createClient(server.url, null)
const from = (address: string) => ({ headers: { 'x-forwarded-for': address } })
const refusal = (reason: string) => ({ status: 401, body: { error: { details: { reason } } } })

async function sessionOf(person: Person): Promise<{ id: string; client: Client }> {
  const { id, access_token: token } = await createSignIn(server, person.id)
  return { id, client: createClient(server.url, token) }
}

async function personWithTotp() {
  const person = await server.person()
  await setPassword(server, person.id)
  const totp = await enableTotp(server, person.id)
  let network = 0
  const signIn = (fields: object, address = `198.51.${person.id.charCodeAt(25)}.${network++}`) =>
    anyone.post(
      '/auth/sessions',
      { method: 'password', email: person.email, password, ...fields },
      from(address),
    )
  return { person, ...totp, signIn }
}

t.test('a user turns the second factor on, and signs in with it', async (t) => {
  const person = await server.person()
  await setPassword(server, person.id)
  const [mine, other] = [await sessionOf(person), await sessionOf(person)]
  t.match((await mine.client.get('/user/totp')).body, { enabled: false, enabled_at: null })
  const { body: started } = await mine.client.post('/user/totp')
  t.match(started.uri, /^otpauth:\/\/totp\/Acme:.*secret=/)
  t.match(await mine.client.post('/user/totp/confirm', { code: '000000' }), {
    status: 400,
    body: { error: { details: { field: 'code', constraint: 'code' } } },
  })
  t.notOk((await mine.client.get('/user/totp')).body.enabled, 'not before the first code')
  const confirmed = await mine.client.post('/user/totp/confirm', { code: codeOf(started.secret) })
  t.equal(confirmed.status, 200, confirmed.text)
  t.equal(new Set(confirmed.body.recovery_codes).size, 10)
  t.match((await mine.client.get('/user/totp')).body, { enabled: true, recovery_codes_left: 10 })
  t.match(await other.client.get('/key'), refusal('revoked'), 'the other sessions have ended')
  const stored = await server.services.database.prisma.userTotp.findUniqueOrThrow({
    where: { userId: person.id },
  })
  t.notOk(stored.secret.includes(started.secret), 'the secret is encrypted')
  const fields = { method: 'password', email: person.email, password }
  t.match(await anyone.post('/auth/sessions', fields), refusal('second_factor'))
  const signedIn = await anyone.post('/auth/sessions', { ...fields, code: codeOf(started.secret, 1) })
  t.match(signedIn, { status: 201, body: { methods: ['password', 'totp'] } })
  const types = (await mine.client.get('/events?type=totp.*')).body.data.map((e: { type: string }) => e.type)
  t.same(types, ['totp.enabled'])
})

t.test('a wrong password says nothing about the second factor', async (t) => {
  const { signIn, secret } = await personWithTotp()
  t.match(await signIn({ password: 'wrong' }), refusal('credentials'))
  t.match(await signIn({ password: 'wrong', code: codeOf(secret) }), refusal('credentials'))
})

t.test('a code works once, also for ten sign-ins at once', async (t) => {
  const { signIn, secret } = await personWithTotp()
  const code = codeOf(secret)
  const replies = await Promise.all(Array.from({ length: 10 }, () => signIn({ code })))
  t.same(replies.map(({ status }) => status).toSorted(), [201, ...Array(9).fill(401)])
  t.match(await signIn({ code }), refusal('second_factor'))
  t.match(await signIn({ code: codeOf(secret, -1) }), refusal('second_factor'), 'an earlier code')
  t.equal((await signIn({ code: codeOf(secret, 1) })).status, 201, 'the next code')
})

t.test('a recovery code works once', async (t) => {
  const { person, signIn, codes } = await personWithTotp()
  const replies = await Promise.all(Array.from({ length: 5 }, () => signIn({ code: codes[0] })))
  t.same(replies.map(({ status }) => status).toSorted(), [201, 401, 401, 401, 401])
  t.match(replies.find(({ status }) => status === 201)!.body.methods, ['password', 'recovery_code'])
  t.match(await signIn({ code: '22222-22222' }), refusal('second_factor'))
  const { client } = await sessionOf(person)
  t.equal((await client.get('/user/totp')).body.recovery_codes_left, 1)
})

t.test('no link goes around the second factor, and none is used up without a code', async (t) => {
  const { person, secret, codes } = await personWithTotp()
  const link = await createOneTimeToken(server, 'link', { email: person.email })
  const signIn = (fields: object) => anyone.post('/auth/sessions', { method: 'link', token: link, ...fields })
  t.match(await signIn({}), refusal('second_factor'))
  t.match(await signIn({ code: '000000' }), refusal('second_factor'))
  t.equal((await signIn({ code: codeOf(secret) })).status, 201)
  const reset = await createOneTimeToken(server, 'password_reset', { email: person.email })
  const confirm = (fields: object) =>
    anyone.post('/auth/password-resets/confirm', { token: reset, password: 'another good one', ...fields })
  t.match(await confirm({}), refusal('second_factor'))
  t.equal((await confirm({ code: codes[0] })).status, 201)
})

t.test('codes are guessed as slowly as passwords', async (t) => {
  const { signIn, secret } = await personWithTotp()
  const home = '203.0.113.77'
  for (let i = 0; i < 5; i++)
    t.match(await signIn({ code: `${100_000 + i}` }, home), refusal('second_factor'))
  t.match(await signIn({ code: codeOf(secret) }, home), refusal('second_factor'), 'the network must wait')
  t.equal((await signIn({ code: codeOf(secret) })).status, 201, 'another network does not')
})

t.test(
  'a hundred wrong codes from many networks leave the network of a session and recovery codes',
  async (t) => {
    const { person, signIn, secret, codes } = await personWithTotp()
    const home = '203.0.113.78'
    t.equal((await signIn({ code: codeOf(secret) }, home)).status, 201)
    const data = Array.from({ length: 25 }, (_, i) => ({
      account: Buffer.from(tokenDigest(`second factor ${person.id}`), 'hex'),
      network: `192.0.2.${i}`,
      failures: 5,
      failedAt: new Date(),
    }))
    await server.services.database.prisma.signInFailure.createMany({ data })
    const code = codeOf(secret, 1)
    t.match(await signIn({ code }, '192.0.2.200'), refusal('second_factor'))
    t.equal((await signIn({ code }, home)).status, 201)
    t.equal((await signIn({ code: codes[0] }, '192.0.2.201')).status, 201)
  },
)

t.test('a sign-in that began before the second factor does not go around it', async (t) => {
  // Each time costs a dozen Argon2id hashes.
  for (let i = 0; i < (isLongForm ? 5 : 1); i++) {
    const person = await server.person()
    await setPassword(server, person.id)
    const mine = await sessionOf(person)
    const { body } = await mine.client.post('/user/totp')
    const [confirmed, signedIn] = await Promise.all([
      mine.client.post('/user/totp/confirm', { code: codeOf(body.secret) }),
      anyone.post(
        '/auth/sessions',
        { method: 'password', email: person.email, password },
        from('192.0.2.77'),
      ),
    ])
    t.equal(confirmed.status, 200)
    const token = signedIn.body.access_token
    if (token !== undefined)
      t.match(await createClient(server.url, token).get('/key'), refusal('revoked'), 'its session has ended')
    else t.match(signedIn, refusal('second_factor'))
  }
})

t.test('the second factor is set up and removed soon after a sign-in only', async (t) => {
  const person = await server.person()
  const { id, client } = await sessionOf(person)
  const makeOld = (createdAt: Date) =>
    server.services.database.prisma.signIn.update({ where: { id }, data: { createdAt } })
  await makeOld(new Date(Date.now() - 11 * 60_000))
  const late = { status: 403, body: { error: { details: { constraint: 'recent_sign_in' } } } }
  t.match(await client.post('/user/totp'), late)
  t.match(await client.delete('/user/totp'), late)
  await makeOld(new Date())
  await enableTotp(server, person.id)
  t.equal((await client.post('/user/totp')).status, 409, 'it is on')
  t.equal((await client.post('/user/totp/confirm', { code: '123456' })).status, 409)
  t.equal((await client.delete('/user/totp')).status, 204)
  t.notOk((await client.get('/user/totp')).body.enabled)
  t.equal(await server.services.database.prisma.recoveryCode.count({ where: { userId: person.id } }), 0)
})

t.test('a new SECRET_KEY reads the secret with the previous one, and encrypts it again', async (t) => {
  const { person, signIn, secret, codes } = await personWithTotp()
  const { database, cipher } = server.services
  const next = createCipher('n'.repeat(40), [testSecretKey])
  const read = () => database.prisma.userTotp.findUniqueOrThrow({ where: { userId: person.id } })
  await reencryptTotp(database, next)
  t.ok((await read()).secret.startsWith(next.prefix))
  t.match(await signIn({ code: codeOf(secret) }), refusal('second_factor'), 'this server lacks the key')
  t.equal((await signIn({ code: codes[0] })).status, 201, 'a recovery code needs no key')
  await reencryptTotp(database, cipher)
  t.ok((await read()).secret.startsWith(next.prefix), 'what cannot be read stays')
  await reencryptTotp(database, createCipher(testSecretKey, ['n'.repeat(40)]))
  t.equal((await signIn({ code: codeOf(secret) })).status, 201)
})
