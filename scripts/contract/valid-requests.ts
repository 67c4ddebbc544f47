// Requests with made-up values that keep the contract: none is a failure, and none is refused for a constraint that it keeps. What is found is made smaller
// until nothing can be left out.
import fc from 'fast-check'
import type { Problem } from './checks.ts'
import { schemaOf, type Json, type Operation } from './document.ts'
import { businessRules } from './exceptions.ts'
import { makeNeeded, partsOf, pathOf } from './requests.ts'
import { maySucceed, type Run } from './cli.ts'
import type { Answer, Parts } from './sender.ts'

const part = 'values'

export async function tryValues(run: Run, tick: (done: number, of: number) => void): Promise<void> {
  // What is made first can be read, changed and deleted.
  const operations = run.wanted
    .filter((operation) => maySucceed(run, operation))
    .toSorted((a, b) => turnOf(a) - turnOf(b))
  for (const [i, operation] of operations.entries()) {
    tick(i + 1, operations.length)
    if (run.over()) return
    await tryOperation(run, operation)
  }
}

function turnOf({ method, path }: Operation): number {
  return method === 'POST' && !path.includes('{')
    ? 0
    : ['PATCH', 'POST', 'GET', 'OPTIONS', 'PUT', 'DELETE'].indexOf(method) + 1
}

/** What a property throws, so that fast-check goes on to smaller values that fail alike. */
class Found extends Error {
  problem: Problem
  answer: Answer
  constructor(problem: Problem, answer: Answer) {
    super(problem.check)
    this.problem = problem
    this.answer = answer
  }
}

async function tryOperation(run: Run, operation: Operation): Promise<void> {
  const consumes =
    operation.method === 'DELETE' || (operation.method === 'POST' && operation.path.includes('{'))
  // What has nothing to vary is asked less often.
  const plain = operation.body === null && !operation.parameters.some((each) => each.in === 'query')
  const numRuns = operation.method === 'DELETE' || plain ? Math.min(2, run.options.runs) : run.options.runs
  let path = await pathOf(run, operation)
  if (path === null) return
  let asked = 0
  let first: string | null = null
  let last: Found | null = null
  const property = fc.asyncProperty(partsOf(run, operation), async (parts) => {
    if (run.over()) return
    if (consumes && asked > 0 && first === null)
      path = (await pathOf(run, operation, { fresh: asked % 2 === 0 })) ?? path
    asked++
    const { answer, problems } = await run.ask(operation, { ...parts, path: path! })
    if (first === null && (answer.status === 404 || answer.status === 409) && asked % 2 === 1)
      await makeNeeded(run, operation, true, 1)
    const problem = problems[0] ?? refusedWrongly(run, operation, parts, answer)
    // Smaller values have to fail in the same way.
    if (problem === undefined || (first !== null && problem.check !== first)) return
    first = problem.check
    last = new Found(problem, answer)
    throw last
  })
  await fc.check(property, { seed: run.options.seed, numRuns, maxSkipsPerRun: 20 })
  run.findings.looked(operation.id, part, asked)
  const found = last as Found | null
  if (found !== null) run.findings.add(operation.id, part, found.problem, found.answer)
}

/** A 400 that names a constraint of the contract, which the value keeps. What the contract does not have as a constraint is a rule of the business. */
function refusedWrongly(
  run: Run,
  operation: Operation,
  parts: Omit<Parts, 'path'>,
  { status, body }: Answer,
): Problem | undefined {
  if (status === 401) return { check: 'key-refused', expected: 'the key that was taken before', came: '401' }
  if ((status === 415 && !parts.type?.startsWith('multipart/')) || status === 406)
    return { check: 'refused', expected: 'the media type that the contract has', came: String(status) }
  if (status !== 400) return undefined
  for (const { field, constraint, location, message } of body?.error?.details?.errors ?? []) {
    const schema = schemaAt(run, operation, parts, String(field), location)
    if (
      schema !== null &&
      constraint in schema &&
      constraint !== 'required' &&
      !businessRules.some((rule) => rule.test(`${operation.id} ${field} ${constraint}`))
    )
      return {
        check: 'refused',
        expected: `no complaint about ${constraint} of ${field}, which keeps the contract`,
        came: message,
      }
  }
  return undefined
}

function schemaAt(
  run: Run,
  operation: Operation,
  parts: Omit<Parts, 'path'>,
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
