// The payment worker: runs the tasks that are due by the clock of payments, such as renewals and expired
// checkouts. A task that fails is skipped for a while, so that it does not block the tasks that are due after
// it.
import type { Database } from '../../infra/database/database.ts'
import { WorkerLoop, type BackgroundWorker } from '../../infra/jobs/worker-loop.ts'
import { moveClock } from './clock.ts'
import { runDueTask, nextDueTask, type DueTask } from './renewals.ts'
import type { PaymentServices } from './gateway.ts'

export interface PaymentWorkerOptions extends PaymentServices {
  database: Database
  onError: (error: Error) => void
  /** Milliseconds between two polls. Default 1,000. */
  interval?: number
  /** Milliseconds before a failed task is tried again. Default a minute. */
  retryDelayMs?: number
}

export function createPaymentWorker({
  database,
  onError,
  interval,
  retryDelayMs = 60_000,
  ...services
}: PaymentWorkerOptions): BackgroundWorker {
  /** The failed tasks and the time of their next attempt. */
  const retryTimes = new Map<string, number>()
  return new WorkerLoop({ poll, onError, interval })

  async function poll(loop: WorkerLoop): Promise<boolean> {
    for (const [id, time] of retryTimes) if (time <= Date.now()) retryTimes.delete(id)
    while (!loop.isStopping) {
      const due = await nextDueTask(database, { except: [...retryTimes.keys()] }).catch((cause) => {
        throw new Error('the due payment tasks could not be read', { cause })
      })
      if (due === null) break
      await runDueTask(database, services, due).catch((cause) => {
        retryTimes.set(due.id, Date.now() + retryDelayMs)
        onError(taskError(due, cause))
      })
    }
    return false
  }
}

/** Tasks that one call of `advanceClock` runs at most. */
const maxTasks = 1_000

/**
 * Moves the clock, or the time of a customer, to a time and runs every task that is due until then, each at
 * its own time. With more tasks than `maxTasks` the clock stops early. Throws the error of the first failed
 * task after all others ran.
 */
export async function advanceClock(
  db: Database,
  services: PaymentServices,
  to: Date,
  customerId: string | null = null,
): Promise<void> {
  const failures = new Map<string, Error>()
  for (let done = 0; done < maxTasks; done++) {
    const due = await nextDueTask(db, { at: to, customerId, except: [...failures.keys()] })
    await moveClock(db, due?.at ?? to, customerId)
    if (due === null) break
    await runDueTask(db, services, due).catch((cause) => {
      failures.set(due.id, taskError(due, cause))
    })
  }
  for (const failure of failures.values()) throw failure
}

function taskError({ kind, id, at }: DueTask, cause: unknown): Error {
  return new Error(`the ${kind} ${id}, due at ${at.toISOString()}, failed`, { cause })
}
