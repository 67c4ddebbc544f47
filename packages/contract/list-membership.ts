// Checks that an existing resource is in its lists once, and a deleted one in none.
import { kindOf, type Json, type Operation } from '@platform-api/openapi/document.ts'
import { expectationFor, part } from './expectations.ts'
import { readPages } from './pages.ts'
import { createOperations } from './requests.ts'
import { resourcesOf, type Resource } from './resources.ts'
import type { Run } from './run-context.ts'
import type { Answer } from './sender.ts'
import { idKinds, itemPath, type KnownResource } from './resource-pool.ts'

/** @param body the resource as it was read, or null if it was deleted. */
export async function checkListMembership(
  run: Run,
  { lists }: Resource,
  known: KnownResource,
  path: Record<string, string>,
  body: Json,
): Promise<void> {
  for (const list of lists) {
    const names = Object.keys(idKinds(list))
    const under = itemPath(list, known)
    if (under === null) continue
    const read = await readPages(run, part, list, {
      path: under,
      query: parentQuery(list, body),
      maxPages: 5,
      until: known.id,
    })
    const there = body !== null
    if (read === null || (!read.whole && there && !read.ids.includes(known.id))) continue
    const times = read.ids.filter((id) => id === known.id).length
    // A parameter that the list requires may select other resources.
    if (there && times === 0 && isFiltered(read.last, body)) continue
    // A list of resources that other users created for the caller, such as invitations, need not have it.
    if (there && times === 0 && names.length === 0 && !(await isOwnList(run, list, known))) continue
    const expect = expectationFor(run, list)
    if (there)
      expect(times === 1, 'list-membership', `${known.id} once in the list`, read.last, `${times} times`)
    else
      expect(
        times === 0,
        'deleted-list-membership',
        `the deleted ${known.id} to be in no list`,
        read.last,
        `${times} times`,
      )
  }
}

/** The filters by a parent resource: some lists return only top-level resources without them. */
function parentQuery(list: Operation, body: Json): Record<string, string> {
  return Object.fromEntries(
    list.parameters
      .filter(
        (each) =>
          each.in === 'query' && kindOf(each.schema) !== null && typeof body?.[each.name] === 'string',
      )
      .map(({ name }) => [name, body[name]]),
  )
}

/** Whether the list was asked only for resources with another value than this one has. */
function isFiltered({ operation, parts }: Answer, body: Json): boolean {
  return operation.parameters.some(
    ({ in: where, name, required }) =>
      where === 'query' && required && ![parts.query[name]].flat().map(String).includes(String(body[name])),
  )
}

/** Whether the resource was created in this list's collection, or has no other list. */
async function isOwnList(run: Run, list: Operation, known: KnownResource): Promise<boolean> {
  return (
    createOperations(run, known.kind).some(({ path }) => path === list.path) ||
    resourcesOf(run).some(
      ({ kind, read, lists }) =>
        kind === known.kind && (read.path.startsWith(`${list.path}/{`) || lists.length === 1),
    )
  )
}
