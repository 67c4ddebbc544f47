// Tenant isolation: another user's requests for the actor's resources fail, and none of that user's lists
// contains them.
import { kindOf, type Operation } from '../openapi/document.ts'
import { readPages } from './pages.ts'
import { createOperations, requestParts, pathParameters, sample } from './requests.ts'
import { listItemKind } from './resources.ts'
import type { Part } from './part.ts'
import { maySucceed, type Run } from './run-context.ts'
import { idKinds } from './resource-pool.ts'

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
  const path = await pathParameters(run, operation)
  if (path === null) return
  const isOwn = Object.values(idKinds(operation)).some((kind) => run.pool.list(kind, true).length > 0)
  if (run.options.profile !== 'platform' && !isOwn) return
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
