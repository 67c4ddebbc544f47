// What `npm run dev` says of a server that has exited.
import t from 'tap'
import { explainExit } from '../../scripts/dev/report.ts'

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

t.test('other errors of PostgreSQL do not', async (t) => {
  const folder = t.testdir({ services: { tasks: { 'tasks.ts': '\n\n\nawait tasks()\n' } } })
  for (const message of [
    'error: role "tasks" does not exist',
    'error: column t.due does not exist',
    "TypeError: Cannot read properties of undefined (reading 'relation')",
  ])
    t.notMatch(explainExit(folder, crash(message, folder)), hint, message)
})
