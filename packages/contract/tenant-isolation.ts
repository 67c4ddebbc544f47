// Tenant isolation: another user's requests for the actor's resources fail, and none of that user's lists
// contains them.
import { kindOf, type Operation } from '@platform-api/openapi/document.ts'
import { readPages } from './pages.ts'
import { createOperations, requestParts, pathParameters, sample } from './requests.ts'
import { listItemKind } from './resources.ts'
import type { Part } from './part.ts'
import { maySucceed, type Run } from './run-context.ts'
import { idKinds, itemPath } from './resource-pool.ts'

const part = 'isolation'

export const isolation: Part = {
  name: part,
  checks(run) {
    const { otherUser } = run.accounts
    if (otherUser === null) return []
    const secured = run.selected.filter(
      (operation) => operation.scopes !== null && !run.accounts.needsOperator(operation),
    )
    return secured.flatMap((operation) => {
      const kinds = Object.keys(idKinds(operation)).length
      if (kinds > 0 && maySucceed(run, operation))
        return [{ operation, run: async () => await checkIsolation(run, operation, otherUser.key) }]
      if (kinds === 0 && listItemKind(run.document, operation) !== null)
        return [{ operation, run: async () => await checkListIsolation(run, operation, otherUser.key) }]
      return []
    })
  },
}

async function checkIsolation(run: Run, operation: Operation, key: string): Promise<void> {
  if (!Object.values(idKinds(operation)).some((kind) => isPrivate(run, kind))) return
  const path = await pathToOwn(run, operation)
  if (path === null) return
  const answer = await run.call(part, operation, { ...sample(run, requestParts(run, operation)), path }, key)
  if (answer.status < 400)
    run.findings.add(
      operation.id,
      part,
      {
        check: 'tenant-isolation',
        expected: '403 or 404 for another user',
        actual: `${answer.status} ${answer.text.slice(0, 200)}`,
      },
      answer,
    )
}

/** The path to a resource of the actor; null if none is known. */
async function pathToOwn(run: Run, operation: Operation): Promise<Record<string, string> | null> {
  // The pool also has what the other user's own answers show.
  const [last] = Object.values(idKinds(operation)).slice(-1)
  for (const known of run.pool.list(last, true)) {
    const path = itemPath(operation, known)
    if (path !== null) return path
  }
  const path = await pathParameters(run, operation)
  const kinds = Object.values(idKinds(operation))
  if (path === null || kinds.some((kind) => run.pool.list(kind, true).length > 0)) return path
  if (!run.options.profile.answers.nameOwner) return null
  if (operation.method !== 'GET') return path
  // Of what no request creates, such as events, some are public. The actor's name something of the actor.
  const own = run.pool.all.filter(({ kind, created }) => created && isPrivate(run, kind)).map(({ id }) => id)
  if (run.accounts.actor.id !== null) own.push(run.accounts.actor.id)
  for (const known of run.pool.list(kinds.at(-1)!).slice(0, 10)) {
    const each = itemPath(operation, known)
    if (each === null) continue
    const { text } = await run.call(part, operation, { path: each })
    if (own.some((id) => text.includes(`"${id}"`))) return each
  }
  return null
}

/** A kind that only operators create, such as products, is public to all users. */
export function isPrivate(run: Run, kind: string): boolean {
  const creators = createOperations(run, kind)
  return creators.length === 0 || creators.some((creator) => !run.accounts.needsOperator(creator))
}

async function checkListIsolation(run: Run, operation: Operation, key: string): Promise<void> {
  const kind = listItemKind(run.document, operation)
  if (kind === null || !isPrivate(run, kind)) return
  const checkFilters = operation.parameters.filter(
    (each) => each.in === 'query' && kindOf(each.schema) !== null,
  )
  const queries = [
    {},
    ...checkFilters.flatMap(({ name, schema }) =>
      run.pool
        .list(kindOf(schema)!, true)
        .slice(0, 1)
        .map(({ id }) => ({ [name]: id })),
    ),
  ]
  const own = new Set(run.pool.list(kind, true).map(({ id }) => id))
  for (const query of queries) {
    const read = await readPages(run, part, operation, { path: {}, query, maxPages: 3, key })
    const seen = read?.ids.find((id) => id !== null && own.has(id))
    if (read != null && typeof seen === 'string')
      run.findings.add(
        operation.id,
        part,
        { check: 'tenant-isolation', expected: "no list with another user's resources", actual: seen },
        read.last,
      )
  }
}
