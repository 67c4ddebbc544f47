// Copies and moves of files: no bytes are copied, usage is exact on both sides, and rights hold at both.
import t, { type Test } from 'tap'
import { statement } from '../../infra/database/statements.ts'
import { newId } from '../../infra/ids.ts'
import { createFile, createMember } from '../support/database/db-fixtures.ts'
import { isLongForm } from '../support/long-form.ts'
import { startServer, type Person } from '../support/server/server.ts'
import { ageQuarantine, download, storedKeys, sweepStore, uploadFile } from '../support/storage/storage.ts'

const quota = 1_000
const server = await startServer(t, {
  env: { STORAGE_QUOTA_USER: String(quota), STORAGE_QUOTA_PROJECT: String(quota) },
})
const { services } = server
const before = new Date(Date.now() + 3_600_000)

const wrongUsage = statement<{ workspace_id: string }>(
  `SELECT u.workspace_id FROM storage_usage u
   LEFT JOIN (SELECT workspace_id, count(*) AS files, sum(bytes) AS bytes FROM files GROUP BY 1) f
     ON f.workspace_id = u.workspace_id
   WHERE u.files <> coalesce(f.files, 0) OR u.bytes <> coalesce(f.bytes, 0)`,
)

async function assertUsage(t: Test): Promise<void> {
  t.same(await services.database.sql(wrongUsage, []), [], 'the usage of every workspace is exact')
}

async function projectOf({ client }: Person): Promise<string> {
  return (await client.post('/projects', { name: `Copies ${newId('prj')}` })).body.id
}

async function bytesOf({ client }: Person, projectId?: string): Promise<number> {
  return (await client.get(`/storage/usage${projectId === undefined ? '' : `?project_id=${projectId}`}`)).body
    .bytes
}

async function textOf({ key }: Person, id: string): Promise<string> {
  const { status, bytes } = await download(server.url, `/storage/files/${id}/download`, { key })
  return status === 200 ? bytes.toString() : String(status)
}

t.test('a copy shares the blob, and outlives the file that it is made from', async (t) => {
  const person = await server.person()
  const project = await projectOf(person)
  const file = await uploadFile(person.client, { bytes: 'shared', fields: { tags: 'q4', path: 'a/b' } })
  const blobs = await storedKeys(services)
  const copy = await person.client.post(`/storage/files/${file.id}/copy`, { project_id: project, name: 'c' })
  t.match(copy, { status: 201, body: { name: 'c', path: '', project_id: project, tags: ['q4'] } })
  const { body: second } = await person.client.post(`/storage/files/${file.id}/copy`, {})
  t.match(second, { name: file.name, folder_id: file.folder_id, project_id: null })
  const { body: renamed } = await person.client.post(`/storage/files/${file.id}/copy`, {
    on_conflict: 'rename',
  })
  t.equal(renamed.name, 'file (2).bin')
  t.match(await person.client.post(`/storage/files/${file.id}/copy`, { on_conflict: 'fail' }), {
    status: 409,
    body: { error: { details: { constraint: 'name_taken' } } },
  })
  t.same(await storedKeys(services), blobs, 'no bytes are copied')
  t.same([await bytesOf(person), await bytesOf(person, project)], [18, 6])

  const { body: replacing } = await person.client.post(`/storage/files/${file.id}/copy`, {
    on_conflict: 'replace',
  })
  t.equal((await person.client.get(`/storage/files/${second.id}`)).status, 404, 'the other file is replaced')
  t.equal(await textOf(person, file.id), 'shared', 'the copied file is not')
  await person.client.delete(`/storage/files/${file.id}`)
  await person.client.delete(`/storage/files/${renamed.id}`)
  await sweepStore(services, { before })
  await ageQuarantine(services, services.config.storageQuarantineDays)
  await sweepStore(services, { before })
  t.equal(await textOf(person, copy.body.id), 'shared')
  t.equal(await textOf(person, replacing.id), 'shared')
  await assertUsage(t)
})

t.test('a move changes the usage of both workspaces, and ends links', async (t) => {
  const person = await server.person()
  const project = await projectOf(person)
  const file = await uploadFile(person.client, { bytes: '0123456789', fields: { project_id: project } })
  const link = await person.client.post(`/storage/files/${file.id}/links`, {})
  const inside = await person.client.post(`/storage/files/${file.id}/move`, { path: 'x/y', name: 'z' })
  t.match(inside, { status: 200, body: { id: file.id, path: 'x/y', name: 'z', project_id: project } })
  const again = await person.client.post(`/storage/files/${file.id}/move`, { path: 'x/y', name: 'z' })
  t.same(again.body, inside.body, 'the second move changes nothing')
  const linkPath = `/storage/files/${file.id}/links/${link.body.id}`
  t.equal((await person.client.get(linkPath)).body.status, 'active')

  const out = await person.client.post(`/storage/files/${file.id}/move`, { project_id: null })
  t.match(out, { status: 200, body: { id: file.id, project_id: null, owner_id: person.id, path: '' } })
  t.same([await bytesOf(person), await bytesOf(person, project)], [10, 0])
  t.equal((await person.client.get(linkPath)).body.status, 'revoked')
  t.equal(await textOf(person, file.id), '0123456789')
  await assertUsage(t)
})

