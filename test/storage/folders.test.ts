// Folders: where files are put, by path and by id, also by servers that know only paths.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { newId } from '../../infra/ids.ts'
import { statement } from '../../infra/database/statements.ts'
import { createFile, createFolder, createProject } from '../support/database/db-fixtures.ts'
import { startServer } from '../support/server/server.ts'
import { upload, uploadFile } from '../support/storage/storage.ts'

const server = await startServer(t)
const { database } = server.services
const owner = await server.person()
const stranger = await server.person()

const setPath = statement('UPDATE files SET path = $2 WHERE id = $1')
const insertByPath = statement(`
  INSERT INTO files
    (id, project_id, owner_id, workspace_id, name, path, content_type, bytes, sha256, blob_key)
  SELECT $2, project_id, owner_id, workspace_id, name, $3, content_type, bytes, sha256, $2
  FROM files WHERE id = $1`)
const formerPath = statement<{ path: string }>('SELECT path FROM files WHERE id = $1')

t.test('a path creates its folders once, also with several uploads at once', async (t) => {
  const files = await Promise.all(
    Array.from({ length: 8 }, () => uploadFile(owner.client, { fields: { path: 'at once/inner' } })),
  )
  t.equal(new Set(files.map(({ folder_id: id }) => id)).size, 1)
  t.same(new Set(files.map(({ path }) => path)), new Set(['at once/inner']))
  const { data } = (await owner.client.get('/events?type=folder.created&limit=100')).body
  const names = data.map((event: any) => event.data.object.path)
  t.same(names.toSorted(), ['at once', 'at once/inner'])
  const inner = data.find((event: any) => event.data.object.name === 'inner').data.object
  t.equal(inner.id, files[0].folder_id)
  t.match(inner, { parent_id: /^fld_/, project_id: null, created_by: owner.id, metadata: {} })
})

t.test('a file is put into a folder by its id, which excludes a path', async (t) => {
  const folder = await createFolder(database, owner.id, 'by id/é')
  const file = await uploadFile(owner.client, { fields: { folder_id: folder } })
  t.match(file, { folder_id: folder, path: 'by id/é' })
  const late = await uploadFile(owner.client, { fieldsAfter: { folder_id: folder } })
  t.equal(late.folder_id, folder)
  const root = await owner.client.put(`/storage/files/${file.id}`, { folder_id: null })
  t.match(root.body, { folder_id: null, path: '' })
  const back = await owner.client.put(`/storage/files/${file.id}`, { folder_id: folder })
  t.match(back.body, { folder_id: folder, path: 'by id/é' })
  for (const both of [
    await upload(owner.client, { fields: { folder_id: folder, path: 'a' } }),
    await upload(owner.client, { fieldsAfter: { folder_id: folder, path: 'a' } }),
    await owner.client.put(`/storage/files/${file.id}`, { folder_id: folder, path: 'a' }),
  ])
    t.match(both, { status: 400, body: { error: { details: { field: 'folder_id' } } } }, both.text)
})

t.test('unknown folders, and folders of others, are 404', async (t) => {
  const project = await createProject({ server, caller: owner, role: 'owner' })
  const theirs = await createFolder(database, stranger.id, 'theirs')
  const inProject = await createFolder(database, owner.id, 'in project', project)
  const file = await uploadFile(owner.client)
  for (const folder of [newId('fld'), theirs, inProject]) {
    const replies = [await owner.client.put(`/storage/files/${file.id}`, { folder_id: folder })]
    // The folder says in which project a new file is.
    if (folder !== inProject)
      replies.push(
        await upload(owner.client, { fields: { folder_id: folder } }),
        await upload(owner.client, { fieldsAfter: { folder_id: folder } }),
      )
    for (const reply of replies)
      t.match(reply, { status: 404, body: { error: { code: 'NOT_FOUND' } } }, reply.text)
  }
  const contents: Array<Parameters<typeof uploadFile>[1]> = [
    { fields: { folder_id: inProject, project_id: project } },
    { fields: { folder_id: inProject } },
    { fieldsAfter: { folder_id: inProject } },
  ]
  for (const content of contents)
    t.match(await uploadFile(owner.client, content), { path: 'in project', project_id: project })
  const elsewhere = await createProject({ server, caller: owner, role: 'owner' })
  const wrong: typeof contents = [
    { fields: { folder_id: inProject, project_id: elsewhere } },
    { fields: { folder_id: inProject }, fieldsAfter: { project_id: elsewhere } },
  ]
  for (const content of wrong)
    t.equal((await upload(owner.client, content)).status, 404, 'another project than that of the folder')
})

