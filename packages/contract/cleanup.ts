// Deletes the resources that the run created, newest first and the users last.
import type { Operation } from '@platform-api/openapi/document.ts'
import { resourcesOf } from './resources.ts'
import type { Run } from './run-context.ts'
import { itemPath, type KnownResource } from './resource-pool.ts'

/** @returns the number of resources that could not be deleted, by kind. */
export async function cleanUp(run: Run): Promise<Record<string, number>> {
  const leftovers: Record<string, number> = {}
  const resources = resourcesOf(run)
  const accounts = [run.accounts.otherUser, run.accounts.actor, run.accounts.operator]
    .filter((account) => account?.id != null)
    .map((account) => run.pool.all.find(({ id }) => id === account!.id)!)
  const keyFor = (known: KnownResource, remove: Operation): string | null =>
    accounts.includes(known) ? run.options.key : run.accounts.keyFor(remove)
  const own = run.pool.all.filter((known) => known.created && !known.deleted).reverse()
  for (const known of [...own, ...accounts]) {
    const remove = resources.find(({ kind }) => kind === known.kind)?.remove ?? null
    const path = remove === null ? null : itemPath(remove, known)
    const answer =
      path === null
        ? null
        : await run.sender.send(remove!, { path, query: {}, headers: {} }, keyFor(known, remove!))
    if (answer !== null && (answer.status < 300 || answer.status === 404 || answer.status === 410))
      known.deleted = true
    else leftovers[known.kind] = (leftovers[known.kind] ?? 0) + 1
  }
  return leftovers
}
