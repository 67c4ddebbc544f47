// Generated valid requests: no response is a server error or rejects a constraint that the request meets.
// fast-check shrinks what fails to a minimal request.
import fc from 'fast-check'
import type { Problem } from './checks.ts'
import { schemaOf, type Json, type Operation } from '@platform-api/openapi/document.ts'
import { createDependencies, requestParts, pathParameters } from './requests.ts'
import type { Part } from './part.ts'
import { maySucceed, type Run } from './run-context.ts'
import { requestTarget, type Answer, type RequestParts } from './sender.ts'

const part = 'valid'
/** A longer path and query is refused by many servers and proxies. */
const maxTargetLength = 8000

export const valid: Part = {
  name: part,
  checks: (run) =>
    run.selected
      .filter((operation) => maySucceed(run, operation))
      // Creations first, so that there are resources to read, update and delete.
      .toSorted((a, b) => executionOrder(a) - executionOrder(b))
      .map((operation) => ({ operation, run: async () => await sendValuesTo(run, operation) })),
}

function executionOrder({ method, path }: Operation): number {
  return method === 'POST' && !path.includes('{')
    ? 0
    : ['PATCH', 'POST', 'GET', 'OPTIONS', 'PUT', 'DELETE'].indexOf(method) + 1
}

/** A failed property; fast-check then tries smaller values that fail in the same way. */
class PropertyFailure extends Error {
  problem: Problem
  answer: Answer
  constructor(problem: Problem, answer: Answer) {
    super(problem.check)
    this.problem = problem
    this.answer = answer
  }
}

async function sendValuesTo(run: Run, operation: Operation): Promise<void> {
  const consumes =
    operation.method === 'DELETE' || (operation.method === 'POST' && operation.path.includes('{'))
  // An operation without variable input is called less often.
  const plain = operation.body === null && !operation.parameters.some((each) => each.in === 'query')
  const numRuns = operation.method === 'DELETE' || plain ? Math.min(2, run.options.runs) : run.options.runs
  let path = await pathParameters(run, operation)
  if (path === null) return
  let calls = 0
  let first: string | null = null
  let last: PropertyFailure | null = null
  let unexpected: unknown
  const tryValues = async (parts: Omit<RequestParts, 'path'>): Promise<void> => {
    if (consumes && calls > 0 && first === null)
      path = (await pathParameters(run, operation, { fresh: calls % 2 === 0 })) ?? path
    if (requestTarget(operation, { ...parts, path: path! }).length > maxTargetLength) return
    calls++
    const { answer, problems } = await run.exchange(operation, { ...parts, path: path! })
    if (answer.status >= 400)
      run.refusals.set(operation.id, `${answer.status} ${answer.text.slice(0, 200)}`.trim())
    if (first === null && (answer.status === 404 || answer.status === 409) && calls % 2 === 1)
      await createDependencies(run, operation, true)
    const problem = problems[0] ?? unjustifiedRefusal(run, operation, parts, answer)
    // Smaller values must fail in the same way.
    if (problem === undefined || (first !== null && problem.check !== first)) return
    first = problem.check
    last = new PropertyFailure(problem, answer)
    throw last
  }
  // fast-check must not look for smaller values that fail in an unexpected way.
  const property = fc.asyncProperty(requestParts(run, operation), async (parts) => {
    if (run.stopReason() !== null || unexpected !== undefined) return
    await tryValues(parts).catch((error: unknown) => {
      if (error instanceof PropertyFailure) throw error
      unexpected = error
    })
  })
  await fc.check(property, { seed: run.options.seed, numRuns, maxSkipsPerRun: 20 })
  run.findings.recordCase(operation.id, part, calls)
  const found = last as PropertyFailure | null
  if (found !== null) run.findings.add(operation.id, part, found.problem, found.answer)
  if (unexpected !== undefined) throw unexpected
}

/** A 400 for a schema constraint that the value meets. Other constraint names are business rules. */
function unjustifiedRefusal(
  run: Run,
  operation: Operation,
  parts: Omit<RequestParts, 'path'>,
  { status, body }: Answer,
): Problem | undefined {
  if (status === 401 && operation.scopes !== null)
    return {
      check: 'key-rejected',
      expected: 'the key, which was valid before, to be accepted',
      actual: '401',
    }
  // With a field, a 415 is about a file: one that the form has, or that the body names.
  const isAboutFile = parts.type?.startsWith('multipart/') || body?.error?.details?.field !== undefined
  if ((status === 415 && !isAboutFile) || status === 406)
    return { check: 'refused', expected: 'the declared media type to be accepted', actual: String(status) }
  if (status !== 400 || !isValidBody(run, operation, parts)) return undefined
  for (const { field, constraint, location, message } of body?.error?.details?.errors ?? []) {
    const schema = schemaAt(run, operation, parts, String(field), location)
    if (
      schema !== null &&
      constraint in schema &&
      constraint !== 'required' &&
      !run.options.profile.refusals.businessRules.some((rule) =>
        rule.test(`${operation.id} ${field} ${constraint}`),
      )
    )
      return {
        check: 'refused',
        expected: `no error about ${constraint} of ${field}, which is valid`,
        actual: message,
      }
  }
  return undefined
}

/** The generated body may break constraints that no generated value meets. */
function isValidBody(
  { validation }: Run,
  { body }: Operation,
  { body: sent, type }: Omit<RequestParts, 'path'>,
): boolean {
  const media = body?.media.find((each) => each.type === type)
  return media === undefined || sent === undefined || validation.asked(media.pointer, sent).length === 0
}

function schemaAt(
  run: Run,
  operation: Operation,
  parts: Omit<RequestParts, 'path'>,
  field: string,
  location: string,
): Json | null {
  if (location !== 'body')
    return (
      operation.parameters.find(
        ({ name, in: where }) => where === location && name.toLowerCase() === field.toLowerCase(),
      )?.schema ?? null
    )
  const media = operation.body?.media.find(({ type }) => type === parts.type)
  return field
    .split(/[.[\]]+/)
    .filter((name) => name !== '')
    .reduce<Json | null>((schema, name) => {
      if (schema === null) return null
      const next = /^\d+$/.test(name)
        ? schema.items
        : (schema.properties?.[name] ??
          (typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined))
      return next === undefined ? null : schemaOf(run.document, next)
    }, media?.schema ?? null)
}
