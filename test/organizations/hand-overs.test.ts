// A caller can hand out only the rights that the caller has, in every area: one table of all callers (role ×
// custom role) and all hand-overs (delegate × role). A second model, written here, gives the expected answer
// of each cell, and is compared with the rights of the delegate in the database. `npm test` has each role,
// and custom roles that each differ in one way; `npm run faults` all callers.
import t from 'tap'
import type { Role } from '../../services/projects/projects.ts'
import { insertInvitation } from '../../services/projects/invitations.ts'
import { createClient, type Reply } from '../support/http/client.ts'
import { acquaint, createCustomRole, createMember } from '../support/database/db-fixtures.ts'
import { newEmail } from '../support/operations/operation-fixtures-auth.ts'
import { addMemberTo } from '../support/operations/operation-fixtures-organizations.ts'
import { isLongForm } from '../support/long-form.ts'
import { upload } from '../support/storage/storage.ts'
import { startServer, type Person } from '../support/server/server.ts'

const server = await startServer(t)
const { database } = server.services
const { prisma } = database

const areas = ['projects', 'storage', 'ai', 'payments'] as const
type Rights = Record<(typeof areas)[number], number>
const ranks = { none: 0, viewer: 1, editor: 2, admin: 3, owner: 4 }
const levels = { none: 0, read: 1, write: 2, admin: 3 } as const
type Level = keyof typeof levels
type Permissions = { projects: Exclude<Level, 'none'> } & Record<'storage' | 'ai' | 'payments', Level>

const everywhere = (rank: number): Rights => ({ projects: rank, storage: rank, ai: rank, payments: rank })
const covers = (own: Rights, given: Rights): boolean => areas.every((area) => own[area] >= given[area])
/** Only an admin of the project hands out anything, and nothing that it has not. */
const mayGive = (own: Rights, given: Rights): boolean => own.projects >= ranks.admin && covers(own, given)

const owner = await server.person({ name: 'Owner' })
const { body: organization } = await owner.client.post('/organizations', { name: 'Acme' })
const { body: second } = await owner.client.post('/organizations', { name: 'Second' })
const { body: project } = await owner.client.post('/projects', {
  name: 'P',
  organization_id: organization.id,
})
const path = `/projects/${project.id}`

interface Caller {
  name: string
  person: Person
  rights: Rights
  /** The role in the organization. */
  inOrganization: 'owner' | 'admin' | 'member' | 'none'
}

/** The permissions that are tried: nothing or all in each area, and one area less than all the others. */
function* permissionsTried(): Generator<Permissions> {
  const both = ['none', 'admin'] as const
  for (const projects of ['read', 'write', 'admin'] as const)
    for (const storage of both)
      for (const ai of both) for (const payments of both) yield { projects, storage, ai, payments }
  for (const area of ['storage', 'ai', 'payments'] as const)
    for (const level of ['read', 'write'] as const)
      yield { projects: 'admin', storage: 'admin', ai: 'admin', payments: 'admin', [area]: level }
}

/** The short form: nothing, less than an admin of the project, all, and one area less than that. */
const representative = [
  'read none none none',
  'read admin admin admin',
  'write admin admin admin',
  'admin admin admin admin',
  'admin none admin admin',
  'admin admin none admin',
  'admin admin admin none',
  'admin write admin admin',
  'admin admin read admin',
]

const nameOf = (permissions: Permissions): string => Object.values(permissions).join(' ')

async function customRole(permissions: Permissions): Promise<string> {
  const fields = { name: nameOf(permissions), permissions }
  return await createCustomRole(server, organization.id, fields)
}

const rightsOf = (permissions: Permissions): Rights =>
  Object.fromEntries(areas.map((area) => [area, levels[permissions[area]]])) as unknown as Rights

async function member(person: { id: string }, role: Role, customRoleId?: string): Promise<string> {
  const id = await createMember(server, project.id, person.id, role)
  if (customRoleId !== undefined) await prisma.member.update({ where: { id }, data: { customRoleId } })
  return id
}

async function* callers(): AsyncGenerator<Caller> {
  for (const role of ['owner', 'admin', 'editor', 'viewer'] as const) {
    const person = await server.person()
    await member(person, role)
    yield { name: role, person, rights: everywhere(ranks[role]), inOrganization: 'none' }
  }
  yield { name: 'a stranger', person: await server.person(), rights: everywhere(0), inOrganization: 'none' }
  for (const role of ['owner', 'admin'] as const) {
    const person = await server.person()
    await addMemberTo(server, organization.id, { userId: person.id }, role)
    yield { name: `organization ${role}`, person, rights: everywhere(ranks[role]), inOrganization: role }
  }
  for (const permissions of permissionsTried()) {
    if (!isLongForm && !representative.includes(nameOf(permissions))) continue
    const person = await server.person()
    await addMemberTo(server, organization.id, { userId: person.id }, 'member')
    await member(person, 'viewer', customRoles.get(nameOf(permissions)))
    const name = `custom role ${JSON.stringify(permissions)}`
    yield { name, person, rights: rightsOf(permissions), inOrganization: 'member' }
  }
}

