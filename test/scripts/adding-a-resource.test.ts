// The resource of docs/adding-a-resource.md, added to a copy of this project as the page says.
import t from 'tap'
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { createTestDatabase } from '../support/database.ts'

const root = resolve(import.meta.dirname, '../..')
const folders = ['app', 'docs', 'handlers', 'infra', 'packages', 'prisma', 'scripts', 'services', 'spec']
const parts = [...folders, 'generated', 'package.json', 'tsconfig.json']
const copied = [...parts, 'test/support', 'test/contract/constraints.json']

const page = readFileSync(join(root, 'docs/adding-a-resource.md'), 'utf8').split('## More than CRUD')[0]
const blocks = [...page.matchAll(/^```(?:yaml|prisma|ts)\n([^]*?)^```$/gm)].map(([, text]) => text)

/** The block of the page that begins with the text. */
function block(start: string): string {
  const found = blocks.find((text) => text.trimStart().startsWith(start))
  if (found === undefined) throw new Error(`the page has no block that begins with ${start}`)
  return found
}

const indented = (text: string): string => text.replace(/^(?=.)/gm, '  ')

t.test('the page adds a resource in fewer than 100 lines', async (t) => {
  const lines = blocks
    .join('')
    .split('\n')
    .filter((line) => line !== '').length
  // The line in the group of tags, the prefix of ids, and the two relations.
  t.ok(lines + 4 < 100, `${lines + 4} lines`)
  t.ok(blocks.length >= 7)
})

