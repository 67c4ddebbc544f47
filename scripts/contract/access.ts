// Authentication and authorization: every operation that needs a key rejects a missing key, an unknown key
// and a key without its scope before it checks anything else.
import type { Operation } from './document.ts'
import { requestParts, sample, unknownPath } from './requests.ts'
import type { Run } from './run-context.ts'
import type { RequestParts } from './sender.ts'

const part = 'access'

export async function checkAccess(run: Run, tick: (done: number, of: number) => void): Promise<void> {
  const secured = run.selected.filter(({ scopes }) => scopes !== null)
  const unknownKey = run.options.key.replace(/[0-9A-Za-z]{20}$/, 'A'.repeat(20))
  const keysWithoutScopes = await createKeysWithout(run, secured)
  for (const [i, operation] of secured.entries()) {
    tick(i + 1, secured.length)
    if (run.isTimeUp()) return
    const parts = wellFormedParts(run, operation)
    await refused(run, operation, parts, null, 401, 'no-key', 'a request without a key')
    await refused(run, operation, parts, unknownKey, 401, 'unknown-key', 'an unknown key')
    const key = run.accounts.needsOperator(operation)
      ? run.accounts.actor.key
      : keysWithoutScopes.get(operation.scopes!.join())
    if (key !== undefined)
      await refused(run, operation, parts, key, 403, 'scope', `a key without ${operation.scopes!.join(', ')}`)
  }
}

async function refused(
  run: Run,
  operation: Operation,
  parts: RequestParts,
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
      { check, expected: `${status} for ${what}`, actual: String(answer.status) },
      answer,
    )
}

/** A well-formed request for a resource that does not exist. */
function wellFormedParts(run: Run, operation: Operation): RequestParts {
  return {
    ...sample(run, requestParts(run, operation, { minimal: true })),
    path: unknownPath(run, operation),
  }
}

/** For each set of required scopes, a key with all of the actor's other scopes. */
async function createKeysWithout(run: Run, operations: Operation[]): Promise<Map<string, string>> {
  const { keyCreator, actor } = run.accounts
  const keys = new Map<string, string>()
  if (keyCreator === null || actor.scopes === null || run.options.readOnly) return keys
  for (const scopes of new Map(
    operations
      .filter((operation) => !run.accounts.needsOperator(operation) && operation.scopes!.length > 0)
      .map((operation) => [operation.scopes!.join(), operation.scopes!]),
  ).values()) {
    const answer = await run.call(
      part,
      keyCreator,
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
