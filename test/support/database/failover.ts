// A primary with a synchronous standby whose roles change, servers that write meanwhile, and what is counted.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { Test } from 'tap'
import { ADMINISTRATOR, clusterFolder } from '../../../infra/postgres/cluster.ts'
import { createCluster, execute, ownFile, runCluster, type OwnPostgres } from './own-postgres.ts'
import { signalPostgres } from './signal-postgres.ts'
import type { TestServer } from '../server/server.ts'
import { waitUntil } from '../server/wait.ts'

/** On the command line, tests turn it off; the setting of a database wins. */
const waitForStandby = 'ALTER DATABASE platform SET synchronous_commit = on'
const setSynchronous = (names: string): string => `ALTER SYSTEM SET synchronous_standby_names = '${names}'`
const reload = 'SELECT pg_reload_conf()'

export class ReplicatedPostgres {
  readonly #t: Pick<Test, 'teardown'>
  primary: OwnPostgres
  standby: OwnPostgres

  private constructor(t: Pick<Test, 'teardown'>, primary: OwnPostgres, standby: OwnPostgres) {
    this.#t = t
    this.primary = primary
    this.standby = standby
  }

  static async start(t: Pick<Test, 'teardown'>): Promise<ReplicatedPostgres> {
    const dataDir = await createCluster()
    const copy = mkdtempSync(join(tmpdir(), 'own-postgres-'))
    execFileSync('cp', ['-a', `${dataDir}/.`, copy])
    const primary = await runCluster(t, dataDir, { settings: "wal_keep_size = '512MB'\n" })
    await execute(primary.superuserUrl, waitForStandby)
    follow(copy, primary)
    const pair = new ReplicatedPostgres(t, primary, await runCluster(t, copy))
    await pair.#requireSynchronous()
    return pair
  }

  /** Both hosts in one URL of libpq. The order is not that of the roles. */
  get url(): string {
    const [first, second] = [this.primary, this.standby].map(({ url }) => new URL(url))
    const { username, password, pathname } = first
    const hosts = [first, second].map(({ port }) => `127.0.0.1:${port}`).sort()
    return `postgres://${username}:${password}@${hosts.join(',')}${pathname}?target_session_attrs=read-write`
  }

  /** The primary hangs: it accepts connections and answers nothing. */
  freezePrimary(): void {
    signalPostgres(this.primary.pid, 'SIGSTOP')
  }

  /** As by a power cut. */
  async killPrimary(): Promise<void> {
    await kill(this.primary)
  }

  /** Ends the primary that hung, which is the standby by now. */
  async killStandby(): Promise<void> {
    await kill(this.standby)
  }

  /** The standby becomes the primary and waits for no standby. The old primary is down or hangs. */
  async promote(): Promise<void> {
    const { superuserUrl } = this.standby
    await execute(superuserUrl, setSynchronous(''))
    await execute(superuserUrl, reload)
    await execute(superuserUrl, 'SELECT pg_promote(true, 30)')
    const down = this.primary
    this.primary = this.standby
    this.standby = down
  }

  /** Stops the primary in order, promotes the standby, and starts the old primary as standby. */
  async switchOver(): Promise<void> {
    const { pid } = this.primary
    process.kill(pid, 'SIGINT')
    await waitUntil(() => !isAlive(pid), 'the end of the primary')
    await this.promote()
    follow(this.standby.dataDir, this.primary)
    await this.#startStandby()
  }

