// The jobs that this process runs, as metrics and traces see them. The data of a job have the `traceparent`
// of the request that added it: the job continues its trace.
import { currentTraceparent, inSpan } from '../telemetry/spans.ts'
import type { Job } from './job.ts'

export interface JobRun {
  queue: string
  outcome: 'ok' | 'failed'
  seconds: number
}

/** `failed` for an attempt that failed and was handled. */
export type JobOutcome = 'failed' | void

interface Traced {
  traceparent?: string
}

/** A job that is added again keeps its trace. */
export function withTrace<Data extends object>(data: Data & Traced): Data & Traced {
  const traceparent = data.traceparent ?? currentTraceparent()
  return traceparent === undefined ? data : { ...data, traceparent }
}

export class JobRuns {
  readonly #callbacks: Array<(run: JobRun) => void> = []

  /** Calls `callback` after each run. */
  onEnd(callback: (run: JobRun) => void): void {
    this.#callbacks.push(callback)
  }

  async run(queue: string, job: Job<Traced>, work: () => Promise<JobOutcome>): Promise<void> {
    const started = performance.now()
    let outcome: JobRun['outcome'] = 'failed'
    const attributes = {
      'messaging.system': 'postgresql',
      'messaging.destination.name': queue,
      'messaging.message.id': job.id,
      'messaging.operation.name': 'process',
      'messaging.operation.type': 'process',
    }
    try {
      const parent = job.data.traceparent ?? ''
      outcome = await inSpan(`process ${queue}`, { kind: 'consumer', parent, attributes }, async (span) => {
        const result = (await work()) ?? 'ok'
        if (result === 'failed') span?.fail('failed')
        return result
      })
    } finally {
      const seconds = (performance.now() - started) / 1000
      for (const callback of this.#callbacks) callback({ queue, outcome, seconds })
    }
  }
}
