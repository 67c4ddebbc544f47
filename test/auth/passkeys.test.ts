// Passkeys: a device adds one and signs in with it, and the answers that the server must refuse.
import { generateKeyPairSync, sign } from 'node:crypto'
import t from 'tap'
import { createClient } from '../support/http/client.ts'
import { createSignIn, enableTotp } from '../support/operations/operation-fixtures-auth.ts'
import { PasskeyDevice, type DeviceAnswerOptions } from '../support/auth/passkey-device.ts'
import { startServer, type Person } from '../support/server/server.ts'

const page = 'https://app.example.com'
const server = await startServer(t, {
  env: { SIGN_IN_URL: `${page}/sign-in`, PASSKEY_DOMAIN: 'example.com' },
})
const { services } = server
const anyone = createClient(server.url, null)
const sessionOf = async (person: Person) =>
  createClient(server.url, (await createSignIn(server, person.id)).access_token)
const refused = { status: 401, body: { error: { details: { reason: 'credentials' } } } }
const wrong = { status: 400, body: { error: { details: { constraint: 'passkey' } } } }

async function add(person: Person, device: PasskeyDevice, options: DeviceAnswerOptions = {}) {
  const session = await sessionOf(person)
  const { status, body } = await session.post('/user/passkey-options')
  t.equal(status, 200)
  return await session.post('/user/passkeys', { name: 'Phone', credential: device.create(body, options) })
}

const optionsOf = async () => (await anyone.post('/auth/passkey-options')).body
const signIn = (credential: object) => anyone.post('/auth/sessions', { method: 'passkey', credential })

t.test('a device adds a passkey and signs in with it', async (t) => {
  const person = await server.person()
  const device = new PasskeyDevice(page)
  const added = await add(person, device)
  t.match(added, {
    status: 201,
    body: { name: 'Phone', synced: true, last_used_at: null, user_id: person.id },
  })
  const options = await optionsOf()
  t.match(options, { rpId: 'example.com', userVerification: 'required' })
  const session = await signIn(device.get(options))
  t.match(session, { status: 201, body: { user_id: person.id, methods: ['passkey'] } })
  const client = createClient(server.url, session.body.access_token)
  t.match((await client.get('/user/passkeys')).body.data, [{ id: added.body.id, last_used_at: String }])
  t.equal((await client.delete(`/user/passkeys/${added.body.id}`)).status, 204)
  t.match(await signIn(device.get(await optionsOf())), refused)
  const mails = await services.database.prisma.mail.findMany({ where: { recipient: person.email } })
  t.same(mails.map(({ kind }) => kind).sort(), ['passkey_added', 'passkey_removed'])
})

t.test('a passkey needs no code of a second factor', async (t) => {
  const person = await server.person()
  const device = new PasskeyDevice(page)
  await add(person, device)
  await enableTotp(server, person.id)
  t.match(await signIn(device.get(await optionsOf())), { status: 201, body: { methods: ['passkey'] } })
})

t.test('an answer works once', async (t) => {
  const device = new PasskeyDevice(page)
  await add(await server.person(), device)
  const answer = device.get(await optionsOf())
  const replies = await Promise.all(Array.from({ length: 10 }, () => signIn(answer)))
  t.equal(replies.filter(({ status }) => status === 201).length, 1)
  t.equal(replies.filter(({ status }) => status === 401).length, 9)
})

t.test('answers that a sign-in refuses', async (t) => {
  const device = new PasskeyDevice(page)
  const person = await server.person()
  await add(person, device)
  const cases: Record<string, DeviceAnswerOptions> = {
    'of a page of another site': { origin: 'https://evil.example' },
    'of a page that only begins like ours': { origin: `${page}.evil.example` },
    'for another domain': { domain: 'evil.example' },
    'to a challenge that the server did not make': { challenge: 'A'.repeat(43) },
    'without a PIN or a fingerprint': { verified: false },
  }
  for (const [name, options] of Object.entries(cases))
    t.match(await signIn(device.get(await optionsOf(), options)), refused, name)
  const session = await sessionOf(person)
  const { body: foreign } = await session.post('/user/passkey-options')
  t.match(await signIn(device.get({ ...foreign, rpId: 'example.com' })), refused, 'to a challenge of a user')
  const stranger = new PasskeyDevice(page)
  t.match(await signIn(stranger.get(await optionsOf())), refused, 'of an unknown device')
  t.match(
    await signIn({ ...stranger.get(await optionsOf()), id: device.id }),
    refused,
    'signed by another device',
  )
  t.match(await signIn({ ...device.get(await optionsOf()), id: 'AAAA' }), refused, 'of an unknown passkey')
  t.equal((await signIn(device.get(await optionsOf()))).status, 201, 'and the device still signs in')
})

