// The commands of the guides for operators, each run as it is written. A command that no test runs is named.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createEmptyDatabase } from '../support/database/database.ts'
import { newFolder, query } from '../support/server/backups.ts'
import { isLongForm } from '../support/long-form.ts'
import { inheritedEnvironment, spawnServer, spawnWorker } from '../support/server/process.ts'

const root = join(import.meta.dirname, '../..')
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const guides = ['deployment', 'storage', 'monitoring', 'security', 'scaling']

/** Commands that other tests run: of containers and Kubernetes, of roles, and units of systemd and cron. */
const elsewhere = [
  /^(docker|kubectl|helm|echo|psql|OTEL_)/,
  /^DATABASE_URL=/,
  /^npm run (bench|abuse)\b/,
  /^ExecStart=|^0 \*/,
]

/** The commands in the code blocks of the guides, without comments. */
function documented(): string[] {
  const commands = guides.flatMap((name) => {
    const text = readFileSync(join(root, `docs/${name}.md`), 'utf8')
    return [...text.matchAll(/^```\w*\n([^]*?)^```/gm)].flatMap(([, block]) => commandsOf(block))
  })
  return [...new Set(commands)].filter((command) => !elsewhere.some((pattern) => pattern.test(command)))
}

function commandsOf(block: string): string[] {
  const lines = block.split('\n').map((line) => line.replace(/\s+#.*/, '').trim())
  const session = lines.filter((line) => line.startsWith('$ ')).map((line) => line.slice(2))
  return session.length > 0 ? session : lines.filter((line) => /^(npm|psql|docker) /.test(line))
}

/** Except for the first command, the short form starts the script as npm does, without the process of npm. */
function wordsOf(command: string, byNpm: boolean): string[] {
  if (byNpm) return command.replace(/^npm /, 'npm --silent ').split(' ')
  const [, name, args = ''] = /^npm run (\S+)(?: --( .*))?$/.exec(command)!
  return `${scripts[name]}${args}`.replace(/^node /, `${process.execPath} `).split(' ')
}

t.test('the commands of the guides', { timeout: 300_000 }, async (t) => {
  const [original, copy] = [await createEmptyDatabase(t), await createEmptyDatabase(t)]
  const [data, copiedData, backups] = [newFolder(t), newFolder(t), newFolder(t)]
  const here = { DATABASE_URL: original, DATA_DIR: data }
  const there = { DATABASE_URL: copy, DATA_DIR: copiedData, SECRET_KEY_FILE: join(data, 'secret-key') }
  const ran = new Set<string>()

  const run = async (written: string, env: Record<string, string>, code = 0): Promise<string> => {
    ran.add(written)
    const words = wordsOf(written.replaceAll('/srv/backups', backups), isLongForm || ran.size === 1)
    const result = await new Promise<{ code: number; output: string }>((resolve) => {
      execFile(
        words[0],
        words.slice(1),
        { cwd: root, env: { ...inheritedEnvironment(), ...env }, timeout: 120_000 },
        (error, out, err) => resolve({ code: error === null ? 0 : Number(error.code), output: out + err }),
      )
    })
    t.equal(result.code, code, `${written}\n${result.output}`)
    return result.output
  }

  t.match(await run('npm run migrate', here), /migration/)
  // test/infra/distribute.test.ts does it with Citus.
  t.match(await run('npm run migrate -- --distribute', here, 1), /has no Citus: install it/)
  const server = await spawnServer(t, { ...here, SECRET_KEY: '' })
  const created = await run('npm run admin -- create-user --email ada@example.com --name Ada', here)
  const [key] = /plat_\w+/.exec(created)!
  const projects = await fetch(`${server.url}/v1/projects`, { headers: { authorization: `Bearer ${key}` } })
  t.equal(projects.status, 200)
  await fetch(`${server.url}/v1/projects`, { method: 'POST', headers: { authorization: `Bearer ${key}` } })
  t.match(await run('npm run admin -- doctor', here), /ok +database/)
  t.match(await run('npm run admin -- store', here), /db_/)
  await run('npm run verify -- --hash', here)
  await run('npm run backup -- /srv/backups', here)
  await server.end('SIGTERM')
  t.match(await run('npm run admin -- export-audit', here), /"operation":"createProject"/)
  t.match(await run('npm run admin -- verify-audit', here), /^Unchanged: 1. The last entry: 1 \S{43}$/m)

  await run('npm run restore -- /srv/backups', there)
  const [{ count }] = await query(copy, 'SELECT count(*)::int AS count FROM users')
  t.ok(count >= 2, 'the users are in the copy')
  await run('npm run admin -- store adopt', there)
  await run('npm run admin -- confirm-restore', there)
  const worker = await spawnWorker(t, { ...there, SECRET_KEY: '' })
  ran.add('npm run worker')
  t.strictSame(await worker.end('SIGTERM'), { code: 0, signal: null })

  t.strictSame(
    documented().filter((command) => !ran.has(command)),
    [],
    'a test runs each command',
  )
  t.strictSame(
    [...ran].filter((command) => !documented().includes(command)),
    [],
    'each command is documented',
  )
})
