// A run consists of parts, and a part of checks of one operation or resource. A check that fails in an
// unexpected way ends alone: what it found stays, and the run says what it did not check.
import type { Operation } from '@platform-api/openapi/document.ts'
import type { Run } from './run-context.ts'
import { NoResponse, ServerUnreachable } from './sender.ts'

export interface Check {
  /** The operation that the report names. */
  operation: Operation
  run(): Promise<void>
}

export interface Part {
  name: string
  checks(run: Run): Check[]
}

/** Runs the checks in order. */
export async function runChecks(run: Run, part: string, checks: Check[], onDone: () => void): Promise<void> {
  for (const { operation, run: check } of checks) {
    const reason = run.stopReason()
    if (reason === null) await runCheck(run, part, operation, check)
    else run.unfinished.push({ part, operation: operation.id, reason })
    onDone()
  }
}

async function runCheck(
  run: Run,
  part: string,
  operation: Operation,
  check: () => Promise<void>,
): Promise<void> {
  try {
    await check()
  } catch (error) {
    run.unfinished.push({ part, operation: operation.id, reason: (error as Error).message })
    if (error instanceof ServerUnreachable) run.stop(error.message)
    else if (error instanceof NoResponse)
      run.findings.add(
        error.request.operation.id,
        part,
        { check: 'no-response', expected: 'a response', actual: error.message },
        error.request,
      )
  }
}
