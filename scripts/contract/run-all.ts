// Runs all parts of the contract tests in order and returns the outcome.
import { checkAccess } from './access.ts'
import { cleanUp } from './cleanup.ts'
import { neverSucceeds } from './exceptions.ts'
import { checkLists } from './lists.ts'
import { runCrudLifecycles } from './crud-lifecycle.ts'
import { sendInvalidRequests } from './invalid-requests.ts'
import type { RunOptions } from './options.ts'
import { sendValidRequests } from './valid-requests.ts'
import { isPaged } from './resources.ts'
import { createRun, type Run } from './run-context.ts'

export interface Outcome extends Pick<Run, 'findings' | 'matrix' | 'operations' | 'selected'> {
  requests: number
  seconds: number
  seed: number
  /** Whether the time ran out before all checks were done. */
  timedOut: boolean
  /** The number of resources that the cleanup could not delete, by kind. */
  leftovers: Record<string, number>
  /** Remarks about the run, such as operations that never succeeded. */
  notes: string[]
}

/** Throws ServerUnreachable, and UsageError if the server rejects the key. */
export async function runContract(options: RunOptions): Promise<Outcome> {
  const started = Date.now()
  const run = await createRun(options, started)
  const steps: Array<
    [part: string, work: (run: Run, tick: (done: number, of: number) => void) => Promise<void>]
  > = [
    ['access', checkAccess],
    ['crud', runCrudLifecycles],
    ['lists', checkLists],
    ['invalid', sendInvalidRequests],
    ['valid', sendValidRequests],
  ]
  // Records the resources that exist already, so that the checks can read and reference them.
  for (const operation of run.operations.filter(isPaged))
    if (!operation.path.includes('{')) await run.call('lists', operation, {})
  let leftovers: Record<string, number> = {}
  try {
    for (const [part, work] of steps)
      await work(run, (done, of) => options.onProgress(part, done, of, run.findings.all.length))
  } finally {
    leftovers = await cleanUp(run)
  }
  const { findings, matrix, operations, selected, sender } = run
  return {
    findings,
    matrix,
    operations,
    selected,
    requests: sender.counts.requests,
    seconds: (Date.now() - started) / 1000,
    seed: options.seed,
    timedOut: run.isTimeUp(),
    leftovers,
    notes: notesOf(run),
  }
}

function notesOf(run: Run): string[] {
  const { waits, waited } = run.sender.counts
  const unreached = run.selected
    .filter(
      (operation) =>
        ![...operation.responses.keys()].some(
          (status) => status < 400 && run.matrix.has(`${operation.id} ${status}`),
        ),
    )
    .map(
      ({ id }) =>
        `${id} never succeeded` +
        (neverSucceeds.has(id) ? ': it changes global state or needs input from another system' : ''),
    )
  return waits === 0
    ? unreached
    : [
        ...unreached,
        `The server's rate limits delayed the run ${waits} times, ${waited} s in total. ` +
          'Start a test server with higher RATE_LIMIT_… settings',
      ]
}
