// Deletions: refused for an old ETag, done once, and then the resource is gone for every operation and from every list.
import { schemaOf, successOf, type Json } from './document.ts'
import { expecting, part } from './expectations.ts'
import { listed } from './list-membership.ts'
import { partsOf, sampled } from './requests.ts'
import type { Resource } from './resources.ts'
import type { Run } from './cli.ts'
import type { Answer } from './sender.ts'
import type { Known } from './resource-pool.ts'

export async function endings(
  run: Run,
  resource: Resource,
  known: Known,
  path: Record<string, string>,
): Promise<void> {
  const { read, update, remove } = resource
  if (remove === null) return
  const expect = expecting(run, remove)
  if (remove.parameters.some(({ name }) => name === 'If-Match')) {
    const stale = await run.call(part, remove, { path, headers: { 'If-Match': '"contract-tests-stale"' } })
    if (
      !expect(
        stale.status === 412,
        'if-match',
        '412 for an ETag in If-Match that is not the present one',
        stale,
      )
    )
      return
    const still = await run.call(part, read, { path })
    expect(
      still.status === 200,
      'if-match',
      'the resource is still there after a deletion that was refused with 412',
      stale,
      `${still.status} when it is read`,
    )
  }
  const before = await run.call(part, read, { path })
  const removed = await run.call(part, remove, { path })
  if (removed.status >= 300) return
  known.gone = true
  const after = await run.call(part, read, { path })
  // What is revoked may be kept, and say so.
  const kept = after.status === 200 && saysSo(run, read, before, after)
  expect(
    after.status === 404 || after.status === 410 || kept,
    'deleted-read',
    '404 or 410 for what was deleted, or a state that says so',
    after,
  )
  if (update !== null && update.body !== null && !kept) {
    const parts = sampled(run, partsOf(run, update))
    const late = await run.call(part, update, { ...parts, path })
    expecting(run, update)(late.status >= 400, 'deleted-update', 'no change of what was deleted', late)
  }
  if (!kept) await listed(run, resource, known, path, null)
}

/** Whether a state or a time that the schema has for it was set by the deletion. */
function saysSo(run: Run, read: Resource['read'], before: Answer, after: Answer): boolean {
  const properties: Json = successOf(read)!.media.schema.properties ?? {}
  return Object.entries<Json>(properties).some(([name, property]) => {
    const schema = schemaOf(run.document, property)
    const ends = /^(revoked|deleted|canceled|removed)/
    const changed = JSON.stringify(before.body?.[name]) !== JSON.stringify(after.body?.[name])
    return (
      changed &&
      (ends.test(name) ||
        ((schema.enum ?? []).includes(after.body[name]) && ends.test(String(after.body[name]))))
    )
  })
}