  /** The killed primary comes back as the standby, with a copy of the present primary. */
  async rejoin(): Promise<void> {
    const from = clusterFolder(this.primary.dataDir)
    const to = clusterFolder(this.standby.dataDir)
    rmSync(to, { recursive: true, force: true })
    const client = new pg.Client({ connectionString: this.primary.superuserUrl })
    await client.connect()
    try {
      await client.query("SELECT pg_backup_start('rejoin', true)")
      // Files may vanish while they are copied.
      execFileSync('sh', ['-c', `cp -a '${from}' '${to}' 2>/dev/null || true`])
      const { rows } = await client.query<{ labelfile: string }>(
        'SELECT labelfile FROM pg_backup_stop(false)',
      )
      for (const name of ['postmaster.pid', 'postmaster.opts']) rmSync(join(to, name), { force: true })
      // The standby streams the log from the primary.
      for (const name of readdirSync(join(to, 'pg_wal')))
        if (/^[0-9A-F]{24}/.test(name)) rmSync(join(to, 'pg_wal', name))
      writeFileSync(join(to, 'backup_label'), rows[0].labelfile)
      ownFile(this.standby.dataDir, join(to, 'backup_label'))
    } finally {
      await client.end()
    }
    follow(this.standby.dataDir, this.primary)
    await this.#startStandby()
  }

  async #startStandby(): Promise<void> {
    const port = Number(new URL(this.standby.url).port)
    this.standby = await runCluster(this.#t, this.standby.dataDir, { port })
    await this.#requireSynchronous()
  }

  /** From now on a commit waits until the standby has it. */
  async #requireSynchronous(): Promise<void> {
    const { superuserUrl } = this.primary
    await execute(superuserUrl, setSynchronous('*'))
    await execute(superuserUrl, reload)
    await waitUntil(
      async () =>
        (await execute(superuserUrl, "SELECT FROM pg_stat_replication WHERE sync_state = 'sync'")).length ===
        1,
      'the synchronous standby',
    )
  }
}

/** Makes the stopped PostgreSQL of a data folder a standby of the primary. */
function follow(dataDir: string, primary: OwnPostgres): void {
  const { hostname, port, password } = new URL(primary.superuserUrl)
  const connection = `host=${hostname} port=${port} user=${ADMINISTRATOR} password=${password}`
  const signal = join(clusterFolder(dataDir), 'standby.signal')
  const settings = join(clusterFolder(dataDir), 'postgresql.auto.conf')
  const kept = readFileSync(settings, 'utf8')
    .split('\n')
    .filter((line) => !/^(primary_conninfo|wal_keep_size)/.test(line))
  const added = [`primary_conninfo = '${connection}'`, "wal_keep_size = '512MB'", '']
  writeFileSync(settings, [...kept.filter(Boolean), ...added].join('\n'))
  writeFileSync(signal, '')
  for (const file of [signal, settings]) ownFile(dataDir, file)
}

async function kill({ pid, stop }: OwnPostgres): Promise<void> {
  signalPostgres(pid, 'SIGKILL')
  await stop()
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

export interface Load {
  /** The ids of the projects whose creation was answered by 201. */
  acknowledged: string[]
  /** The number of answers by status; 0 for none. */
  statuses: Record<number, number>
  /** Answers of 503 without Retry-After. */
  withoutRetryAfter: number
  /** When the last 201 arrived, by performance.now(). */
  lastWrite: number
  stop(): Promise<void>
}

/** Creates projects at each server, with two callers, until it is stopped. */
export function writeTo(servers: Array<{ url: string; key: string }>): Load {
  let running = true
  const load: Load = {
    acknowledged: [],
    statuses: {},
    withoutRetryAfter: 0,
    lastWrite: -Infinity,
    async stop() {
      running = false
      await Promise.all(callers)
    },
  }
  const write = async ({ url, key }: { url: string; key: string }): Promise<void> => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ name: 'x' })
    const reply = await fetch(`${url}/v1/projects`, { method: 'POST', headers, body }).catch(() => null)
    const status = reply?.status ?? 0
    const text = (await reply?.text().catch(() => '')) ?? ''
    load.statuses[status] = (load.statuses[status] ?? 0) + 1
    if (status === 503 && !reply!.headers.has('retry-after')) load.withoutRetryAfter++
    if (status === 201) {
      load.lastWrite = performance.now()
      load.acknowledged.push(JSON.parse(text).id)
    }
    await new Promise((resolve) => setTimeout(resolve, status === 201 ? 20 : 50))
  }
  const callers = [...servers, ...servers].map(async (server) => {
    while (running) await write(server)
  })
  return load
}

