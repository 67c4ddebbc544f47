// The page of an invitation: who sees it, the way there and back by the sign-in, and attacks on its form.
import t from 'tap'
import { readOutbox } from '../../services/mail/outbox.ts'
import { newEmail, password, setPassword } from '../support/operations/operation-fixtures-auth.ts'
import { otherSites, visitorOf, visitorWith } from '../support/browser/page-visitor.ts'
import type { Person } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'
import { startWorkingServer } from '../support/server/working-server.ts'

const server = await startWorkingServer(t, { env: { PUBLIC_URL: 'http://platform.example.com' } })
const { prisma } = server.services.database
const hostile = `<script>alert(1)</script>"'><img src=x onerror=alert(2)>`

interface Invited {
  inviter: Person
  person: Person
  /** The id of the invitation. */
  id: string
  /** The id of the project or the organization. */
  place: string
}

async function inviteToProject(name = 'Ours'): Promise<Invited> {
  const [inviter, person] = [await server.person({ name: `${name} owner` }), await server.person()]
  const { body: project } = await inviter.client.post('/projects', { name })
  const invited = await inviter.client.post(`/projects/${project.id}/members`, {
    email: person.email,
    role: 'editor',
  })
  t.equal(invited.status, 202, invited.text)
  return { inviter, person, id: invited.body.id, place: project.id }
}

async function inviteToOrganization(name = 'Acme'): Promise<Invited> {
  const [inviter, person] = [await server.person({ name: `${name} owner` }), await server.person()]
  const { body: organization } = await inviter.client.post('/organizations', { name })
  const invited = await inviter.client.post(`/organizations/${organization.id}/members`, {
    email: person.email,
    role: 'admin',
  })
  t.equal(invited.status, 201, invited.text)
  return { inviter, person, id: invited.body.id, place: organization.id }
}

const invite = { project: inviteToProject, organization: inviteToOrganization }
const kinds = ['project', 'organization'] as const

const isMember = async (kind: (typeof kinds)[number], { person, place }: Invited): Promise<boolean> =>
  (await person.client.get(`/${kind}s/${place}`)).status === 200

