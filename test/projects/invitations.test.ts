// Invitations: who sees them, and how they end.
import t from 'tap'
import { runRetention } from '../support/database/retention.ts'
import { startServer, type Person } from '../support/server/server.ts'
import { team, type Role } from '../support/server/team.ts'
import { apiErrorOf } from '../support/http/typed-client.ts'

const forbidden = { status: 403, code: 'FORBIDDEN' }
const notFound = { status: 404, code: 'NOT_FOUND' }
const conflict = (constraint: string) => ({ status: 409, code: 'CONFLICT', details: { constraint } })
const invalidState = (constraint: string) => ({ status: 409, code: 'INVALID_STATE', details: { constraint } })

const server = await startServer(t)
const { path, owner, admin, editor, viewer, stranger } = await team(server)
const invite = async (person: Person, email: string, role: Role = 'viewer') => {
  const { data, response } = await person.api.addMember({ path, body: { email, role } }).withResponse()
  t.equal(response.status, 202)
  return data
}
const of = (invitation: { id: string }) => ({ ...path, invitation_id: invitation.id })
const memberIdOf = async ({ email }: Person) =>
  (await owner.api.listMembers({ path, query: { q: email } })).data[0].id

t.test(
  'an unknown email address is invited; admins see the invitation, and its user after signing up',
  async (t) => {
    const invited = await invite(admin, 'Grace@Example.com', 'editor')
    t.match(invited, {
      email: 'grace@example.com',
      role: 'editor',
      status: 'pending',
      created_by: admin.id,
    })
    t.match(await apiErrorOf(viewer.api.listInvitations({ path })), forbidden)
    t.equal((await owner.api.listInvitations({ path, query: { status: ['pending'] } })).pagination.total, 1)
    t.match(await apiErrorOf(invite(owner, 'grace@example.com')), conflict('invitation_exists'))

    const grace = await server.person({ email: 'grace@example.com' })
    t.same((await grace.api.listMyInvitations()).data, [invited])
    const { data: member, response } = await grace.api.acceptInvitation({ path: of(invited) }).withResponse()
    t.equal(response.status, 201)
    t.match(member, { role: 'editor', created_by: admin.id, user: { id: grace.id } })
    const again = await grace.api.acceptInvitation({ path: of(invited) }).withResponse()
    t.equal(again.response.status, 201)
    t.same(again.data, member)
    t.equal((await grace.api.getProject({ path })).your_role, 'editor')
    t.equal((await grace.api.listMyInvitations()).pagination.total, 0)
  },
)

t.test('the invited user reads the names of the project and the inviter', async (t) => {
  const { email } = await server.person()
  const { name } = await admin.api.getProfile()
  const invited = await invite(admin, `not-yet-${email}`, 'editor')
  t.match(invited, { project_name: 'team', created_by: admin.id, created_by_name: name })
  const person = await server.person({ email: `not-yet-${email}` })
  const read = await person.api.getInvitation({ path: of(invited) })
  t.same(read, invited)
  t.notOk(JSON.stringify(read).includes(admin.email), "without the inviter's address")
  t.same(await owner.api.getInvitation({ path: of(invited) }), invited, 'as an admin of the project does')
  t.match(await apiErrorOf(person.api.getProject({ path })), forbidden, 'but not the project')
  await owner.api.updateProject({ path, body: { name: 'renamed' } })
  t.equal((await person.api.getInvitation({ path: of(invited) })).project_name, 'renamed')
  await owner.api.updateProject({ path, body: { name: 'team' } })
})

t.test('for another user an invitation does not exist', async (t) => {
  const invited = await invite(owner, 'only@example.com')
  for (const [who, person] of Object.entries({ stranger, viewer, editor })) {
    for (const operation of ['getInvitation', 'acceptInvitation', 'declineInvitation'] as const)
      t.match(
        await apiErrorOf(person.api[operation]({ path: of(invited) })),
        notFound,
        `${who}: ${operation}`,
      )
  }
  t.match(await apiErrorOf(stranger.api.revokeInvitation({ path: of(invited) })), forbidden)
  t.match(await apiErrorOf(admin.api.acceptInvitation({ path: of(invited) })), forbidden, 'an admin sees it')
  t.match(await apiErrorOf(admin.api.declineInvitation({ path: of(invited) })), forbidden)
  t.equal((await owner.api.getInvitation({ path: of(invited) })).status, 'pending')
})

