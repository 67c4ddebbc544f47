// The queue of work that outlives its request: pg-boss in the same PostgreSQL. A job is put into it in the transaction
// that makes it necessary, and taken out in the one that records its outcome; in between it may be done more than once.
import { AsyncLocalStorage } from 'node:async_hooks'
import { PgBoss, type Job as BossJob } from 'pg-boss'
import { type Database, type Db } from '../database/database.ts'
import { statement, statementOf } from '../database/statements.ts'

export interface Job<Data> {
  id: string
  data: Data
  /** Which attempt of the job this is, so that only the latest can settle it. */
  retryCount: number
}

export interface NewJob<Data> {
  data: Data
  /** Of one group's jobs only a few are done at a time, so that a slow group holds up no other. */
  group: string
  /** Set apart from the group's other jobs: taken only by who asks for this tier, and counted by itself. */
  tier?: string
  /** Not before this time. */
  startAfter?: Date
}

export interface Queue<Data> {
  /** Puts jobs into the queue in the transaction `tx`. */
  add(tx: Db, jobs: Array<NewJob<Data>>): Promise<void>
  /**
   * Takes at most `count` jobs of a tier that are due, of all groups `except` some. Whoever does not settle one in time will
   * see it taken by another.
   */
  take(count: number, options?: { tier?: string; except?: string[] }): Promise<Array<Job<Data>>>
  /**
   * Removes jobs from the queue in the transaction `tx`.
   * @returns the ids of those that were still this taker's; the others belong to somebody else by now.
   */
  settle(tx: Db, jobs: Array<Job<Data>>): Promise<Set<string>>
  /**
   * Tells that jobs are still being done, where the queue wants to hear it.
   * @returns the ids of those that are still this taker's.
   */
  beat(jobs: Array<Job<Data>>): Promise<Set<string>>
}

export interface QueueOptions {
  name: string
  /** Seconds after which a job that was taken and not settled is given to another. */
  expireInSeconds: number
  /** Seconds after which a taken job of which nothing was heard is given to another, at least 10; without it nothing has to be heard. */
  heartbeatSeconds?: number
  /** How many of a group are done at once, by all processes together; a few more if several take at the same moment. */
  groupConcurrency: number
  /** The same for each tier. */
  tiers?: Record<string, number>
}

export interface Jobs {
  queue<Data extends object>(options: QueueOptions): Queue<Data>
  /** Throws when the queue cannot be reached. */
  ping(): Promise<void>
  /** Begins to give back what dead workers had taken. For processes that do jobs. */
  supervise(): Promise<void>
  close(): Promise<void>
}

/** The queues there are; `prepareJobs` makes them. */
export const deliveryQueue: QueueOptions = {
  name: 'webhook-deliveries',
  // An attempt takes 15 s at most, and some for what stands around it.
  expireInSeconds: 30,
  groupConcurrency: 10,
  // What was recovered may be a great deal at once; nothing that happens now waits behind it. Where too much of an owner's
  // is slow, each endpoint of his gets one place, so that none of them holds up the others.
  tiers: { failing: 1, recovered: 10, slow: 1 },
}
/** The documents to be read. */
export const documentQueue: QueueOptions = {
  name: 'documents',
  // Longer than any reading takes; who dies with one is noticed by its silence.
  expireInSeconds: 900,
  heartbeatSeconds: 15,
  // Takers ask for all spaces in turn; this only keeps one from being at work in every process there is.
  groupConcurrency: 8,
}
/** What a gateway of payments is to do. */
export const gatewayQueue: QueueOptions = {
  name: 'gateway',
  // A job asks the gateway a few times, each for half a minute at most; done by two at once it has one effect.
  expireInSeconds: 120,
  groupConcurrency: 1,
}
const queues = [deliveryQueue, documentQueue, gatewayQueue]

const settings = {
  schema: 'pgboss',
  schedule: false,
  warningQueueSize: 1_000_000,
  reindex: false,
  monitorVacuum: false,
} as const

/** Makes the queue's tables, or brings them up to date. Safe to call from any number of servers at once. */
export async function prepareJobs(url: string): Promise<void> {
  const boss = new PgBoss({ ...settings, connectionString: url, max: 1, supervise: false })
  // What goes wrong in the background is thrown by what is called here too.
  boss.on('error', () => {})
  try {
    await boss.start()
    for (const { name, expireInSeconds, heartbeatSeconds } of queues) {
      // A job has no limit of tries or of age: each attempt's own outcome decides whether there is another, and nobody may
      // be there to make one for days.
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

export function createJobs({
  database,
  onError = () => {},
}: {
  database: Database
  onError?: (error: Error) => void
}): Jobs {
  // Whatever the queue asks for inside a transaction, its own settings included, it asks on that connection: with another
  // one, a pool's worth of transactions would wait for each other.
  const inside = new AsyncLocalStorage<Db>()
  const boss = new PgBoss({
    ...settings,
    db: {
      async executeSql(text, values = []) {
        const tx = inside.getStore()
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
  let supervising = false
  return {
    queue<Data extends object>({ name, groupConcurrency, tiers = {} }: QueueOptions): Queue<Data> {
      const groupOf = (group: string, tier: string | undefined): string =>
        tier === undefined ? group : `${group}/${tier}`
      // The queue's index begins with the priority, so that taking from one tier does not walk over what waits in another.
      const priorityOf = (tier: string | undefined): number =>
        tier === undefined ? 0 : -1 - Object.keys(tiers).indexOf(tier)
      return {
        async add(tx, jobs) {
          await inside.run(tx, () =>
            boss.insert(
              name,
              jobs.map(({ data, group, tier, startAfter }) => ({
                data,
                group: { id: groupOf(group, tier) },
                priority: priorityOf(tier),
                startAfter: startAfter?.toISOString(),
              })),
            ),
          )
        },
        async take(count, { tier, except = [] } = {}) {
          const priority = priorityOf(tier)
          const limit = tier === undefined ? groupConcurrency : tiers[tier]
          const ignoreGroups = except.map((group) => groupOf(group, tier))
          const taken = await boss.fetch<Data>(name, {
            batchSize: count,
            groupConcurrency: limit,
            ignoreGroups,
            minPriority: priority,
            maxPriority: priority,
          })
          return taken.map(({ id, data, retryCount }: BossJob<Data>) => ({ id, data, retryCount }))
        },
        async settle(tx, jobs) {
          const settled = await inside.run(tx, () =>
            boss.deleteJob(
              name,
              jobs.map(({ id, retryCount }) => ({ id, retryCount })),
            ),
          )
          // The ids are in what it answers, and not yet in its types.
          return new Set((settled as { settled?: string[] }).settled)
        },
        async beat(jobs) {
          const held = await boss.touch(
            name,
            jobs.map(({ id, retryCount }) => ({ id, retryCount })),
          )
          return new Set((held as { settled?: string[] }).settled)
        },
      }
    },
    async ping() {
      const [found] = await database.sql(anyQueue, [])
      if (found === undefined) throw new Error('the queue is not there')
    },
    async supervise() {
      supervising = true
      await boss.start()
    },
    async close() {
      if (supervising) await boss.stop({ graceful: false })
    },
  }
}

const anyQueue = statement(`SELECT name FROM ${settings.schema}.queue LIMIT 1`)
