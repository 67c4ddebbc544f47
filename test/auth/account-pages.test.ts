// The account page: everything that can sign in, the forms that remove it, and attacks on them.
import t from 'tap'
import {
  createIdentity,
  createPasskey,
  createSignIn,
  enableTotp,
  newEmail,
} from '../support/operations/operation-fixtures-auth.ts'
import { otherSites, visitorOf, visitorWith } from '../support/browser/page-visitor.ts'
import { startServer, type Person } from '../support/server/server.ts'

const server = await startServer(t)
const { prisma } = server.services.database
const context = (caller: Person) => ({ server, caller, role: 'none' as const })
const hostile = `<script>alert(1)</script>"'><img src=x onerror=alert(2)>`

/** A new user with every way to sign in. */
async function personWithAll() {
  const person = await server.person({ email: newEmail() })
  const passkey = await createPasskey(context(person))
  const identity = await createIdentity(context(person))
  const { id: session } = await createSignIn(server, person.id)
  return { person, passkey, identity, session }
}

async function left({ id: userId }: Person) {
  const [passkeys, identities] = await Promise.all([
    prisma.passkey.count({ where: { userId } }),
    prisma.identity.count({ where: { userId } }),
  ])
  return { passkeys, identities }
}

const removed = async (userId: string, type: string) => await prisma.event.count({ where: { userId, type } })

t.test('the page shows all that can sign in, and whether there is a second factor', async (t) => {
  const { person, passkey, identity } = await personWithAll()
  const lastUsedAt = new Date('2026-03-04T05:06:07Z')
  await prisma.passkey.update({ where: { id: passkey }, data: { lastUsedAt } })
  const { get } = await visitorOf(server, person.id)
  const { status, html } = await get('/account')
  t.equal(status, 200)
  for (const text of [passkey, identity, 'Phone', 'last used 2026-03-04 05:06 UTC', `local: ${person.email}`])
    t.match(html, text)
  t.match(html, 'You add a passkey in your application')
  t.match(html, 'Off. Sign-ins')
  await enableTotp(server, person.id)
  t.match((await get('/account')).html, 'Recovery codes left: 2')
  t.notMatch(html, '<script')
})

t.test('the forms remove a passkey and unlink an identity, with event and e-mail', async (t) => {
  const { person, passkey, identity } = await personWithAll()
  const { submit, get } = await visitorOf(server, person.id)
  t.match(await submit('/account/passkeys', { passkey }), { status: 303, location: '/account' })
  t.same(await left(person), { passkeys: 0, identities: 1 })
  t.match(await submit('/account/identities', { identity }), { status: 303, location: '/account' })
  t.same(await left(person), { passkeys: 0, identities: 0 })
  t.equal(await removed(person.id, 'passkey.removed'), 1)
  t.equal(await removed(person.id, 'identity.removed'), 1)
  const mails = await prisma.mail.findMany({ where: { recipient: person.email } })
  t.same(mails.map(({ kind }) => kind).toSorted(), ['identity_removed', 'passkey_added', 'passkey_removed'])
  t.equal((await get('/account')).html.match(/None\./g)?.length, 2)
})

t.test('ten minutes after the sign-in the page asks for a new one, as the API does', async (t) => {
  const { person, passkey, identity } = await personWithAll()
  const { submit } = await visitorOf(server, person.id, 11)
  for (const [path, fields] of [
    ['/account/passkeys', { passkey }],
    ['/account/identities', { identity }],
  ] as const) {
    const { status, html } = await submit(path, fields)
    t.equal(status, 422, path)
    t.match(html, 'sign in again', path)
    t.match(html, 'href="/sign-in"', path)
  }
  t.same(await left(person), { passkeys: 1, identities: 1 })
})

t.test('a page of another site removes nothing', async (t) => {
  const { person, passkey, identity, session } = await personWithAll()
  const { submit } = await visitorOf(server, person.id)
  for (const [name, headers] of Object.entries(otherSites))
    for (const [path, fields] of [
      ['/account', { session }],
      ['/account/passkeys', { passkey }],
      ['/account/identities', { identity }],
    ] as const)
      t.equal((await submit(path, fields, headers)).status, 403, `${path} ${name}`)
  t.same(await left(person), { passkeys: 1, identities: 1 })
  t.equal(await prisma.signIn.count({ where: { id: session } }), 1)
})

t.test('the passkey, the identity and the session of another user stay', async (t) => {
  const { person, passkey, identity, session } = await personWithAll()
  const { submit } = await visitorOf(server, (await server.person()).id)
  for (const [path, fields] of [
    ['/account', { session }],
    ['/account/passkeys', { passkey }],
    ['/account/passkeys', { passkey: identity }],
    ['/account/passkeys', { passkey: `' OR true --` }],
    ['/account/identities', { identity }],
    ['/account/identities', {}],
  ] as const)
    t.match(await submit(path, fields as {}), { status: 303, location: '/account' }, JSON.stringify(fields))
  t.same(await left(person), { passkeys: 1, identities: 1 })
  t.equal(await prisma.signIn.count({ where: { id: session, expiresAt: { gt: new Date() } } }), 1)
})

t.test('an ended session, an expired one and a forged one remove nothing', async (t) => {
  const { person, passkey } = await personWithAll()
  const visitor = await visitorOf(server, person.id)
  await prisma.signIn.updateMany({ where: { userId: person.id }, data: { expiresAt: new Date(0) } })
  const unknown = `session=ses_01jd6y8m5qe8btc4y5w1r0n3fz.${'A'.repeat(43)}`
  for (const { submit, get } of [visitor, visitorWith(server, unknown), visitorWith(server, '')]) {
    t.match(await submit('/account/passkeys', { passkey }), { status: 303, location: '/sign-in' })
    t.match(await get('/account'), { status: 303, location: '/sign-in' })
  }
  t.same(await left(person), { passkeys: 1, identities: 1 })
})

t.test('the same form ten times at once removes once', async (t) => {
  const { person, passkey, identity } = await personWithAll()
  const { submit } = await visitorOf(server, person.id)
  const replies = await Promise.all([
    ...Array.from({ length: 10 }, () => submit('/account/passkeys', { passkey })),
    ...Array.from({ length: 10 }, () => submit('/account/identities', { identity })),
  ])
  t.ok(replies.every(({ status, location }) => status === 303 && location === '/account'))
  t.equal(await removed(person.id, 'passkey.removed'), 1)
  t.equal(await removed(person.id, 'identity.removed'), 1)
})

t.test('names are text, not HTML', async (t) => {
  const { person, passkey, identity } = await personWithAll()
  await prisma.passkey.update({ where: { id: passkey }, data: { name: hostile } })
  await prisma.identity.update({ where: { id: identity }, data: { provider: hostile, email: hostile } })
  await prisma.user.update({ where: { id: person.id }, data: { name: hostile } })
  const { html } = await (await visitorOf(server, person.id)).get('/account')
  t.notMatch(html, '<script')
  t.notMatch(html, '<img')
  t.equal(html.match(/&lt;script&gt;/g)?.length, 7)
})
