// Lists over all projects (`project_id=*`, `organization_id`) have exactly what a caller reads project by
// project.
import t, { type Test } from 'tap'
import { createClient, type Client } from '../support/http/client.ts'
import {
  createApiKey,
  createCustomRole,
  createFile,
  createFileLink,
  createKnowledgeBase,
  createMember,
  createProject,
  createSession,
} from '../support/database/db-fixtures.ts'
import {
  addMemberTo,
  createOrganization,
  createServiceAccount,
} from '../support/operations/operation-fixtures-organizations.ts'
import { startServer } from '../support/server/server.ts'

const server = await startServer(t)
const { prisma } = server.services.database
const { admin } = server

const paths = ['/storage/files', '/ai/sessions', '/ai/knowledge', '/storage/links']

/** A file with a link, a session and a knowledge base of the user in the project, or in none. */
async function fill(projectId: string | undefined, userId = admin.id): Promise<void> {
  const file = await createFile(server, userId, { projectId: projectId ?? null })
  await createFileLink(server, file, userId)
  await createSession(server, userId, { projectId: projectId ?? null })
  await createKnowledgeBase(server, userId, { projectId })
}

const person = await server.person()
const organization = await createOrganization({ server, caller: person, role: 'viewer' })
const make = (role: 'none' | 'viewer' | 'owner', status?: 'archived' | 'deleted') =>
  createProject({ server, caller: person, role }, status)
const viewed = await make('viewer')
const owned = await make('owner')
const archived = await make('viewer', 'archived')
const deleted = await make('owner', 'deleted')
const foreign = await make('none')
/** Projects of the organization: with a custom role that may not read AI, through the role, and in none. */
const custom = await make('none')
const member = await make('viewer')
const closed = await make('none')
await prisma.project.updateMany({
  where: { id: { in: [custom, member, closed] } },
  data: { organizationId: organization },
})
const customMember = await createMember(server, custom, person.id, 'viewer')
const customRoleId = await createCustomRole(server, organization)
await prisma.member.update({ where: { id: customMember }, data: { customRoleId } })
const projects = [viewed, owned, archived, deleted, foreign, custom, member, closed]
for (const project of [...projects, undefined]) await fill(project)
await fill(undefined, person.id)

const idsOf = ({ body }: { body: any }): string[] => body.data.map((item: { id: string }) => item.id).sort()

/** What the caller reads of each of the projects, and outside of projects. */
async function readOneByOne(client: Client, path: string, places: Array<string | undefined>) {
  const ids: string[] = []
  for (const place of places) {
    const reply = await client.get(`${path}?limit=100${place === undefined ? '' : `&project_id=${place}`}`)
    if (reply.status === 200) ids.push(...idsOf(reply))
  }
  return ids.sort()
}

/** @returns the number of items of each list. */
async function compare(t: Test, client: Client): Promise<number[]> {
  const counts: number[] = []
  for (const path of paths) {
    const all = await client.get(`${path}?limit=100&project_id=*`)
    t.equal(all.status, 200, all.text)
    t.same(idsOf(all), await readOneByOne(client, path, [...projects, undefined]), path)
    t.equal(all.body.pagination.total, all.body.data.length)
    counts.push(all.body.data.length)
    const of = await client.get(`${path}?organization_id=${organization}`)
    t.same(idsOf(of), await readOneByOne(client, path, [custom, member, closed]), `${path} of it`)
    const both = await client.get(`${path}?organization_id=${organization}&project_id=*`)
    t.same(idsOf(both), idsOf(of), 'all of the organization')
  }
  return counts
}

t.test('a member, whose custom role has no access to AI in one project', async (t) => {
  t.same(await compare(t, person.client), [6, 5, 5, 3])
  const outside = await person.client.get(
    `/storage/files?organization_id=${organization}&project_id=${viewed}`,
  )
  t.same(idsOf(outside), [], 'a project that the organization does not have')
  const refused = await person.client.get(`/ai/sessions?organization_id=${organization}&project_id=${closed}`)
  t.equal(refused.status, 403)
})

