// Attacks on sign-in: guessing passwords, locking an owner out, finding out who has an account.
import t from 'tap'
import { newOneTimeToken, tokenDigest } from '../../infra/encryption/tokens.ts'
import { createClient, type Reply } from '../support/http/client.ts'
import {
  createOneTimeToken,
  newEmail,
  password,
  setPassword,
} from '../support/operations/operation-fixtures-auth.ts'
import { startServer, type Person, type TestServer } from '../support/server/server.ts'
import { isLongForm } from '../support/long-form.ts'

const server = await startServer(t, { env: { TRUST_PROXY: '127.0.0.1' } })
const anyone = createClient(server.url, null)
const from = (address: string) => ({ headers: { 'x-forwarded-for': address } })

function signIn(email: string, guess: string, address = '192.0.2.1', on = anyone): Promise<Reply> {
  return on.post('/auth/sessions', { method: 'password', email, password: guess }, from(address))
}

async function personWithPassword(on: TestServer = server): Promise<Person> {
  const person = await on.person()
  await setPassword(on, person.id)
  return person
}

/** The first waits are of seconds, which a slow machine needs for the guesses. */
async function prolongWaits(): Promise<void> {
  const failedAt = new Date(Date.now() + 60_000)
  await server.services.database.prisma.signInFailure.updateMany({ data: { failedAt } })
}

t.test('after five wrong passwords a network must wait, whether or not there is an account', async (t) => {
  const person = await personWithPassword()
  for (const email of [newEmail(), person.email])
    for (let i = 0; i < 5; i++) t.equal((await signIn(email, 'wrong')).status, 401)
  await prolongWaits()
  const early = await signIn(person.email, password)
  const wrong = await signIn(newEmail(), password)
  t.equal(early.status, 401, 'the right password is refused, too')
  t.same(
    { ...early.body.error, details: null },
    { ...wrong.body.error, details: null },
    'with the same answer',
  )
  t.equal((await signIn(person.email, password, '198.51.100.1')).status, 201, 'another network does not wait')
})

t.test('right passwords beside each other and beside one wrong are all right', async (t) => {
  const person = await personWithPassword()
  const guesses = [...Array(10).fill(password), 'wrong', ...Array(10).fill(password)]
  const replies = await Promise.all(guesses.map((guess) => signIn(person.email, guess, '192.0.2.3')))
  t.same(
    replies.map(({ status }) => status),
    guesses.map((guess) => (guess === password ? 201 : 401)),
  )
  const session = createClient(server.url, replies[0].body.access_token)
  const change = { current_password: password, email: newEmail() }
  const [changed, ...signIns] = await Promise.all([
    session.post('/user/email', change, from('192.0.2.3')),
    ...Array.from({ length: 6 }, () => signIn(person.email, password, '192.0.2.3')),
  ])
  t.equal(changed.status, 202, 'the password of a change, too')
  t.same(new Set(signIns.map(({ status }) => status)), new Set([201]))
})

t.test(
  'behind one address, others delay sign-ins with the password, and no other way to sign in',
  async (t) => {
    const person = await personWithPassword()
    const shared = '192.0.2.4'
    const { body: known } = await signIn(person.email, password, shared)
    const session = createClient(server.url, known.access_token)
    for (let i = 0; i < 8; i++) await signIn(person.email, 'wrong', shared)
    await prolongWaits()
    t.equal(
      (await signIn(person.email, password, shared)).status,
      401,
      'the password waits, as long as it is guessed',
    )
    t.equal((await session.get('/user/profile', from(shared))).status, 200, 'sessions go on')
    const refresh = { refresh_token: known.refresh_token }
    t.equal((await anyone.post('/auth/sessions/refresh', refresh, from(shared))).status, 200)
    const token = await createOneTimeToken(server, 'link', { email: person.email })
    t.equal(
      (await anyone.post('/auth/sessions', { method: 'link', token }, from(shared))).status,
      201,
      'a link works',
    )
    t.equal((await signIn(person.email, password, '198.51.100.9')).status, 201, 'so does another address')
  },
)

t.test('of many guesses at once a few are tried', async (t) => {
  const person = await personWithPassword()
  const count = isLongForm ? 200 : 50
  const guesses = Array.from({ length: count }, (_, i) => (i === count - 10 ? password : `guess ${i}`))
  const replies = await Promise.all(guesses.map((guess) => signIn(person.email, guess, '192.0.2.2')))
  t.ok(replies.every(({ status }) => status === 401 || status === 201))
  const { failures } = await server.services.database.prisma.signInFailure.findFirstOrThrow({
    where: { network: '192.0.2.2' },
  })
  t.ok(failures <= 10, `${failures} were counted`)
})