t.test('its operations work', { timeout: 600_000 }, async (t) => {
  const folder = t.testdir()
  for (const name of copied) cpSync(join(root, name), join(folder, name), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  const node = async (...args: string[]): Promise<string> =>
    (await promisify(execFile)(process.execPath, args, { cwd: folder, maxBuffer: 1e7 })).stdout
  const write = (name: string, text: string): void => {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  const edit = (name: string, ...edits: Array<[from: RegExp, to: string]>): void => {
    let text = readFileSync(join(folder, name), 'utf8')
    for (const [from, to] of edits) {
      t.match(text, from, `${name} has the place`)
      text = text.replace(from, () => to)
    }
    write(name, text)
  }

  write('spec/notes.yaml', block('# spec/notes.yaml'))
  edit(
    'spec/openapi.yaml',
    [/^paths:\n/m, `paths:\n${indented(block('/projects/{id}/notes'))}`],
    [/^tags:\n/m, `tags:\n${indented(block('- name: notes'))}`],
    [/tags: \[projects, /, 'tags: [notes, projects, '],
  )
  edit('infra/ids.ts', [/ {2}\| 'usr'\n/, "  | 'usr'\n  | 'note'\n"])
  edit(
    'prisma/schema.prisma',
    [/^model Project \{\n/m, 'model Project {\n  notes Note[]\n'],
    [/^model User \{\n/m, 'model User {\n  notes Note[]\n'],
    [/^\/\/\/ An invitation of an email/m, `${block('/// A note')}\n/// An invitation of an email`],
  )
  write('handlers/notes.ts', block('// handlers/notes.ts'))
  edit(
    'test/support/operation-fixtures.ts',
    [/^const onMember =\n/m, `${block('const noteFields')}\nconst onMember =\n`],
    [/^ {2}listInvitations: /m, `${block('listNotes:')}  listInvitations: `],
    [/^import \{ allScopes/m, "import { newId } from '../../infra/ids.ts'\nimport { allScopes"],
  )
  write('test/notes/notes.test.ts', notesTest)
  await node('scripts/migrate/main.ts', '--create', 'notes')
  t.match(await node('scripts/generate/main.ts'), /wrote .*sql\/notes\.ts/)
  t.strictSame(readdirSync(join(folder, 'generated/resources/notes')).sort(), [
    'find.sql',
    'insert.sql',
    'list.sql',
    'lock.sql',
    'remove.sql',
    'update.sql',
  ])
  const document = JSON.parse(readFileSync(join(folder, 'generated/openapi.json'), 'utf8'))
  t.strictSame(Object.keys(document.paths['/projects/{id}/notes/{note_id}']).sort(), [
    'delete',
    'get',
    'parameters',
    'patch',
    'put',
  ])
  t.notMatch(JSON.stringify(document), /x-crud/)
  const { schemas } = document.components
  t.strictSame(schemas.NoteCreate.required, ['title'])
  t.equal(schemas.NoteUpdate.properties.pinned.default, undefined, 'an update has no defaults')
  t.ok(document.webhooks['note.deleted'])
  // The databases of its tests are copies of one that has the new table.
  const { url } = await createTestDatabase(t)
  await promisify(execFile)(process.execPath, ['scripts/migrate/main.ts'], {
    cwd: folder,
    env: { ...process.env, DATABASE_URL: url },
  })
  const template = new URL(url).pathname.slice(1)
  edit('test/support/database.ts', [/'platform_template'/, `'${template}'`])
  const passes = async (file: string): Promise<void> => {
    const said = await node(file).catch((error: { stdout: string }) => error.stdout)
    t.match(said, /^# \{ total: 2, pass: 2 \}|^1\.\.2$/m)
    t.notMatch(said, /^ *not ok/m)
  }
  await passes('test/notes/notes.test.ts')
  const sqlOf = async (operation: string): Promise<string> => await node('scripts/sql/main.ts', operation)
  t.match(await sqlOf('createNote'), 'generated/resources/notes/insert.sql')
  t.match(await sqlOf('listNotes'), 'generated/resources/notes/list.sql')
  t.notMatch(await sqlOf('getNote'), 'generated/resources/notes/remove.sql')
})

const notesTest = `import t from 'tap'
import { startServer } from '../support/server.ts'
import { team } from '../support/team.ts'
import { apiErrorOf } from '../support/typed-client.ts'

const server = await startServer(t)
const { path, editor, viewer } = await team(server)

t.test('a note is created, found, updated and deleted', async (t) => {
  t.match(await apiErrorOf(viewer.api.createNote({ path, body: { title: 'Hours' } })), { status: 403 })
  const created = await editor.api.createNote({ path, body: { title: 'Hours', metadata: { a: '1' } } })
  t.match(created, { title: 'Hours', text: null, pinned: false, metadata: { a: '1' }, created_by: editor.id })
  const of = { ...path, note_id: created.id }
  t.same(await viewer.api.getNote({ path: of }), created)
  t.same((await viewer.api.listNotes({ path, query: { pinned: true } })).data, [])
  const updated = await editor.api.updateNote({ path: of, body: { pinned: true, metadata: { b: '2' } } })
  t.match(updated, { title: 'Hours', pinned: true, metadata: { a: '1', b: '2' } })
  t.same((await viewer.api.listNotes({ path, query: { pinned: true, sort: 'title' } })).data, [updated])
  await editor.api.deleteNote({ path: of })
  t.match(await apiErrorOf(viewer.api.getNote({ path: of })), { status: 404 })
  const { data: events } = await editor.api.listEvents({ query: { type: ['note.*'] } })
  t.same(
    events.map(({ type }) => type),
    ['note.created', 'note.updated', 'note.deleted'],
  )
})

t.test('a title is unique in its project', async (t) => {
  const [first, second] = await Promise.all(
    ['One', 'Two'].map((title) => editor.api.createNote({ path, body: { title } })),
  )
  const taken = { status: 409, code: 'CONFLICT', details: { constraint: 'notes_project_id_title_key' } }
  t.match(await apiErrorOf(editor.api.createNote({ path, body: { title: 'One' } })), taken)
  const of = { ...path, note_id: second.id }
  t.match(await apiErrorOf(editor.api.updateNote({ path: of, body: { title: first.title } })), taken)
  t.same(await viewer.api.getNote({ path: of }), second)
})
`
