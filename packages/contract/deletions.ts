// Deletions: a stale If-Match is rejected; afterwards no operation and no list returns the resource.
import { schemaOf, successOf, type Json, type Operation } from '@platform-api/openapi/document.ts'
import { expectationFor, part } from './expectations.ts'
import { checkListMembership } from './list-membership.ts'
import { requestParts, sample } from './requests.ts'
import type { Resource } from './resources.ts'
import type { Run } from './run-context.ts'
import type { Answer } from './sender.ts'
import type { KnownResource } from './resource-pool.ts'

export async function checkDeletion(
  run: Run,
  resource: Resource,
  known: KnownResource,
  path: Record<string, string>,
): Promise<void> {
  const { read, update, remove } = resource
  if (remove === null) return
  const expect = expectationFor(run, remove)
  if (remove.parameters.some(({ name }) => name === 'If-Match')) {
    const stale = await run.call(part, remove, { path, headers: { 'If-Match': '"contract-tests-stale"' } })
    if (!expect(stale.status === 412, 'if-match', '412 for an If-Match that is not the current ETag', stale))
      return
    const still = await run.call(part, read, { path })
    expect(
      still.status === 200,
      'if-match',
      'the resource to exist after a deletion that failed with 412',
      stale,
      `${still.status} when it is read`,
    )
  }
  const before = await run.call(part, read, { path })
  const removed = await run.call(part, remove, { path })
  if (removed.status >= 300) return
  known.deleted = true
  const after = await run.call(part, read, { path })
  // A revoked resource may stay readable if its state shows the revocation.
  const matched = after.status === 200 && showsDeletion(run, read, before, after)
  expect(
    isOfMissing(read, after.status) || matched,
    'deleted-read',
    '404 or 410 for a deleted resource, or a state that shows the deletion',
    after,
  )
  if (update !== null && update.body !== null && !matched) {
    const parts = sample(run, requestParts(run, update))
    const late = await run.call(part, update, { ...parts, path })
    expectationFor(run, update)(
      late.status >= 400,
      'deleted-update',
      'an error when a deleted resource is updated',
      late,
    )
  }
  if (!matched) await checkListMembership(run, resource, known, path, null)
}

/** Whether the status says that there is no resource. An operation may declare 400 or 422 for it, not 404. */
export function isOfMissing({ responses }: Operation, status: number): boolean {
  const isDeclared = [400, 422].includes(status) && responses.has(status)
  return status === 404 || status === 410 || (isDeclared && !responses.has(404))
}

/** The declared values, also of an enum that may grow: `anyOf: [enum, string]`. */
function statesOf(document: Json, { enum: values = [], anyOf = [] }: Json): Json[] {
  return [...values, ...anyOf.flatMap((each: Json) => schemaOf(document, each).enum ?? [])]
}

/** Whether the deletion set a state or a timestamp such as `revoked_at`. */
function showsDeletion(run: Run, read: Resource['read'], before: Answer, after: Answer): boolean {
  const properties: Json = successOf(read)!.media.schema.properties ?? {}
  return Object.entries<Json>(properties).some(([name, property]) => {
    const schema = schemaOf(run.document, property)
    const ends = /^(revoked|deleted|canceled|removed)/
    const changed = JSON.stringify(before.body?.[name]) !== JSON.stringify(after.body?.[name])
    return (
      changed &&
      (ends.test(name) ||
        (statesOf(run.document, schema).includes(after.body[name]) && ends.test(String(after.body[name]))))
    )
  })
}