export interface Round {
  /** Milliseconds from the promotion to the first write that was acknowledged. */
  firstWrite: number
  /** Milliseconds from the promotion until exactly one process led, at most; writes are waited for first. */
  leaderAfter: number
  acknowledged: number
  lost: number
  statuses: Record<number, number>
  errors500: number
  withoutRetryAfter: number
  leaders: number
  /** The longest time with two leaders, in milliseconds. */
  twoLeaders: number
  /** Connections of the servers to the standby. */
  left: number
}

/** Calls `change` while the servers write, and counts. `change` returns when a write can succeed again. */
export async function countRound(
  pair: ReplicatedPostgres,
  servers: TestServer[],
  { change, after = async () => {} }: { change(): Promise<void>; after?(): Promise<void> },
): Promise<Round> {
  const { key } = await servers[0].person()
  const load = writeTo(servers.map(({ url }) => ({ url, key })))
  const leaders = (): number => servers.filter(({ services }) => services.leadership.leading).length
  let twoSince: number | null = null
  let twoLeaders = 0
  const sampling = setInterval(() => {
    const now = performance.now()
    twoSince = leaders() > 1 ? (twoSince ?? now) : null
    if (twoSince !== null) twoLeaders = Math.max(twoLeaders, now - twoSince)
  }, 10)
  try {
    await waitUntil(() => load.acknowledged.length > 10 && leaders() === 1, 'writes and a leader')
    await change()
    const promoted = performance.now()
    const before = load.acknowledged.length
    await waitUntil(() => load.lastWrite > promoted && load.acknowledged.length > before, 'a write')
    const firstWrite = load.lastWrite - promoted
    await waitUntil(() => load.acknowledged.length > before + 10, 'writes to go on')
    await waitUntil(() => leaders() === 1, 'one leader')
    const leaderAfter = performance.now() - promoted
    await after()
    await load.stop()
    await waitUntil(async () => (await lockHolders(pair.primary)) === 1, 'the lock of the leader')
    return {
      firstWrite,
      leaderAfter,
      acknowledged: load.acknowledged.length,
      lost: await countLost(pair.primary, load.acknowledged),
      statuses: load.statuses,
      errors500: load.statuses[500] ?? 0,
      withoutRetryAfter: load.withoutRetryAfter,
      leaders: leaders(),
      twoLeaders,
      left: 0,
    }
  } finally {
    clearInterval(sampling)
    await load.stop()
  }
}

export async function countLost(
  { superuserUrl }: Pick<OwnPostgres, 'superuserUrl'>,
  ids: string[],
): Promise<number> {
  const list = ids.map((id) => `'${id}'`).join(',')
  const found = await execute(superuserUrl, `SELECT id FROM projects WHERE id IN (${list})`)
  return ids.length - found.length
}

/** The processes that hold the lock of the leader there. */
export async function lockHolders({ superuserUrl }: Pick<OwnPostgres, 'superuserUrl'>): Promise<number> {
  const rows = await execute(
    superuserUrl,
    `SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1
       AND classid::bigint = (hashtextextended('leader', 0) >> 32) & 4294967295
       AND objid::bigint = hashtextextended('leader', 0) & 4294967295`,
  )
  return rows.length
}

/** The connections of servers, not of this test. */
export async function connectionsTo(
  { superuserUrl }: Pick<OwnPostgres, 'superuserUrl'>,
  role = 'platform',
): Promise<unknown[]> {
  return await execute(
    superuserUrl,
    `SELECT application_name, query FROM pg_stat_activity WHERE usename = '${role}'`,
  )
}