t.test('an attacker from many networks cannot lock the owner out', async (t) => {
  const person = await personWithPassword()
  const home = '203.0.113.5'
  t.equal((await signIn(person.email, password, home)).status, 201)
  // Each guess costs an Argon2id hash, so the short form stores most of them as failures.
  const account = Buffer.from(tokenDigest(person.email), 'hex')
  const stored = { account, network: '198.51.250.0', failures: isLongForm ? 1 : 95, failedAt: new Date() }
  await server.services.database.prisma.signInFailure.create({ data: stored })
  for (let i = 0; i < (isLongForm ? 30 : 3); i++)
    await Promise.all(Array.from({ length: 4 }, (_, j) => signIn(person.email, 'wrong', `198.51.${i}.${j}`)))
  t.equal((await signIn(person.email, password, '198.51.100.200')).status, 401, 'new networks are refused')
  t.equal((await signIn(person.email, password, home)).status, 201, 'the network of a session is not')
  const token = await createOneTimeToken(server, 'link', { email: person.email })
  const byLink = await anyone.post('/auth/sessions', { method: 'link', token }, from('198.51.100.201'))
  t.equal(byLink.status, 201, 'a link works from everywhere')
})

t.test('with default limits an address gets 30 attempts in a minute', async (t) => {
  const limited = await startServer(t, { env: { RATE_LIMIT_AUTH: '30', RATE_LIMIT_MAIL: '10' } })
  const client = createClient(limited.url, null)
  const statuses: number[] = []
  // Each password that is tried costs an Argon2id hash, and a link counts as well.
  const byLink = { method: 'link', token: newOneTimeToken() }
  for (let i = 0; i < 40; i++)
    statuses.push(
      i < 2 || i >= 38
        ? (await signIn(newEmail(), 'wrong', '192.0.2.1', client)).status
        : (await client.post('/auth/sessions', byLink, from('192.0.2.1'))).status,
    )
  t.same(statuses, [...Array(30).fill(401), ...Array(10).fill(429)])
  const mails: number[] = []
  for (let i = 0; i < 12; i++)
    mails.push((await client.post('/auth/magic-links', { email: newEmail() })).status)
  t.same(mails, [...Array(10).fill(202), 429, 429])
})

t.test('answers do not show who has an account', async (t) => {
  const person = await personWithPassword()
  const unused = newEmail()
  const shape = ({ status, body, headers }: Reply, email: string): string =>
    JSON.stringify([status, body, [...headers.keys()].toSorted()])
      .replaceAll(email, 'EMAIL')
      .replaceAll(/req_\w+/g, 'REQUEST')
  for (const [path, body] of [
    ['/auth/sessions', { method: 'password', password: 'wrong' }],
    ['/auth/sign-up', { name: 'Ada' }],
    ['/auth/magic-links', {}],
    ['/auth/password-resets', {}],
  ] as const) {
    const known = await anyone.post(path, { ...body, email: unused }, from('192.0.2.9'))
    const email = path === '/auth/sign-up' ? newEmail() : person.email
    const unknown = await anyone.post(path, { ...body, email }, from('192.0.2.9'))
    t.equal(shape(known, unused), shape(unknown, email), path)
  }
})

/** Welch's t of two samples. */
function welch(a: number[], b: number[]): number {
  const stats = (values: number[]): [mean: number, variance: number] => {
    const mean = values.reduce((sum, x) => sum + x, 0) / values.length
    return [mean, values.reduce((sum, x) => sum + (x - mean) ** 2, 0) / (values.length - 1)]
  }
  const [[meanA, varA], [meanB, varB]] = [stats(a), stats(b)]
  return Math.abs(meanA - meanB) / Math.sqrt(varA / a.length + varB / b.length)
}

/** Without the slowest tenth, which is the load of the machine. */
const calm = (values: number[]): number[] =>
  values.toSorted((a, b) => a - b).slice(0, Math.floor(values.length * 0.9))

const pairs = isLongForm ? 2_000 : 30

t.test(`times do not show who has an account (${pairs} pairs)`, async (t) => {
  const people: Person[] = []
  for (let i = 0; i < 20; i++) people.push(await personWithPassword())
  for (const [path, body] of [
    ['/auth/sessions', { method: 'password', password: 'wrong' }],
    ['/auth/magic-links', {}],
    ['/auth/password-resets', {}],
  ] as const) {
    const times: [number[], number[]] = [[], []]
    for (let i = 0; i < pairs * 2; i++) {
      const kind = (i + Math.floor(i / 2)) % 2
      const email = kind === 0 ? people[i % people.length].email : newEmail()
      const startedAt = performance.now()
      await anyone.post(path, { ...body, email }, from(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`))
      times[kind].push(performance.now() - startedAt)
    }
    const value = welch(calm(times[0]), calm(times[1]))
    t.comment(`${path}: t = ${value.toFixed(2)}`)
    t.ok(value < 4.5, `${path}: t = ${value.toFixed(2)}`)
  }
})
