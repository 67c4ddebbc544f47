// The report of the checks of `doctor`.
import { explainStartupError } from '../../app/startup-errors.ts'

export type State = 'ok' | 'warning' | 'problem'

export interface Finding {
  state: State
  name: string
  message: string
}

export type Report = (state: State, name: string, message: string) => void

/** One sentence for any error; of an unexpected one its code, because its message may have data. */
export function explain(error: unknown): string {
  const explained = explainStartupError(error)
  if (explained !== null) return explained
  const { cause = error } = (error ?? {}) as { cause?: unknown }
  const { code, name, message } = (cause ?? {}) as { code?: string; name?: string; message?: string }
  return (message || code || name || String(cause)).split('\n', 1)[0]
}