t.test('a declined invitation has ended; the same user is invited again, not added', async (t) => {
  const first = await invite(owner, 'no@example.com', 'admin')
  const person = await server.person({ email: 'no@example.com' })
  const declined = await person.api.declineInvitation({ path: of(first) })
  t.match(declined, { id: first.id, status: 'declined' })
  t.ok(declined.updated_at > first.updated_at)
  t.match(await apiErrorOf(person.api.acceptInvitation({ path: of(first) })), invalidState('declined'))
  t.same(await person.api.declineInvitation({ path: of(first) }), declined)
  t.match(await apiErrorOf(owner.api.revokeInvitation({ path: of(first) })), invalidState('declined'))
  t.equal((await person.api.listMyInvitations()).pagination.total, 0)
  t.same(
    (await owner.api.listInvitations({ path, query: { status: ['declined'] } })).data.map(({ id }) => id),
    [first.id],
  )

  const second = await invite(owner, 'No@example.com')
  t.not(second.id, first.id)
  t.match(await apiErrorOf(person.api.getProject({ path })), forbidden, 'the user is no member yet')
  t.match(await apiErrorOf(invite(owner, 'no@example.com')), conflict('invitation_exists'))
  t.match(await person.api.acceptInvitation({ path: of(second) }), { role: 'viewer' })
  t.equal((await owner.api.getInvitation({ path: of(first) })).status, 'declined')
  await person.api.removeMember({ path: { ...path, member_id: await memberIdOf(person) } })
})

t.test('an address is invited again after a revocation and after the expiry', async (t) => {
  const first = await invite(owner, 'again@example.com')
  await owner.api.revokeInvitation({ path: of(first) })
  const second = await invite(owner, 'again@example.com')
  await server.services.database.prisma.invitation.update({
    where: { id: second.id },
    data: { expiresAt: new Date(Date.now() - 1000) },
  })
  const third = await invite(owner, 'again@example.com', 'editor')
  const person = await server.person({ email: 'again@example.com' })
  t.same((await person.api.listMyInvitations()).data, [third])
  t.match(await person.api.acceptInvitation({ path: of(third) }), { role: 'editor' })
})

t.test('an archived project: the invited user can decline, but not accept', async (t) => {
  const { id } = await owner.api.createProject({ body: { name: 'over' } })
  const email = 'late@example.com'
  const { id: invitationId } = await owner.api.addMember({ path: { id }, body: { email, role: 'viewer' } })
  await owner.api.archiveProject({ path: { id } })
  const person = await server.person({ email })
  const invitation = { path: { id, invitation_id: invitationId } }
  t.equal((await person.api.getInvitation(invitation)).project_name, 'over')
  t.match(await apiErrorOf(person.api.acceptInvitation(invitation)), invalidState('archived'))
  t.equal((await person.api.declineInvitation(invitation)).status, 'declined')
})

t.test('of accepting, declining and revoking at once, one wins', async (t) => {
  for (let round = 1; round <= 6; round++) {
    const email = `race-${round}@example.com`
    const invitation = { path: of(await invite(owner, email)) }
    const person = await server.person({ email })
    const ends = [
      () => person.api.acceptInvitation(invitation).then(() => 'accepted'),
      () => person.api.declineInvitation(invitation).then(() => 'declined'),
      () => owner.api.revokeInvitation(invitation).then(() => 'revoked'),
    ]
    // Each end is first in two rounds.
    const order = [0, 1, 2].map((i) => ends[(i + round) % 3])
    const results = await Promise.allSettled([...order, ...order].map((end) => end()))
    const won = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
    t.equal(won.length, 2, 'the second request of the winner changes nothing')
    t.equal(new Set(won).size, 1, `${won}`)
    for (const result of results)
      if (result.status === 'rejected') t.match(result.reason, invalidState(won[0]))
    t.equal((await owner.api.getInvitation(invitation)).status, won[0])
    const { data } = await owner.api.listMembers({ path, query: { q: email } })
    t.equal(data.length, won[0] === 'accepted' ? 1 : 0, `${won[0]}: the members`)
  }
})

t.test('a user with an unverified email address sees no invitation', async (t) => {
  const invitation = await invite(owner, 'eve@example.com', 'admin')
  const eve = await server.person({ email: 'eve@example.com' })
  await server.admin.api.updateUser({ path: { id: eve.id }, body: { email_verified: false } })
  t.equal((await eve.api.listMyInvitations()).pagination.total, 0)
  for (const operation of ['getInvitation', 'acceptInvitation', 'declineInvitation'] as const)
    t.match(await apiErrorOf(eve.api[operation]({ path: of(invitation) })), notFound, operation)
})

