// The embedded database: what a start, a stop, a kill and damage must leave.
import { execFileSync, spawn } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
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
import { accountFor } from '../../infra/postgres/account.ts'
import { findBinaries } from '../../infra/postgres/binaries.ts'
import { EmbeddedPostgresError, startEmbedded } from '../../infra/postgres/embedded.ts'
import { recordedPid } from '../../infra/postgres/orphan-processes.ts'
import { runProgram } from '../support/server/program.ts'
import { isLongForm } from '../support/long-form.ts'

const SERVER = 'support/server/embedded-server.ts'
const LOCK_ROUNDS = 100
const LATE_ROUNDS = isLongForm ? 3 : 1

function dataFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'embedded-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  return folder
}

/** The folder that most tests share, because creating a database takes seconds. No server runs on it. */
const shared = dataFolder(t)

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
  return recordedPid(join(dataDir, 'cluster', 'postmaster.pid'))!
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

t.test(
  'the second start finds the data of the first one, in a folder that others may enter, too',
  async (t) => {
    const progress: string[] = []
    chmodSync(shared, 0o755)
    const first = await start(t, shared, progress)
    t.equal(first.adopted, false)
    await query(first.url, 'CREATE TABLE first AS SELECT 7 AS n')
    await first.stop()
    t.equal(progress.length, 1, 'an empty database was created')

    chmodSync(shared, 0o700)
    const second = await start(t, shared, progress)
    t.strictSame(await query(second.url, 'SELECT n FROM first'), [{ n: 7 }])
    t.equal(progress.length, 1, 'and only once')
    await second.stop()
  },
)

t.test(
  'the application connects over a private socket only, as an owner without other privileges',
  async (t) => {
    const dataDir = shared
    const { url, stop } = await start(t, dataDir)
    t.equal(new URL(url).searchParams.get('host'), join(dataDir, 'socket'))
    t.equal(statSync(join(dataDir, 'socket')).mode & 0o777, 0o700)
    const role = 'SELECT rolsuper, rolcreatedb FROM pg_roles WHERE rolname = current_user'
    t.strictSame(await query(url, role), [{ rolsuper: false, rolcreatedb: true }])
    const settings = `SELECT current_setting('TimeZone') AS zone,
       current_setting('server_encoding') AS encoding,
       current_setting('listen_addresses') AS listen`
    t.strictSame(await query(url, settings), [{ zone: 'UTC', encoding: 'UTF8', listen: '' }])
    for (const name of ['password', 'lock', 'running.json', 'postgres.log'])
      t.equal(statSync(join(dataDir, name)).mode & 0o777, 0o600, name)

    const stranger = new URL(url)
    stranger.password = 'wrong'
    await t.rejects(query(stranger.href, 'SELECT 1'), { code: '28P01' })
    t.notMatch(readFileSync(join(dataDir, 'postgres.log'), 'utf8'), new URL(url).password)
    await stop()
  },
)

t.test('a data folder with a long path has its socket in the folder for temporary files', async (t) => {
  const dataDir = join(dataFolder(t), 'a'.repeat(100))
  execFileSync('cp', ['-a', shared, dataDir])
  const { url, stop } = await start(t, dataDir)
  const folder = new URL(url).searchParams.get('host') ?? ''
  t.notOk(folder.startsWith(dataDir))
  t.equal(statSync(folder).mode & 0o777, 0o700)
  t.strictSame(await query(url, 'SELECT 1 AS one'), [{ one: 1 }])
  await stop()
  t.notOk(existsSync(folder), 'it is removed with the database')
})

t.test('another account can neither hold the lock nor listen in place of the database', async (t) => {
  if (process.getuid?.() !== 0) return t.pass('only root can act as another account')
  const dataDir = shared
  chmodSync(dataDir, 0o711)
  writeFileSync(join(dataDir, 'lock'), '')
  chmodSync(join(dataDir, 'lock'), 0o644)
  const { url, stop } = await start(t, dataDir)
  const socket = join(new URL(url).searchParams.get('host') ?? '', '.s.PGSQL.5432')
  const attempt = `
    const fs = require('node:fs')
    const tries = {
      lock: () => fs.openSync(process.argv[1] + '/lock', 'r'),
      running: () => fs.readFileSync(process.argv[1] + '/running.json'),
      socket: () => fs.renameSync(process.argv[2], process.argv[2] + '.old'),
    }
    for (const [name, attempt] of Object.entries(tries)) {
      try { attempt(); console.log(name) }
      catch (error) { if (error.code !== 'EACCES') console.log(name, error) }
    }`
  const seen = execFileSync(process.execPath, ['-e', attempt, dataDir, socket], { uid: 12_345, gid: 12_345 })
  t.equal(seen.toString(), '')
  await stop()
})

