// The embedded database: what a start, a stop, a kill and damage must leave.
import { spawn } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import t, { type Test } from 'tap'
import { EmbeddedPostgresError, startEmbedded } from '../../infra/postgres/embedded.ts'
import { runProgram } from '../support/program.ts'

const SERVER = 'support/embedded-server.ts'
const LOCK_ROUNDS = 500

function dataFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'embedded-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  return folder
}

async function start(
  t: Test,
  dataDir: string,
  progress: string[] = [],
  whenRunning: 'attach' | 'refuse' = 'refuse',
) {
  const embedded = await startEmbedded({
    dataDir,
    whenRunning,
    onProgress: (message) => progress.push(message),
  })
  // Stopping twice is no more than stopping once.
  t.teardown(embedded.stop)
  return embedded
}

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(sql)).rows as Record<string, unknown>[]
  } finally {
    await client.end().catch(() => {})
  }
}

function postmasterOf(dataDir: string): number {
  return Number(readFileSync(join(dataDir, 'cluster', 'postmaster.pid'), 'utf8').split('\n', 1)[0])
}

/** A process that waits to be collected by its parent has ended, too. */
function runs(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return process.platform !== 'linux' || readlinkSync(`/proc/${pid}/exe`) !== ''
  } catch {
    return false
  }
}

async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const deadline = Date.now() + 20_000
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`Waited in vain until ${what}.`)
    await sleep(5)
  }
}

async function sentenceOf(t: Test, starting: Promise<unknown>): Promise<string> {
  const error = await starting.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!t.type(error, EmbeddedPostgresError)) return ''
  const { message } = error as EmbeddedPostgresError
  t.notMatch(message, /\n/, 'it is one line')
  t.match(message, /\.$/, 'it is a sentence')
  return message
}

t.test('the second start finds the data of the first one', async (t) => {
  const dataDir = dataFolder(t)
  const progress: string[] = []
  const first = await start(t, dataDir, progress)
  t.equal(first.adopted, false)
  await query(first.url, 'CREATE TABLE kept AS SELECT 7 AS n')
  await first.stop()
  t.equal(progress.length, 1, 'an empty database was created')

  const second = await start(t, dataDir, progress)
  t.strictSame(await query(second.url, 'SELECT n FROM kept'), [{ n: 7 }])
  t.equal(progress.length, 1, 'and only once')
  await second.stop()
})

t.test('the application connects over loopback only, as an owner without other privileges', async (t) => {
  const dataDir = dataFolder(t)
  const { url, stop } = await start(t, dataDir)
  t.equal(new URL(url).hostname, '127.0.0.1')
  const role = 'SELECT rolsuper, rolcreatedb FROM pg_roles WHERE rolname = current_user'
  t.strictSame(await query(url, role), [{ rolsuper: false, rolcreatedb: true }])
  const settings = `SELECT current_setting('TimeZone') AS zone,
       current_setting('server_encoding') AS encoding,
       current_setting('listen_addresses') AS listen`
  t.strictSame(await query(url, settings), [{ zone: 'UTC', encoding: 'UTF8', listen: '127.0.0.1' }])
  t.equal(statSync(join(dataDir, 'password')).mode & 0o777, 0o600)

  const stranger = new URL(url)
  stranger.password = 'wrong'
  await t.rejects(query(stranger.href, 'SELECT 1'), { code: '28P01' })
  t.notMatch(readFileSync(join(dataDir, 'postgres.log'), 'utf8'), new URL(url).password)
  await stop()
})

t.test('a data folder that other users may enter works like a closed one', async (t) => {
  const dataDir = dataFolder(t)
  for (const mode of [0o755, 0o700]) {
    chmodSync(dataDir, mode)
    const { url, stop } = await start(t, dataDir)
    t.strictSame(await query(url, 'SELECT 1 AS one'), [{ one: 1 }])
    await stop()
  }
})