for (const kind of kinds) {
  t.test(`the e-mail leads to the page, which says who invites to which ${kind}`, async (t) => {
    const { person, id } = await invite[kind]()
    const { database, cipher } = server.services
    const text = await waitUntil(async () => {
      const mails = await readOutbox(database, cipher, 100)
      const mail = mails.find((one) => one.recipient === person.email && one.status === 'kept')
      return mail?.text
    }, 'the e-mail')
    t.match(text, `http://platform.example.com/invitations/${id}\n`)
    const { status, html } = await (await visitorOf(server, person.id)).get(`/invitations/${id}`)
    t.equal(status, 200)
    const name = kind === 'project' ? 'Ours' : 'Acme'
    const role = kind === 'project' ? 'editor' : 'admin'
    for (const word of [name, `${name} owner`, role, person.email, 'your email address and your picture'])
      t.match(html, word)
  })

  t.test(`accepting makes a member of the ${kind}`, async (t) => {
    const invited = await invite[kind]()
    const { person, id, inviter } = invited
    const path = `/invitations/${id}`
    const { get, submit } = await visitorOf(server, person.id)
    t.match(await submit(path, {}), { status: 303, location: path })
    t.notOk(await isMember(kind, invited), 'a form without an answer changes nothing')
    t.match(await submit(path, { answer: 'accept' }), { status: 303, location: path })
    t.ok(await isMember(kind, invited))
    t.match((await get(path)).html, 'You have accepted the invitation.')
    const type = kind === 'project' ? 'member.added' : 'organization_member.added'
    const { body: events } = await inviter.client.get(`/events?type=${type}`)
    t.match(events.data.at(-1), { actor: { type: 'session', user_id: person.id } })
  })

  t.test(`declining ends the invitation to the ${kind}`, async (t) => {
    const invited = await invite[kind]()
    const { person, id } = invited
    const { submit } = await visitorOf(server, person.id)
    t.match(await submit(`/invitations/${id}`, { answer: 'decline' }), { status: 303, location: '/account' })
    const again = await submit(`/invitations/${id}`, { answer: 'accept' })
    t.ok(again.status === 404 || again.location === `/invitations/${id}`)
    t.notOk(await isMember(kind, invited))
  })

  t.test(`both answers to the ${kind} at once: one counts`, async (t) => {
    for (let round = 0; round < 3; round++) {
      const invited = await invite[kind]()
      const { person, id } = invited
      const { submit } = await visitorOf(server, person.id)
      const replies = await Promise.all(
        ['accept', 'decline', 'accept', 'decline', 'accept', 'decline'].map((answer) =>
          submit(`/invitations/${id}`, { answer }),
        ),
      )
      t.ok(replies.every(({ status }) => status === 303 || status === 404))
      const joined = await isMember(kind, invited)
      const where = { userId: person.id, type: { in: ['member.added', 'organization_member.added'] } }
      t.ok((await prisma.event.count({ where })) <= 1)
      // A repeated answer that has been given already succeeds.
      const isDeclined = replies.some(({ location }) => location === '/account')
      t.equal(isDeclined, !joined, 'a membership is not ended by the other form')
    }
  })

  t.test(`the invitation to the ${kind} is for the invited user only`, async (t) => {
    const invited = await invite[kind]()
    const { id, inviter } = invited
    for (const other of [inviter, server.admin, await server.person()]) {
      const { get, submit } = await visitorOf(server, other.id)
      const { status, html } = await get(`/invitations/${id}`)
      t.equal(status, 404)
      t.notMatch(html, kind === 'project' ? 'Ours' : 'Acme')
      t.equal((await submit(`/invitations/${id}`, { answer: 'accept' })).status, 404)
      t.equal((await submit(`/invitations/${id}`, { answer: 'decline' })).status, 404)
    }
    await prisma.user.update({ where: { id: invited.person.id }, data: { emailVerified: false } })
    const { get } = await visitorOf(server, invited.person.id)
    t.equal((await get(`/invitations/${id}`)).status, 404, 'nor for an address that is not verified')
  })

  t.test(`a page of another site answers no invitation to a ${kind}`, async (t) => {
    const invited = await invite[kind]()
    const { person, id } = invited
    const { get, submit } = await visitorOf(server, person.id)
    for (const [name, headers] of Object.entries(otherSites))
      for (const answer of ['accept', 'decline'])
        t.equal((await submit(`/invitations/${id}`, { answer }, headers)).status, 403, `${name} ${answer}`)
    t.match((await get(`/invitations/${id}`)).html, 'value="accept"')
    t.notOk(await isMember(kind, invited))
  })

  t.test(`the name of a ${kind} is text, not HTML`, async (t) => {
    const { person, id } = await invite[kind](hostile)
    await prisma.user.update({ where: { id: person.id }, data: { email: `${newEmail()}` } })
    const { get } = await visitorOf(server, person.id)
    const refusal = await get(`/invitations/${id}`)
    t.equal(refusal.status, 404, 'the address has changed')
    t.notMatch(refusal.html, hostile)
    await prisma.user.update({ where: { id: person.id }, data: { email: person.email } })
    const { html } = await get(`/invitations/${id}`)
    t.notMatch(html, '<script')
    t.notMatch(html, '<img')
    t.match(html, '&lt;script&gt;')
  })
}

t.test('an archived project keeps the invitation, and the page says why', async (t) => {
  const { inviter, person, id, place } = await inviteToProject()
  t.equal((await inviter.client.post(`/projects/${place}/archive`)).status, 200)
  const { submit } = await visitorOf(server, person.id)
  const { status, html } = await submit(`/invitations/${id}`, { answer: 'accept' })
  t.equal(status, 422)
  t.match(html, 'That did not work')
  t.equal((await prisma.invitation.findUniqueOrThrow({ where: { id } })).status, 'pending')
})

