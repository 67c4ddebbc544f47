// Methods that a path does not have: 405 with an Allow header, or 404.
import type { Operation } from '@platform-api/openapi/document.ts'
import type { Part } from './part.ts'
import { pathParameters, unknownPath } from './requests.ts'
import { maySucceed, type Run } from './run-context.ts'

const part = 'methods'

export const otherMethods: Part = {
  name: part,
  checks: (run) =>
    run.selected.flatMap((operation) => {
      const method = otherMethodOf(run, operation)
      if (method === null) return []
      return [{ operation, run: async () => await sendOtherMethod(run, operation, method) }]
    }),
}

/** Null for all but one operation of a path, and if another path matches the same URL with the method. */
function otherMethodOf(run: Run, operation: Operation): string | null {
  // A server that accepts the request must not change data that the run did not create.
  if (!run.accounts.createdUser && operation.method !== 'GET' && !maySucceed(run, operation)) return null
  const here = run.operations.filter(({ path }) => path === operation.path)
  const method = ['PATCH', 'PUT', 'DELETE'].find((each) => !here.some((other) => other.method === each))
  if (method === undefined || here[0] !== operation) return null
  const length = operation.path.split('/').length
  const isAmbiguous = run.operations.some(
    ({ method: its, path }) => its === method && path.split('/').length === length && path !== operation.path,
  )
  return isAmbiguous ? null : method
}

async function sendOtherMethod(run: Run, operation: Operation, method: string): Promise<void> {
  const path = (await pathParameters(run, operation)) ?? unknownPath(run, operation)
  const answer = await run.call(part, operation, { path, method })
  const fail = (expected: string, actual: string): void =>
    run.findings.add(operation.id, part, { check: 'method', expected, actual }, answer)
  if (answer.status !== 405 && answer.status !== 404)
    fail(`405 for the undeclared method ${method}`, String(answer.status))
  else if (answer.status === 405 && answer.headers.get('allow') === null) fail('Allow with 405', 'none')
}