t.test('a second server refuses a folder in use; an operator script attaches to it', async (t) => {
  const dataDir = dataFolder(t)
  const server = runProgram(t, SERVER, [dataDir])
  const { url } = await server.line('url')

  t.match(await sentenceOf(t, start(t, dataDir)), new RegExp(`process ${server.pid}\\b.*stop it`))
  const attached = await start(t, dataDir, [], 'attach')
  t.equal(attached.adopted, true)
  t.equal(attached.url, url)
  await attached.stop()
  t.strictSame(await query(attached.url, 'SELECT 1 AS one'), [{ one: 1 }], 'detaching leaves it running')

  await server.kill('SIGTERM')
  await t.rejects(query(attached.url, 'SELECT 1'))
})

t.test('of two servers that start together on an empty folder, one runs the database', async (t) => {
  const dataDir = dataFolder(t)
  const both = [runProgram(t, SERVER, [dataDir]), runProgram(t, SERVER, [dataDir])]
  const ready = await Promise.allSettled(both.map((server) => server.line('url')))
  t.equal(ready.filter(({ status }) => status === 'fulfilled').length, 1)
  const other = both[ready.findIndex(({ status }) => status === 'rejected')]
  t.match(await other?.line('failed'), { failed: 'EmbeddedPostgresError', message: /uses the data folder/ })
  await both[ready.findIndex(({ status }) => status === 'fulfilled')]?.kill('SIGTERM')
})

t.test('exactly one of two concurrent attempts gets the lock, in every round', async (t) => {
  const folder = dataFolder(t)
  const at = String(Date.now() + 1_500)
  const racers = [1, 2].map(() => runProgram(t, 'support/lock-racer.ts', [folder, at, String(LOCK_ROUNDS)]))
  const won = await Promise.all(racers.map(async (racer) => (await racer.line('won'))['won'] as number[]))
  t.strictSame(
    won.flat().sort((a, b) => a - b),
    Array.from({ length: LOCK_ROUNDS }, (_, round) => round),
  )
  for (const racer of racers) await racer.kill('SIGKILL')
})

t.test('attaching while the server starts waits for the server', async (t) => {
  const dataDir = dataFolder(t)
  const both = [runProgram(t, SERVER, [dataDir, 'attach']), runProgram(t, SERVER, [dataDir, 'attach'])]
  const urls = await Promise.all(both.map(async (server) => server.line('url')))
  t.strictSame(urls.map(({ adopted }) => adopted).sort(), [false, true])
  t.equal(urls[0]?.['url'], urls[1]?.['url'])
  for (const [index, server] of both.entries())
    if (urls[index]?.['adopted'] === true) await server.kill('SIGKILL')
  for (const [index, server] of both.entries())
    if (urls[index]?.['adopted'] === false) await server.kill('SIGTERM')
})

t.test('the PostgreSQL of a killed server is stopped, and its committed data survives', async (t) => {
  const dataDir = dataFolder(t)
  const server = runProgram(t, SERVER, [dataDir])
  const url = String((await server.line('url'))['url'])
  await query(url, 'CREATE TABLE kept AS SELECT 7 AS n')
  const left = postmasterOf(dataDir)
  await server.kill('SIGKILL')
  t.ok(runs(left), 'the database outlives its server')

  const progress: string[] = []
  const next = await start(t, dataDir, progress)
  t.notOk(runs(left), 'and ends before the next one starts')
  t.match(progress.join(), new RegExp(`process ${left}\\b`))
  t.strictSame(await query(next.url, 'SELECT n FROM kept'), [{ n: 7 }])
  await next.stop()
})

t.test('a server that is killed during its first start does not block the next start', async (t) => {
  const dataDir = dataFolder(t)
  for (const moment of ['unfinished', 'PG_VERSION', 'cluster']) {
    const server = runProgram(t, SERVER, [dataDir])
    await until(() => {
      const names = readdirSync(dataDir)
      const unfinished = names.find((name) => /^unfinished-\w+$/.test(name))
      if (moment === 'PG_VERSION')
        return unfinished !== undefined && existsSync(join(dataDir, unfinished, 'PG_VERSION'))
      return moment === 'unfinished' ? unfinished !== undefined : names.includes('cluster')
    }, `the first start comes to ${moment}`)
    await server.kill('SIGKILL')
  }
  const next = await start(t, dataDir)
  t.strictSame(await query(next.url, 'SELECT current_database() AS name'), [{ name: 'platform' }])
  await next.stop()
  t.notMatch(readdirSync(dataDir).join(), 'unfinished', 'what the killed ones left is gone')
})

