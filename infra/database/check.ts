// Checks at the start what a server needs of its database connections: notifications, prepared statements,
// sessions in UTC with time-outs, the clock, and enough connections. Poolers break the first three silently.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { openConnection } from './client.ts'
import { clockProblem } from './clock.ts'
import { connectionProblem, type AddressSetting } from './connection-problem.ts'
import { configureSession, timeoutsOf } from './session.ts'

/** The server cannot use the database. The message is one sentence for the operator. */
export class DatabaseCheckError extends Error {}

export interface CheckOptions {
  url: string
  /** PostgreSQL itself; `url` if no pooler is in between. */
  directUrl: string
  preparedStatements: boolean
  /** The connections of this process. */
  connections: number
  /** Reports how many processes the connections are enough for. */
  onProgress?: (message: string) => void
  /** Reports what is no reason to stop. */
  onWarning?: (message: string) => void
}

const statementTimeout = 10_000
const target = 'read-write'

/** Milliseconds that a notification may take. */
const notificationTimeout = 3_000

/** @throws DatabaseCheckError. */
export async function checkDatabase(options: CheckOptions): Promise<void> {
  const clients: pg.Client[] = []
  const connect = async (setting: AddressSetting, url: string): Promise<pg.Client> => {
    const options = { url, name: 'platform check', queryTimeout: statementTimeout, target } as const
    const client = await openConnection(options).catch((error: unknown) => {
      const problem = connectionProblem(error, setting)
      throw problem === null ? error : new DatabaseCheckError(problem)
    })
    clients.push(client)
    return client
  }
  const { url, directUrl } = options
  try {
    const pooled = directUrl !== url
    const listening = await connect(pooled ? 'DATABASE_DIRECT_URL' : 'DATABASE_URL', directUrl)
    const [first, second] = [await connect('DATABASE_URL', url), await connect('DATABASE_URL', url)]
    for (const client of [first, second]) await configureSession(client, { statementTimeout, pooled })
    await requireNotifications(listening, first, pooled)
    await requireUtc(first)
    await requireClock(first)
    if (await shareSession(first, second)) await checkSharedSessions([first, second], options)
    await checkConnectionLimit(listening, options)
  } finally {
    await Promise.all(clients.map((client) => client.end().catch(() => {})))
  }
}

/** A notification that `sender` sends must reach `listening`, which is idle. */
async function requireNotifications(listening: pg.Client, sender: pg.Client, pooled: boolean): Promise<void> {
  const channel = `check_${randomUUID()}`
  const heard = new Promise<boolean>((resolve) => {
    listening.on('notification', (message) => {
      if (message.channel === channel) resolve(true)
    })
  })
  await listening.query(`LISTEN "${channel}"`)
  await sender.query('SELECT pg_notify($1, $2)', [channel, ''])
  if (await Promise.race([heard, sleep(notificationTimeout, false, { ref: false })])) return
  throw new DatabaseCheckError(
    pooled
      ? 'DATABASE_DIRECT_URL receives no notifications from DATABASE_URL: both must lead to the same ' +
          'database, and DATABASE_DIRECT_URL to PostgreSQL itself, not to a pooler in transaction mode.'
      : 'DATABASE_URL leads to a pooler in transaction mode, through which no notifications arrive: set ' +
          'DATABASE_DIRECT_URL to PostgreSQL itself.',
  )
}

async function requireUtc(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ zone: string; role: string }>(
    `SELECT current_setting('TimeZone') AS zone, current_user AS role`,
  )
  const [{ zone, role }] = rows
  if (zone === 'UTC') return
  throw new DatabaseCheckError(
    `The pooler at DATABASE_URL does not keep the time zone of a session, which is ${zone}: run ` +
      `ALTER ROLE "${role}" SET timezone = 'UTC'; and restart the pooler.`,
  )
}

async function requireClock(client: pg.Client): Promise<void> {
  const sent = Date.now()
  const { rows } = await client.query<{ now: string }>(
    'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::text AS now',
  )
  const problem = clockProblem((sent + Date.now()) / 2 - Number(rows[0].now))
  if (problem !== null) throw new DatabaseCheckError(problem)
}

/** Whether two idle clients use the same session of PostgreSQL: a pooler in transaction mode. */
async function shareSession(first: pg.Client, second: pg.Client): Promise<boolean> {
  const backendOf = async (client: pg.Client): Promise<number> =>
    (await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0].pid
  return (await backendOf(first)) === (await backendOf(second))
}

async function checkSharedSessions(
  clients: pg.Client[],
  { preparedStatements, onWarning = () => {} }: CheckOptions,
): Promise<void> {
  if (preparedStatements) for (const client of clients) await requirePreparedStatements(client)
  const { rows } = await clients[0].query<{ name: string; role: string }>(
    `SELECT name, current_user AS role FROM pg_settings WHERE name = ANY($1) AND reset_val = '0'`,
    [Object.keys(timeoutsOf(statementTimeout))],
  )
  if (rows.length === 0) return
  const statements = rows.map(
    ({ name, role }) => `ALTER ROLE "${role}" SET ${name} = ${timeoutsOf(statementTimeout)[name]};`,
  )
  onWarning(
    'The sessions behind the pooler have no time-outs, so a stuck statement keeps its connection. ' +
      `Recommended: ${statements.join(' ')}`,
  )
}

/** Both clients prepare a statement with the same name, one after the other. */
async function requirePreparedStatements(client: pg.Client): Promise<void> {
  const [prepared] = await Promise.allSettled([
    client
      .query({ name: 'platform_check', text: 'SELECT 1' })
      .then(() => client.query({ name: 'platform_check', text: 'SELECT 1' })),
  ])
  if (prepared.status === 'fulfilled') return
  throw new DatabaseCheckError(
    'The pooler at DATABASE_URL does not support prepared statements: set ' +
      'DATABASE_PREPARED_STATEMENTS=false (PgBouncer supports them from version 1.21 on, with ' +
      'max_prepared_statements).',
  )
}

async function checkConnectionLimit(
  client: pg.Client,
  { connections, onProgress = () => {}, onWarning = () => {} }: CheckOptions,
): Promise<void> {
  const { rows } = await client.query<{ available: number; open: number }>(connectionLimit)
  const [{ available, open }] = rows
  const processes = Math.floor(available / connections)
  const arithmetic =
    `Each server or worker opens up to ${connections} connections to PostgreSQL, which accepts ` +
    `${available}: enough for ${processes}`
  if (processes >= 3) return onProgress(`${arithmetic} (${open} are open now).`)
  onWarning(`${arithmetic}. Lower DATABASE_POOL_SIZE, raise max_connections, or use a pooler.`)
}

/** The least of the limits of the server, the role and the database. */
const connectionLimit = `
  SELECT least(
      current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
        - coalesce(current_setting('reserved_connections', true)::int, 0),
      nullif(r.rolconnlimit, -1), nullif(d.datconnlimit, -1)
    ) AS available,
    (SELECT count(*)::int FROM pg_stat_activity WHERE datid IS NOT NULL) AS open
  FROM pg_roles r, pg_database d WHERE r.rolname = current_user AND d.datname = current_database()`
