// The messages of `npm run dev` about a server that has exited, and about type errors.
import t from 'tap'
import { waitUntil } from '../support/server/wait.ts'
import { explainExit, explainProblem, explainStartup, typeReport } from '../../scripts/dev/report.ts'

const crash = (message: string, folder: string): string => `${folder}/services/tasks/tasks.ts:4
  await db.query('SELECT id FROM tasks')
  ^

${message}
    at Parser.parseErrorMessage (${folder}/node_modules/pg-protocol/dist/parser.js:305:11)
    at listTasks (file://${folder}/services/tasks/tasks.ts:4:3) {
  code: '42P01'
}
`
const hint = /`npm run migrate -- --create NAME` writes a migration from prisma\/schema\.prisma/

t.test('a table that no migration has made leads to the command that makes one', async (t) => {
  const folder = t.testdir({ services: { tasks: { 'tasks.ts': '\n\n\nawait tasks()\n' } } })
  for (const message of [
    'error: relation "tasks" does not exist',
    'The table `public.tasks` does not exist in the current database.',
    'The column `tasks.due_at` does not exist in the current database.',
  ]) {
    const said = explainExit(folder, crash(message, folder))
    t.match(said, message)
    t.match(said, hint)
    t.match(said, /^services\/tasks\/tasks\.ts:4:3 /, 'with its place')
    t.match(explainExit(folder, `${message}\n`), hint, 'also without a place')
  }
})

t.test('so do statements that are not generated, because their table is missing', async (t) => {
  const folder = t.testdir({})
  const said = explainExit(
    folder,
    `node:internal/modules/esm/resolve:275
    throw new ERR_MODULE_NOT_FOUND(
          ^

Error [ERR_MODULE_NOT_FOUND]: Cannot find module '${folder}/generated/sql/tasks.ts' ` +
      `imported from ${folder}/services/tasks/tasks.ts\n` +
      '    at finalizeResolution (node:internal/modules/esm/resolve:275:11)\n',
  )
  t.match(said, /^generated\/sql\/tasks\.ts does not exist/)
  t.match(said, hint)
})

t.test('so does a statement of a table that no migration has made', async (t) => {
  const problem = 'generated/resources/tasks/find.sql:5:6: relation "tasks" does not exist'
  t.match(explainProblem(problem), hint)
  t.equal(explainProblem('column t.due does not exist'), 'column t.due does not exist')
})

t.test('other errors of PostgreSQL do not', async (t) => {
  const folder = t.testdir({ services: { tasks: { 'tasks.ts': '\n\n\nawait tasks()\n' } } })
  for (const message of [
    'error: role "tasks" does not exist',
    'error: column t.due does not exist',
    "TypeError: Cannot read properties of undefined (reading 'relation')",
  ])
    t.notMatch(explainExit(folder, crash(message, folder)), hint, message)
})

t.test('each check reports the errors that are new, mended and left', async (t) => {
  const lines: string[] = []
  const report = typeReport(t.testdir({}), (line) => lines.push(line))
  const error = (file: string, line = 1) => ({ file, line, column: 2, message: 'is wrong (TS1)' })
  const says = (errors: Array<ReturnType<typeof error>>): string[] => {
    report.end(errors)
    return lines.splice(0)
  }
  const [notes, fixtures] = ['handlers/notes.ts', 'test/support/operations/operation-fixtures.ts']
  t.strictSame(says([error(notes), error(notes, 2)]), [
    '✗ types: handlers/notes.ts:1:2 is wrong (TS1)',
    '✗ types: handlers/notes.ts:2:2 is wrong (TS1)',
  ])
  t.strictSame(says([error(notes, 2)]), ['· types: 1 mended, 1 left: handlers/notes.ts:2:2'])
  t.strictSame(says([error(notes, 2)]), [], 'nothing has changed')
  t.strictSame(says([error(fixtures)]), [
    '✗ types: test/support/operations/operation-fixtures.ts:1:2 is wrong (TS1)',
    '· types: 1 mended',
  ])
  t.strictSame(says([]), ['✓ no type errors'])
  t.strictSame(says([]), [])
  const many = [1, 2, 3, 4, 5, 6, 7].map((line) => error(notes, line))
  t.equal(says(many).at(-1), '✗ types: and 2 more')
  t.match(says(many.slice(0, 6)), [/^· types: 1 mended, 6 left: handlers.*notes\.ts:5:2 and 1 more$/])
})

