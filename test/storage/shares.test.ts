// Shared folders: what people may do in them by a share, and when a share ends.
import t from 'tap'
import { createFile, createFolder, createMember, createProject } from '../support/database/db-fixtures.ts'
import { createClient } from '../support/http/client.ts'
import { tusClient } from '../support/http/tus.ts'
import { startServer } from '../support/server/server.ts'
import { upload, uploadForm } from '../support/storage/storage.ts'

const server = await startServer(t)
const { database } = server.services
const owner = await server.person()
const guest = await server.person()
const stranger = await server.person()

const share = async (folder: string, fields: object = {}, by = owner) =>
  await by.client.post(`/storage/folders/${folder}/shares`, { email: guest.email, ...fields })

/** A folder of the owner with a folder and files in it. */
async function tree(project: string | null = null) {
  const top = await createFolder(database, owner.id, `tree ${Math.random()}`, project)
  const { path } = (await owner.client.get(`/storage/folders/${top}`)).body
  const inner = await createFolder(database, owner.id, `${path}/inner`, project)
  const file = await createFile(server, owner.id, { projectId: project, path: `${path}/inner` })
  const outside = await createFile(server, owner.id, { projectId: project })
  return { top, inner, file, outside }
}

t.test('a viewer reads a shared folder and what is below it, and nothing else', async (t) => {
  const { top, inner, file, outside } = await tree()
  const sibling = await createFolder(database, owner.id, 'sibling')
  t.equal((await guest.client.get(`/storage/files/${file}`)).status, 403)
  const { status, body } = await share(top, { email: guest.email.toUpperCase() })
  t.equal(status, 201)
  t.match(body, { folder_id: top, email: guest.email, role: 'viewer', status: 'active', expires_at: null })

  for (const path of [
    `/storage/folders/${top}`,
    `/storage/folders/${inner}`,
    `/storage/files/${file}`,
    `/storage/files/${file}/download`,
    `/storage/items?folder_id=${top}`,
    `/storage/items?folder_id=${inner}`,
  ])
    t.equal((await guest.client.get(path)).status, 200, path)
  t.match((await guest.client.get(`/storage/items?folder_id=${inner}`)).body.data, [{ id: file }])
  for (const [path, status] of [
    [`/storage/folders/${sibling}`, 403],
    [`/storage/files/${outside}`, 403],
    [`/storage/items?folder_id=${sibling}`, 404],
    [`/storage/files/${file}/links`, 403],
    [`/storage/folders/${top}/shares`, 403],
  ] as const)
    t.equal((await guest.client.get(path)).status, status, path)
  for (const reply of [
    await upload(guest.client, { fields: { folder_id: inner } }),
    await guest.client.put(`/storage/files/${file}`, { name: 'mine.txt' }),
    await guest.client.delete(`/storage/files/${file}`),
    await guest.client.post('/storage/folders', { name: 'mine', parent_id: top }),
    await guest.client.post(`/storage/files/${file}/links`, {}),
    await share(top, { email: stranger.email }, guest),
  ])
    t.match(reply, { status: 403, body: { error: { code: 'FORBIDDEN' } } })
  t.equal((await stranger.client.get(`/storage/files/${file}`)).status, 403)
  t.same((await guest.client.get('/storage/files')).body.data, [], 'no list of own files has it')
})

t.test('an editor works in a shared folder, for the owner and not beyond the folder', async (t) => {
  const { top, inner, file } = await tree()
  await share(top, { role: 'editor' })
  const before = (await owner.client.get('/storage/usage')).body.bytes
  const made = await guest.client.post('/storage/folders', { name: 'made', parent_id: inner })
  t.match(made, { status: 201, body: { parent_id: inner, created_by: owner.id } })
  const key = { 'idempotency-key': 'guest-upload' }
  const content = 'by a guest'
  const uploaded = await upload(guest.client, {
    bytes: content,
    fields: { folder_id: made.body.id },
    headers: key,
  })
  t.match(uploaded, { status: 201, body: { owner_id: owner.id, folder_id: made.body.id, project_id: null } })
  const again = await upload(guest.client, {
    bytes: content,
    fields: { folder_id: made.body.id },
    headers: key,
  })
  t.match(again, { status: 201, body: { id: uploaded.body.id } })
  t.equal((await owner.client.get('/storage/usage')).body.bytes, before + content.length)
  t.equal((await guest.client.get('/storage/usage')).body.bytes, 0)

  const renamed = await guest.client.put(`/storage/files/${file}`, { name: 'ours.txt', tags: ['a'] })
  t.match(renamed, { status: 200, body: { name: 'ours.txt', tags: ['a'] } })
  const { body: form, headers } = uploadForm({ bytes: 'new content' })
  const replaced = await guest.client.call('PUT', `/storage/files/${file}/content`, { raw: form, headers })
  t.match(replaced, { status: 200, body: { bytes: 11, owner_id: owner.id } })
  for (const body of [
    { visibility: 'public' },
    { folder_id: null },
    { path: 'elsewhere' },
    { expires_in_seconds: 1 },
    { name: 'other.txt', on_conflict: 'replace' },
  ]) {
    const reply = await guest.client.put(`/storage/files/${file}`, body)
    t.match(
      reply,
      { status: 403, body: { error: { details: { constraint: 'share' } } } },
      JSON.stringify(body),
    )
  }
  t.match(await upload(guest.client, { fields: { folder_id: inner, visibility: 'public' } }), { status: 403 })
  t.equal((await guest.client.put(`/storage/folders/${inner}`, { name: 'mine' })).status, 403)
  t.equal((await guest.client.delete(`/storage/folders/${inner}`)).status, 403)
  t.equal((await guest.client.delete(`/storage/files/${file}?permanent=true`)).status, 403)
  t.equal((await guest.client.delete(`/storage/files/${file}`)).status, 204)
  t.match((await owner.client.get(`/storage/trash/${file}`)).body, { id: file })
  t.equal((await guest.client.get(`/storage/trash/${file}`)).status, 403)
})

