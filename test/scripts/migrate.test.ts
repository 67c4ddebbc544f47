// The command line of migrations.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { createTestDatabase } from '../support/database.ts'

const MIGRATE = fileURLToPath(new URL('../../scripts/migrate/main.ts', import.meta.url))

function migrate(
  args: string[],
  env: Record<string, string> = {},
  cwd?: string,
): Promise<{ code: number; out: string; err: string }> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [MIGRATE, ...args],
      { env: { ...process.env, ...env }, cwd },
      (error, out, err) => {
        resolve({ code: error === null ? 0 : Number(error.code), out, err })
      },
    )
  })
}

t.test('prisma/schema.prisma and prisma/migrations match', async (t) => {
  t.strictSame(await migrate(['--check']), {
    code: 0,
    out: 'prisma/schema.prisma and prisma/migrations match.\n',
    err: '',
  })
})

t.test('--create and --check load no code of the server, which may wait for the table', async (t) => {
  const root = new URL('../..', import.meta.url).href
  const hook = `import { registerHooks } from 'node:module'
const served = ['app', 'handlers', 'services', 'generated'].map((folder) => '${root}' + folder + '/')
registerHooks({
  load(url, context, next) {
    if (served.some((folder) => url.startsWith(folder))) throw new Error('loads ' + url)
    return next(url, context)
  },
})`
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(hook)}` }
  t.match(await migrate(['--check'], env), { code: 0, err: '' })
  t.match(await migrate(['--create', 'nothing'], env), { code: 0, out: /no migration was written/, err: '' })
  t.match(await migrate([], { ...env, DATABASE_URL: 'none' }), { err: /loads / }, 'the hook works')
})

t.test("a database of one's own is brought up to date", async (t) => {
  const { url } = await createTestDatabase(t)
  t.strictSame(await migrate([], { DATABASE_URL: url }), {
    code: 0,
    out: 'The database is up to date.\n',
    err: '',
  })
})

t.test('migrate reads DATABASE_URL from .env', async (t) => {
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
