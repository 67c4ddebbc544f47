// What `npm run dev` says of a server that has exited, and of type errors.
import t from 'tap'
import { explainExit, explainProblem, typeReport } from '../../scripts/dev/report.ts'

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
    report(errors)
    return lines.splice(0)
  }
  const [notes, fixtures] = ['handlers/notes.ts', 'test/support/operation-fixtures.ts']
  t.strictSame(says([error(notes), error(notes, 2)]), [
    '✗ types: handlers/notes.ts:1:2 is wrong (TS1)',
    '✗ types: handlers/notes.ts:2:2 is wrong (TS1)',
  ])
  t.strictSame(says([error(notes, 2)]), ['· types: 1 mended, 1 left: handlers/notes.ts:2:2'])
  t.strictSame(says([error(notes, 2)]), [], 'nothing has changed')
  t.strictSame(says([error(fixtures)]), [
    '✗ types: test/support/operation-fixtures.ts:1:2 is wrong (TS1)',
    '· types: 1 mended',
  ])
  t.strictSame(says([]), ['✓ no type errors'])
  t.strictSame(says([]), [])
  const many = [1, 2, 3, 4, 5, 6, 7].map((line) => error(notes, line))
  t.equal(says(many).at(-1), '✗ types: and 2 more')
  t.match(says(many.slice(0, 6)), [/^· types: 1 mended, 6 left: handlers.*notes\.ts:5:2 and 1 more$/])
})