t.test('a second server refuses a folder in use; an operator script attaches to it', async (t) => {
  const dataDir = shared
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
  const racers = [1, 2].map(() =>
    runProgram(t, 'support/database/lock-racer.ts', [folder, String(LOCK_ROUNDS)]),
  )
  for (const racer of racers) await racer.line('ready')
  writeFileSync(join(folder, 'start.new'), String(Date.now() + 50))
  renameSync(join(folder, 'start.new'), join(folder, 'start'))
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
  const dataDir = shared
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

t.test('a postmaster of a killed server that enters the folder late is stopped', async (t) => {
  const folder = join(shared, 'cluster')
  const { postgres } = findBinaries()
  const { command, args, options } = accountFor(folder, postgres).run(postgres, ['-D', folder, '-p', '1'])
  for (let round = 1; round <= LATE_ROUNDS; round++) {
    // Its folder is still / when the start looks for orphans, unless the start is slow.
    const late = spawn(command, args, { ...options, cwd: '/', detached: true, stdio: 'ignore' })
    const exited = new Promise((resolve) => late.once('exit', resolve))
    const next = await start(t, shared)
    t.strictSame(await query(next.url, 'SELECT 1 AS one'), [{ one: 1 }])
    await exited
    await next.stop()
  }
})

t.test('a recorded process id that another process has by now does not prevent the start', async (t) => {
  const dataDir = shared
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
  'a database that crashes under load comes back at the same address with all committed data',
  async (t) => {
    const dataDir = shared
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
  const server = runProgram(t, SERVER, [shared])
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
  const dataDir = shared
  await runProgram(t, SERVER, [dataDir, 'refuse', 'exit']).ended
  await until(() => !existsSync(join(dataDir, 'cluster', 'postmaster.pid')), 'the database has stopped')
  t.ok(existsSync(join(dataDir, 'cluster', 'PG_VERSION')))
})

t.test('a deleted password file is replaced', async (t) => {
  const dataDir = shared
  const first = await start(t, dataDir)
  await first.stop()
  rmSync(join(dataDir, 'password'))
  const second = await start(t, dataDir)
  t.not(new URL(second.url).password, new URL(first.url).password)
  t.strictSame(await query(second.url, 'SELECT 1 AS one'), [{ one: 1 }])
  await second.stop()

  writeFileSync(join(dataDir, 'password'), 'not the password')
  t.match(await sentenceOf(t, start(t, dataDir)), /delete that file/)
  rmSync(join(dataDir, 'password'))
})

t.test('the size of the log is limited', async (t) => {
  const dataDir = shared
  const log = join(dataDir, 'postgres.log')
  writeFileSync(log, 'x'.repeat(9 * 1024 * 1024))
  await (await start(t, dataDir)).stop()
  t.ok(statSync(log).size < 1024 * 1024)
  t.ok(existsSync(`${log}.1`), 'what was there is kept once')
})

t.test('a log that cannot be rotated does not prevent the start', async (t) => {
  const log = join(shared, 'postgres.log')
  truncateSync(log, 9 * 1024 * 1024)
  rmSync(`${log}.1`, { force: true })
  mkdirSync(`${log}.1`)
  const embedded = await start(t, shared)
  t.strictSame(await query(embedded.url, 'SELECT 1 AS one'), [{ one: 1 }])
  await embedded.stop()
  rmSync(`${log}.1`, { recursive: true })
})

t.test('the error for a damaged folder is one sentence that says what to do', async (t) => {
  const cluster = join(shared, 'cluster')
  const aside = join(shared, 'aside')
  /** The damaged file, and how it is damaged; without a function it is missing. */
  const damages: [string, string, ((path: string) => void) | undefined, RegExp][] = [
    ['a missing PG_VERSION', 'PG_VERSION', undefined, /damaged.*PG_VERSION.*restore it from a backup/],
    ['an unreadable PG_VERSION', 'PG_VERSION', (path) => writeFileSync(path, '\0\0'), /damaged.*PG_VERSION/],
    [
      'another major version',
      'PG_VERSION',
      (path) => writeFileSync(path, '16\n'),
      /created by PostgreSQL 16.*pg_dump/,
    ],
    [
      'a corrupt pg_control',
      'global/pg_control',
      (path) => writeFileSync(path, Buffer.alloc(8192, 7)),
      /damaged.*restore it from a backup/,
    ],
    [
      'a short pg_control',
      'global/pg_control',
      (path) => truncateSync(path, 10),
      /damaged.*restore it from a backup/,
    ],
    ['a missing pg_control', 'global/pg_control', undefined, /damaged.*restore it from a backup/],
    ['a missing write-ahead log', 'pg_wal', undefined, /damaged.*restore it from a backup/],
    ['missing tables', 'base', undefined, /damaged.*restore it from a backup/],
    [
      'missing shared tables',
      'global',
      (path) => {
        for (const name of readdirSync(path)) if (/^\d/.test(name)) rmSync(join(path, name))
      },
      /damaged.*restore it from a backup/,
    ],
  ]
  for (const [what, place, damage, expected] of damages) {
    await t.test(what, async (t) => {
      const path = join(cluster, place)
      renameSync(path, aside)
      // With its owner.
      if (damage !== undefined) execFileSync('cp', ['-a', aside, path])
      damage?.(path)
      t.match(await sentenceOf(t, start(t, shared)), expected)
      t.notOk(existsSync(join(shared, 'running.json')))
      rmSync(path, { recursive: true, force: true })
      renameSync(aside, path)
    })
  }
  const repaired = await start(t, shared)
  t.strictSame(await query(repaired.url, 'SELECT 1 AS one'), [{ one: 1 }], 'the damage was the only cause')
  await repaired.stop()
})

t.test('the error for a path that is not a folder is one sentence', async (t) => {
  const file = join(dataFolder(t), 'file')
  writeFileSync(file, '')
  for (const place of [file, join(file, 'below')])
    t.match(await sentenceOf(t, start(t, place)), /choose another data folder/)
})
