// The life of a resource: made, read, listed, changed and deleted, each step seen by the next ones; and nothing of it seen or done by a stranger.
import { schemaOf, successOf, type Json, type Operation } from './document.ts'
import { endings } from './deletions.ts'
import { expecting, part } from './expectations.ts'
import { listed } from './list-membership.ts'
import { makersOf, makeWith, partsOf, sampled } from './requests.ts'
import { resourcesOf, type Resource } from './resources.ts'
import { maySucceed, type Run } from './cli.ts'
import { changedOf, isKept } from './equality.ts'
import type { Answer } from './sender.ts'
import { holdStrangers } from './tenant-isolation.ts'
import { changes } from './updates.ts'
import { itemPath, type Known } from './resource-pool.ts'

export async function followLives(run: Run, tick: (done: number, of: number) => void): Promise<void> {
  const resources = resourcesOf(run)
  const looked = resources.filter((resource) =>
    operationsOf(run, resource).some((operation) => run.wanted.includes(operation)),
  )
  for (const [i, resource] of looked.entries()) {
    tick(i, looked.length + 1)
    if (run.over()) return
    await life(run, resource)
  }
  for (const operation of run.wanted.filter(isSingle)) {
    if (run.over()) return
    await single(run, operation)
  }
  await holdStrangers(run)
  tick(looked.length + 1, looked.length + 1)
}

function operationsOf(run: Run, { kind, read, update, remove, lists }: Resource): Operation[] {
  return [read, update, remove, ...lists, ...makersOf(run, kind)].filter((operation) => operation !== null)
}

/** What there is one of, such as one's own profile. */
function isSingle(operation: Operation): boolean {
  return (
    operation.method === 'GET' &&
    !operation.path.includes('{') &&
    !operation.path.endsWith('s}') &&
    successOf(operation)?.media.schema.properties !== undefined &&
    [...operation.responses.keys()].includes(304)
  )
}

async function life(run: Run, resource: Resource): Promise<void> {
  const { kind, read } = resource
  const made = run.options.readOnly ? null : await creation(run, resource)
  const known = made?.known ?? run.world.known(kind)[0]
  if (known === undefined) return
  const path = itemPath(read, known)
  if (path === null) return
  const first = await reading(run, resource, path, made)
  if (first === null || made === null) return
  await listed(run, resource, known, path, first.body)
  await changes(run, resource, path)
  await endings(run, resource, known, path)
}

interface Made {
  known: Known
  operation: Operation
  answer: Answer
}

/** Made by a POST with an Idempotency-Key, and asked for a second time. */
async function creation(run: Run, { kind, read }: Resource): Promise<Made | null> {
  const [operation] = makersOf(run, kind)
  if (operation === undefined) return null
  const repeatable = operation.parameters.some(({ name }) => name === 'Idempotency-Key')
  const made = await makeWith(run, kind, { part, headers: {} })
  if (made === null) return null
  const { answer } = made
  const known = run.world.known(kind, true).find(({ id }) => id === answer.body.id)
  if (known === undefined) return null
  const expect = expecting(run, made.operation)
  const location = answer.headers.get('location')
  const path = itemPath(read, known)
  if (location !== null && path !== null) {
    const wanted = Object.entries(path).reduce(
      (text, [name, value]) => text.replace(`{${name}}`, value),
      read.path,
    )
    expect(
      new URL(location, answer.url).pathname === wanted,
      'location',
      `Location: ${wanted}`,
      answer,
      location,
    )
  }
  const properties = successOf(made.operation)?.media.schema.properties ?? {}
  for (const [name, value] of Object.entries<Json>(answer.parts.body ?? {})) {
    if (name in properties && isOfType(value, schemaOf(run.document, properties[name])))
      expect(
        isKept(value, answer.body[name]),
        'kept',
        `${name} as it was sent: ${JSON.stringify(value)}`,
        answer,
        JSON.stringify(answer.body[name]),
      )
  }
  if (repeatable && answer.status === 201) await repetition(run, made.operation, answer)
  return { known, ...made }
}

/** Whether the property that is answered can be what was sent: one of the same name may be another thing. */
function isOfType(value: Json, { type, anyOf, oneOf, enum: values }: Json): boolean {
  if (type === undefined) return anyOf !== undefined || oneOf !== undefined || values !== undefined
  const own =
    value === null
      ? 'null'
      : Array.isArray(value)
        ? 'array'
        : Number.isInteger(value)
          ? 'integer'
          : typeof value
  return [type].flat().includes(own) || (own === 'integer' && [type].flat().includes('number'))
}