t.test('a share of a project ends with the rights of who shares, and begins again with them', async (t) => {
  const project = await createProject({ server, caller: owner, role: 'admin' })
  const { top, file } = await tree(project)
  const colleague = await server.person()
  const membership = await createMember(server, project, colleague.id, 'editor')
  const { body: made } = await share(top, { role: 'editor' }, colleague)
  const get = async () => (await guest.client.get(`/storage/files/${file}`)).status
  t.equal(await get(), 200)
  const uploaded = await upload(guest.client, { fields: { folder_id: top } })
  t.match(uploaded, { status: 201, body: { project_id: project, owner_id: colleague.id } })

  const member = `/projects/${project}/members/${membership}`
  await owner.client.put(member, { role: 'viewer' })
  t.equal(await get(), 403)
  t.match((await owner.client.get(`/storage/folders/${top}/shares`)).body.data, [{ status: 'ended' }])
  t.equal((await guest.client.get(`/storage/shared/${made.id}`)).status, 404)
  await owner.client.put(member, { role: 'editor' })
  t.equal(await get(), 200)

  await owner.client.post(`/projects/${project}/archive`, {})
  t.equal(await get(), 200)
  t.equal((await upload(guest.client, { fields: { folder_id: top } })).status, 409)
  t.equal((await guest.client.delete(`/storage/files/${file}`)).status, 409)
  await owner.client.post(`/projects/${project}/unarchive`, {})
  await owner.client.delete(member)
  t.equal(await get(), 403)
})

t.test('the person sees the folders that are shared, and can leave them', async (t) => {
  const { top, file } = await tree()
  const { body: made } = await share(top)
  t.match((await guest.client.get('/storage/shared?limit=1')).body.data, [
    { id: made.id, folder_id: top, created_by: owner.id },
  ])
  t.equal((await stranger.client.get(`/storage/shared/${made.id}`)).status, 404)
  t.equal((await stranger.client.delete(`/storage/shared/${made.id}`)).status, 404)
  t.equal((await guest.client.get(`/storage/shared/${made.id}`)).status, 200)
  t.equal((await guest.client.delete(`/storage/shared/${made.id}`)).status, 204)
  t.equal((await guest.client.get(`/storage/files/${file}`)).status, 403)
  t.equal((await guest.client.delete(`/storage/shared/${made.id}`)).status, 404)
})

t.test(
  'only a verified address counts, and a key that is limited to projects reaches these alone',
  async (t) => {
    const { top, file } = await tree()
    await share(top, { email: stranger.email })
    const get = async () => (await stranger.client.get(`/storage/files/${file}`)).status
    t.equal(await get(), 200)
    const verify = async (emailVerified: boolean) =>
      await database.prisma.user.update({ where: { id: stranger.id }, data: { emailVerified } })
    await verify(false)
    t.equal(await get(), 403)
    t.same((await stranger.client.get('/storage/shared')).body.data, [])
    await verify(true)
    t.equal(await get(), 200)
    const project = await createProject({ server, caller: stranger, role: 'admin' })
    const limited = await stranger.client.post('/user/api-keys', {
      name: 'limited',
      scopes: ['storage:read'],
      project_ids: [project],
    })
    const client = createClient(server.url, limited.body.key)
    t.equal((await client.get(`/storage/files/${file}`)).status, 403)
    t.same((await client.get('/storage/shared')).body.data, [])
  },
)

