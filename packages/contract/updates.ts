// Updates: each property, sent alone, has the new value in the response and in the next read, with a new
// ETag. All other properties stay unchanged, and a stale If-Match is rejected.
import { isDeepStrictEqual } from 'node:util'
import { ownId, schemaOf, successOf, type Json } from '@platform-api/openapi/document.ts'
import { ownIdKey } from '@platform-api/openapi/resource-ids.ts'
import { expectationFor, part } from './expectations.ts'
import { sample } from './requests.ts'
import type { Resource } from './resources.ts'
import { mayAnswer, type Run } from './run-context.ts'
import { changedNames, matchesSent } from './equality.ts'
import type { Answer } from './sender.ts'
import { valuesOf } from './values.ts'

export async function checkUpdates(
  run: Run,
  { read, update }: Resource,
  path: Record<string, string>,
): Promise<void> {
  if (update === null || update.body === null) return
  const schema = update.body.media[0].schema
  const whole = successOf(read)!.media.schema
  const shown = whole.properties ?? {}
  const own = ownId(run.document, whole)?.name
  const writable = Object.keys(schema.properties ?? {}).filter(
    (name) =>
      name in shown &&
      // No update changes the id.
      name !== own &&
      schema.properties[name][ownIdKey] !== true &&
      schemaOf(run.document, schema.properties[name]).readOnly !== true &&
      schemaOf(run.document, shown[name])['x-volatile'] !== true,
  )
  let before = await run.call(part, read, { path })
  const firstTag = before.headers.get('etag')
  for (const name of writable) {
    if (before.status !== 200) return
    const value = another(run, schema.properties[name], before.body[name])
    const body = { ...kept(run, update, before.body, writable), [name]: value }
    if (value === undefined || run.validation.asked(update.body.media[0].pointer, body).length > 0) continue
    before =
      (await change(
        run,
        { read, update },
        path,
        name,
        body,
        before,
        ['id', 'created_at', ...writable].filter((other) => !changesWith(run, name, other)),
      )) ?? before
  }
  const [name] = writable
  if (
    name === undefined ||
    firstTag === null ||
    !(update.responses.has(412) || update.parameters.some((each) => each.name === 'If-Match')) ||
    before.status !== 200
  )
    return
  await checkPreconditions(
    run,
    { read, update },
    path,
    {
      ...kept(run, update, before.body, writable),
      [name]: another(run, schema.properties[name], before.body[name]) ?? before.body[name],
    },
    before,
  )
}

/**
 * The properties that an update must repeat to change only one: PUT replaces the whole resource, unless the
 * profile says that it merges.
 */
function kept(run: Run, { method }: { method: string }, present: Json, writable: string[]): Json {
  if (method !== 'PUT' || run.options.profile.requests.putMerges) return {}
  return Object.fromEntries(writable.filter((name) => name in present).map((name) => [name, present[name]]))
}

/** A value other than the current one; undefined if none is found. */
function another(run: Run, schema: Json, present: Json): Json {
  const values = valuesOf(run.document, schema, run.pool)
  if (values === null) return undefined
  for (let i = 0; i < 6; i++) {
    const value = sample(run, values)
    if (
      JSON.stringify(value) !== JSON.stringify(present) &&
      !(matchesSent(value, present) && !isEmpty(value))
    )
      return value
  }
  return undefined
}

function changesWith(run: Run, name: string, other: string): boolean {
  const { changeTogether } = run.options.profile.answers
  return other === name || changeTogether.some((names) => names.includes(name) && names.includes(other))
}

function isEmpty(value: Json): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}

type Both = { read: Resource['read']; update: NonNullable<Resource['update']> }

/** @returns the next read; null if the update was rejected. */
async function change(
  run: Run,
  { read, update }: Both,
  path: Record<string, string>,
  name: string,
  body: Json,
  before: Answer,
  others: string[],
): Promise<Answer | null> {
  const expect = expectationFor(run, update)
  const answer = await run.call(part, update, { path, body, type: update.body!.media[0].type })
  if (answer.status >= 300) return null
  const after = await run.call(part, read, { path })
  if (after.status !== 200) return after
  const value: Json = body[name]
  if (!mayAnswer(run, read, after.body, name, value)) return after
  const { updatesShowResource } = run.options.profile.answers
  if (answer.body !== undefined && (updatesShowResource || name in (answer.body ?? {}))) {
    expect(
      matchesSent(value, answer.body[name]),
      'update-value',
      `${name} to have the value that was sent: ${JSON.stringify(value)}`,
      answer,
      JSON.stringify(answer.body[name]),
    )
    const changed = changedNames(
      before.body,
      answer.body,
      others.filter((other) => other in answer.body),
    )
    expect(
      changed.length === 0,
      'update-others',
      `${changed[0]} as it was, since only ${name} was sent: ${JSON.stringify(before.body[changed[0]])}`,
      answer,
      JSON.stringify(answer.body[changed[0]]),
    )
  }
  expect(
    matchesSent(value, after.body[name]),
    'update-read',
    `${name} in the next read to have the value that was sent: ${JSON.stringify(value)}`,
    answer,
    JSON.stringify(after.body[name]),
  )
  const reset = changedNames(before.body, after.body, others)
  expect(
    reset.length === 0,
    'update-others',
    `${reset[0]} as it was, since only ${name} was sent: ${JSON.stringify(before.body[reset[0]])}`,
    answer,
    JSON.stringify(after.body[reset[0]]),
  )
  const tag = after.headers.get('etag')
  if (tag !== null && JSON.stringify(after.body[name]) !== JSON.stringify(before.body[name])) {
    expectationFor(run, read)(
      tag !== before.headers.get('etag'),
      'etag',
      `a new ETag after ${name} changed`,
      after,
      tag,
    )
    const answered = answer.headers.get('etag')
    // The server itself may change the resource after the update, as it does while it indexes a document.
    const isUnchanged = isDeepStrictEqual(answer.body, after.body)
    expect(
      answered === null || answered === tag || !isUnchanged,
      'etag',
      `the ETag of the next read: ${tag}`,
      answer,
      String(answered),
    )
  }
  return after
}

/** A stale If-Match is rejected and changes nothing; the current ETag is accepted. */
async function checkPreconditions(
  run: Run,
  { read, update }: Both,
  path: Record<string, string>,
  body: Json,
  before: Answer,
): Promise<void> {
  const expect = expectationFor(run, update)
  const type = update.body!.media[0].type
  const stale = await run.call(part, update, {
    path,
    body,
    type,
    headers: { 'If-Match': '"contract-tests-stale"' },
  })
  expect(stale.status === 412, 'if-match', '412 for an If-Match that is not the current ETag', stale)
  const still = await run.call(part, read, { path })
  if (stale.status >= 400)
    expect(
      still.headers.get('etag') === before.headers.get('etag'),
      'if-match',
      'no change by a request that failed with 412',
      stale,
    )
  const present = still.headers.get('etag')
  if (present === null) return
  const taken = await run.call(part, update, { path, body, type, headers: { 'If-Match': present } })
  expect(taken.status !== 412, 'if-match', 'no 412 for the current ETag in If-Match', taken)
}
