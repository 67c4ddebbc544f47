// Who may: every operation that wants a key refuses none, a made-up one, and one without its scope, before it looks at anything else.
import type { Operation } from './document.ts'
import { partsOf, sampled } from './requests.ts'
import type { Run } from './cli.ts'
import type { Parts } from './sender.ts'
import { matching } from './values.ts'

const part = 'access'

export async function holdAccess(run: Run, tick: (done: number, of: number) => void): Promise<void> {
  const secured = run.wanted.filter(({ scopes }) => scopes !== null)
  const madeUp = run.options.key.replace(/[0-9A-Za-z]{20}$/, 'A'.repeat(20))
  const lacking = await keysWithout(run, secured)
  for (const [i, operation] of secured.entries()) {
    tick(i + 1, secured.length)
    if (run.over()) return
    const parts = shaped(run, operation)
    await refused(run, operation, parts, null, 401, 'no-key', 'a request without a key')
    await refused(run, operation, parts, madeUp, 401, 'made-up-key', 'a key that was never given')
    const key = run.people.isOperators(operation)
      ? run.people.actor.key
      : lacking.get(operation.scopes!.join())
    if (key !== undefined)
      await refused(run, operation, parts, key, 403, 'scope', `a key without ${operation.scopes!.join(', ')}`)
  }
}

async function refused(
  run: Run,
  operation: Operation,
  parts: Parts,
  key: string | null,
  status: number,
  check: string,
  what: string,
): Promise<void> {
  const answer = await run.call(part, operation, parts, key)
  if (answer.status !== status)
    run.findings.add(
      operation.id,
      part,
      { check, expected: `${status} for ${what}`, came: String(answer.status) },
      answer,
    )
}

/** A request of the right form that is about nothing that there is. */
function shaped(run: Run, operation: Operation): Parts {
  const path = Object.fromEntries(
    operation.parameters
      .filter((each) => each.in === 'path')
      .map(({ name, schema }) => [
        name,
        schema.pattern === undefined
          ? String(schema.enum?.[0] ?? 'none')
          : sampled(run, matching(schema.pattern)),
      ]),
  )
  return { ...sampled(run, partsOf(run, operation, { least: true })), path }
}

/** For each set of scopes that an operation wants, a key that has all of the actor's but those. */
async function keysWithout(run: Run, operations: Operation[]): Promise<Map<string, string>> {
  const { keyMaker, actor } = run.people
  const keys = new Map<string, string>()
  if (keyMaker === null || actor.scopes === null || run.options.readOnly) return keys
  for (const scopes of new Map(
    operations
      .filter((operation) => !run.people.isOperators(operation) && operation.scopes!.length > 0)
      .map((operation) => [operation.scopes!.join(), operation.scopes!]),
  ).values()) {
    const answer = await run.call(
      part,
      keyMaker,
      {
        body: { name: 'contract-test', scopes: actor.scopes.filter((scope) => !scopes.includes(scope)) },
        type: 'application/json',
      },
      actor.key,
    )
    const key = Object.values(answer.body ?? {}).find(
      (value) => typeof value === 'string' && value.length === actor.key.length && value !== actor.key,
    )
    if (answer.status < 300 && typeof key === 'string') keys.set(scopes.join(), key)
  }
  return keys
}