t.test('a copy of a device shows by its counter', async (t) => {
  const device = new PasskeyDevice(page)
  await add(await server.person(), device)
  t.equal((await signIn(device.get(await optionsOf(), { counter: 10 }))).status, 201)
  t.match(await signIn(device.get(await optionsOf(), { counter: 10 })), refused)
  t.match(await signIn(device.get(await optionsOf(), { counter: 4 })), refused)
  t.equal((await signIn(device.get(await optionsOf(), { counter: 11 }))).status, 201)
})

t.test('an expired challenge is refused', async (t) => {
  const device = new PasskeyDevice(page)
  await add(await server.person(), device)
  const options = await optionsOf()
  await services.database.prisma.passkeyChallenge.updateMany({ data: { expiresAt: new Date(0) } })
  t.match(await signIn(device.get(options)), refused)
})

t.test('certificates of a device are refused before they are read', async (t) => {
  const session = await sessionOf(await server.person())
  const { body: options } = await session.post('/user/passkey-options')
  for (const format of ['android-key', 'packed', 'fido-u2f', 'tpm', 'apple', 'android-safetynet', 'unknown'])
    t.match(
      await session.post('/user/passkeys', {
        name: 'Phone',
        credential: new PasskeyDevice(page).create(options, { format }),
      }),
      wrong,
      format,
    )
})

t.test('a passkey may attest itself', async (t) => {
  const person = await server.person()
  const device = new PasskeyDevice(page)
  t.match(await add(person, device, { attests: {} }), { status: 201, body: { name: 'Phone' } })
  const session = await signIn(device.get(await optionsOf()))
  t.match(session, { status: 201, body: { user_id: person.id } })
})

t.test('attestations of a passkey by itself that are refused', async (t) => {
  const person = await server.person()
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const certificate = new Uint8Array(Buffer.from('a certificate'))
  const cases: Record<string, DeviceAnswerOptions> = {
    'signed with another key': { attests: { sig: (data) => sign('sha256', data, privateKey) } },
    'without a signature': { attests: { sig: () => Buffer.alloc(0) } },
    'with the signature of another text': {
      attests: { sig: (_data, key) => sign('sha256', Buffer.from('another text'), key) },
    },
    'with another algorithm than the key': { attests: { alg: -257 } },
    'with another hash': { attests: { alg: -36 } },
    'with a certificate': { attests: { more: [['x5c', [certificate]]] } },
    'with an empty list of certificates': { attests: { more: [['x5c', []]] } },
    'with an ECDAA key': { attests: { more: [['ecdaaKeyId', certificate]] } },
    'in another format': { attests: {}, format: 'fido-u2f' },
    'without a format': { attests: {}, format: 'none' },
  }
  for (const [what, options] of Object.entries(cases))
    t.match(await add(person, new PasskeyDevice(page), options), wrong, what)
  t.same((await person.client.get('/user/passkeys')).body.data, [])
})

t.test('answers that cannot be added', async (t) => {
  const person = await server.person()
  for (const options of [{ origin: 'https://evil.example' }, { domain: 'evil.example' }, { verified: false }])
    t.match(await add(person, new PasskeyDevice(page), options), wrong)
  const device = new PasskeyDevice(page)
  t.equal((await add(person, device)).status, 201)
  t.match(await add(person, device), {
    status: 409,
    body: { error: { details: { constraint: 'passkey_exists' } } },
  })
  const other = await server.person()
  t.equal((await add(other, device)).status, 409, 'nor can another user take it over')
  const [mine, theirs] = [await sessionOf(person), await sessionOf(other)]
  const { body: options } = await mine.post('/user/passkey-options')
  const credential = new PasskeyDevice(page).create(options)
  t.match(
    await theirs.post('/user/passkeys', { name: 'Mine', credential }),
    wrong,
    'a challenge of another user',
  )
})

