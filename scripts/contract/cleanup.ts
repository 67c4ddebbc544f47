// Removes what the run has made, last first: what is deletable by the contract, and last the users.
import { resourcesOf } from './resources.ts'
import type { Run } from './cli.ts'
import { itemPath } from './resource-pool.ts'

/** @returns how many could not be removed, by kind. */
export async function cleanUp(run: Run): Promise<Record<string, number>> {
  const left: Record<string, number> = {}
  const resources = resourcesOf(run)
  const people = [run.people.stranger, run.people.actor]
    .filter((person) => person?.id != null)
    .map((person) => run.world.all.find(({ id }) => id === person!.id)!)
  const own = run.world.all.filter((known) => known.own && !known.gone).reverse()
  for (const known of [...own, ...people]) {
    const remove = resources.find(({ kind }) => kind === known.kind)?.remove ?? null
    const path = remove === null ? null : itemPath(remove, known)
    const answer =
      path === null
        ? null
        : await run.sender.send(remove!, { path, query: {}, headers: {} }, run.people.keyFor(remove!))
    if (answer !== null && (answer.status < 300 || answer.status === 404 || answer.status === 410))
      known.gone = true
    else left[known.kind] = (left[known.kind] ?? 0) + 1
  }
  return left
}