t.test('an expired invitation shows that it has expired', async (t) => {
  for (const kind of kinds) {
    const { person, id } = await invite[kind]()
    const data = { expiresAt: new Date(0) }
    if (kind === 'project') await prisma.invitation.update({ where: { id }, data })
    else await prisma.organizationMember.update({ where: { id }, data })
    const { get } = await visitorOf(server, person.id)
    const { html } = await get(`/invitations/${id}`)
    t.match(html, 'The invitation has expired.', kind)
    t.notMatch(html, '<button', kind)
  }
})

t.test('without a session the page leads to the sign-in, and the sign-in back', async (t) => {
  const { person, id } = await inviteToProject()
  await setPassword(server, person.id)
  const stranger = visitorWith(server, '')
  const asked = await stranger.get(`/invitations/${id}`)
  t.match(asked, { status: 303, location: '/sign-in' })
  t.match(asked.setCookies, [/^return=inv_[^;]+; Max-Age=3600; Path=\/; HttpOnly; SameSite=Lax$/])
  t.match(await stranger.submit(`/invitations/${id}`, { answer: 'accept' }), { location: '/sign-in' })
  const returning = visitorWith(server, asked.setCookies[0].split(';')[0])
  const signedIn = await returning.submit('/sign-in', { email: person.email, password })
  t.match(signedIn, { status: 303, location: `/invitations/${id}` })
  const cookies = [...asked.setCookies, ...signedIn.setCookies].map((one) => one.split(';')[0])
  const shown = await visitorWith(server, cookies.join('; ')).get(`/invitations/${id}`)
  t.equal(shown.status, 200)
  t.match(shown.setCookies, [/^return=; Max-Age=0; /])
  const other = await visitorOf(server, (await server.person()).id)
  const missing = await other.get(`/invitations/${id}`, { cookie: `${other.cookie}; return=${id}` })
  t.equal(missing.status, 404)
  t.match(missing.setCookies, [/^return=; Max-Age=0; /], 'another account is not led there again')
})

t.test('the sign-in returns to pages of this server only', async (t) => {
  const person = await server.person()
  await setPassword(server, person.id)
  for (const place of [
    '//evil.example',
    '/\\evil.example',
    'https://evil.example',
    '%2F%2Fevil.example',
    '..%2F..%2Fevil',
    '@evil.example',
    'console/../evil',
    'console.evil.example',
    'inv_01jd6y8m5qe8btc4y5w1r0n3fz/../../evil',
    'inv_01jd6y8m5qe8btc4y5w1r0n3fz%0d%0aLocation:%20https://evil.example',
    'inv_01jd6y8m5qe8btc4y5w1r0n3fz?next=https://evil.example',
    'prj_01jd6y8m5qe8btc4y5w1r0n3fz',
    'INV_01jd6y8m5qe8btc4y5w1r0n3fz',
    '',
  ]) {
    const { submit } = visitorWith(server, `return=${place}`)
    const reply = await submit('/sign-in', { email: person.email, password })
    t.match(reply, { status: 303, location: '/account' }, place)
  }
  const { get } = await visitorOf(server, person.id)
  for (const place of ['%2F%2Fevil.example', '..%2F..%2Fevil', 'inv_x', '%5Cevil.example']) {
    const { status, location } = await get(`/invitations/${place}`)
    t.ok(status === 400 || status === 404, `${place} ${status}`)
    t.equal(location, null)
  }
})

t.test('an expired session answers nothing', async (t) => {
  const invited = await inviteToOrganization()
  const { person, id } = invited
  const { submit } = await visitorOf(server, person.id)
  await prisma.signIn.updateMany({ where: { userId: person.id }, data: { expiresAt: new Date(0) } })
  t.match(await submit(`/invitations/${id}`, { answer: 'accept' }), { status: 303, location: '/sign-in' })
  t.notOk(await isMember('organization', invited))
})
