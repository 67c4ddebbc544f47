// The order of checks where one operation holds several things: existence, permission and state of each.
import t from 'tap'
import { askFor, send } from '../support/contract.ts'
import { createDump, insertedInvitation, insertedMember, insertedProject, insertedUser } from '../support/contract-rows.ts'
import { startServer } from '../support/server.ts'

const server = await startServer(t)
const dump = await createDump(t, server)
const archive = (id: string) => server.services.database.prisma.project.update({ where: { id }, data: { status: 'archived', archivedAt: new Date() } })

t.test('403 for the permission comes before 409 for an archived project', async (t) => {
  const caller = await server.person()
  const id = await insertedProject({ server, caller, rank: 'viewer' })
  const other = await insertedMember(server, id, await insertedUser(server), 'editor')
  const invitation = await insertedInvitation(server, id, 'someone.else@example.com')
  await archive(id)
  t.equal((await caller.client.delete(`/projects/${id}/members/${other}`)).status, 403, 'a viewer removes another')
  const stranger = await server.person()
  const made = await dump()
  t.equal((await stranger.client.post(`/projects/${id}/invitations/${invitation}/accept`)).status, 403, 'a stranger accepts what is for another address')
  t.same(await dump(), made)
  const admin = await server.person()
  const theirs = await insertedProject({ server, caller: admin, rank: 'admin' })
  const member = await insertedMember(server, theirs, await insertedUser(server), 'viewer')
  await archive(theirs)
  t.equal((await admin.client.put(`/projects/${theirs}/members/${member}`, { role: 'owner' })).status, 403, 'an admin makes an owner')
})

t.test('404 for a member or an invitation that is not there comes before 409 for an archived project', async (t) => {
  for (const [id, name] of [['updateMember', 'member_id'], ['removeMember', 'member_id'], ['revokeInvitation', 'invitation_id'], ['acceptInvitation', 'invitation_id']] as const) {
    const ask = await askFor(server, id)
    await archive(ask.params!.id)
    const nobodys = `${ask.params![name].slice(0, 3)}_01jd6y8m5qe8btc4y5w1r0n3fz`
    t.equal((await send({ ...ask, params: { ...ask.params, [name]: nobodys } })).status, 404, id)
  }
})
