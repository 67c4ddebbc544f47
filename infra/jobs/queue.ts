// Job queues: pg-boss in the same PostgreSQL database. A job is added in the transaction that makes it
// necessary and completed in the transaction that stores its outcome. Between the two it may run more than
// once.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { PoolConfig } from 'pg'
import { PgBoss, type Db as BossDb, type Job as BossJob } from 'pg-boss'
import { Client } from '../database/client.ts'
import type { Bus } from '../bus/bus.ts'
import { createAdditions } from './additions.ts'
import type { Database, Db } from '../database/database.ts'
import { statement, statementName, statementOf } from '../database/statements.ts'
import type { Job } from './job.ts'
import { JobRuns, withTrace, type JobOutcome, type JobRun } from './job-runs.ts'

export type { Job }

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

/** The groups of one owner, in the order of their turns, and how many of their jobs may be fetched. */
export interface FetchTurn {
  groups: string[]
  most: number
}

export interface Queue<Data> {
  /** Adds jobs in the transaction `tx`. */
  add(tx: Db, jobs: Array<NewJob<Data>>): Promise<void>
  /** Notifies the workers of due jobs that a statement of prisma/sql has added. Call it after the commit. */
  announce(): void
  /**
   * Fetches at most `count` due jobs of a lane, from all groups but `except`. A job that is not completed
   * before its time-out is fetched again.
   */
  fetch(count: number, options?: { lane?: string; except?: string[] }): Promise<Array<Job<Data>>>
  /**
   * Fetches at most `count` due jobs, one of each group in the order of the turns, with one statement. Jobs
   * that another process is fetching at the moment are skipped. Lanes and `groupConcurrency` do not apply.
   */
  fetchInTurns(turns: FetchTurn[], count: number): Promise<Array<Job<Data>>>
  /** Runs a fetched job. Metrics and traces contain it. `work` completes the job. */
  run(job: Job<Data>, work: () => Promise<JobOutcome>): Promise<void>
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
  /** Calls `callback` after due jobs were added to the queue, by any process. Call this before the start. */
  onAdded(queue: string, callback: () => void): void
  /** Throws when the queue is not available. */
  ping(): Promise<void>
  /** Calls `callback` after each job that this process has run. */
  onRun(callback: (run: JobRun) => void): void
  /** The due jobs that no worker has fetched, by queue. */
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

export interface JobQueuesOptions {
  database: Database
  /** Notifies the workers of other processes of new jobs. Without it, workers find new jobs by polling. */
  listener?: Pick<Bus, 'on' | 'publish'>
  onError?: (error: Error) => void
}

export function createJobQueues({ database, listener, onError = () => {} }: JobQueuesOptions): JobQueues {
  const additions = createAdditions(listener, onError)
  // Inside a transaction pg-boss runs all its queries on the transaction's connection. If it took another
  // one, a pool's worth of transactions would wait for each other.
  const currentTransaction = new AsyncLocalStorage<Db>()
  const boss = new PgBoss({
    ...bossOptions,
    db: {
      async executeSql(text, values = []) {
        const tx = currentTransaction.getStore()
        return tx === undefined
          ? await database.reserve.query(text, values)
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
    executeSql: (text, values) => database.reserve.query({ name: statementName(text), text, values }),
  }
  const runs = new JobRuns()
  const runInTransaction: RunInTransaction = (tx, work) => currentTransaction.run(tx, work)
  let supervising = false
  return {
    queue: (options) =>
      createQueue({
        boss,
        database,
        prepared,
        options,
        onAdded: additions.announcer(options.name),
        runInTransaction,
        runs,
      }),
    onAdded: additions.on,
    onRun: (callback) => runs.onEnd(callback),
    async ping() {
      const [found] = await database.reserve.sql(anyQueue, [])
      if (found === undefined) throw new Error('there is no job queue')
    },
    readBacklog: async () => await database.reserve.sql(backlog, []),
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

interface QueueParts {
  boss: PgBoss
  database: Database
  prepared: BossDb
  options: QueueOptions
  onAdded: () => void
  runInTransaction: RunInTransaction
  runs: JobRuns
}

function createQueue<Data extends object>({
  boss,
  database,
  prepared,
  options: { name, groupConcurrency, lanes = {} },
  onAdded,
  runInTransaction,
  runs,
}: QueueParts): Queue<Data> {
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
            data: withTrace(data),
            group: { id: groupId(group, lane) },
            priority: priorityOf(lane),
            startAfter: startAfter?.toISOString(),
          })),
        ),
      )
      if (jobs.some(({ startAfter }) => startAfter === undefined)) tx.afterCommit(onAdded)
    },
    announce: onAdded,
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
    async fetchInTurns(turns, count) {
      return (await database.reserve.sql(fetchTurns, [
        name,
        JSON.stringify(turns.map(({ groups, most }) => ({ groups, most, each: eachOf(groups, most) }))),
        count,
      ])) as Array<Job<Data>>
    },
    run: (job, work) => runs.run(name, job as Job<object>, work),
    async complete(tx, jobs) {
      return settledIds(await runInTransaction(tx, () => boss.deleteJob(name, jobs.map(jobKey))))
    },
    async heartbeat(jobs) {
      return settledIds(await boss.touch(name, jobs.map(jobKey)))
    },
  }
}

/** Jobs of each group, so that the groups of an owner share its turn. */
function eachOf(groups: string[], most: number): number {
  return Math.ceil(most / groups.length)
}

// As pg-boss fetches: a job that was fetched before counts one more retry.
const fetchTurns = statement<Job<object>>(`
  WITH picked AS MATERIALIZED (
    SELECT job.id
    FROM jsonb_to_recordset($2::jsonb) AS turn (groups jsonb, most int, "each" int)
    CROSS JOIN LATERAL (
      SELECT due.id FROM jsonb_array_elements_text(turn.groups) AS one (group_id)
      CROSS JOIN LATERAL (
        SELECT id FROM ${schema}.job j
        WHERE j.name = $1 AND j.group_id = one.group_id AND j.priority = 0
          AND j.state < 'active' AND NOT j.blocked AND j.start_after <= now()
        ORDER BY j.created_on LIMIT turn."each" FOR UPDATE SKIP LOCKED
      ) due LIMIT turn.most
    ) job LIMIT $3
  )
  UPDATE ${schema}.job j SET state = 'active', started_on = now(), heartbeat_on = now(),
    retry_count = CASE WHEN started_on IS NULL THEN retry_count ELSE retry_count + 1 END
  WHERE j.name = $1 AND j.id = ANY(ARRAY(SELECT id FROM picked))
  RETURNING j.id, j.data, j.retry_count AS "retryCount"`)

function jobKey({ id, retryCount }: Job<unknown>): { id: string; retryCount: number } {
  return { id, retryCount }
}

/** The ids of the jobs that a command of pg-boss affected. Its types do not declare them. */
function settledIds(result: unknown): Set<string> {
  return new Set((result as { settled?: string[] }).settled)
}