t.test('a revoked or expired invitation cannot be accepted', async (t) => {
  const revoked = await invite(owner, 'r@example.com')
  t.match(await apiErrorOf(viewer.api.revokeInvitation({ path: of(revoked) })), forbidden)
  await admin.api.revokeInvitation({ path: of(revoked) })
  await admin.api.revokeInvitation({ path: of(revoked) })
  const r = await server.person({ email: 'r@example.com' })
  t.match(await apiErrorOf(r.api.acceptInvitation({ path: of(revoked) })), invalidState('revoked'))

  const old = await invite(owner, 'old@example.com')
  await server.services.database.prisma.invitation.update({
    where: { id: old.id },
    data: { expiresAt: new Date(Date.now() - 1000) },
  })
  const person = await server.person({ email: 'old@example.com' })
  t.match(await apiErrorOf(person.api.acceptInvitation({ path: of(old) })), {
    details: { constraint: 'expired' },
  })
  t.same(
    (await owner.api.listInvitations({ path, query: { status: ['expired'] } })).data.map(({ id }) => id),
    [old.id],
  )
  t.equal((await owner.api.addMember({ path, body: { user_id: person.id, role: 'viewer' } })).role, 'viewer')
})

t.test('an invitation is sent again: an expired one can be accepted then', async (t) => {
  const expire = async (id: string): Promise<unknown> =>
    await server.services.database.prisma.invitation.update({
      where: { id },
      data: { expiresAt: new Date(Date.now() - 1000) },
    })
  const invitation = await invite(owner, 'latecomer@example.com')
  await expire(invitation.id)
  for (const person of [viewer, stranger])
    t.match(await apiErrorOf(person.api.resendInvitation({ path: of(invitation) })), forbidden)
  const person = await server.person({ email: 'latecomer@example.com' })
  t.match(
    await apiErrorOf(person.api.resendInvitation({ path: of(invitation) })),
    forbidden,
    'the invited user',
  )
  t.equal((await owner.api.getInvitation({ path: of(invitation) })).status, 'expired')
  const sent = await admin.api.resendInvitation({ path: of(invitation) })
  t.match(sent, { id: invitation.id, status: 'pending', created_by: owner.id })
  t.ok(Date.parse(sent.expires_at) > Date.now() + 13 * 86_400_000)
  t.equal((await person.api.acceptInvitation({ path: of(invitation) })).role, 'viewer')
  t.match(await apiErrorOf(admin.api.resendInvitation({ path: of(invitation) })), invalidState('accepted'))
})

t.test('an expired invitation can be revoked, and is deleted in the end', async (t) => {
  const { prisma } = server.services.database
  const expire = async (id: string, days: number): Promise<unknown> =>
    await prisma.invitation.update({
      where: { id },
      data: { expiresAt: new Date(Date.now() - days * 86_400_000) },
    })
  const closed = await invite(owner, 'closed@example.com')
  const lately = await invite(owner, 'lately@example.com')
  const forgotten = await invite(owner, 'forgotten@example.com')
  for (const [{ id }, days] of [
    [closed, 31],
    [lately, 29],
    [forgotten, 31],
  ] as const)
    await expire(id, days)
  await owner.api.revokeInvitation({ path: of(closed) })
  t.equal((await owner.api.getInvitation({ path: of(closed) })).status, 'revoked')
  await runRetention(server.services.database)
  t.equal((await owner.api.getInvitation({ path: of(lately) })).status, 'expired')
  t.match(await apiErrorOf(owner.api.getInvitation({ path: of(forgotten) })), { code: 'NOT_FOUND' })
})

t.test('only an owner sends the invitation of an owner again', async (t) => {
  const invitation = await invite(owner, 'owner-to-be@example.com', 'owner')
  t.match(await apiErrorOf(admin.api.resendInvitation({ path: of(invitation) })), forbidden)
  t.equal((await owner.api.resendInvitation({ path: of(invitation) })).status, 'pending')
})

t.test('an invitation that is revoked and sent again at once ends revoked', async (t) => {
  for (let round = 0; round < 5; round++) {
    const invitation = { path: of(await invite(owner, `again-${round}@example.com`)) }
    await Promise.allSettled([
      owner.api.revokeInvitation(invitation),
      owner.api.resendInvitation(invitation),
      admin.api.resendInvitation(invitation),
    ])
    t.equal((await owner.api.getInvitation(invitation)).status, 'revoked')
  }
})

t.test('an invitation to one project returns 404 in another', async (t) => {
  const other = await owner.api.createProject({ body: { name: 'other' } })
  const invitation = await invite(owner, 'z@example.com')
  t.match(await apiErrorOf(owner.api.getInvitation({ path: { ...of(invitation), id: other.id } })), {
    status: 404,
  })
  t.match(await apiErrorOf(owner.api.revokeInvitation({ path: { ...of(invitation), id: other.id } })), {
    status: 404,
  })
})
