// The resource of docs/adding-a-resource.md, added to a copy of this project as the page says.
import t from 'tap'
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import ts from 'typescript'
import { compilerProblems } from '../../scripts/check/types.ts'
import { callTree } from '../../scripts/sql/call-tree.ts'
import { createTestDatabase } from '../support/database/database.ts'
import { modelOf, samplesOf, specOf } from '../support/generator/sample-resource.ts'
import { isLongForm } from '../support/long-form.ts'

const root = resolve(import.meta.dirname, '../..')
const folders = ['app', 'docs', 'handlers', 'infra', 'packages', 'prisma', 'scripts', 'services', 'spec']
const parts = [...folders, 'generated', 'package.json', 'tsconfig.json']
const copied = [...parts, 'test/support', 'test/events', 'test/contract', 'test/infra']

const page = readFileSync(join(root, 'docs/adding-a-resource.md'), 'utf8')
const [firstHalf, secondHalf] = page.split('## More than CRUD').map(blocksOf)

function blocksOf(text: string): string[] {
  return [...text.matchAll(/^```(?:yaml|prisma|sql|ts)\n([^]*?)^```$/gm)].map(([, block]) => block)
}

/** The block that begins with the text. */
function block(start: string, blocks = firstHalf): string {
  const found = blocks.find((text) => text.trimStart().startsWith(start))
  if (found === undefined) throw new Error(`the page has no block that begins with ${start}`)
  return found
}

const indented = (text: string): string => text.replace(/^(?=.)/gm, '  ')

t.test('the page adds a resource in fewer than 100 lines', async (t) => {
  const lines = firstHalf
    .join('')
    .split('\n')
    .filter((line) => line !== '').length
  // The line in the group of tags, the prefix of ids, and the two relations.
  t.ok(lines + 4 < 100, `${lines + 4} lines`)
  t.ok(firstHalf.length >= 7)
})

const lastPart = 'samples'
/** The paths that the short form leaves out: the generator has less to do. Those with x-crud have events. */
const crud = 'customRoles|pr\\w+s|customers|meters|features|budgets'
const others = new RegExp(
  `^  /(?!.*(system|projects|events|user)\\.yaml|.*/(${crud})').*\\$ref: '.*\\n`,
  'gm',
)

