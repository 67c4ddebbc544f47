// Assertions of the CRUD lifecycle.
import type { CheckName } from './checks.ts'
import type { Operation } from '@platform-api/openapi/document.ts'
import type { Run } from './run-context.ts'
import type { Answer } from './sender.ts'

export const part = 'crud'

/** Adds a finding if the assertion does not hold. Returns whether it holds. */
export type Expect = (
  holds: boolean,
  check: CheckName,
  expected: string,
  answer: Answer,
  actual?: string,
) => boolean

export function expectationFor(run: Run, operation: Operation): Expect {
  return (holds, check, expected, answer, actual = `${answer.status} ${answer.text.slice(0, 300)}`) => {
    if (!holds && run.options.selected(operation))
      run.findings.add(operation.id, part, { check, expected, actual }, answer)
    return holds
  }
}
