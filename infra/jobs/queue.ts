// Job queues: the table `jobs`. A job is added in the transaction that makes it necessary and completed in
// the transaction that stores its outcome. Between the two it may run more than once: a fetched job is due
// again when its time-out ends, so the jobs of a worker that died need no other care.
import * as sql from '../../generated/sql/jobs.ts'
import type { Bus } from '../bus/bus.ts'
import type { Database, Transaction } from '../database/database.ts'
import { createAdditions } from './additions.ts'
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
  add(tx: Transaction, jobs: Array<NewJob<Data>>): Promise<void>
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
  complete(tx: Transaction, jobs: Array<Job<Data>>): Promise<Set<string>>
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
  /** As `groupConcurrency`, for each further lane. */
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
}

/** The lane of jobs without one. */
const mainLane = 'main'
/** The waiting jobs of a queue that are counted. */
const mostCounted = 10_000

export interface JobQueuesOptions {
  database: Database
  /** Notifies the workers of other processes of new jobs. Without it, workers find new jobs by polling. */
  listener?: Pick<Bus, 'on' | 'publish'>
  onError?: (error: Error) => void
}

export function createJobQueues({ database, listener, onError = () => {} }: JobQueuesOptions): JobQueues {
  const additions = createAdditions(listener, onError)
  const runs = new JobRuns()
  /** The lanes of every queue. */
  const lanes: Array<{ queue: string; lane: string }> = []
  return {
    queue(options) {
      const names = [mainLane, ...Object.keys(options.lanes ?? {})]
      lanes.push(...names.map((lane) => ({ queue: options.name, lane })))
      return createQueue({ database, options, onAdded: additions.announcer(options.name), runs })
    },
    onAdded: additions.on,
    onRun: (callback) => runs.onEnd(callback),
    async ping() {
      await sql.hasJobs(database.reserve)
    },
    readBacklog: async () =>
      await sql.readBacklog(database.reserve, {
        queues: lanes.map(({ queue }) => queue),
        lanes: lanes.map(({ lane }) => lane),
        most: mostCounted,
      }),
  }
}

interface QueueParts {
  database: Database
  options: QueueOptions
  onAdded: () => void
  runs: JobRuns
}

function createQueue<Data extends object>({
  database,
  options: { name: queue, expireInSeconds, heartbeatSeconds, groupConcurrency, lanes = {} },
  onAdded,
  runs,
}: QueueParts): Queue<Data> {
  const seconds = heartbeatSeconds ?? expireInSeconds
  return {
    async add(tx, jobs) {
      await sql.insertJobs(tx, {
        queue,
        lanes: jobs.map(({ lane = mainLane }) => lane),
        group_ids: jobs.map(({ group }) => group),
        data: jobs.map(({ data }) => JSON.stringify(withTrace(data))),
        due_ats: jobs.map(({ startAfter = null }) => startAfter),
      })
      if (jobs.some(({ startAfter }) => startAfter === undefined)) tx.afterCommit(onAdded)
    },
    announce: onAdded,
    async fetch(count, { lane = mainLane, except = [] } = {}) {
      const limit = lane === mainLane ? groupConcurrency : lanes[lane]
      const jobs = await sql.fetchJobs(database.reserve, {
        queue,
        lane,
        seconds,
        except,
        group_limit: limit,
        count,
      })
      return jobs as Array<Job<Data>>
    },
    async fetchInTurns(turns, count) {
      const jobs = await sql.fetchJobsInTurns(database.reserve, {
        queue,
        seconds,
        turns: JSON.stringify(
          turns.map(({ groups, most }) => ({ groups, most, each: eachOf(groups, most) })),
        ),
        count,
      })
      return jobs as Array<Job<Data>>
    },
    run: (job, work) => runs.run(queue, job as Job<object>, work),
    async complete(tx, jobs) {
      return idsOf(await sql.deleteJobs(tx, keysOf(jobs)))
    },
    async heartbeat(jobs) {
      const limits = { seconds, most_seconds: expireInSeconds }
      return idsOf(await sql.extendJobs(database.reserve, { ...keysOf(jobs), ...limits }))
    },
  }
}

/** Jobs of each group, so that the groups of an owner share its turn. */
function eachOf(groups: string[], most: number): number {
  return Math.ceil(most / groups.length)
}

function keysOf(jobs: Array<Job<unknown>>): { ids: string[]; fetches: number[] } {
  return { ids: jobs.map(({ id }) => id), fetches: jobs.map(({ fetches }) => fetches) }
}

function idsOf(rows: Array<{ id: string }>): Set<string> {
  return new Set(rows.map(({ id }) => id))
}
