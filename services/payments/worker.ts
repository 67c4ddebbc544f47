// Does what is due by the clock of payments, beside the requests. A thing that cannot be done is told of and left alone for a while: it keeps
// nothing from being done that is due after it.
import type { Database } from '../../infra/database/database.ts'
import { moveClock } from './clock.ts'
import { runDueTask, nextDueTask, type DueTask } from './renewals.ts'
import type { PaymentServices } from './gateway.ts'

export interface Billing {
  start(): void
  /** Waits for what is under way. */
  close(): Promise<void>
}

export interface BillingOptions extends PaymentServices {
  database: Database
  onError: (error: Error) => void
  /** How often it is looked for what is due, in ms. Default 1,000. */
  interval?: number
  /** How long a thing is left alone that could not be done, in ms. Default a minute. */
  rest?: number
}

export function createBilling({
  database,
  events,
  gateways,
  onError,
  interval = 1_000,
  rest = 60_000,
}: BillingOptions): Billing {
  /** What could not be done, and when it is tried again. */
  const resting = new Map<string, number>()
  let timer: NodeJS.Timeout | undefined
  let round: Promise<void> | undefined
  let closed = false

  async function run(): Promise<void> {
    for (const [id, until] of resting) if (until <= Date.now()) resting.delete(id)
    while (!closed) {
      const due = await nextDueTask(database, { except: [...resting.keys()] })
      if (due === null) return
      await runDueTask(database, { events, gateways }, due).catch((cause) => {
        resting.set(due.id, Date.now() + rest)
        onError(undone(due, cause))
      })
    }
  }

  return {
    start() {
      timer = setInterval(() => {
        round ??= run()
          .catch((cause) => onError(new Error('what is due in payments could not be found', { cause })))
          .finally(() => {
            round = undefined
          })
      }, interval)
      timer.unref()
    },
    async close() {
      closed = true
      clearInterval(timer)
      await round
    },
  }
}

/** How many things may happen in one call. */
const most = 1_000

/**
 * Moves the clock to a time, by way of everything that is due until then, each at its own time. Where there is more than may happen in one call it
 * stops there. Throws, when it is there, the first error of what could not be done.
 */
export async function advanceClock(db: Database, services: PaymentServices, to: Date): Promise<void> {
  const failures = new Map<string, Error>()
  for (let done = 0; done < most; done++) {
    const due = await nextDueTask(db, { at: to, except: [...failures.keys()] })
    await moveClock(db, due?.at ?? to)
    if (due === null) break
    await runDueTask(db, services, due).catch((cause) => {
      failures.set(due.id, undone(due, cause))
    })
  }
  for (const failure of failures.values()) throw failure
}

function undone({ kind, id, at }: DueTask, cause: unknown): Error {
  return new Error(`the ${kind} ${id}, due at ${at.toISOString()}, could not be dealt with`, { cause })
}
