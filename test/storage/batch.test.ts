// Actions on many files in one request: each file has the result of the single operation.
import t, { type Test } from 'tap'
import { statement } from '../../infra/database/statements.ts'
import { newId } from '../../infra/ids.ts'
import {
  createFile,
  createFolder,
  createMember,
  createProject,
  createTrashedFile,
} from '../support/database/db-fixtures.ts'
import { startServer, type Person } from '../support/server/server.ts'

const server = await startServer(t)
const { database } = server.services

const wrongUsage = statement<{ workspace_id: string }>(
  `SELECT u.workspace_id FROM storage_usage u
   LEFT JOIN (SELECT workspace_id, count(*) AS files, count(trashed_at) AS trashed FROM files GROUP BY 1) f
     ON f.workspace_id = u.workspace_id
   WHERE u.files <> coalesce(f.files, 0) OR u.trashed_files <> coalesce(f.trashed, 0)`,
)

async function assertUsage(t: Test): Promise<void> {
  t.same(await database.sql(wrongUsage, []), [], 'the usage of every workspace is exact')
}

const batch = async ({ client }: Person, action: string, ids: string[], fields: object = {}) =>
  await client.post('/storage/batch', { action, ids, ...fields })

/** The status, code and constraint of each result. */
const outcomes = (reply: { body: any; text: string }): unknown[] => {
  if (reply.body.data === undefined) throw new Error(reply.text)
  return reply.body.data.map(({ status, error }: any) =>
    error === null ? status : [status, error.code, error.details.constraint],
  )
}

const outcome = ({ status, body }: { status: number; body: any }): unknown =>
  status < 300 ? 200 : [status, body.error.code, body.error.details.constraint]

async function eventsOf(ids: string[]): Promise<string[]> {
  const events = await database.prisma.event.findMany({ orderBy: { position: 'asc' } })
  return events
    .filter(({ data }) => ids.includes((data as any).object.id))
    .map(
      ({ type, data }) =>
        `${type} ${Object.keys((data as any).previous_attributes)
          .toSorted()
          .join()}`,
    )
}

const many = async (person: Person, count: number, fields: Parameters<typeof createFile>[2] = {}) =>
  await Promise.all(Array.from({ length: count }, () => createFile(server, person.id, fields)))

t.test('each action changes all files, with the events of the single operations', async (t) => {
  const person = await server.person()
  const ids = (await many(person, 3, { tags: ['old'] })).toSorted()
  const three = [200, 200, 200]
  t.same(outcomes(await batch(person, 'tag', ids, { tags: ['new'], metadata: { a: '1' } })), three)
  t.same(outcomes(await batch(person, 'tag', ids, { metadata: { a: null, b: '2' } })), three)
  t.same(outcomes(await batch(person, 'tag', ids, { metadata: { b: '2' } })), three, 'no change')
  t.same(outcomes(await batch(person, 'move', ids, { path: 'a/b' })), three)
  const read = async (id: string) => (await person.client.get(`/storage/files/${id}`)).body
  for (const id of ids) t.match(await read(id), { path: 'a/b', tags: ['new'], metadata: { b: '2' } })
  t.same(outcomes(await batch(person, 'trash', ids)), three)
  t.same((await person.client.get('/storage/trash')).body.pagination.total, 3)
  await person.client.delete(
    `/storage/folders/${(await person.client.get('/storage/folders')).body.data[0].id}`,
  )
  t.same(outcomes(await batch(person, 'restore', ids.toReversed())), three)
  for (const id of ids) t.match(await read(id), { path: 'a/b', trashed_at: null })
  t.same(outcomes(await batch(person, 'move', ids, { folder_id: null })), three)
  await assertUsage(t)
  t.same(outcomes(await batch(person, 'trash', [ids[0]])), [200])
  t.same(outcomes(await batch(person, 'delete', ids)), three, 'in the trash or not')
  t.equal(await database.prisma.file.count({ where: { id: { in: ids } } }), 0)
  t.same(await eventsOf([ids[1]]), [
    'file.updated metadata,tags,updated_at',
    'file.updated metadata,updated_at',
    'file.updated folder_id,path,updated_at',
    'file.trashed folder_id,purge_at,trashed_at,updated_at',
    'file.restored folder_id,purge_at,trashed_at,updated_at',
    'file.updated folder_id,path,updated_at',
    'file.deleted ',
  ])
  await assertUsage(t)
})