t.test('rights hold at both places, and what is foreign is not found', async (t) => {
  const [owner, other] = [await server.person(), await server.person()]
  const [from, to] = [await projectOf(owner), await projectOf(owner)]
  const foreign = await projectOf(other)
  const file = await uploadFile(owner.client, { fields: { project_id: from } })
  const send = async (person: Person, action: string, body: object) =>
    (await person.client.post(`/storage/files/${file.id}/${action}`, body)).status
  const folder = (await uploadFile(other.client, { fields: { project_id: foreign, path: 'f' } })).folder_id
  for (const action of ['copy', 'move']) {
    t.equal(await send(other, action, { project_id: foreign }), 403, 'a stranger of the file')
    t.equal(await send(owner, action, { project_id: foreign }), 403, 'a stranger of the target')
    t.equal(await send(owner, action, { project_id: newId('prj') }), 404)
    t.equal(await send(owner, action, { folder_id: folder }), 404, 'the folder of another workspace')
    t.equal(await send(owner, action, { folder_id: folder, path: 'f' }), 400)
  }
  await createMember(server, from, other.id, 'viewer')
  t.equal(await send(other, 'copy', {}), 403, 'a viewer puts nothing into the project')
  t.equal(await send(other, 'copy', { project_id: foreign }), 201, 'but reads the file')
  t.equal(await send(other, 'move', { project_id: foreign }), 403)
  await createMember(server, to, other.id, 'editor')
  t.equal(await send(other, 'move', { project_id: to }), 403)
  await owner.client.post(`/projects/${to}/archive`, {})
  t.equal(await send(owner, 'move', { project_id: to }), 409)
  t.equal(await send(owner, 'copy', { project_id: to }), 409)
  t.equal((await owner.client.get(`/storage/files/${file.id}`)).body.project_id, from)
  await assertUsage(t)
})

t.test('copies and moves at once end exactly at the quota', async (t) => {
  const person = await server.person()
  const [first, second] = [await projectOf(person), await projectOf(person)]
  const bytes = 'x'.repeat(300)
  const file = await uploadFile(person.client, { bytes, fields: { project_id: first } })
  const copies = await Promise.all(
    Array.from({ length: 6 }, () =>
      person.client.post(`/storage/files/${file.id}/copy`, { project_id: second }),
    ),
  )
  t.same(copies.map(({ status }) => status).toSorted(), [201, 201, 201, 413, 413, 413])
  t.match(copies.find(({ status }) => status === 413)!.body.error.details, {
    constraint: 'quota',
    limit: { limit: quota, used: 900 },
  })
  const full = await person.client.post(`/storage/files/${file.id}/move`, { project_id: second })
  t.equal(full.status, 413)
  // Three files from the second project and one from the first at once, each into the other project.
  const ids = copies.filter(({ status }) => status === 201).map(({ body }) => body.id)
  const moves = await Promise.all([
    ...ids.map((id) => person.client.post(`/storage/files/${id}/move`, { project_id: first })),
    person.client.post(`/storage/files/${file.id}/move`, { project_id: second }),
  ])
  t.ok(
    moves.every(({ status }) => [200, 413].includes(status)),
    String(moves.map(({ status }) => status)),
  )
  t.equal((await bytesOf(person, first)) + (await bytesOf(person, second)), 1200)
  t.ok((await bytesOf(person, first)) <= quota && (await bytesOf(person, second)) <= quota)
  await assertUsage(t)
})

t.test('a file that is moved twice at once is in one place', async (t) => {
  const person = await server.person()
  const targets = [await projectOf(person), await projectOf(person), null]
  for (let i = 0; i < (isLongForm ? 100 : 8); i++) {
    const file = await uploadFile(person.client, { bytes: 'moved' })
    const replies = await Promise.all(
      targets.map((id) =>
        person.client.post(`/storage/files/${file.id}/move`, { project_id: id, path: `${i}` }),
      ),
    )
    const statuses = replies.map(({ status }) => status)
    t.ok(statuses.includes(200) && statuses.every((status) => [200, 409].includes(status)), String(statuses))
    await person.client.delete(`/storage/files/${file.id}`)
  }
  await assertUsage(t)
})

t.test('copies and deletions at once neither lose nor leak a blob', async (t) => {
  const person = await server.person()
  const rounds = isLongForm ? 1_000 : 25
  const kept: string[] = []
  for (let i = 0; i < rounds; i++) {
    const id = await createFile(server, person.id, { content: `round ${i}` })
    const [copy] = await Promise.all([
      person.client.post(`/storage/files/${id}/copy`, {}),
      person.client.delete(`/storage/files/${id}`),
    ])
    t.ok([201, 404].includes(copy.status), copy.text)
    if (copy.status !== 201) continue
    t.equal(await textOf(person, copy.body.id), `round ${i}`)
    if (i % 2 === 0) kept.push(id)
    else await person.client.delete(`/storage/files/${copy.body.id}`)
  }
  await sweepStore(services, { before })
  await ageQuarantine(services, services.config.storageQuarantineDays)
  await sweepStore(services, { before })
  const stored = await storedKeys(services)
  t.same(
    kept.filter((key) => !stored.includes(key)),
    [],
    'no blob with a row is lost',
  )
  const known = await services.database.prisma.file.findMany({ select: { blobKey: true } })
  t.same(
    [...new Set(known.map(({ blobKey }) => blobKey))].toSorted(),
    stored,
    'no blob without a row is left',
  )
  await assertUsage(t)
})