t.test('a recorded process id that another process has by now does not prevent the start', async (t) => {
  const dataDir = dataFolder(t)
  await (await start(t, dataDir)).stop()
  const cluster = join(dataDir, 'cluster')
  const { uid, gid } = statSync(cluster)
  // PostgreSQL trusts the file if the process belongs to its own account.
  const otherProcess = spawn('sleep', ['600'], {
    cwd: '/',
    stdio: 'ignore',
    ...(process.getuid?.() === 0 ? { uid, gid } : {}),
  })
  t.teardown(() => otherProcess.kill('SIGKILL'))
  writeFileSync(
    join(cluster, 'postmaster.pid'),
    `${otherProcess.pid}\n${cluster}\n1\n1\n\n127.0.0.1\n\nready   \n`,
  )

  const next = await start(t, dataDir)
  t.strictSame(await query(next.url, 'SELECT 1 AS one'), [{ one: 1 }])
  t.equal(otherProcess.exitCode, null, 'the other process is not stopped')
  await next.stop()
})

t.test(
  'a database that crashes under load comes back on the same port with all committed data',
  async (t) => {
    const dataDir = dataFolder(t)
    const progress: string[] = []
    const embedded = await start(t, dataDir, progress)
    const pool = new pg.Pool({ connectionString: embedded.url, max: 4 })
    pool.on('error', () => {})
    await pool.query('CREATE TABLE acknowledged (n int PRIMARY KEY)')
    const acknowledged: number[] = []
    let writing = true
    const writers = [0, 1, 2, 3].map(async (writer) => {
      for (let n = writer; writing; n += 4) {
        try {
          await pool.query('INSERT INTO acknowledged VALUES ($1)', [n])
          acknowledged.push(n)
        } catch {
          await sleep(5)
        }
      }
    })

    for (let round = 0; round < 2; round += 1) {
      const before = acknowledged.length
      await until(() => acknowledged.length > before + 50, 'writes go on')
      const pid = postmasterOf(dataDir)
      process.kill(pid, 'SIGKILL')
      const killed = Date.now()
      await until(
        () => progress.filter((message) => message.includes('is running again')).length > round,
        'the database answers again',
      )
      const atRestart = acknowledged.length
      await until(() => acknowledged.length > atRestart, 'writes are acknowledged again')
      t.ok(Date.now() - killed < 5_000, 'it answers again within 5 s')
    }
    writing = false
    await Promise.all(writers)
    const stored = new Set((await query(embedded.url, 'SELECT n FROM acknowledged')).map(({ n }) => n))
    t.strictSame(
      acknowledged.filter((n) => !stored.has(n)),
      [],
      'nothing acknowledged is lost',
    )
    t.equal(progress.filter((message) => message.includes('ended unexpectedly')).length, 2)
    await pool.end()
    await embedded.stop()
  },
)

t.test('Ctrl-C stops the server and not the database', async (t) => {
  const server = runProgram(t, SERVER, [dataFolder(t)])
  const { url } = await server.line('url')
  process.kill(-server.pid, 'SIGINT')
  t.strictSame(
    await server.line('drained'),
    { drained: true },
    'the database answers while the server drains',
  )
  await t.rejects(query(String(url), 'SELECT 1'), 'and is stopped afterwards')
})

t.test('a server that exits without stopping its database stops the database, too', async (t) => {
  const dataDir = dataFolder(t)
  await runProgram(t, SERVER, [dataDir, 'refuse', 'exit']).ended
  await until(() => !existsSync(join(dataDir, 'cluster', 'postmaster.pid')), 'the database has stopped')
  t.ok(existsSync(join(dataDir, 'cluster', 'PG_VERSION')))
})