const customRoles = new Map<string, string>()
for (const permissions of permissionsTried())
  customRoles.set(nameOf(permissions), await customRole(permissions))

/** Service accounts that the owner made, by what each may do in the project. */
const programs: Array<{ name: string; id: string; rights: Rights }> = []
async function program(name: string, role: Role, permissions?: Permissions): Promise<void> {
  const { body } = await owner.client.post('/service-accounts', { name, project_id: project.id, role })
  const where = { projectId_userId: { projectId: project.id, userId: body.user_id } }
  const customRoleId = permissions && customRoles.get(nameOf(permissions))
  if (customRoleId !== undefined) await prisma.member.update({ where, data: { customRoleId } })
  programs.push({ name, id: body.id, rights: permissions ? rightsOf(permissions) : everywhere(ranks[role]) })
}
for (const role of ['admin', 'editor', 'viewer'] as const) await program(role, role)
for (const area of ['storage', 'ai', 'payments'] as const) {
  const none = { projects: 'read', storage: 'none', ai: 'none', payments: 'none' } as const
  await program(`${area} only`, 'viewer', { ...none, [area]: 'admin' })
}
const { body: ofOrganization } = await owner.client.post('/service-accounts', {
  name: 'Of the organization',
  organization_id: organization.id,
  role: 'admin',
})

/** The rights of a user in the project now. */
async function held(userId: string): Promise<Rights> {
  const row = await prisma.member.findUnique({
    where: { projectId_userId: { projectId: project.id, userId } },
  })
  const rank = (role: Role | null | undefined): number => ranks[role ?? 'none']
  return {
    projects: rank(row?.role),
    storage: rank(row?.storageRole),
    ai: rank(row?.aiRole),
    payments: rank(row?.paymentsRole),
  }
}

let cells = 0
const seen = { allowed: 0, refused: 0 }

/** One cell of the table. `delegate`: who may have got something. */
async function cell(
  name: string,
  caller: Caller,
  allowed: boolean,
  asked: Promise<Reply>,
  delegate?: string,
) {
  const { status, text } = await asked
  cells++
  seen[allowed ? 'allowed' : 'refused']++
  const isRight = allowed ? status < 300 : [403, 404, 409].includes(status)
  if (!isRight)
    t.fail(`${caller.name}: ${name} is ${status}, wanted ${allowed ? 'allowed' : 'refused'}: ${text}`)
  if (delegate === undefined) return
  const got = await held(delegate)
  const expected = allowed ? covers(caller.rights, got) : covers(everywhere(0), got)
  if (!expected) t.fail(`${caller.name}: ${name} left ${JSON.stringify(got)}`)
}

const roles = ['viewer', 'editor', 'admin', 'owner'] as const

async function handOverRoles(caller: Caller): Promise<void> {
  const { person, rights } = caller
  const { client } = person
  for (const role of roles) {
    const given = everywhere(ranks[role])
    const allowed = mayGive(rights, given)
    const [known, invited, accepting] = await Promise.all([server.person(), server.person(), server.person()])
    await acquaint(server, person, known)
    const members = `${path}/members`
    await cell(`add ${role}`, caller, allowed, client.post(members, { user_id: known.id, role }), known.id)
    await cell(`invite ${role}`, caller, allowed, client.post(members, { user_id: invited.id, role }))
    await cell(
      `invite ${role} by address`,
      caller,
      allowed,
      client.post(members, { email: newEmail(), role }),
    )
    const byOwner = await invite(owner.id, await server.person(), role)
    await cell(`resend ${role}`, caller, allowed, client.post(`${path}/invitations/${byOwner}/resend`))
    const made = await invite(person.id, accepting, role)
    const accept = accepting.client.post(`${path}/invitations/${made}/accept`)
    await cell(`accepted ${role}`, caller, allowed, accept, accepting.id)
    const changed = await server.person()
    const id = await member(changed, 'viewer')
    await cell(`change to ${role}`, caller, allowed, client.put(`${members}/${id}`, { role }))
    if (!allowed)
      t.same(await held(changed.id), everywhere(ranks.viewer), `${caller.name}: change to ${role}`)
  }
  for (const permissions of [
    { projects: 'admin', storage: 'admin', ai: 'admin', payments: 'admin' },
    { projects: 'read', storage: 'admin', ai: 'none', payments: 'none' },
    { projects: 'read', storage: 'none', ai: 'admin', payments: 'none' },
    { projects: 'read', storage: 'none', ai: 'none', payments: 'admin' },
    { projects: 'write', storage: 'none', ai: 'none', payments: 'none' },
  ] as Permissions[]) {
    const custom = customRoles.get(nameOf(permissions))
    const id = await member(await server.person(), 'viewer')
    const change = client.put(`${path}/members/${id}`, { custom_role_id: custom })
    await cell(`give ${JSON.stringify(permissions)}`, caller, mayGive(rights, rightsOf(permissions)), change)
  }
}

/** A pending invitation that a user made. */
async function invite(createdById: string, { id: userId }: Person, role: Role): Promise<string> {
  const fields = { projectId: project.id, who: { userId }, role, createdById }
  return (await database.transaction((tx) => insertInvitation(tx, fields))).id
}

