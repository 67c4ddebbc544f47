// Job queues: pg-boss in the same PostgreSQL database. A job is added in the transaction that makes it
// necessary and completed in the transaction that stores its outcome. Between the two it may run more than
// once.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { PoolConfig } from 'pg'
import { PgBoss, type Db as BossDb, type Job as BossJob } from 'pg-boss'
import { Client } from '../database/client.ts'
import type { Database, Db } from '../database/database.ts'
import { statement, statementName, statementOf } from '../database/statements.ts'

export interface Job<Data> {
  id: string
  data: Data
  /** How often the job was fetched before. Only its latest fetch can complete it. */
  retryCount: number
}

export interface NewJob<Data> {
  data: Data
  /** Only a few jobs of a group run at once, so that a slow group does not delay the others. */
  group: string
  /**
   * A separate lane of the queue. `fetch` returns its jobs only on request, and its groups have limits of
   * their own.
   */
  lane?: string
  /** The time when the job is due. Default now. */
  startAfter?: Date
}

export interface Queue<Data> {
  /** Adds jobs in the transaction `tx`. */
  add(tx: Db, jobs: Array<NewJob<Data>>): Promise<void>
  /**
   * Fetches at most `count` due jobs of a lane, from all groups but `except`. A job that is not completed
   * before its time-out is fetched again.
   */
  fetch(count: number, options?: { lane?: string; except?: string[] }): Promise<Array<Job<Data>>>
  /**
   * Removes jobs from the queue in the transaction `tx`.
   * @returns the ids of the jobs that the caller still owned; the others timed out and were fetched again.
   */
  complete(tx: Db, jobs: Array<Job<Data>>): Promise<Set<string>>
  /**
   * Reports that jobs are still running, in queues with `heartbeatSeconds`.
   * @returns the ids of the jobs that the caller still owns.
   */
  heartbeat(jobs: Array<Job<Data>>): Promise<Set<string>>
}

export interface QueueOptions {
  name: string
  /** Seconds after which a fetched job that was not completed is fetched again. */
  expireInSeconds: number
  /**
   * Seconds without a heartbeat after which a fetched job is fetched again; at least 10. Default: no
   * heartbeat.
   */
  heartbeatSeconds?: number
  /**
   * Jobs of a group that run at once, in all processes together. A few more may run when several processes
   * fetch at the same moment.
   */
  groupConcurrency: number
  /** The same limit for each further lane. */
  lanes?: Record<string, number>
}

export interface Backlog {
  queue: string
  /** Counted to 10,000. */
  waiting: number
  /** How long the oldest has been due; 0 without jobs. */
  oldestSeconds: number
}

export interface JobQueues {
  queue<Data extends object>(options: QueueOptions): Queue<Data>
  /** Throws when the queue is not available. */
  ping(): Promise<void>
  /** The due jobs that nobody has fetched, by queue. */
  readBacklog(): Promise<Backlog[]>
  /** Starts to return the jobs of dead workers to their queues. For processes that run jobs. */
  supervise(): Promise<void>
  close(): Promise<void>
}

const schema = 'pgboss'
export const bossOptions = {
  schema,
  schedule: false,
  warningQueueSize: 1_000_000,
  reindex: false,
  monitorVacuum: false,
} as const

/** Creates or updates the tables of the queues. Safe to call from any number of servers at once. */
export async function prepareJobQueues(url: string, queues: QueueOptions[]): Promise<void> {
  const connection: PoolConfig = { connectionString: url, max: 1, Client }
  const boss = new PgBoss({ ...bossOptions, ...connection, supervise: false })
  // Background errors are also thrown by the calls below.
  boss.on('error', () => {})
  try {
    await boss.start()
    for (const { name, expireInSeconds, heartbeatSeconds } of queues) {
      // Jobs have practically no limit of retries or age: each attempt decides itself whether another
      // follows, and for days there may be no worker to run it.
      const options = {
        expireInSeconds,
        ...(heartbeatSeconds !== undefined && { heartbeatSeconds }),
        retryLimit: 10_000,
        retryDelay: 0,
        retentionSeconds: 3650 * 86_400,
      }
      if ((await boss.getQueue(name)) === null) await boss.createQueue(name, options)
      else await boss.updateQueue(name, options)
    }
  } finally {
    await boss.stop({ graceful: false })
  }
}

