// Authentication and authorization: every operation that needs a key rejects a missing key, an unknown key
// and a key without its scope before it checks anything else.
import type { CheckName } from './checks.ts'
import type { Credential, Operation } from '@platform-api/openapi/document.ts'
import { itemPath } from './resource-pool.ts'
import { createDependencies, pathParameters, requestParts, sample, unknownPath } from './requests.ts'
import type { Part } from './part.ts'
import { maySucceed, type Run } from './run-context.ts'
import type { RequestParts } from './sender.ts'

const part = 'access'

/** Requests without a valid key. Servers limit them by the client's address, so they wait the longest. */
export const strangers: Part = {
  name: part,
  checks(run) {
    const unknownKey = changedKey(run.options.key ?? 'unknown')
    return securedIn(run).map((operation) => ({
      operation,
      async run() {
        const parts = await wellFormedParts(run, operation)
        await refused(run, operation, parts, null, 401, 'no-key', 'a request without a key')
        await refused(run, operation, parts, unknownKey, 401, 'unknown-key', 'an unknown key')
        for (const credentials of incompleteCredentials(operation)) {
          const what = `a request with only ${credentials.map(({ name }) => name).join(' and ')}`
          await refused(run, { ...operation, credentials }, parts, run.options.key, 401, 'partial-key', what)
        }
      },
    }))
  },
}

/** Keys without the scope of an operation, and a revoked key. */
export const access: Part = {
  name: part,
  checks(run) {
    const revoke = revocationOf(run)
    const revoked =
      revoke === null ? [] : [{ operation: revoke, run: async () => await checkRevoked(run, revoke) }]
    if (run.options.profile.accounts === null) return revoked
    const secured = securedIn(run).filter(({ scopes }) => scopes!.length > 0)
    let keysWithoutScopes: Promise<Map<string, string>> | null = null
    const scopes = secured.map((operation) => ({
      operation,
      async run() {
        keysWithoutScopes ??= createKeysWithout(run, secured)
        const key = run.accounts.lacksScopes(operation)
          ? run.accounts.actor.key
          : (await keysWithoutScopes).get(operation.scopes!.join())
        if (key === undefined) return
        const parts = await wellFormedParts(run, operation)
        const what = `a key without ${operation.scopes!.join(', ')}`
        await refused(run, operation, parts, key, 403, 'scope', what)
      },
    }))
    return [...scopes, ...revoked]
  },
}

function securedIn(run: Run): Operation[] {
  return run.selected.filter(({ scopes }) => scopes !== null)
}

/** The credentials without one of them, where this meets no alternative of the operation's security. */
function incompleteCredentials({ credentials, security }: Operation): Credential[][] {
  const place = ({ in: where, name }: Credential): string => `${where} ${name.toLowerCase()}`
  return [...new Set(credentials.map(place))]
    .map((left) => credentials.filter((each) => place(each) !== left))
    .filter(
      (rest) =>
        rest.length > 0 &&
        !security.some((all) => all.every((one) => rest.some((each) => place(each) === place(one)))),
    )
}

/** Another key of the same form: each letter and digit at its end is another one. */
function changedKey(key: string): string {
  const end = key.slice(-20).replace(/[0-9A-Za-z]/g, (character) => (character === 'A' ? 'B' : 'A'))
  return key.slice(0, -20) + (end === key.slice(-20) ? `${end}A` : end)
}

/** The operation that revokes a key; null if it is not tested or does not exist. */
function revocationOf(run: Run): Operation | null {
  const { keyCreator, actor } = run.accounts
  if (keyCreator === null || actor.scopes === null || run.options.readOnly) return null
  const remove = run.operations.find(
    ({ method, path }) => method === 'DELETE' && path.replace(/\/\{[^/]+\}$/, '') === keyCreator.path,
  )
  return remove !== undefined && run.selected.includes(remove) ? remove : null
}

/** A revoked key is refused at once. */
async function checkRevoked(run: Run, revoke: Operation): Promise<void> {
  const { actor } = run.accounts
  const created = await createKey(run, actor.scopes!)
  const plain = run.operations.find(
    (operation) =>
      operation.method === 'GET' &&
      operation.scopes?.every((scope) => actor.scopes!.includes(scope)) &&
      !operation.path.includes('{') &&
      !operation.parameters.some(({ required }) => required),
  )
  const known = run.pool.all.find(({ id }) => id === created?.id)
  const path = known === undefined ? null : itemPath(revoke, known)
  if (created === null || plain === undefined || path === null) return
  const answer = await run.call(part, revoke, { path })
  if (answer.status >= 300) return
  await refused(
    run,
    plain,
    { path: {}, query: {}, headers: {} },
    created.key,
    401,
    'revoked-key',
    'a revoked key',
  )
}

async function refused(
  run: Run,
  operation: Operation,
  parts: RequestParts,
  key: string | null,
  status: number,
  check: CheckName,
  what: string,
): Promise<void> {
  const answer = await run.call(part, operation, parts, key)
  if (!run.options.profile.refusals.isOfKey(operation, answer.status, status))
    run.findings.add(
      operation.id,
      part,
      { check, expected: `${status} for ${what}`, actual: String(answer.status) },
      answer,
    )
}

/** A request that would succeed with the key, except where the resource need not exist. */
async function wellFormedParts(run: Run, operation: Operation): Promise<RequestParts> {
  const { keyFirst } = run.options.profile.refusals
  if (!keyFirst && maySucceed(run, operation)) await createDependencies(run, operation, false)
  return {
    ...sample(run, requestParts(run, operation, { minimal: true })),
    path: (keyFirst ? null : await pathParameters(run, operation)) ?? unknownPath(run, operation),
  }
}

/** For each set of required scopes, a key with all of the actor's other scopes. */
async function createKeysWithout(run: Run, operations: Operation[]): Promise<Map<string, string>> {
  const { keyCreator, actor } = run.accounts
  const keys = new Map<string, string>()
  if (keyCreator === null || actor.scopes === null || run.options.readOnly) return keys
  for (const scopes of new Map(
    operations
      .filter((operation) => !run.accounts.lacksScopes(operation) && operation.scopes!.length > 0)
      .map((operation) => [operation.scopes!.join(), operation.scopes!]),
  ).values()) {
    const created = await createKey(
      run,
      actor.scopes.filter((scope) => !scopes.includes(scope)),
    )
    if (created !== null) keys.set(scopes.join(), created.key)
  }
  return keys
}

/** A new key of the actor; null if the server does not create it. */
async function createKey(run: Run, scopes: string[]): Promise<{ id: string; key: string } | null> {
  const { keyCreator, actor } = run.accounts
  const answer = await run.call(
    part,
    keyCreator!,
    { body: run.options.profile.accounts!.key(scopes), type: 'application/json' },
    actor.key,
  )
  const key = Object.values(answer.body ?? {}).find(
    (value) => typeof value === 'string' && value.length === actor.key.length && value !== actor.key,
  )
  return answer.status < 300 && typeof key === 'string' ? { id: String(answer.body.id), key } : null
}