/** The same request twice under one Idempotency-Key has one effect and one answer; another under it is refused. */
async function repetition(run: Run, operation: Operation, first: Answer): Promise<void> {
  const expect = expecting(run, operation)
  const headers = {
    ...first.parts.headers,
    'Idempotency-Key': `contract-${run.options.seed}-${run.draw()}-${Date.now()}`,
  }
  const fresh = sampled(run, partsOf(run, operation, { type: first.parts.type }))
  const parts = { ...first.parts, headers, body: differing(first.parts.body, fresh.body) }
  const once = await run.call(part, operation, parts)
  if (once.status !== 201) return
  const again = await run.call(part, operation, parts)
  if (
    !expect(
      again.status === once.status,
      'idempotency',
      `${once.status} again for the same Idempotency-Key and body`,
      again,
    )
  )
    return
  expect(
    again.body?.id === once.body?.id,
    'idempotency',
    `the first answer again, with the id ${once.body?.id}`,
    again,
  )
  expect(
    again.headers.get('idempotent-replayed') === 'true',
    'idempotency',
    'Idempotent-Replayed: true for a repetition',
    again,
    String(again.headers.get('idempotent-replayed')),
  )
  if (!operation.responses.has(422) || typeof parts.body?.name !== 'string') return
  const other = await run.call(part, operation, {
    ...parts,
    body: { ...parts.body, name: `${parts.body.name.slice(0, 20)} other` },
  })
  expect(other.status === 422, 'idempotency', '422 for another body under the same Idempotency-Key', other)
}

/** The first body with the properties that have to be unique as in the second. */
function differing(first: Json, second: Json): Json {
  if (typeof first !== 'object' || first === null || typeof second !== 'object') return first
  return Object.fromEntries(
    Object.entries(first).map(([name, value]) => [
      name,
      /email/.test(name) && second[name] !== undefined ? second[name] : value,
    ]),
  )
}

/** Read as it was made, with an ETag that saves the body. */
async function reading(
  run: Run,
  { read }: Resource,
  path: Record<string, string>,
  made: Made | null,
): Promise<Answer | null> {
  const answer = await run.call(part, read, { path })
  const expect = expecting(run, read)
  if (!expect(answer.status === 200, 'read', '200 for what there is', answer)) return null
  if (made !== null) {
    const schema = successOf(read)!.media.schema
    const names = ['id', 'created_at', ...Object.keys(made.answer.parts.body ?? {})].filter(
      (name) =>
        name in (schema.properties ?? {}) &&
        schemaOf(run.document, schema.properties[name])['x-volatile'] !== true &&
        name in made.answer.body,
    )
    const changed = changedOf(made.answer.body, answer.body, names)
    expect(
      changed.length === 0,
      'read-back',
      `${changed.join(', ')} as when it was made: ${JSON.stringify(made.answer.body[changed[0]])}`,
      answer,
      JSON.stringify(answer.body[changed[0]]),
    )
  }
  await unchanged(run, read, path, answer)
  return answer
}

async function unchanged(
  run: Run,
  read: Operation,
  path: Record<string, string>,
  answer: Answer,
): Promise<void> {
  const etag = answer.headers.get('etag')
  if (etag === null || !read.responses.has(304)) return
  const expect = expecting(run, read)
  const same = await run.call(part, read, { path, headers: { 'If-None-Match': etag } })
  expect(
    same.status === 304 || same.headers.get('etag') !== etag,
    'not-modified',
    `304 for If-None-Match: ${etag}`,
    same,
  )
  const other = await run.call(part, read, { path, headers: { 'If-None-Match': '"contract-tests-other"' } })
  expect(other.status === 200, 'not-modified', '200 for another ETag in If-None-Match', other)
}

/** One's own profile and the like: its ETag, and its changes where the account is the run's own. */
async function single(run: Run, read: Operation): Promise<void> {
  const answer = await run.call(part, read, {})
  if (answer.status !== 200) return
  await unchanged(run, read, {}, answer)
  const update =
    run.operations.find(
      ({ method, path }) => path === read.path && (method === 'PUT' || method === 'PATCH'),
    ) ?? null
  if (update === null || !maySucceed(run, update)) return
  await changes(run, { kind: '', read, update, remove: null, lists: [] }, {})
}
