// `include` adds the authors of resources, one statement for a page, and only those whom the caller may see.
import t from 'tap'
import { operations } from '../../generated/operations.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import type { Scope } from '../../services/users/scopes.ts'
import { insertFile, newFileId } from '../../services/storage/files.ts'
import {
  createApiKey,
  createFile,
  createFileVersion,
  createKnowledgeBase,
  createMember,
  createSession,
} from '../support/database/db-fixtures.ts'
import { insertedOrder } from '../support/database/db-fixtures-payments.ts'
import { createClient, type Client } from '../support/http/client.ts'
import { startServer, type Person } from '../support/server/server.ts'

const server = await startServer(t)
const { prisma } = server.services.database
const [owner, author, stranger] = [await server.person(), await server.person(), await server.person()]

async function sharedProject(...others: Person[]): Promise<string> {
  const { body } = await owner.client.post('/projects', { name: 'ours' })
  for (const { id } of others) await createMember(server, body.id, id, 'editor')
  return body.id
}

async function withKey(
  person: Person,
  scopes?: Scope[],
  projectIds: string[] | null = null,
): Promise<Client> {
  return createClient(server.url, (await createApiKey(server, person.id, { scopes, projectIds })).secret)
}

const publicDataOf = ({ id, email }: Person) => ({ id, email, avatar_url: null })
const authorOf = async (client: Client, file: string): Promise<any> => {
  const { status, body } = await client.get(`/storage/files/${file}?include=created_by`)
  t.equal(status, 200)
  t.ok('created_by_user' in body)
  return body.created_by_user
}

t.test('the author is beside the id, in a resource and in a page', async (t) => {
  const project = await sharedProject(author)
  const file = await createFile(server, author.id, { projectId: project })
  const session = await createSession(server, author.id, { projectId: project })
  const base = await createKnowledgeBase(server, author.id, { projectId: project })
  const order = await insertedOrder(server, author.id, { projectId: project })
  await prisma.order.update({ where: { id: order }, data: { createdBy: owner.id } })
  const tested = new Set<string>()
  for (const [path, id, created_by] of [
    ['/storage/files', file, author],
    ['/ai/sessions', session, author],
    ['/ai/knowledge', base, author],
    ['/payments/orders', order, owner],
  ] as const) {
    const query = 'include=created_by'
    const list = await owner.client.get(`${path}?project_id=${project}&${query}`)
    const one = await owner.client.get(`${path}/${id}?${query}`)
    const user = publicDataOf(created_by)
    t.match(list.body.data, [{ id, created_by: user.id, created_by_user: user }], path)
    t.match(one.body, { id, created_by: user.id, created_by_user: user }, path)
    t.notOk('user' in one.body)
    t.match(list.headers.get('link'), 'include=created_by')
    const plain = await owner.client.get(`${path}/${id}`)
    t.notOk('created_by_user' in plain.body, 'only with include')
    t.equal(one.headers.get('etag'), plain.headers.get('etag'), 'not part of the ETag')
    const other = await owner.client.get(`${path}/${id}?include=metadata`)
    t.match({ status: other.status, body: other.body }, { status: 400, body: { error: { details: {} } } })
    for (const place of [path, `${path}/{id}`]) tested.add(place)
  }
  const version = await createFileVersion(server, file, author.id)
  const versions = `/storage/files/${file}/versions`
  for (const path of [versions, `${versions}/${version}`]) {
    const { body: found } = await owner.client.get(`${path}?include=created_by`)
    t.match(found.data?.[0] ?? found, { id: version, created_by_user: publicDataOf(author) }, path)
  }
  tested.add('/storage/files/{id}/versions').add('/storage/files/{id}/versions/{id}')
  const page = await owner.api.listFiles({ query: { project_id: project, include: ['created_by'] } })
  t.equal(page.data[0].created_by_user?.email, author.email, 'with the TypeScript client')
  const { body } = await owner.client.get(`/payments/orders/${order}?include=user&include=created_by`)
  t.match(body, { user: publicDataOf(author), created_by_user: publicDataOf(owner) })
  await prisma.order.update({ where: { id: order }, data: { createdBy: null } })
  const { body: before } = await owner.client.get(`/payments/orders/${order}?include=created_by`)
  t.match(before, { created_by: null, created_by_user: null })
  const declared = Object.values(operations as Record<string, OperationInfo>)
    .filter(({ includes }) => includes !== undefined)
    .map(({ path }) => path.replace(/^\/v1|(?<=\{)\w+(?=\})/g, (part) => (part === '/v1' ? '' : 'id')))
  t.same(declared.sort(), [...tested].sort(), 'the operations with include')
})