t.test('a key that is limited to two projects, of which one is foreign', async (t) => {
  const { secret } = await createApiKey(server, person.id, { projectIds: [viewed, foreign] })
  t.same(await compare(t, createClient(server.url, secret)), [1, 1, 1, 0])
})

t.test('a user from outside', async (t) => {
  const { client } = await server.person()
  t.same(await compare(t, client), [0, 0, 0, 0])
  for (const path of paths)
    t.same(idsOf(await client.get(`${path}?project_id=*&created_by=${person.id}`)), [], 'not hers either')
})

t.test('an operator reads what he is a member of, as everyone', async (t) => {
  const operator = await server.person({ role: 'admin' })
  t.same(await compare(t, operator.client), [0, 0, 0, 0])
})

t.test('an admin of the organization, until he is none', async (t) => {
  const boss = await server.person()
  const { body: own } = await boss.client.post('/organizations', { name: 'Own' })
  const { body: project } = await boss.client.post('/projects', { name: 'P', organization_id: own.id })
  await fill(project.id)
  const next = await server.person()
  const membership = await addMemberTo(server, own.id, { userId: next.id }, 'admin')
  const path = `/storage/files?organization_id=${own.id}`
  t.equal((await next.client.get(path)).body.data.length, 1)
  t.equal(
    (await next.client.get(`/events?organization_id=${own.id}&type=project.created`)).body.data.length,
    1,
  )
  const { status } = await boss.client.delete(`/organizations/${own.id}/members/${membership}`)
  t.equal(status, 204)
  t.equal((await next.client.get(path)).body.data.length, 0)
  t.equal((await next.client.get(`/events?organization_id=${own.id}`)).body.data.length, 0)
})

t.test('a service account of a project reads this project', async (t) => {
  const account = await createServiceAccount(server, { project_id: viewed })
  const { secret } = await createApiKey(server, account.userId)
  t.same(await compare(t, createClient(server.url, secret)), [1, 1, 1, 0])
})

t.test('a cursor goes on after the caller has joined another project', async (t) => {
  const reader = await server.person()
  for (const project of [viewed, owned]) await createMember(server, project, reader.id, 'viewer')
  const first = await reader.client.get('/storage/files?project_id=*&limit=1')
  t.equal(first.body.pagination.total, 2)
  await createMember(server, foreign, reader.id, 'viewer')
  const cursor = encodeURIComponent(first.body.pagination.next_cursor)
  const next = await reader.client.get(`/storage/files?project_id=*&limit=1&cursor=${cursor}`)
  t.equal(next.status, 200)
  t.equal(next.body.data.length, 1)
})

t.test('events of an organization and its projects', async (t) => {
  const owner = await server.person()
  const { body: own } = await owner.client.post('/organizations', { name: 'Own' })
  const { body: project } = await owner.client.post('/projects', { name: 'P', organization_id: own.id })
  await owner.client.post('/projects', { name: 'Private' })
  const typesOf = ({ body }: { body: any }) => body.data.map(({ type }: { type: string }) => type)
  const read = (query: string) => owner.client.get(`/events?${query}`)
  t.same(typesOf(await read(`organization_id=${own.id}`)), ['organization.created', 'project.created'])
  t.same(typesOf(await read(`organization_id=${own.id}&project_id=${project.id}`)), ['project.created'])
  t.same(typesOf(await read(`organization_id=${organization}&project_id=${project.id}`)), [])
  const { secret } = await createApiKey(server, owner.id, { projectIds: [project.id] })
  const limited = await createClient(server.url, secret).get(`/events?organization_id=${own.id}`)
  t.same(typesOf(limited), ['project.created'], 'a limited key')
  t.same(typesOf(await person.client.get(`/events?organization_id=${own.id}`)), [], 'a user from outside')
})
