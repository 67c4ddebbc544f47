// The command line of migrations.
import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { createTestDatabase } from '../support/database/database.ts'

const MIGRATE = fileURLToPath(new URL('../../scripts/migrate/main.ts', import.meta.url))

function migrate(
  args: string[],
  env: Record<string, string> = {},
  cwd?: string,
  script = MIGRATE,
): Promise<{ code: number; out: string; err: string }> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [script, ...args],
      { env: { ...process.env, ...env }, cwd },
      (error, out, err) => {
        resolve({ code: error === null ? 0 : Number(error.code), out, err })
      },
    )
  })
}

/** The commands fail when they load code of the server, which may wait for the table. */
const withoutServer = ((): Record<string, string> => {
  const root = new URL('../..', import.meta.url).href
  const hook = `import { registerHooks } from 'node:module'
const served = ['app', 'handlers', 'services', 'generated'].map((folder) => '${root}' + folder + '/')
// The table of errors is data.
const isServed = (url) => served.some((folder) => url.startsWith(folder)) && !url.endsWith('/error-codes.ts')
registerHooks({
  load(url, context, next) {
    if (isServed(url)) throw new Error('loads ' + url)
    return next(url, context)
  },
})`
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(hook)}` }
})()

t.test(
  'prisma/schema.prisma and prisma/migrations match, and --check loads no code of the server',
  async (t) => {
    t.strictSame(await migrate(['--check'], withoutServer), {
      code: 0,
      out: 'prisma/schema.prisma and prisma/migrations match.\n',
      err: '',
    })
    const applied = await migrate([], { ...withoutServer, DATABASE_URL: 'none' })
    t.match(applied, { err: /loads / }, 'the hook works')
  },
)

t.test('migrate brings the database of DATABASE_URL, here from .env, up to date', async (t) => {
  const { url } = await createTestDatabase(t)
  const folder = t.testdir({ '.env': `DATABASE_URL=${url}\n` })
  t.strictSame(await migrate([], { DATA_DIR: join(folder, 'none') }, folder), {
    code: 0,
    out: 'The database is up to date.\n',
    err: '',
  })
  t.notOk(existsSync(join(folder, 'none')), 'no other database is created')
})

t.test('an invalid option or name is a usage error', async (t) => {
  for (const args of [['--nonsense'], ['--create', '!!']])
    t.match(await migrate(args), { code: 1, err: /--create/ })
})

/** A copy of the project's migrations and of the command. */
function copyOfProject(t: Test) {
  const folder = t.testdir()
  const root = join(import.meta.dirname, '../..')
  for (const part of ['infra', 'prisma', 'scripts', 'package.json'])
    cpSync(join(root, part), join(folder, part), { recursive: true })
  for (const part of ['app', 'services', 'generated', 'packages', 'spec', 'node_modules'])
    symlinkSync(join(root, part), join(folder, part))
  const command = join(folder, 'scripts/migrate/main.ts')
  return {
    functions: join(folder, 'prisma/sql/functions'),
    migrations: join(folder, 'prisma/migrations'),
    run: (args: string[], env = {}) => migrate(args, env, folder, command),
  }
}

t.test(
  '--create copies changed functions, also the triggers of a new quota, and drops missing ones',
  async (t) => {
    const { functions, migrations, run } = copyOfProject(t)
    const file = (name: string): string => join(functions, name)
    const edit = (name: string, from: string, to: string): string => {
      const text = readFileSync(file(name), 'utf8')
      t.ok(text.includes(from), name)
      writeFileSync(file(name), text.replace(from, to))
      return readFileSync(file(name), 'utf8').trim()
    }
    const changed = edit('payments-now.sql', 'AS $function$', 'AS $function$ -- changed\n')
    const constraint = edit('require-owner.sql', 'AS $function$', 'AS $function$ -- changed\n')
    writeFileSync(
      file('next-number.sql'),
      'CREATE OR REPLACE FUNCTION next_number() RETURNS int LANGUAGE sql RETURN 1;\n',
    )
    rmSync(file('count-documents.sql'))
    const row = "('api_keys', 'api_keys'"
    const quota = "('passkeys', 'passkeys', 'user_id', 'count(*)', 'true', NULL, true)"
    edit('all-quotas.sql', row, `${quota},\n    ${row}`)
    edit('account-of.sql', 'account_of(user_id text)', 'account_of(user_id text, at date DEFAULT now())')

    const created = await run(['--create', 'Changed functions'])
    t.match(created, { code: 0, err: '' })
    const [, path] = /Wrote (.*_changed_functions\/migration\.sql)\./.exec(created.out)!
    const script = readFileSync(join(migrations, '../..', path), 'utf8')
    t.ok(script.includes(changed))
    t.ok(script.includes(constraint))
    t.match(script, /^CREATE OR REPLACE FUNCTION next_number/m)
    t.ok(script.includes(quota))
    t.match(script, /^DROP TRIGGER \w+ ON documents;/m)
    t.match(script, /^DROP FUNCTION count_documents\(\);/m)
    t.match(script, /^DROP FUNCTION account_of\(user_id text\);/m)
    t.notMatch(script, /FUNCTION storage_use/, 'the other functions')
    const again = await run(['--create', 'nothing'], withoutServer)
    t.match(again, { code: 0, out: /prisma\/migrations match/, err: '' }, 'it applies')
  },
)

t.test('--check refuses a migration of a later time', async (t) => {
  const { migrations, run } = copyOfProject(t)
  mkdirSync(join(migrations, '20991231000000_later'))
  writeFileSync(join(migrations, '20991231000000_later/migration.sql'), '')
  t.match(await run(['--check']), { code: 1, err: /20991231000000_later has a time in the future/ })
})
