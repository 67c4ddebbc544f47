// Whether what there is stands in its lists, once, and what is gone in none.
import { kindOf, type Json, type Operation } from './document.ts'
import { expecting, part } from './expectations.ts'
import { pageThrough } from './pages.ts'
import { makersOf } from './requests.ts'
import { resourcesOf, type Resource } from './resources.ts'
import type { Run } from './cli.ts'
import { kindsOf, type Known } from './resource-pool.ts'

/** Whether every list has it once, as it was read; or, where it is gone (null), not at all. */
export async function listed(
  run: Run,
  { lists }: Resource,
  known: Known,
  path: Record<string, string>,
  body: Json,
): Promise<void> {
  for (const list of lists) {
    const names = Object.keys(kindsOf(list))
    if (names.some((name) => path[name] === undefined && known.under[kindsOf(list)[name]] === undefined))
      continue
    const under = Object.fromEntries(
      Object.entries(kindsOf(list)).map(([name, kind]) => [name, known.under[kind]]),
    )
    const read = await pageThrough(run, part, list, {
      path: under,
      query: placeOf(list, body),
      most: 5,
      until: known.id,
    })
    const there = body !== null
    if (read === null || (!read.whole && there && !read.items.some(({ id }) => id === known.id))) continue
    const times = read.items.filter(({ id }) => id === known.id).length
    // A list of what others have made for one, such as invitations, need not have it.
    if (there && times === 0 && names.length === 0 && !(await isOwnList(run, list, known))) continue
    const expect = expecting(run, list)
    if (there) expect(times === 1, 'listed', `${known.id} once in the list`, read.last, `${times} times`)
    else
      expect(
        times === 0,
        'deleted-listed',
        `${known.id}, which was deleted, in no list`,
        read.last,
        `${times} times`,
      )
  }
}

/** The list of what is in something, where it lists only what is in nothing unless it is asked. */
function placeOf(list: Operation, body: Json): Record<string, string> {
  return Object.fromEntries(
    list.parameters
      .filter(
        (each) =>
          each.in === 'query' && kindOf(each.schema) !== null && typeof body?.[each.name] === 'string',
      )
      .map(({ name }) => [name, body[name]]),
  )
}

/** Whether the list is the collection that the resource was posted to, or no other list is. */
async function isOwnList(run: Run, list: Operation, known: Known): Promise<boolean> {
  return (
    makersOf(run, known.kind).some(({ path }) => path === list.path) ||
    resourcesOf(run).some(
      ({ kind, read, lists }) =>
        kind === known.kind && (read.path.startsWith(`${list.path}/{`) || lists.length === 1),
    )
  )
}