t.test('servers of version 1.12 set the path of a file, and read it', async (t) => {
  const file = await createFile(server, owner.id, { path: 'old/a' })
  t.same(await database.sql(formerPath, [file]), [{ path: 'old/a' }])
  await database.sql(setPath, [file, 'old/cafe\u0301'])
  const moved = (await owner.client.get(`/storage/files/${file}`)).body
  t.match(moved, { path: 'old/caf\u00e9', folder_id: /^fld_/ })
  const added = newId('file')
  await database.sql(insertByPath, [file, added, 'old/caf\u00e9'])
  t.equal((await owner.client.get(`/storage/files/${added}`)).body.folder_id, moved.folder_id)
  await database.sql(setPath, [file, ''])
  t.match((await owner.client.get(`/storage/files/${file}`)).body, { path: '', folder_id: null })
})

t.test('the migration makes a folder of each path and of those above it', async (t) => {
  const person = await server.person()
  const project = await createProject({ server, caller: person, role: 'owner' })
  const paths = ['x/y/z', 'x', 'x/y/z', '', 'cafe\u0301/a', 'caf\u00e9/b']
  const files: string[] = []
  for (const [i, path] of paths.entries())
    files.push(await createFile(server, person.id, { path, projectId: i % 2 === 0 ? null : project }))
  const migration = readFileSync(
    join(import.meta.dirname, '../../prisma/migrations/20261128214344_files_in_folders/migration.sql'),
    'utf8',
  )
  const script = migration.slice(migration.indexOf('-- Each path'))
  await database.transaction(async (tx) => {
    await tx.prisma.$executeRawUnsafe('ALTER TABLE files DISABLE TRIGGER files_set_folder')
    await tx.prisma.$executeRawUnsafe('UPDATE files SET folder_id = NULL')
    await tx.prisma.$executeRawUnsafe('DELETE FROM folders')
    for (const sql of script.split(';\n').filter((text) => text.trim() !== ''))
      await tx.prisma.$executeRawUnsafe(sql)
    await tx.prisma.$executeRawUnsafe('ALTER TABLE files ENABLE TRIGGER files_set_folder')
  })
  for (const [i, id] of files.entries()) {
    const { path, folder_id: folder } = (await person.client.get(`/storage/files/${id}`)).body
    t.equal(path, paths[i].normalize('NFC'))
    t.equal(folder === null, path === '')
  }
  const folders = await database.prisma.folder.findMany({
    where: { ownerId: person.id },
    orderBy: { path: 'asc' },
  })
  const shown = folders.map(({ path, projectId, parentId, name }) => [
    projectId === null ? 'own' : 'project',
    path,
    name,
    folders.find(({ id }) => id === parentId)?.path ?? null,
  ])
  t.same(
    shown.toSorted(([a, b], [c, d]) => `${a} ${b}`.localeCompare(`${c} ${d}`)),
    [
      ['own', 'caf\u00e9', 'caf\u00e9', null],
      ['own', 'caf\u00e9/a', 'a', 'caf\u00e9'],
      ['own', 'x', 'x', null],
      ['own', 'x/y', 'y', 'x'],
      ['own', 'x/y/z', 'z', 'x/y'],
      ['project', 'caf\u00e9', 'caf\u00e9', null],
      ['project', 'caf\u00e9/b', 'b', 'caf\u00e9'],
      ['project', 'x', 'x', null],
    ],
  )
})
