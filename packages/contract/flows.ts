// Runs the flows of a profile, such as an upload that is continued. Each step must succeed. A flow whose
// operations the contract lacks is left out.
import type { Operation } from '@platform-api/openapi/document.ts'
import type { Part } from './part.ts'
import type { Flow } from './profile.ts'
import type { Run } from './run-context.ts'

const part = 'flows'

/** The step was no success, which is a finding; the flow cannot go on. */
class FlowEnded extends Error {}

export const flows: Part = {
  name: part,
  checks(run) {
    if (!run.accounts.createdUser || run.accounts.otherUser === null) return []
    return run.options.profile.flows.flatMap(({ operations: names, work }) => {
      const operations = names.map((name) => run.operations.find(({ id }) => id === name))
      if (!operations.every((operation) => operation !== undefined)) return []
      if (!run.selected.includes(operations[0])) return []
      return [{ operation: operations[0], run: async () => await runFlow(run, operations, work) }]
    })
  },
}

async function runFlow(run: Run, operations: Operation[], work: Flow['work']): Promise<void> {
  const { operator, otherUser } = run.accounts
  try {
    await work(async (name, { as, allow = [], ...parts } = {}) => {
      const operation = operations.find(({ id }) => id === name)!
      const keys = { other: otherUser!.key, operator: operator.key }
      const key = as === undefined ? run.accounts.keyFor(operation) : keys[as]
      const body = parts.body === undefined ? {} : { type: 'application/json' }
      const answer = await run.call(part, operation, { ...body, ...parts }, key)
      if (answer.status < 400 || allow.includes(answer.status)) return answer
      run.findings.add(
        name,
        part,
        {
          check: 'flow',
          expected: `a success in the flow of ${operations[0].id}`,
          actual: `${answer.status} ${answer.text.slice(0, 200)}`,
        },
        answer,
      )
      throw new FlowEnded()
    })
  } catch (error) {
    if (!(error instanceof FlowEnded)) throw error
  }
}