t.test('the fields must be those of the action', async (t) => {
  const person = await server.person()
  const [id] = await many(person, 1)
  for (const [action, fields, field, constraint] of [
    ['trash', { path: 'a' }, 'path', 'additionalProperties'],
    ['move', { tags: ['a'], path: 'a' }, 'tags', 'additionalProperties'],
    ['move', { path: 'a', folder_id: null }, 'folder_id', 'exclusive'],
    ['move', {}, 'path', 'required'],
    ['tag', {}, 'tags', 'required'],
  ] as const)
    t.match(await batch(person, action, [id], fields), {
      status: 400,
      body: { error: { details: { field, constraint } } },
    })
  t.equal((await batch(person, 'trash', [id, id])).status, 400)
  t.equal((await batch(person, 'trash', [])).status, 400)
  t.equal((await person.client.get(`/storage/files/${id}`)).status, 200)
})

t.test('files of other tenants do not exist; errors are those of the single operations', async (t) => {
  const [person, other] = [await server.person(), await server.person()]
  const place = { server, caller: person }
  const edited = await createProject({ ...place, role: 'editor' })
  const viewed = await createProject({ ...place, role: 'viewer' })
  const archived = await createProject({ ...place, role: 'editor' }, 'archived')
  const foreign = await createProject({ ...place, role: 'none' })
  const fileIn = async (projectId: string | null, owner = server.admin.id, trashed = false) =>
    await (trashed ? createTrashedFile : createFile)(server, owner, { projectId })
  const one = async (action: string, id: string) => {
    const path = `/storage/files/${id}`
    if (action === 'trash') return await person.client.delete(path)
    if (action === 'delete') return await person.client.delete(`${path}?permanent=true`)
    if (action === 'move') return await person.client.post(`${path}/move`, { path: 'm' })
    if (action === 'restore') return await person.client.post(`/storage/trash/${id}/restore`, {})
    return await person.client.put(path, { tags: ['single'] })
  }
  const fields: Record<string, object> = { move: { path: 'm' }, tag: { tags: ['batch'] } }
  for (const action of ['move', 'tag', 'trash', 'restore', 'delete']) {
    const files = async () => [
      await fileIn(edited, undefined, action === 'restore'),
      await fileIn(viewed, undefined, action === 'restore'),
      await fileIn(archived, undefined, action === 'restore'),
      newId('file'),
      await fileIn(null, person.id, action === 'restore'),
      // The wrong side of the trash.
      ...(action === 'delete' ? [] : [await fileIn(edited, undefined, action !== 'restore')]),
    ]
    const theirs = [await fileIn(foreign, undefined, action === 'restore'), await fileIn(null, other.id)]
    const mine = await files()
    const got = outcomes(await batch(person, action, [theirs[0], ...mine, theirs[1]], fields[action]))
    const missing = [404, 'NOT_FOUND', undefined]
    t.same([got[0], got.at(-1)], [missing, missing], `${action} of another tenant's file`)
    const wanted: unknown[] = []
    for (const id of await files()) wanted.push(outcome(await one(action, id)))
    t.same(got.slice(1, -1), wanted, action)
    t.equal(await database.prisma.file.count({ where: { id: { in: theirs }, tags: { isEmpty: true } } }), 2)
  }
  await assertUsage(t)
})

t.test('a folder belongs to one workspace, and the full metadata of one file is its own error', async (t) => {
  const person = await server.person()
  const project = await createProject({ server, caller: person, role: 'editor' })
  const folder = await createFolder(database, person.id, 'to', project)
  const inside = await createFile(server, person.id, { projectId: project })
  const outside = await createFile(server, person.id)
  const both = [outside, inside]
  t.same(outcomes(await batch(person, 'move', both, { folder_id: folder })), [
    [404, 'NOT_FOUND', undefined],
    200,
  ])
  t.equal((await person.client.get(`/storage/files/${inside}`)).body.folder_id, folder)
  const full = Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`k${i}`, '']))
  await person.client.put(`/storage/files/${inside}`, { metadata: full })
  t.same(outcomes(await batch(person, 'tag', both, { metadata: { one: 'more' } })), [
    200,
    [400, 'INVALID_REQUEST', 'maxProperties'],
  ])
})