t.test('a deleted password file is replaced', async (t) => {
  const dataDir = dataFolder(t)
  const first = await start(t, dataDir)
  await first.stop()
  rmSync(join(dataDir, 'password'))
  const second = await start(t, dataDir)
  t.not(new URL(second.url).password, new URL(first.url).password)
  t.strictSame(await query(second.url, 'SELECT 1 AS one'), [{ one: 1 }])
  await second.stop()

  writeFileSync(join(dataDir, 'password'), 'not the password')
  t.match(await sentenceOf(t, start(t, dataDir)), /delete that file/)
})

t.test('the size of the log is limited', async (t) => {
  const dataDir = dataFolder(t)
  const log = join(dataDir, 'postgres.log')
  writeFileSync(log, 'x'.repeat(9 * 1024 * 1024))
  await (await start(t, dataDir)).stop()
  t.ok(statSync(log).size < 1024 * 1024)
  t.ok(existsSync(`${log}.1`), 'what was there is kept once')
})

t.test('the error for a damaged folder is one sentence that says what to do', async (t) => {
  const whole = dataFolder(t)
  await (await start(t, whole)).stop()

  const damages: [string, (cluster: string) => void, RegExp][] = [
    [
      'a missing PG_VERSION',
      (cluster) => rmSync(join(cluster, 'PG_VERSION')),
      /damaged.*PG_VERSION.*restore it from a backup/,
    ],
    [
      'an unreadable PG_VERSION',
      (cluster) => writeFileSync(join(cluster, 'PG_VERSION'), '\0\0'),
      /damaged.*PG_VERSION/,
    ],
    [
      'another major version',
      (cluster) => writeFileSync(join(cluster, 'PG_VERSION'), '16\n'),
      /created by PostgreSQL 16.*pg_dump/,
    ],
    [
      'a corrupt pg_control',
      (cluster) => writeFileSync(join(cluster, 'global', 'pg_control'), Buffer.alloc(8192, 7)),
      /damaged.*restore it from a backup/,
    ],
    [
      'a short pg_control',
      (cluster) => truncateSync(join(cluster, 'global', 'pg_control'), 10),
      /damaged.*restore it from a backup/,
    ],
    [
      'a missing pg_control',
      (cluster) => rmSync(join(cluster, 'global', 'pg_control')),
      /damaged.*restore it from a backup/,
    ],
    [
      'a missing write-ahead log',
      (cluster) => rmSync(join(cluster, 'pg_wal'), { recursive: true }),
      /damaged.*restore it from a backup/,
    ],
    [
      'missing tables',
      (cluster) => rmSync(join(cluster, 'base'), { recursive: true }),
      /damaged.*restore it from a backup/,
    ],
    [
      'missing shared tables',
      (cluster) => {
        for (const name of readdirSync(join(cluster, 'global')))
          if (/^\d/.test(name)) rmSync(join(cluster, 'global', name))
      },
      /damaged.*restore it from a backup/,
    ],
  ]
  for (const [what, damage, expected] of damages) {
    await t.test(what, async (t) => {
      const dataDir = dataFolder(t)
      copyFolder(whole, dataDir)
      damage(join(dataDir, 'cluster'))
      t.match(await sentenceOf(t, start(t, dataDir)), expected)
      t.notOk(existsSync(join(dataDir, 'running.json')))
    })
  }
})

t.test('the error for a path that is not a folder is one sentence', async (t) => {
  const file = join(dataFolder(t), 'file')
  writeFileSync(file, '')
  for (const place of [file, join(file, 'below')])
    t.match(await sentenceOf(t, start(t, place)), /choose another data folder/)
})

/** With its owners, which a copy through Node does not keep. */
function copyFolder(from: string, to: string): void {
  cpSync(from, to, { recursive: true })
  const { uid, gid } = statSync(join(from, 'cluster'))
  if (process.getuid?.() !== 0) return
  for (const name of ['', ...readdirSync(join(to, 'cluster'), { recursive: true, encoding: 'utf8' })])
    chownSync(join(to, 'cluster', name), uid, gid)
}