export function createJobQueues({
  database,
  onError = () => {},
}: {
  database: Database
  onError?: (error: Error) => void
}): JobQueues {
  // Inside a transaction pg-boss runs all its queries on the transaction's connection. If it took another
  // one, a pool's worth of transactions would wait for each other.
  const currentTransaction = new AsyncLocalStorage<Db>()
  const boss = new PgBoss({
    ...bossOptions,
    db: {
      async executeSql(text, values = []) {
        const tx = currentTransaction.getStore()
        return tx === undefined
          ? await database.pool.query(text, values)
          : { rows: await tx.sql(statementOf(text), values) }
      },
    },
    migrate: false,
    createSchema: false,
    superviseIntervalSeconds: 5,
    monitorIntervalSeconds: 5,
  })
  boss.on('error', onError)
  // The statements that fetch jobs are few and run all the time; planning one takes longer than running it.
  const prepared: BossDb = {
    executeSql: (text, values) => database.pool.query({ name: statementName(text), text, values }),
  }
  let supervising = false
  return {
    queue: (options) => createQueue(boss, prepared, options, (tx, work) => currentTransaction.run(tx, work)),
    async ping() {
      const [found] = await database.sql(anyQueue, [])
      if (found === undefined) throw new Error('there is no job queue')
    },
    readBacklog: async () => await database.sql(backlog, []),
    async supervise() {
      supervising = true
      await boss.start()
    },
    async close() {
      if (supervising) await boss.stop({ graceful: false })
    },
  }
}

const anyQueue = statement(`SELECT name FROM ${schema}.queue LIMIT 1`)

const backlog = statement<Backlog>(`
  SELECT q.name AS queue, count(j.start_after)::int AS waiting,
    coalesce(extract(epoch FROM now() - min(j.start_after)), 0)::float8 AS "oldestSeconds"
  FROM ${schema}.queue q LEFT JOIN LATERAL (
    SELECT start_after FROM ${schema}.job
    WHERE name = q.name AND state < 'active' AND start_after <= now()
    ORDER BY start_after LIMIT 10000
  ) j ON true
  GROUP BY q.name`)

type RunInTransaction = <T>(tx: Db, work: () => Promise<T>) => Promise<T>

function createQueue<Data extends object>(
  boss: PgBoss,
  prepared: BossDb,
  { name, groupConcurrency, lanes = {} }: QueueOptions,
  runInTransaction: RunInTransaction,
): Queue<Data> {
  const groupId = (group: string, lane: string | undefined): string =>
    lane === undefined ? group : `${group}/${lane}`
  // A lane is a priority of pg-boss. Its index starts with the priority, so fetching from one lane does not
  // scan the waiting jobs of another.
  const priorityOf = (lane: string | undefined): number =>
    lane === undefined ? 0 : -1 - Object.keys(lanes).indexOf(lane)
  return {
    async add(tx, jobs) {
      await runInTransaction(tx, () =>
        boss.insert(
          name,
          jobs.map(({ data, group, lane, startAfter }) => ({
            data,
            group: { id: groupId(group, lane) },
            priority: priorityOf(lane),
            startAfter: startAfter?.toISOString(),
          })),
        ),
      )
    },
    async fetch(count, { lane, except = [] } = {}) {
      const priority = priorityOf(lane)
      const jobs = await boss.fetch<Data>(name, {
        db: prepared,
        batchSize: count,
        groupConcurrency: lane === undefined ? groupConcurrency : lanes[lane],
        ignoreGroups: except.map((group) => groupId(group, lane)),
        minPriority: priority,
        maxPriority: priority,
      })
      return jobs.map(({ id, data, retryCount }: BossJob<Data>) => ({ id, data, retryCount }))
    },
    async complete(tx, jobs) {
      return settledIds(await runInTransaction(tx, () => boss.deleteJob(name, jobs.map(jobKey))))
    },
    async heartbeat(jobs) {
      return settledIds(await boss.touch(name, jobs.map(jobKey)))
    },
  }
}

function jobKey({ id, retryCount }: Job<unknown>): { id: string; retryCount: number } {
  return { id, retryCount }
}

/** The ids of the jobs that a command of pg-boss affected. Its types do not declare them. */
function settledIds(result: unknown): Set<string> {
  return new Set((result as { settled?: string[] }).settled)
}
