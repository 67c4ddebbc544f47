// What the life of a resource has to keep, said as it is looked at.
import type { Operation } from './document.ts'
import type { Run } from './cli.ts'
import type { Answer } from './sender.ts'

export const part = 'lives'

/** Adds a finding unless it holds. */
export type Expect = (
  holds: boolean,
  check: string,
  expected: string,
  answer: Answer,
  came?: string,
) => boolean

export function expecting(run: Run, operation: Operation): Expect {
  return (holds, check, expected, answer, came = `${answer.status} ${answer.text.slice(0, 300)}`) => {
    if (!holds && run.options.wanted(operation))
      run.findings.add(operation.id, part, { check, expected, came }, answer)
    return holds
  }
}
