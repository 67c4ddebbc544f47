// Roles of organizations, custom roles, sessions and service accounts, over all operations: each allows
// exactly what `x-organization-access` and `x-project-access` declare. `npm test` asks with the lowest role
// that may and the highest that may not, and with a custom role, as a service account or in a session for one
// operation of each role and area; `npm run faults` asks for all.
import t from 'tap'
import { newId } from '../../infra/ids.ts'
import { ranks } from '../../services/projects/access.ts'
import { organizationRanks } from '../../services/organizations/access.ts'
import { recordChanges } from '../support/server/changes.ts'
import { createClient } from '../support/http/client.ts'
import { createApiKey, createProject } from '../support/database/db-fixtures.ts'
import {
  fixtures,
  operationInfos,
  projectOf,
  requestFor,
  send,
  successStatus,
} from '../support/operations/operation-fixtures.ts'
import type { Fixture, ProjectRole } from '../support/operations/operation-fixture.ts'
import { createSignIn } from '../support/operations/operation-fixtures-auth.ts'
import {
  createOrganization,
  createServiceAccount,
  organizationRoles,
} from '../support/operations/operation-fixtures-organizations.ts'
import { oneOfEachKind } from '../support/operations/kinds.ts'
import { isLongForm } from '../support/long-form.ts'
import { startServer, type Person } from '../support/server/server.ts'

const server = await startServer(t)
const changes = await recordChanges(t, server)
const { prisma } = server.services.database
const caller = await server.person()

/** In the short form, the highest that is refused and the lowest that is allowed. */
function boundary<T>(ascending: readonly T[], isAllowed: (one: T) => boolean): readonly T[] {
  const lowest = ascending.findIndex(isAllowed)
  if (isLongForm) return ascending
  return lowest === -1 ? ascending.slice(-1) : ascending.slice(Math.max(0, lowest - 1), lowest + 1)
}

for (const { id, organizationAccess } of operationInfos) {
  if (organizationAccess === undefined) continue
  const needed = organizationAccess.role as keyof typeof organizationRanks
  t.test(`${id} needs the role ${needed} in the organization`, async (t) => {
    const isAllowedTo = (role: keyof typeof organizationRoles) =>
      organizationRanks[organizationRoles[role] ?? 'none'] >= organizationRanks[needed]
    for (const role of boundary(['none', 'viewer', 'admin', 'owner'] as const, isAllowedTo)) {
      const own = organizationRoles[role]
      const request = await requestFor(server, id, { caller, role })
      const before = await changes()
      const reply = await send(request)
      if (isAllowedTo(role)) {
        t.equal(reply.status, successStatus(id), `${own} may: ${reply.text.slice(0, 200)}`)
        continue
      }
      t.match(
        reply,
        { status: 403, body: { error: { code: 'FORBIDDEN', details: { constraint: 'role' } } } },
        `${own} may not: ${reply.text.slice(0, 200)}`,
      )
      t.same(await changes(), before, `${own} changes nothing`)
    }
  })
}

const levels = { none: null, read: 'viewer', write: 'editor', admin: 'admin' } as const
const areas = ['projects', 'storage', 'ai', 'payments'] as const
type Area = (typeof areas)[number]

function areaOf(scopes: string[] | null): Area {
  return areas.find((area) => scopes![0].startsWith(`${area}:`)) ?? 'projects'
}

/** Gives the member of a project a custom role that allows something in one area only. */
async function giveCustomRole(projectId: string, userId: string, area: Area, level: keyof typeof levels) {
  const organizationId = await createOrganization({ server, caller, role: 'none' })
  await prisma.project.update({ where: { id: projectId }, data: { organizationId } })
  const columns = {
    projects: 'viewer',
    storage: null,
    ai: null,
    payments: null,
    [area]: levels[level],
  } as const
  const role = await prisma.customRole.create({
    data: {
      id: newId('rol'),
      organizationId,
      name: 'Custom',
      ...columns,
      createdById: server.admin.id,
      createdAt: new Date(),
    },
  })
  await prisma.member.updateMany({ where: { projectId, userId }, data: { customRoleId: role.id } })
}

const projectOperations = operationInfos.filter(
  ({ projectAccess }) => projectAccess !== null && projectAccess.role !== 'none',
)

