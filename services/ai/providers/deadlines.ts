// Aborts a request to a provider when the caller aborts it or a time-out expires. One signal covers both, and
// `clear` removes every listener and timer.
import { ProviderTimeout } from './errors.ts'

export interface Deadlines {
  /** Aborted with the reason of the caller, or with a ProviderTimeout. */
  signal: AbortSignal
  /**
   * A part of the answer has arrived: from now on the idle time-out counts instead of the one for the first
   * token.
   */
  progress(): void
  /** An attempt has failed: the time-out for the first token counts again. */
  restart(): void
  /** The answer is complete: the data after it, such as the usage, must arrive within `milliseconds`. */
  startClosing(milliseconds: number): void
  clear(): void
}

/** In seconds. */
export interface Timeouts {
  /** The whole answer. */
  total: number
  /** Until the first token. */
  firstToken: number
  /** Between two chunks. */
  idle: number
}

export function createDeadlines(caller: AbortSignal | undefined, timeouts: Timeouts): Deadlines {
  const { total, firstToken, idle } = timeouts
  const controller = new AbortController()
  const abort = (): void => controller.abort(caller!.reason)
  const expire = (message: string): void => controller.abort(new ProviderTimeout(message))
  const totalTimer = setTimeout(expire, total * 1000, `its answer took more than ${total} s`)
  const untilStart = (): NodeJS.Timeout =>
    setTimeout(expire, firstToken * 1000, `its answer did not start within ${firstToken} s`)
  let hasStarted = false
  /** Until the first token, then until the next progress. */
  let waitTimer = untilStart()
  let closingTimer: NodeJS.Timeout | undefined
  if (caller?.aborted) abort()
  else caller?.addEventListener('abort', abort, { once: true })

  return {
    signal: controller.signal,
    progress() {
      if (hasStarted) {
        waitTimer.refresh()
        return
      }
      hasStarted = true
      clearTimeout(waitTimer)
      waitTimer = setTimeout(expire, idle * 1000, `its answer paused for ${idle} s`)
    },
    restart() {
      if (!hasStarted) return
      hasStarted = false
      clearTimeout(waitTimer)
      waitTimer = untilStart()
    },
    startClosing(milliseconds) {
      closingTimer ??= setTimeout(expire, milliseconds, 'its answer does not end')
    },
    clear() {
      for (const timer of [totalTimer, waitTimer, closingTimer]) clearTimeout(timer)
      caller?.removeEventListener('abort', abort)
    },
  }
}
