// Does what is due by the clock of payments, beside the requests.
import type { Database } from '../database.ts'
import { doDue, nextDue } from './renewals.ts'
import { moveClock } from './clock.ts'
import type { SettleServices } from './settle.ts'

export interface Billing {
  start (): void
  /** Waits for what is under way. */
  close (): Promise<void>
}

export interface BillingOptions extends SettleServices {
  database: Database
  onError: (error: Error) => void
  /** How often it is looked for what is due, in ms. Default 1,000. */
  interval?: number
}

export function createBilling ({ database, events, gateways, onError, interval = 1_000 }: BillingOptions): Billing {
  let timer: NodeJS.Timeout | undefined
  let round: Promise<void> | undefined
  let closed = false

  async function run (): Promise<void> {
    try {
      while (!closed && await doDue(database, { events, gateways })) {}
    } catch (error) {
      onError(new Error('what is due in payments could not be done', { cause: error }))
    }
  }

  return {
    start () {
      timer = setInterval(() => { round ??= run().finally(() => { round = undefined }) }, interval)
      timer.unref()
    },
    async close () {
      closed = true
      clearInterval(timer)
      await round
    }
  }
}

/** How many things may happen in one call. */
const most = 1_000

/** Moves the clock to a time, by way of everything that is due until then, each at its own time. */
export async function advanceClock (db: Database, services: SettleServices, to: Date): Promise<void> {
  for (let done = 0; done < most; done++) {
    const due = await nextDue(db)
    if (due === null || due.at > to) return await moveClock(db, to)
    await moveClock(db, due.at)
    await doDue(db, services)
  }
}
