// The command line of operators: which database it works on, and what it says of commands that there are not.
import { execFile } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { createClient } from '../support/http/client.ts'
import { createTestDatabase } from '../support/database/database.ts'
import { startServer } from '../support/server/server.ts'

const script = fileURLToPath(new URL('../../scripts/admin/main.ts', import.meta.url))

async function admin(
  args: string[],
  env: Record<string, string>,
): Promise<{ code: number; out: string; err: string }> {
  return await new Promise((resolve) => {
    execFile(
      process.execPath,
      [script, ...args],
      { env: { ...process.env, ...env }, cwd: t.testdir({}) },
      (error, out, err) => {
        resolve({ code: error === null ? 0 : Number(error.code), out, err })
      },
    )
  })
}

t.test('an unknown command is a usage error and creates nothing', async (t) => {
  const folder = join(t.testdir({}), 'data')
  for (const args of [['list-users'], ['list-users', '--all'], ['constructor']]) {
    const { code, out, err } = await admin(args, { DATA_DIR: folder })
    t.match({ code, out }, { code: 2, out: '' })
    t.ok(
      err.startsWith(
        `Unknown command \`${args[0]}\`. ` +
          'The commands are users, doctor, keys, create-user, create-key, revoke-key, ' +
          'organization-limits, outbox, ' +
          'password-link, remove-second-factor, verify-audit, export-audit, new-key, store, move-files, ' +
          'confirm-restore, replace-lost-secrets.\n',
      ),
      err,
    )
  }
  t.match(await admin(['users', '--all'], { DATA_DIR: folder }), { code: 2, err: /Unknown option '--all'/ })
  t.match(await admin([], { DATA_DIR: folder }), { code: 2, err: /^npm run admin -- users/ })
  t.match(await admin(['new-key'], { DATA_DIR: folder }), { code: 0, out: /^plat_live_/, err: '' })
  t.notOk(existsSync(folder))
})

t.test('an external database is printed without credentials', async (t) => {
  const { url } = await createTestDatabase(t)
  const { host, pathname, searchParams } = new URL(url)
  const made = await admin(['create-user', '--email', 'ada@example.com', '--name', 'Ada'], {
    DATABASE_URL: url,
  })
  t.equal(made.code, 0, made.err)
  const listed = await admin(['users'], { DATABASE_URL: url })
  t.equal(listed.err, `Database: ${searchParams.get('host') ?? host}${pathname}\n`)
  t.match(listed.out, /ada@example\.com/)
  const unreachable = await admin(['users'], {
    DATABASE_URL: 'postgres://ada:s3cret@127.0.0.1:1/none?application_name=s3cret',
  })
  t.match(unreachable, { code: 1, out: '', err: /^Database: 127\.0\.0\.1:1\/none\n/ })
  t.notMatch(unreachable.err, /s3cret|ada/)
})

t.test('an organization gets limits of its own, and shares those of an owner again', async (t) => {
  const server = await startServer(t)
  const owner = await server.person()
  const { body } = await owner.client.post('/organizations', { name: 'Acme' })
  const run = (...args: string[]) =>
    admin(['organization-limits', ...args], { DATABASE_URL: server.databaseUrl })
  t.match(await run('--id', body.id, 'own'), { code: 0, out: /limits of their own now/ })
  t.match(await run('--id', body.id, 'shared'), { code: 0, out: new RegExp(`limits of ${owner.id} now`) })
  t.match(await run('--id', body.id), { code: 1, err: /Say `own` or `shared`\.$/m })
  t.match(await run('own'), { code: 1, err: /--id is required/ })
  t.match(await run('--id', 'org_x', 'own'), { code: 1, err: /organization/ })
})

t.test('a link sets a password once, for the first owner too', async (t) => {
  const server = await startServer(t)
  const { email } = server.admin
  const settings = { DATABASE_URL: server.databaseUrl, PUBLIC_URL: server.url, BOOTSTRAP_EMAIL: email }
  const { code, out } = await admin(['password-link'], settings)
  t.equal(code, 0)
  const page = await fetch(out.trim())
  t.equal(page.status, 200)
  t.match(await page.text(), /Set a new password/)
  const token = new URL(out.trim()).searchParams.get('token')
  const reset = { token, password: 'a long and rare password' }
  const anyone = createClient(server.url, null)
  t.equal((await anyone.post('/auth/password-resets/confirm', reset)).status, 201)
  t.equal((await anyone.post('/auth/password-resets/confirm', reset)).status, 401)
  const signIn = { method: 'password', email, password: reset.password }
  t.equal((await anyone.post('/auth/sessions', signIn)).status, 201)
  t.match(await admin(['password-link', '--user', 'nobody@example.com'], settings), {
    code: 1,
    err: /There is no user nobody@example\.com\.$/m,
  })
})

t.test('an embedded database is printed by its folder, with a note if it is new', async (t) => {
  const folder = join(realpathSync(t.testdir({})), 'data')
  const first = await admin(['users'], { DATA_DIR: folder })
  t.equal(first.code, 0, first.err)
  t.equal(
    first.err,
    `Database: ${folder}\nThis command has created the database. ` +
      "To use the database of a server, set DATA_DIR to the server's value.\n",
  )
  t.match(first.out, /^id +email/)
  t.equal((await admin(['users'], { DATA_DIR: folder })).err, `Database: ${folder}\n`)
})