t.test('its operations work', { timeout: 1_400_000 }, async (t) => {
  const folder = t.testdir()
  for (const name of copied) cpSync(join(root, name), join(folder, name), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  /** @throws Error with what the program printed, as `stdout` too. */
  const node = async (...args: string[]): Promise<string> => {
    const env = { ...process.env, TAP_TIMEOUT: '600' }
    const run = promisify(execFile)(process.execPath, args, { cwd: folder, env, maxBuffer: 1e7 })
    const { stdout } = await run.catch(({ stdout, stderr }) => {
      throw Object.assign(new Error(`${args.join(' ')} failed: ${stdout}${stderr}`), { stdout })
    })
    return stdout
  }
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

  // The databases of its tests are copies of one that has the new tables.
  const { url } = await createTestDatabase(t)
  const template = new URL(url).pathname.slice(1)
  edit('test/support/database/database.ts', [/'platform_template'/, `'${template}'`])
  const { applyMigrations } = (await import(
    join(folder, 'infra/postgres/migrations.ts')
  )) as typeof import('../../infra/postgres/migrations.ts')
  /** In this process, which has loaded the libraries. In the long form the generator's files change. */
  const generate = async (...args: string[]): Promise<string> => {
    if (isLongForm) return await node('scripts/generate/main.ts', ...args)
    const { generate } = (await import(
      join(folder, 'scripts/generate/main.ts')
    )) as typeof import('../../scripts/generate/main.ts')
    return (await generate({ stubs: args.includes('--stubs') })).join('\n')
  }
  const passes = async (file: string, plan = /^1\.\.\d+$/m): Promise<void> => {
    const said = await node(file).catch((error: { stdout: string }) => error.stdout)
    t.match(said, plan, file)
    t.notMatch(said, /^ *not ok/m)
  }
  const program = (...include: string[]): ts.Program => {
    const { config } = ts.readConfigFile(join(folder, 'tsconfig.json'), ts.sys.readFile)
    const { fileNames, options } = ts.parseJsonConfigFileContent({ ...config, include }, ts.sys, folder)
    return ts.createProgram(fileNames, options)
  }

  interface Built {
    /** The text of the migration. */
    migration: string
    /** What the generator printed. */
    generated: string
  }
  /** The files with tests of the parts that are not built yet, and how many tests they have. */
  const tests = new Map<string, number>()
  const checks: Array<(built: Built) => Promise<void>> = []
  /** Migrates, generates and runs the tests: after each part in the long form, and otherwise once. */
  const build = async (part: string): Promise<void> => {
    if (!isLongForm && part !== lastPart) return
    t.match(await node('scripts/migrate/main.ts', '--create', part), /^Wrote /)
    const [migration] = readdirSync(join(folder, 'prisma/migrations')).filter((name) => name.endsWith(part))
    const stubs = part === lastPart ? ['--stubs'] : []
    const built = {
      migration: readFileSync(join(folder, 'prisma/migrations', migration, 'migration.sql'), 'utf8'),
      generated: await generate(...stubs),
    }
    await applyMigrations(url)
    for (const check of checks.splice(0)) await check(built)
    // In one process, which loads the server once.
    write('test/notes/all.ts', [...tests.keys()].map((name) => `import '../${name}.ts'\n`).join(''))
    const count = [...tests.values()].reduce((sum, each) => sum + each)
    await passes('test/notes/all.ts', new RegExp(`^1\\.\\.${count}$`, 'm'))
    tests.clear()
  }

  if (!isLongForm) edit('spec/openapi.yaml', [others, ''])
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
    'test/support/operations/operation-fixtures.ts',
    [/^const onMember =\n/m, `${block('const noteFields')}\nconst onMember =\n`],
    [/^ {2}listInvitations: /m, `${block('listNotes:')}  listInvitations: `],
    [/^import \{ allScopes/m, "import { newId } from '../../../infra/ids.ts'\nimport { allScopes"],
  )
  edit('test/events/emitted.test.ts', [/^ {2}updateProfile:/m, `${block('createNote:')}  updateProfile:`])
  write('test/notes/notes.test.ts', notesTest)
  write('test/notes/console.test.ts', consoleTest)
  tests.set('notes/notes.test', 2).set('notes/console.test', 1)
  checks.push(async ({ generated }) => {
    t.match(generated, /wrote .*sql\/notes\.ts/)
    t.strictSame(readdirSync(join(folder, 'generated/resources/notes')).sort(), [
      'columns.sql',
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
  })
  await build('notes')

  // The second half.
  const more = (start: string): string => block(start, secondHalf)
  write('prisma/sql/notes/filter-words.sql', more('-- Whether the title'))
  edit(
    'spec/notes.yaml',
    [/^ {6}filters: \[pinned\]\n/m, `      filters: [pinned]\n${more('parameters:')}`],
    [/^ {8}metadata:/m, `${more('status:')}${more('content:')}        metadata:`],
    [
      /^components:\n {2}schemas:\n/m,
      ['notePublication:', 'noteComments:', 'noteImport:', 'noteLines:'].map(more).join('') +
        'components:\n  schemas:\n' +
        more('NoteContent:') +
        more('NoteComment:') +
        more('NoteImport:') +
        more('NoteLine:'),
    ],
  )
  const paths = ['/projects/{id}/notes/{note_id}/comments', '/projects/{id}/notes/import']
  const added = [...paths, ...['publish', 'lines'].map((name) => `/projects/{id}/notes/{note_id}/${name}`)]
  edit(
    'spec/openapi.yaml',
    [/^paths:\n/m, `paths:\n${indented(added.map(more).join(''))}`],
    [/^x-events:\n/m, `x-events:\n${indented(more('note.published:'))}`],
  )
  edit('infra/ids.ts', [/ {2}\| 'usr'\n/, "  | 'usr'\n  | 'ncom'\n"])
  const columns = page.match(/(?<=`)(content Json|status String) @default\(.*\)(?=`)/g) ?? []
  t.equal(columns.length, 2)
  const comments = 'noteComments NoteComment[]\n'
  edit(
    'prisma/schema.prisma',
    [/^model Project \{\n/m, `model Project {\n  ${comments}`],
    [/^model User \{\n/m, `model User {\n  ${comments}`],
    [/^model Note \{\n/m, `model Note {\n  ${comments}${indented(columns.join('\n'))}\n`],
    [/^\/\/\/ A note that/m, `${more('/// A comment')}\n/// A note that`],
  )
  const [noteContent] = /content: \{ kind: 'link', .*\}(?=`)/.exec(page) ?? ['']
  edit(
    'test/support/operations/operation-fixtures.ts',
    [/by: 'me' \}/, `by: 'me' }, ${noteContent}`],
    [/^const onMember =\n/m, `${more('const onComment')}\nconst onMember =\n`],
    [/^ {2}listInvitations: /m, `${more('publishNote:')}${more('listNoteComments:')}  listInvitations: `],
  )
  edit(
    'test/events/emitted.test.ts',
    [/^ {2}updateProfile:/m, `${more("publishNote: '")}${more('createNoteComment:')}  updateProfile:`],
    [/^ {2}rotateApiKey: 'getApiKey'/m, `${more("publishNote: 'get")}  rotateApiKey: 'getApiKey'`],
  )
  write('test/notes/more.test.ts', moreTest)
  write('handlers/notes.ts', more('// handlers/notes.ts'))
  edit(
    'handlers/notes.ts',
    [/^import /m, `${more('import { readFile }')}import `],
    [
      /^ {2}\.\.\.resourceHandlers\('Note'.*\n/m,
      `  ...resourceHandlers('Note', sql),\n${more('...resource')}`,
    ],
  )
  tests.set('notes/more.test', 5)
  if (isLongForm) tests.set('notes/notes.test', 2)
  checks.push(async ({ migration }) => {
    t.match(migration, `CHECK ("status" IN ('draft', 'published'))`)
    // The compiler takes as long as all other steps together.
    if (!isLongForm) return
    const compiled = program('app', 'handlers', 'services', 'infra', 'generated', 'test/events', 'test/notes')
    t.strictSame(compilerProblems(folder, ts.getPreEmitDiagnostics(compiled)), [])
    const sqlOf = (operation: string): string => JSON.stringify(callTree(folder, operation, compiled))
    t.match(sqlOf('createNote'), 'generated/resources/notes/insert.sql')
    t.match(sqlOf('listNotes'), 'generated/resources/notes/list.sql')
    t.notMatch(sqlOf('getNote'), 'generated/resources/notes/remove.sql')
    t.match(sqlOf('createNoteComment'), 'generated/resources/note_comments/insert.sql')
  })
  await build('note_comments')

  // The commands of the page. They take a minute.
  if (isLongForm) {
    await node('scripts/constraints/main.ts')
    const sorts = ['notes/list title', 'notes/list updated_at', 'note_comments/list updated_at']
    for (const sort of sorts) t.match(page, `'${sort}'`)
    edit('test/infra/lists.test.ts', [
      /^const sorted = \[\n/m,
      `const sorted = [\n${sorts.map((sort) => `  '${sort}',\n`).join('')}`,
    ])
    for (const name of [
      'contract/coverage',
      'contract/roles',
      'events/emitted',
      'contract/tenants',
      'infra/lists',
    ])
      await passes(`test/${name}.test.ts`)
  }

  // The table of types.
  const samples = samplesOf(page)
  write('spec/samples.yaml', specOf(samples))
  edit('spec/openapi.yaml', [
    /^paths:\n/m,
    "paths:\n  /projects/{id}/samples: { $ref: 'samples.yaml#/paths/samples' }\n",
  ])
  edit('infra/ids.ts', [/ {2}\| 'usr'\n/, "  | 'usr'\n  | 'smp'\n"])
  edit(
    'prisma/schema.prisma',
    [/^model Project \{\n/m, 'model Project {\n  samples Sample[]\n'],
    [/^model User \{\n/m, 'model User {\n  samples Sample[]\n'],
    [/$/, modelOf(samples)],
  )
  tests.set('support/generator/sample-resource-test', 3)
  checks.push(async ({ generated }) => {
    t.match(generated, 'handlers/notes.ts: wrote the default handlers of Sample')
  })
  await build(lastPart)
})

const notesTest = `import t from 'tap'
import { startServer } from '../support/server/server.ts'
import { team } from '../support/server/team.ts'
import { apiErrorOf } from '../support/http/typed-client.ts'

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
  const taken = {
    status: 409,
    code: 'CONFLICT',
    message: 'Another note of the project has this title.',
    details: { constraint: 'title_taken', field: 'title' },
  }
  t.match(await apiErrorOf(editor.api.createNote({ path, body: { title: 'One' } })), taken)
  const of = { ...path, note_id: second.id }
  t.match(await apiErrorOf(editor.api.updateNote({ path: of, body: { title: first.title } })), taken)
  t.same(await viewer.api.getNote({ path: of }), second)
})
`

const consoleTest = `import t from 'tap'
import { launchBrowser, skipWithoutBrowser } from '../support/browser/browser.ts'
import { assertAccessible, openConsole } from '../support/browser/console-browser.ts'
import { startServer } from '../support/server/server.ts'
import { team } from '../support/server/team.ts'

t.test('the console has the resource', { skip: skipWithoutBrowser }, async (t) => {
  const server = await startServer(t)
  const { path, editor } = await team(server)
  const browser = await launchBrowser(t)
  const { page, complaints } = await openConsole(t, browser, server.url, '/projects/' + path.id, editor)
  await page.getByRole('heading', { name: 'Notes' }).getByRole('link').click()
  await page.getByRole('heading', { name: 'Notes', level: 1 }).waitFor()
  const dialog = page.getByRole('dialog')
  await page.getByRole('button', { name: 'Create' }).click()
  await dialog.getByRole('button', { name: 'Create' }).click()
  t.match(await dialog.locator('.error').first().textContent(), /title/)
  await dialog.getByLabel('Title').fill('Hours')
  await dialog.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('heading', { name: 'Hours' }).waitFor()
  await assertAccessible(t, page, 'a note')
  await page.getByRole('button', { name: 'Edit' }).click()
  await dialog.getByLabel('Pinned').selectOption('Yes')
  await dialog.getByRole('button', { name: 'Edit' }).click()
  await page.locator('dd', { hasText: 'Yes' }).waitFor()
  t.match((await editor.api.listNotes({ path })).data, [{ title: 'Hours', pinned: true }])
  await page.getByRole('button', { name: 'Delete' }).click()
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await page.getByText('There are no notes yet.').waitFor()
  t.strictSame(complaints, [])
})
`

const moreTest = `import t from 'tap'
import { startServer } from '../support/server/server.ts'
import { team } from '../support/server/team.ts'
import { apiErrorOf } from '../support/http/typed-client.ts'

const server = await startServer(t)
const { path, editor, viewer, stranger } = await team(server)

t.test('a note has comments', async (t) => {
  const note = await editor.api.createNote({ path, body: { title: 'Hours' } })
  const other = await editor.api.createNote({ path, body: { title: 'Other' } })
  const of = { ...path, note_id: note.id }
  const body = { text: 'On Sundays too?' }
  t.match(await apiErrorOf(viewer.api.createNoteComment({ path: of, body })), { status: 403 })
  const comment = await editor.api.createNoteComment({ path: of, body })
  t.match(comment, { project_id: path.id, note_id: note.id, text: body.text })
  t.same((await viewer.api.listNoteComments({ path: of })).data, [comment])
  const elsewhere = { ...path, note_id: other.id }
  t.same((await viewer.api.listNoteComments({ path: elsewhere })).data, [])
  const one = { note_comment_id: comment.id }
  t.match(await apiErrorOf(viewer.api.getNoteComment({ path: { ...elsewhere, ...one } })), { status: 404 })
  const missing = { ...path, note_id: comment.id.replace('ncom', 'note') }
  const unknown = { status: 404, message: /note / }
  t.match(await apiErrorOf(viewer.api.listNoteComments({ path: missing })), unknown)
  t.match(await apiErrorOf(editor.api.createNoteComment({ path: missing, body })), unknown)
  const answer = await fetch(server.url + '/v1/projects/' + path.id + '/notes/' + note.id + '/comments', {
    method: 'POST',
    headers: { authorization: 'Bearer ' + editor.key, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  t.equal(answer.status, 201)
  const { id } = (await answer.json()) as { id: string }
  t.equal(answer.headers.get('location'), answer.url + '/' + id)
  const updated = await editor.api.updateNoteComment({ path: { ...of, ...one }, body: { text: 'Yes.' } })
  t.same(updated, { ...comment, text: 'Yes.', updated_at: updated.updated_at })
  await editor.api.deleteNoteComment({ path: { ...of, ...one } })
  t.match(await apiErrorOf(viewer.api.getNoteComment({ path: { ...of, ...one } })), { status: 404 })
})

t.test('the comments of another tenant are not found through notes of the caller', async (t) => {
  const { id } = await editor.api.createNote({ path, body: { title: 'Ours' } })
  const ourNote = { ...path, note_id: id }
  const comment = await editor.api.createNoteComment({ path: ourNote, body: { text: 'Ours' } })
  const own = { id: (await stranger.api.createProject({ body: { name: 'Own' } })).id }
  const ownNote = await stranger.api.createNote({ path: own, body: { title: 'Own' } })
  const one = { note_comment_id: comment.id }
  const body = { text: 'Theirs' }
  const tried = async (of: { id: string; note_id: string }) => {
    const item = { ...of, ...one }
    return await Promise.all(
      [
        stranger.api.listNoteComments({ path: of }),
        stranger.api.createNoteComment({ path: of, body }),
        stranger.api.getNoteComment({ path: item }),
        stranger.api.updateNoteComment({ path: item, body }),
        stranger.api.deleteNoteComment({ path: item }),
      ].map(async (call) => await (call as Promise<unknown>).then(() => 'done', ({ status }) => status)),
    )
  }
  t.same(await tried(ourNote), [403, 403, 403, 403, 403], 'their project')
  t.same(await tried({ ...own, note_id: id }), [404, 404, 404, 404, 404], 'their note, own project')
  const onOwnNote = await tried({ ...own, note_id: ownNote.id })
  t.same(onOwnNote, ['done', 'done', 404, 404, 404], 'their comment on an own note')
  const ours = await viewer.api.listNoteComments({ path: ourNote })
  t.same(ours.data, [comment], 'nothing changed')
})

t.test('a draft is published once', async (t) => {
  const note = await editor.api.createNote({ path, body: { title: 'Draft' } })
  t.equal(note.status, 'draft')
  const of = { ...path, note_id: note.id }
  const status = { status: 'published' } as any
  t.match(await apiErrorOf(editor.api.updateNote({ path: of, body: status })), { status: 400 })
  t.match(await apiErrorOf(viewer.api.publishNote({ path: of })), { status: 403 })
  const published = await editor.api.publishNote({ path: of })
  t.same({ ...published, updated_at: '' }, { ...note, status: 'published', updated_at: '' })
  t.ok(published.updated_at > note.updated_at)
  t.same(await viewer.api.getNote({ path: of }), published)
  t.same(await editor.api.publishNote({ path: of }), published, 'again')
  const { data: events } = await editor.api.listEvents({ query: { type: ['note.published'] } })
  t.match(events, [{ data: { object: published, previous_attributes: { status: 'draft' } } }])
  const { prisma } = server.services.database
  const other = prisma.note.update({ where: { id: note.id }, data: { status: 'lost' } })
  await t.rejects(other, /notes_status_check/)
})

t.test('the comments of a note are deleted with it', async (t) => {
  const note = await editor.api.createNote({ path, body: { title: 'Short' } })
  const kept = await editor.api.createNote({ path, body: { title: 'Kept' } })
  for (const { id } of [note, kept])
    await editor.api.createNoteComment({ path: { ...path, note_id: id }, body: { text: 'A comment' } })
  await editor.api.deleteNote({ path: { ...path, note_id: note.id } })
  const gone = { status: 404, message: /note / }
  t.match(await apiErrorOf(viewer.api.listNoteComments({ path: { ...path, note_id: note.id } })), gone)
  t.equal((await viewer.api.listNoteComments({ path: { ...path, note_id: kept.id } })).data.length, 1)
  const { prisma } = server.services.database
  t.equal(await prisma.noteComment.count({ where: { noteId: note.id } }), 0)
})

t.test('the content has alternatives, a file becomes a list, and its lines are streamed', async (t) => {
  const link = { kind: 'link', url: 'https://example.com' } as const
  const note = await editor.api.createNote({ path, body: { title: 'Link', content: link } })
  t.same(note.content, link)
  const of = { ...path, note_id: note.id }
  const items = { kind: 'list' as const, items: ['Milk'] }
  t.same((await editor.api.updateNote({ path: of, body: { content: items } })).content, items)
  t.same((await viewer.api.getNote({ path: of })).content, items)
  const extra = { ...link, extra: 1 } as any
  const closed = { status: 400, details: { field: 'content.extra', constraint: 'additionalProperties' } }
  t.match(await apiErrorOf(editor.api.updateNote({ path: of, body: { content: extra } })), closed)
  const content = { kind: 'link', items: [] } as any
  const wrong = editor.api.createNote({ path, body: { title: 'Wrong', content } })
  t.match(await apiErrorOf(wrong), { status: 400, details: { field: 'content.url' } })
  const form = new FormData()
  form.append('file', new File(['Milk\\nBread\\n'], 'list.txt', { type: 'text/plain' }))
  const url = server.url + '/v1/projects/' + path.id + '/notes/'
  const headers = { authorization: 'Bearer ' + editor.key }
  const imported = await fetch(url + 'import', { method: 'POST', headers, body: form })
  t.equal(imported.status, 201)
  const { id, content: list } = (await imported.json()) as { id: string; content: object }
  t.same(list, { kind: 'list', items: ['Milk', 'Bread'] })
  const shopping = { title: 'Shopping', text: '100 % of it' }
  await editor.api.updateNote({ path: { ...path, note_id: id }, body: shopping })
  const found = async (words: string) => (await viewer.api.listNotes({ path, query: { words } })).data.length
  t.same([await found('SHOP'), await found('100 %'), await found('100 _')], [1, 1, 0])
  const lines = await (await fetch(url + id + '/lines', { headers })).text()
  t.match(lines, /event: line[^]*Milk[^]*event: line[^]*Bread[^]*event: end/)
})
`