async function handOverKeys(caller: Caller): Promise<void> {
  const { person, rights } = caller
  const { client } = person
  const key = { name: 'k', scopes: ['storage:read'] }
  for (const { name, id, rights: given } of programs) {
    const allowed = mayGive(rights, given)
    for (const body of [key, { ...key, project_ids: [project.id] }])
      await cell(`a key of ${name}`, caller, allowed, client.post(`/service-accounts/${id}/api-keys`, body))
  }
  const isAdmin = caller.inOrganization === 'owner' || caller.inOrganization === 'admin'
  const ofAll = client.post(`/service-accounts/${ofOrganization.id}/api-keys`, key)
  await cell('a key of the organization', caller, isAdmin, ofAll)
  for (const role of ['viewer', 'editor', 'admin'] as const) {
    const make = client.post('/service-accounts', { name: role, project_id: project.id, role })
    await cell(`make a service account ${role}`, caller, mayGive(rights, everywhere(ranks[role])), make)
  }
  for (const role of ['member', 'admin'] as const) {
    const make = client.post('/service-accounts', { name: role, organization_id: organization.id, role })
    await cell(`make a service account ${role} of the organization`, caller, isAdmin, make)
  }
  const own = await client.post('/user/api-keys', key)
  await cell('a key of its own', caller, true, Promise.resolve(own))
  const rotated = await client.post(`/user/api-keys/${own.body.id}/rotate`)
  await cell('a rotated key', caller, true, Promise.resolve(rotated))
  for (const secret of [own.body.key, rotated.body.key]) {
    const read = createClient(server.url, secret).get(`/storage/files?project_id=${project.id}`)
    const isRevoked = secret === own.body.key
    await cell('what a key of its own reads', caller, !isRevoked && rights.storage >= 1, orRefused(read))
  }
}

/** A revoked key is 401, which is a refusal, too. */
async function orRefused(asked: Promise<Reply>): Promise<Reply> {
  const reply = await asked
  return reply.status === 401 ? { ...reply, status: 403 } : reply
}

const { body: file } = await upload(owner.client, { bytes: 'secret', fields: { project_id: project.id } })

async function handOverTheRest(caller: Caller): Promise<void> {
  const { person, rights, inOrganization } = caller
  const { client } = person
  const link = await client.post(`/storage/files/${file.id}/links`, {})
  await cell('a link', caller, rights.storage >= ranks.editor, Promise.resolve(link))
  for (const role of ['member', 'admin', 'owner'] as const) {
    const rank = { none: 0, member: 1, admin: 2, owner: 3 }
    const allowed = rank[inOrganization] >= Math.max(rank.admin, rank[role])
    const members = `/organizations/${organization.id}/members`
    const [invited, accepting] = await Promise.all([server.person(), server.person()])
    await cell(
      `organization: invite ${role}`,
      caller,
      allowed,
      client.post(members, { user_id: invited.id, role }),
    )
    const id = await addMemberTo(server, organization.id, { userId: accepting.id, isAdded: false }, role)
    await prisma.organizationMember.update({ where: { id }, data: { createdById: person.id } })
    const accept = accepting.client.post(`${members}/${id}/accept`)
    await cell(`organization: accepted ${role}`, caller, allowed, accept)
    const changed = await addMemberTo(
      server,
      organization.id,
      { userId: (await server.person()).id },
      'member',
    )
    const change = client.put(`${members}/${changed}`, { role })
    await cell(`organization: change to ${role}`, caller, allowed, change)
  }
  const isAdmin = inOrganization === 'owner' || inOrganization === 'admin'
  const custom = { projects: 'read', storage: 'none', ai: 'none', payments: 'none' }
  const roleFields = { name: `Role of ${person.id}`, permissions: custom }
  const make = client.post(`/organizations/${organization.id}/roles`, roleFields)
  await cell('a custom role', caller, isAdmin, make)
  // A transfer would end the table, so only its refusals are asked here.
  if (rights.projects < ranks.owner) {
    await addMemberTo(server, second.id, { userId: person.id }, 'admin')
    const transfer = client.post(`${path}/transfer`, { organization_id: second.id })
    await cell('a transfer', caller, false, transfer)
  }
}

await addMemberTo(server, organization.id, { userId: server.admin.id }, 'owner')

t.test('all pairs of role, custom role, delegate and hand-over', async (t) => {
  let count = 0
  const perCaller: number[] = []
  for await (const caller of callers()) {
    const before = cells
    count++
    await handOverRoles(caller)
    await handOverKeys(caller)
    await handOverTheRest(caller)
    perCaller.push(cells - before)
  }
  t.equal(count, isLongForm ? 37 : 16)
  t.ok(
    perCaller.every((asked) => asked === 63 || asked === 62),
    `cells of each caller: ${perCaller}`,
  )
  const least = isLongForm ? { allowed: 300, refused: 1_000 } : { allowed: 200, refused: 400 }
  t.ok(seen.allowed > least.allowed && seen.refused > least.refused, JSON.stringify(seen))
  t.comment(`${cells} cells: ${JSON.stringify(seen)}`)
})