t.test('a share is unique, replaces one that has ended, expires, and a folder has at most 100', async (t) => {
  const { top, file } = await tree()
  t.equal((await share(top, { expires_in_seconds: 60 })).status, 201)
  t.match(await share(top), {
    status: 409,
    body: { error: { details: { constraint: 'share_exists', field: 'email' } } },
  })
  await database.prisma.folderShare.updateMany({
    where: { folderId: top },
    data: { expiresAt: new Date(Date.now() - 1000) },
  })
  t.equal((await guest.client.get(`/storage/files/${file}`)).status, 403)
  t.match((await owner.client.get(`/storage/folders/${top}/shares`)).body.data, [{ status: 'expired' }])
  const both = await Promise.all([share(top), share(top)])
  t.same(both.map(({ status }) => status).toSorted(), [201, 409])
  const at = new Date()
  const many = Array.from({ length: 99 }, (_, i) => ({
    id: `shr_${String(i).padStart(26, '0')}`,
    folderId: top,
    ownerId: owner.id,
    email: `${i}@example.com`,
    role: 'viewer' as const,
    createdAt: at,
  }))
  await database.prisma.folderShare.createMany({ data: many })
  t.match(await share(top, { email: stranger.email }), {
    status: 403,
    body: { error: { details: { constraint: 'shares', limit: { limit: 100 } } } },
  })
})

t.test('a share follows its folder, and goes with it', async (t) => {
  const { top, file } = await tree()
  const { body: made } = await share(top)
  const parent = await createFolder(database, owner.id, 'new parent')
  await owner.client.put(`/storage/folders/${top}`, { parent_id: parent, name: 'renamed' })
  t.equal((await guest.client.get(`/storage/files/${file}`)).status, 200)
  t.equal((await guest.client.get(`/storage/folders/${parent}`)).status, 403, 'what is above is not shared')
  const shown = (await guest.client.get(`/storage/shared/${made.id}`)).body
  t.equal(shown.folder_name, 'renamed')
  await owner.client.put(`/storage/files/${file}`, { folder_id: null })
  t.equal((await guest.client.get(`/storage/files/${file}`)).status, 403, 'a file that was moved out')
  await owner.client.delete(`/storage/folders/${top}`)
  t.equal((await guest.client.get(`/storage/shared/${made.id}`)).status, 404)
  t.equal((await guest.client.get(`/storage/items?folder_id=${top}`)).status, 404)
})

t.test('an editor uploads in parts to a shared folder', async (t) => {
  for (const project of [null, await createProject({ server, caller: owner, role: 'admin' })]) {
    const { top, inner } = await tree(project)
    const tus = tusClient(server.url, guest.key)
    const fields = { filename: 'parts.txt', folder_id: inner }
    const reading = (await share(top)).body
    t.equal((await tus.create(10, fields)).status, 403, 'a viewer')
    await owner.client.delete(`/storage/folders/${top}/shares/${reading.id}`)
    const made = (await share(top, { role: 'editor' })).body
    t.match(await tus.create(10, { ...fields, visibility: 'public' }), { status: 403 })
    const key = { 'idempotency-key': `parts-${project}` }
    const created = await tus.create(10, fields, key)
    t.match(created, { status: 201, body: { created_by: owner.id, project_id: project } })
    t.match(await tus.create(10, fields, key), { status: 201, body: { id: created.body.id } }, 'repeated')
    const path = `/v1/storage/uploads/${created.body.id}`
    const explain = { method: 'PATCH', path }
    t.match((await guest.client.post('/explain', explain)).body, { allowed: true })
    t.match((await stranger.client.post('/explain', explain)).body, { allowed: false })
    t.equal((await tusClient(server.url, stranger.key).append(path, 0, '01234')).status, 403)
    t.equal((await tus.append(path, 0, '01234')).status, 204)
    const end = await tus.append(path, 5, '56789')
    t.equal(end.status, 204)
    const file = (await guest.client.get(`/storage/files/${end.headers.get('upload-file-id')}`)).body
    t.match(file, { folder_id: inner, owner_id: owner.id, bytes: 10 })

    const second = await tus.createUpload(10, fields)
    await owner.client.delete(`/storage/folders/${top}/shares/${made.id}`)
    t.equal((await tus.append(second, 0, '01234')).status, 403, 'the share has ended')
    t.equal((await tus.head(second)).status, 403)
    t.equal((await tus.delete(second)).status, 403)
  }
})

t.test('explain and a repeated request know shares', async (t) => {
  const project = await createProject({ server, caller: owner, role: 'admin' })
  const { top, file } = await tree(project)
  const explain = async () =>
    (await guest.client.post('/explain', { method: 'GET', path: `/v1/storage/files/${file}` })).body
  t.match(await explain(), { allowed: false })
  await share(top, { role: 'editor' })
  t.match(await explain(), { allowed: true })
  const request = { fields: { folder_id: top }, headers: { 'idempotency-key': 'in-project' }, bytes: 'once' }
  const first = await upload(guest.client, request)
  t.match(await upload(guest.client, request), { status: 201, body: { id: first.body.id } })
})
