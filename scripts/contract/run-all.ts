// The whole of a run: its parts in their order, and what came of them.
import { holdAccess } from './access.ts'
import { cleanUp } from './cleanup.ts'
import { refusedOnly } from './exceptions.ts'
import { readLists } from './lists.ts'
import { followLives } from './crud-lifecycle.ts'
import { breakRequests } from './invalid-requests.ts'
import type { RunOptions } from './options.ts'
import { tryValues } from './valid-requests.ts'
import { isPaged } from './resources.ts'
import { begin, type Run } from './cli.ts'

export interface Outcome extends Pick<Run, 'findings' | 'matrix' | 'operations' | 'wanted'> {
  requests: number
  seconds: number
  seed: number
  /** Whether the time was over before all was done. */
  cut: boolean
  /** What could not be removed again, by kind. */
  left: Record<string, number>
  /** Why operations were never answered with a success, where that is known. */
  notes: string[]
}

/** Throws Unreachable, or UsageError of people.ts where the key is not taken. */
export async function runContract(options: RunOptions): Promise<Outcome> {
  const started = Date.now()
  const run = await begin(options, started)
  const steps: Array<
    [part: string, work: (run: Run, tick: (done: number, of: number) => void) => Promise<void>]
  > = [
    ['access', holdAccess],
    ['lives', followLives],
    ['lists', readLists],
    ['refusals', breakRequests],
    ['values', tryValues],
  ]
  // What there is already, to be read and named.
  for (const operation of run.operations.filter(isPaged))
    if (!operation.path.includes('{')) await run.call('lists', operation, {})
  let left: Record<string, number> = {}
  try {
    for (const [part, work] of steps)
      await work(run, (done, of) => options.onProgress(part, done, of, run.findings.all.length))
  } finally {
    left = await cleanUp(run)
  }
  const { findings, matrix, operations, wanted, sender } = run
  return {
    findings,
    matrix,
    operations,
    wanted,
    requests: sender.counts.requests,
    seconds: (Date.now() - started) / 1000,
    seed: options.seed,
    cut: run.over(),
    left,
    notes: notesOf(run),
  }
}

function notesOf(run: Run): string[] {
  const { waits, waited } = run.sender.counts
  const unreached = run.wanted
    .filter(
      (operation) =>
        ![...operation.responses.keys()].some(
          (status) => status < 400 && run.matrix.has(`${operation.id} ${status}`),
        ),
    )
    .map(
      ({ id }) =>
        `${id} was never answered with a success${refusedOnly.has(id) ? ": it changes what is everybody's, or wants what only another system makes" : ''}`,
    )
  return waits === 0
    ? unreached
    : [
        ...unreached,
        `The server's rate limits made it wait ${waits} times, ${waited} s in all: one that is there for this is better started with higher RATE_LIMIT_… settings`,
      ]
}