/** They give a role in all areas, and a member cannot give more than the own role. */
const givesRoles = ['addMember', 'updateMember', 'resendInvitation']

const accessKind = ({ projectAccess, scopes }: (typeof projectOperations)[number]) => [
  projectAccess,
  areaOf(scopes),
]
const asked = isLongForm ? projectOperations : oneOfEachKind(projectOperations, accessKind)

for (const { id, projectAccess, scopes } of asked) {
  const needed = projectAccess!.role as ProjectRole
  const area = areaOf(scopes)
  t.test(`${id} needs what ${needed} allows in ${area}`, async (t) => {
    const given = (Object.keys(levels) as Array<keyof typeof levels>).filter(
      (level) => area !== 'projects' || level !== 'none',
    )
    for (const level of boundary(given, (level) => ranks[levels[level] ?? 'none'] >= ranks[needed])) {
      const request = await requestFor(server, id, { caller, role: 'editor' })
      await giveCustomRole(projectOf(request), caller.id, area, level)
      const rank = ranks[levels[level] ?? 'none']
      const before = await changes()
      const reply = await send(request)
      if (rank >= ranks[needed] && !givesRoles.includes(id)) {
        const { statusForMember }: Fixture = fixtures[id]
        t.equal(reply.status, statusForMember ?? successStatus(id), `${level}: ${reply.text.slice(0, 200)}`)
        continue
      }
      t.equal(reply.status, 403, `${level} is refused: ${reply.text.slice(0, 200)}`)
      t.same(await changes(), before, `${level} changes nothing`)
    }
  })
}

t.test('what a custom role does not allow is in no list, search or event', async (t) => {
  const person = await server.person()
  const project = await createProject({ server, caller: person, role: 'editor' })
  const file = await person.client.post('/ai/knowledge', { name: 'Hidden', project_id: project })
  t.equal(file.status, 201)
  const session = await person.client.post('/ai/sessions', { title: 'Hidden', project_id: project })
  t.equal(session.status, 201)
  const typesOf = async () =>
    (await person.client.get(`/events?project_id=${project}&limit=100`)).body.data.map(
      ({ type }: { type: string }) => type,
    )
  t.ok((await typesOf()).includes('knowledge_base.created'))
  await giveCustomRole(project, person.id, 'storage', 'write')
  t.notOk((await typesOf()).some((type: string) => /^(knowledge_base|session)\./.test(type)))
  t.equal((await person.client.get(`/ai/knowledge?project_id=${project}`)).status, 403)
  t.equal((await person.client.get(`/ai/knowledge/${file.body.id}`)).status, 403)
  t.equal((await person.client.get(`/storage/files?project_id=${project}`)).status, 200)
})

/** A service account of the project of the request, in place of the caller. */
async function asServiceAccount(): Promise<Person> {
  const home = await createProject({ server, caller, role: 'owner' })
  const { userId } = await createServiceAccount(server, { project_id: home })
  const { secret } = await createApiKey(server, userId)
  return { ...caller, id: userId, key: secret, client: createClient(server.url, secret) }
}

async function asSession(): Promise<Person> {
  const person = await server.person()
  const { access_token: key } = await createSignIn(server, person.id)
  return { ...person, key, client: createClient(server.url, key) }
}

for (const [name, make] of Object.entries({
  'a service account': asServiceAccount,
  'a session': asSession,
})) {
  t.test(`${name} has the permissions of its role`, async (t) => {
    const person = await make()
    for (const { id, projectAccess } of asked) {
      const needed = projectAccess!.role as ProjectRole
      // A service account cannot own a project.
      if (needed === 'owner') continue
      const { statusForMember }: Fixture = fixtures[id]
      const allowed = await send(await requestFor(server, id, { caller: person, role: needed }))
      t.equal(
        allowed.status,
        statusForMember ?? successStatus(id),
        `${id} as ${needed}: ${allowed.text.slice(0, 200)}`,
      )
      const lower = (Object.keys(ranks) as ProjectRole[])[ranks[needed] - 1]
      const refused = await send(await requestFor(server, id, { caller: person, role: lower }))
      t.equal(refused.status, 403, `${id} as ${lower}`)
    }
  })
}