t.test('a share lets its person trash and tag files, and no more', async (t) => {
  const [owner, guest] = [await server.person(), await server.person()]
  const folder = await createFolder(database, owner.id, 'shared')
  const [file, kept] = await many(owner, 2, { folderId: folder })
  const share = { email: guest.email, role: 'editor' }
  t.equal((await owner.client.post(`/storage/folders/${folder}/shares`, share)).status, 201)
  t.same(outcomes(await batch(guest, 'tag', [file], { tags: ['g'] })), [200])
  for (const [action, fields] of [
    ['delete', {}],
    ['move', { path: 'x' }],
  ] as const)
    t.match(outcomes(await batch(guest, action, [kept], fields)), [[403, 'FORBIDDEN']])
  t.same(outcomes(await batch(guest, 'trash', [file])), [200])
  t.same(outcomes(await batch(guest, 'restore', [file])), [[404, 'NOT_FOUND', undefined]])
  t.equal((await owner.client.get(`/storage/files/${kept}`)).status, 200)
})

t.test('batches over the same files at once wait for each other', async (t) => {
  const person = await server.person()
  const project = await createProject({ server, caller: person, role: 'editor' })
  const ids = [...(await many(person, 20)), ...(await many(person, 20, { projectId: project }))]
  for (let round = 0; round < 5; round++) {
    const replies = await Promise.all([
      batch(person, 'move', ids, { path: `a${round}/b` }),
      batch(person, 'move', ids.toReversed(), { path: `c${round}` }),
      batch(person, 'tag', ids.toReversed(), { tags: [`t${round}`] }),
    ])
    for (const reply of replies) t.ok(outcomes(reply).every((status) => status === 200))
    const files = await database.prisma.file.findMany({ where: { id: { in: ids } } })
    for (const ofProject of [null, project])
      t.equal(
        new Set(files.filter((file) => file.projectId === ofProject).map((file) => file.folderId)).size,
        1,
        'one of the moves is the last',
      )
  }
  const replies = await Promise.all([
    batch(person, 'trash', ids),
    batch(person, 'trash', ids.toReversed()),
    batch(person, 'delete', ids),
  ])
  const statuses = replies.slice(0, 2).flatMap((reply) => outcomes(reply))
  t.ok(statuses.filter((status) => status === 200).length <= 40, 'no file is trashed twice')
  t.ok(outcomes(replies[2]).every((status) => status === 200))
  t.equal(await database.prisma.file.count({ where: { id: { in: ids } } }), 0)
  await assertUsage(t)
})

t.test('a key makes the batch happen once', async (t) => {
  const person = await server.person()
  const ids = await many(person, 2)
  const options = { headers: { 'idempotency-key': 'batch' } }
  const body = { action: 'trash', ids }
  const first = await person.client.post('/storage/batch', body, options)
  const second = await person.client.post('/storage/batch', body, options)
  t.same(outcomes(first), [200, 200])
  t.same(second.body, first.body)
})

t.test('1,000 files take as many statements as few', async (t) => {
  const person = await server.person()
  const project = await createProject({ server, caller: person, role: 'editor' })
  const [few, many] = [await filesIn(person, project, 5), await filesIn(person, project, 1_000)]
  await createMember(server, project, (await server.person()).id, 'viewer')
  for (const [action, fields] of [
    ['tag', { tags: ['q4'], metadata: { a: 'b' } }],
    ['move', { path: 'somewhere' }],
    ['trash', {}],
    ['restore', {}],
    ['delete', {}],
  ] as const) {
    const counts: number[] = []
    for (const ids of [few, many]) {
      server.statements.length = 0
      const got = outcomes(await batch(person, action, ids, fields))
      counts.push(server.statements.filter((text) => /files|folders|events \(|projects p/.test(text)).length)
      t.ok(
        got.every((status) => status === 200),
        action,
      )
    }
    // The folder is made by the first move.
    t.ok(counts[1] <= counts[0] && counts[0] <= 16, `${action}: ${counts}`)
  }
  await assertUsage(t)
})

/** Rows of files without content. */
async function filesIn({ id: ownerId }: Person, projectId: string, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => newId('file'))
  await database.prisma.file.createMany({
    data: ids.map((id) => ({
      id,
      projectId,
      ownerId,
      workspaceId: projectId,
      name: `${id}.txt`,
      contentType: 'text/plain',
      bytes: 1,
      sha256: '0'.repeat(64),
      blobKey: id,
    })),
  })
  return ids
}