t.test('a page of 100 costs one more statement', async (t) => {
  const authors = await Promise.all(Array.from({ length: 10 }, () => server.person()))
  const project = await sharedProject(...authors)
  for (let i = 0; i < 100; i++)
    await insertFile(server.services.database, newFileId(), {
      projectId: project,
      ownerId: authors[i % 10].id,
      name: `${i}.txt`,
      contentType: 'text/plain',
      declaredContentType: null,
      bytes: 1,
      sha256: '0'.repeat(64),
    })
  const path = `/storage/files?project_id=${project}&limit=100`
  // Events are numbered in the background.
  const sent = (): number => server.statements.filter((text) => !text.includes('number_events')).length
  const countOf = async (url: string): Promise<number> => {
    server.statements.length = 0
    const { body } = await owner.client.get(url)
    t.equal(body.data.length, 100)
    if (url !== path) for (const file of body.data) t.equal(file.created_by_user.id, file.created_by)
    return sent()
  }
  await countOf(path)
  t.equal(await countOf(`${path}&include=created_by`), (await countOf(path)) + 1)
  await stranger.client.get('/storage/files')
  server.statements.length = 0
  await stranger.client.get('/storage/files')
  const without = sent()
  server.statements.length = 0
  await stranger.client.get('/storage/files?include=created_by')
  t.equal(sent(), without, 'none for an empty page')
})

t.test('a user who has left the projects of the caller is not shown', async (t) => {
  const left = await server.person()
  const project = await sharedProject(left)
  const file = await createFile(server, left.id, { projectId: project })
  t.match(await authorOf(owner.client, file), publicDataOf(left))
  await prisma.member.deleteMany({ where: { projectId: project, userId: left.id } })
  t.equal(await authorOf(owner.client, file), null)
  const other = await sharedProject(left)
  t.match(await authorOf(owner.client, file), publicDataOf(left), 'another project that both are in')
  await owner.client.delete(`/projects/${other}`)
  t.equal(await authorOf(owner.client, file), null, 'a deleted project does not count')
})

t.test('a file that was moved to a project of another tenant does not show its author', async (t) => {
  const { body: theirs } = await stranger.client.post('/projects', { name: 'theirs' })
  const file = await createFile(server, author.id, { projectId: await sharedProject(author) })
  await prisma.file.update({ where: { id: file }, data: { projectId: theirs.id, workspaceId: theirs.id } })
  t.equal(await authorOf(stranger.client, file), null)
})

t.test('a key sees members of its own projects only, and needs the scope projects:read', async (t) => {
  const project = await sharedProject(author)
  const left = await server.person()
  const file = await createFile(server, left.id, { projectId: project })
  const own = await createFile(server, owner.id, { projectId: project })
  const theirs = await createFile(server, author.id, { projectId: project })
  await sharedProject(left)
  t.match(await authorOf(owner.client, file), publicDataOf(left))
  const limited = await withKey(owner, undefined, [project])
  t.equal(await authorOf(limited, file), null, 'a member of another project')
  t.match(await authorOf(limited, theirs), publicDataOf(author))
  t.match(await authorOf(limited, own), publicDataOf(owner))
  const withoutScope = await withKey(owner, ['storage:read'])
  t.equal(await authorOf(withoutScope, theirs), null)
  t.equal(await authorOf(withoutScope, own), null)
})

t.test('a service account is shown as in the list of members, and sees the members', async (t) => {
  const project = await sharedProject(author)
  const account = await owner.client.post('/service-accounts', {
    name: 'Robot',
    project_id: project,
    role: 'editor',
  })
  t.equal(account.status, 201, account.text)
  const key = await owner.client.post(`/service-accounts/${account.body.id}/api-keys`, {
    name: 'robot',
    scopes: ['projects:read', 'storage:read'],
  })
  t.equal(key.status, 201, key.text)
  const robot = createClient(server.url, key.body.key)
  const file = await createFile(server, account.body.user_id, { projectId: project })
  const members = await owner.client.get(`/projects/${project}/members`)
  const member = members.body.data.find(({ user }: any) => user.id === account.body.user_id)
  t.same(await authorOf(owner.client, file), member.user)
  t.same(await authorOf(robot, file), member.user)
  const theirs = await createFile(server, author.id, { projectId: project })
  t.match(await authorOf(robot, theirs), publicDataOf(author))
  t.equal((await owner.client.delete(`/service-accounts/${account.body.id}`)).status, 204)
  t.equal(await authorOf(owner.client, file), null, 'a deleted one')
})

t.test('only operators see the people of sales with whom they share no project', async (t) => {
  const order = await insertedOrder(server, stranger.id)
  await prisma.order.update({ where: { id: order }, data: { createdBy: server.admin.id } })
  const path = `/payments/orders/${order}?include=user&include=created_by`
  const own = await stranger.client.get(path)
  t.match(own.body, { user: publicDataOf(stranger), created_by_user: null }, 'the buyer')
  const seller = await withKey(server.admin, ['payments:read', 'projects:read', 'payments:sell'])
  t.match((await seller.get(path)).body, { user: null, created_by_user: publicDataOf(server.admin) })
  const operator = await withKey(server.admin, ['payments:read', 'payments:sell', 'users:admin'])
  const seen = await operator.get(path)
  t.match(seen.body, { user: publicDataOf(stranger), created_by_user: publicDataOf(server.admin) })
  await prisma.user.update({ where: { id: stranger.id }, data: { status: 'deleted', email: null } })
  t.equal((await operator.get(path)).body.user, null, 'a deleted user')
})