t.test('a user has at most 20 passkeys, however many are added at once', async (t) => {
  const person = await server.person()
  const replies = await Promise.all(Array.from({ length: 25 }, () => add(person, new PasskeyDevice(page))))
  t.equal(replies.filter(({ status }) => status === 201).length, 20)
  t.match(
    replies.find(({ status }) => status !== 201),
    { status: 403, body: { error: { details: { constraint: 'passkeys' } } } },
  )
})

t.test('passkeys are added soon after a sign-in only, and only by their owner', async (t) => {
  const person = await server.person()
  const { id, access_token: token } = await createSignIn(server, person.id)
  const createdAt = new Date(Date.now() - 11 * 60_000)
  await services.database.prisma.signIn.update({ where: { id }, data: { createdAt } })
  t.match(await createClient(server.url, token).post('/user/passkey-options'), {
    status: 403,
    body: { error: { details: { constraint: 'recent_sign_in' } } },
  })
  t.match(await person.client.post('/user/passkey-options'), {
    status: 403,
    body: { error: { details: { constraint: 'session', reason: 'sign_in_required' } } },
  })
  const added = await add(person, new PasskeyDevice(page))
  const stranger = await sessionOf(await server.person())
  t.equal((await stranger.get(`/user/passkeys/${added.body.id}`)).status, 403)
  t.equal((await stranger.delete(`/user/passkeys/${added.body.id}`)).status, 403)
})

t.test('a passkey is renamed by its owner only', async (t) => {
  const person = await server.person()
  const { body: added } = await add(person, new PasskeyDevice(page))
  const path = `/user/passkeys/${added.id}`
  const session = await sessionOf(person)
  const renamed = await session.put(path, { name: 'Laptop' })
  t.match(renamed, { status: 200, body: { ...added, name: 'Laptop', updated_at: String } })
  t.ok(renamed.body.updated_at > added.updated_at)
  const { body: events } = await person.client.get('/events?type=passkey.updated')
  t.match(events.data, [{ data: { object: renamed.body, previous_attributes: { name: 'Phone' } } }])
  t.same(
    (await session.call('PATCH', path, { body: { name: 'Laptop' } })).body,
    renamed.body,
    'the same name changes nothing',
  )
  t.equal((await person.client.get('/events?type=passkey.updated')).body.data.length, 1)
  const stale = { headers: { 'if-match': '"another"' } }
  t.equal((await session.put(path, { name: 'Old' }, stale)).status, 412)
  for (const name of ['', ' ', 'x'.repeat(101), 'a\u0000b', 7, null])
    t.equal((await session.put(path, { name })).status, 400, JSON.stringify(name))
  const stranger = await sessionOf(await server.person())
  t.equal((await stranger.put(path, { name: 'Theirs' })).status, 403)
  t.equal((await stranger.put('/user/passkeys/pky_01jd6y8m5qe8btc4y5w1r0n3fz', { name: 'X' })).status, 404)
  t.equal((await person.client.get(path)).body.name, 'Laptop')
})

t.test('a passkey is renamed in a session soon after a sign-in only', async (t) => {
  const person = await server.person()
  const { body: added } = await add(person, new PasskeyDevice(page))
  const path = `/user/passkeys/${added.id}`
  t.match(await person.client.put(path, { name: 'Swapped' }), {
    status: 403,
    body: { error: { details: { constraint: 'session' } } },
  })
  const { id, access_token: token } = await createSignIn(server, person.id)
  const createdAt = new Date(Date.now() - 11 * 60_000)
  await services.database.prisma.signIn.update({ where: { id }, data: { createdAt } })
  t.match(await createClient(server.url, token).put(path, { name: 'Swapped' }), {
    status: 403,
    body: { error: { details: { constraint: 'recent_sign_in' } } },
  })
  t.same((await person.client.get(path)).body, added, 'nothing changes')
})

t.test('each of ten renames at once has one event, and the last name stays', async (t) => {
  const person = await server.person()
  const { body: added } = await add(person, new PasskeyDevice(page))
  const session = await sessionOf(person)
  const names = Array.from({ length: 10 }, (_, i) => `Phone ${i}`)
  await Promise.all(names.map((name) => session.put(`/user/passkeys/${added.id}`, { name })))
  const { body: events } = await person.client.get('/events?type=passkey.updated')
  t.equal(events.data.length, 10)
  t.equal(
    (await person.client.get(`/user/passkeys/${added.id}`)).body.name,
    events.data.at(-1).data.object.name,
  )
})