t.test(
  'a check that takes long is announced once, and its result is said even if nothing has changed',
  async (t) => {
    const lines: string[] = []
    const report = typeReport(t.testdir({}), (line) => lines.push(line), 1)
    const error = { file: 'handlers/notes.ts', line: 1, column: 2, message: 'is wrong (TS1)' }
    for (const [errors, said] of [
      [[error], '✗ types: handlers/notes.ts:1:2 is wrong (TS1)'],
      [[error], '· types: 1 left: handlers/notes.ts:1:2'],
      [[], '✓ no type errors'],
      [[], '✓ no type errors'],
    ] as const) {
      report.begin()
      report.begin()
      await waitUntil(() => lines.length > 0, 'the announcement')
      // The check was of files that have changed meanwhile.
      report.begin()
      report.end([...errors])
      t.strictSame(lines.splice(0), ['· types: checking …', said])
    }
  },
)

t.test('errors that are printed during a check are not printed again at its end', async (t) => {
  const lines: string[] = []
  const report = typeReport(t.testdir({}), (line) => lines.push(line))
  const error = (line: number) => ({ file: 'handlers/notes.ts', line, column: 2, message: 'is wrong (TS1)' })
  report.end([error(1)])
  lines.splice(0)
  report.found([error(1), error(2)])
  t.strictSame(lines.splice(0), ['✗ types: handlers/notes.ts:2:2 is wrong (TS1)'])
  report.end([error(1), error(2), error(3)])
  t.strictSame(lines.splice(0), [
    '✗ types: handlers/notes.ts:3:2 is wrong (TS1)',
    '· types: 2 left: handlers/notes.ts:1:2, handlers/notes.ts:2:2',
  ])
  report.found([error(4)])
  t.strictSame(lines.splice(0), ['✗ types: handlers/notes.ts:4:2 is wrong (TS1)'])
  report.end([])
  t.strictSame(lines, ['✓ no type errors'])
  report.close()
})

t.test('an edited migration leads to what may be done in development', async (t) => {
  const message = 'The migration 20261101_notes was edited after it was applied to this database: restore it.'
  const said = explainStartup(message, 'delete its data (`rm -r .data`)')
  t.match(said, '`git restore prisma/migrations/20261101_notes`')
  t.match(said, '`npm run migrate -- --create NAME`')
  t.match(said, 'stop dev, delete its data (`rm -r .data`), and start dev again')
  t.equal(explainStartup('The port 3000 is in use.', ''), 'The port 3000 is in use.')
})

t.test('missing handlers of a resource with x-crud lead to the line that adds them', async (t) => {
  const folder = t.testdir({
    generated: {
      'resources.ts': "export interface Resources {\n  Task: {\n    list: 'listTasks'\n  }\n}\n",
      'routes.ts':
        "import { tasks } from '../handlers/tasks.ts'\nimport { other } from '../handlers/other.ts'\n" +
        "  Holds<Exact<typeof tasks, 'listTasks'>>,\n  Holds<Exact<typeof other, 'getOther'>>,\n",
    },
  })
  const line = /write `\.\.\.resourceHandlers\('Task', sql\)` there, or `npm run generate -- --stubs` does/
  const stub = /; `npm run generate -- --stubs` writes a stub$/
  const missing = (id: string, tag: string): string =>
    explainExit(folder, `Error: operation ${id} has no handler in handlers/${tag}.ts\n`)
  t.match(missing('listTasks', 'tasks'), line)
  t.match(missing('getOther', 'other'), stub)
  const module = (tag: string): string =>
    explainExit(
      folder,
      `Error [ERR_MODULE_NOT_FOUND]: Cannot find module '${folder}/handlers/${tag}.ts' ` +
        `imported from ${folder}/generated/routes.ts\n`,
    )
  t.match(module('tasks'), line)
  t.match(module('other'), stub)
})

t.test('what a module throws is named, also if it is no Error', async (t) => {
  const output =
    'node:internal/process/promises:392\n      new UnhandledPromiseRejection(reason);\n      ^\n\n' +
    'UnhandledPromiseRejection: This error originated either by throwing inside of an async function ' +
    'without a catch block, or by rejecting a promise which was not handled with .catch(). ' +
    'The promise rejected with the reason "a text".\n    at node:internal/process/promises:392:7\n'
  t.equal(explainExit('/project', output), 'a module throws a text, which is no Error')
})
