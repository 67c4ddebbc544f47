// The CRUD lifecycle of each resource: create, read, list, update, delete. Each step checks the effect of the
// one before.
import {
  idIn,
  isJson,
  listOf,
  ownId,
  schemaOf,
  successOf,
  type Json,
  type Operation,
} from '@platform-api/openapi/document.ts'
import { hasEmpty } from './forms.ts'
import { checkDeletion } from './deletions.ts'
import { expectationFor, part } from './expectations.ts'
import { checkListMembership } from './list-membership.ts'
import { createOperations, createWith, requestParts, sample } from './requests.ts'
import { resourcesOf, type Resource } from './resources.ts'
import { mayAnswer, maySucceed, type Run } from './run-context.ts'
import { changedNames, matchesSent } from './equality.ts'
import { requestTarget, type Answer } from './sender.ts'
import type { Part } from './part.ts'
import { checkPromises } from './promises.ts'
import { checkSubResource, subResourcesOf } from './sub-resources.ts'
import { checkUpdates } from './updates.ts'
import { itemPath, type KnownResource } from './resource-pool.ts'

export const crud: Part = {
  name: part,
  checks(run) {
    const resources = resourcesOf(run).filter((resource) =>
      operationsOf(run, resource).some((operation) => run.selected.includes(operation)),
    )
    return [
      ...resources.map((resource) => ({
        operation: resource.read,
        run: async () => await runLifecycle(run, resource),
      })),
      ...run.selected
        .filter((operation) => isSingleton(run, operation))
        .map((operation) => ({
          operation,
          run: async () => await checkSingleton(run, operation),
        })),
      ...subResourcesOf(run).map((each) => ({
        operation: each.write,
        run: async () => await checkSubResource(run, each),
      })),
    ]
  },
}

function operationsOf(run: Run, { kind, read, update, remove, lists }: Resource): Operation[] {
  return [read, update, remove, ...lists, ...createOperations(run, kind)].filter(
    (operation) => operation !== null,
  )
}

/** Whether the operation reads a singleton such as the user's own profile. */
function isSingleton(run: Run, operation: Operation): boolean {
  return (
    operation.method === 'GET' &&
    !operation.path.includes('{') &&
    !operation.path.endsWith('s}') &&
    successOf(operation)?.media.schema.properties !== undefined &&
    (operation.responses.has(304) ||
      (listOf(run.document, operation) === null &&
        run.operations.some(
          ({ method, path }) => path === operation.path && (method === 'PUT' || method === 'PATCH'),
        )))
  )
}

async function runLifecycle(run: Run, resource: Resource): Promise<void> {
  const { kind, read } = resource
  const made = run.options.readOnly ? null : await checkCreation(run, resource)
  const known = made?.known ?? run.pool.list(kind)[0]
  if (known === undefined) return
  const path = itemPath(read, known)
  if (path === null) return
  const first = await checkRead(run, resource, path, made)
  if (first === null || made === null) return
  await checkListMembership(run, resource, known, path, first.body)
  await checkUpdates(run, resource, path)
  await checkDeletion(run, resource, known, path)
}

interface Made {
  known: KnownResource
  operation: Operation
  answer: Answer
}

/** Creates a resource, checks Location and the returned properties, and repeats the request. */
async function checkCreation(run: Run, { kind }: Resource): Promise<Made | null> {
  const [operation] = createOperations(run, kind)
  if (operation === undefined) return null
  const repeatable = operation.parameters.some(({ name }) => name === 'Idempotency-Key')
  const made = await createWith(run, kind, { part, headers: {}, isFull: true })
  if (made === null) return null
  const { answer } = made
  const known = run.pool.list(kind, true).find(({ id }) => id === made.id)
  if (known === undefined) return null
  const expect = expectationFor(run, made.operation)
  const location = answer.headers.get('location')
  if (location !== null) {
    // A kind may be read at several paths: the members of an organization, and those who are invited.
    const paths = resourcesOf(run)
      .filter((resource) => resource.kind === kind)
      .flatMap(({ read }) => pathOf(read, known) ?? [])
    expect(
      paths.length === 0 || paths.includes(new URL(location, answer.url).pathname),
      'location',
      `Location: ${paths.join(' or ')}`,
      answer,
      location,
    )
  }
  const schema = successOf(made.operation)?.media.schema ?? {}
  const properties = schema.properties ?? {}
  for (const [name, value] of Object.entries<Json>(answer.parts.body ?? {})) {
    // A server may choose another id than the one that was sent.
    if (name === ownId(run.document, schema)?.name) continue
    if (
      name in properties &&
      isOfType(value, schemaOf(run.document, properties[name])) &&
      (isJson(answer.parts.type ?? 'application/json') || !hasEmpty(value)) &&
      mayAnswer(run, made.operation, answer.body, name, value)
    )
      expect(
        matchesSent(value, answer.body[name]),
        'create-value',
        `${name} to have the value that was sent: ${JSON.stringify(value)}`,
        answer,
        JSON.stringify(answer.body[name]),
      )
  }
  await checkPromises(run, made.operation, answer)
  if (repeatable && answer.status === 201) await checkIdempotency(run, made.operation, answer)
  return { known, ...made }
}

/** The path at which the operation reads the resource; null if its parents are unknown. */
function pathOf(read: Operation, known: KnownResource): string | null {
  const values = itemPath(read, known)
  return values === null ? null : requestTarget(read, { path: values, query: {} })
}

/** Whether a returned property has the type of the value that was sent; a namesake may be another thing. */
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

/** A repeated Idempotency-Key replays the first response; another body under the same key is rejected. */
async function checkIdempotency(run: Run, operation: Operation, first: Answer): Promise<void> {
  const expect = expectationFor(run, operation)
  const headers = {
    ...first.parts.headers,
    'Idempotency-Key': `contract-${run.options.seed}-${run.nextSeed()}-${Date.now()}`,
  }
  const fresh = sample(run, requestParts(run, operation, { type: first.parts.type }))
  const parts = { ...first.parts, headers, body: differing(first.parts.body, fresh.body) }
  const schema = successOf(operation)?.media.schema
  const idOf = ({ body }: Answer): string | null => idIn(run.document, schema, body)
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
    idOf(again) === idOf(once),
    'idempotency',
    `the first response again, with the id ${idOf(once)}`,
    again,
  )
  const { replayHeader } = run.options.profile.answers
  if (replayHeader === null) return
  expect(
    again.headers.get(replayHeader) === 'true',
    'idempotency',
    `${replayHeader}: true for a repeated request`,
    again,
    String(again.headers.get(replayHeader)),
  )
  if (!operation.responses.has(422) || typeof parts.body?.name !== 'string') return
  const other = await run.call(part, operation, {
    ...parts,
    body: { ...parts.body, name: `${parts.body.name.slice(0, 20)} other` },
  })
  expect(other.status === 422, 'idempotency', '422 for another body under the same Idempotency-Key', other)
}

/** The first body with the unique properties of the second. */
function differing(first: Json, second: Json): Json {
  if (typeof first !== 'object' || first === null || typeof second !== 'object') return first
  return Object.fromEntries(
    Object.entries(first).map(([name, value]) => [
      name,
      /email/.test(name) && second[name] !== undefined ? second[name] : value,
    ]),
  )
}

/** Reads the resource, compares it with what was created, and checks If-None-Match. */
async function checkRead(
  run: Run,
  { kind, read }: Resource,
  path: Record<string, string>,
  made: Made | null,
): Promise<Answer | null> {
  const answer = await run.call(part, read, { path })
  const expect = expectationFor(run, read)
  // Without a creation of its own, the run knows a resource from another answer, and it may be gone since.
  if (made === null && answer.status === 404 && createOperations(run, kind).length > 0) return null
  if (!expect(answer.status === 200, 'read', '200 for an existing resource', answer)) return null
  if (made !== null) {
    const schema = successOf(read)!.media.schema
    const created = successOf(made.operation)?.media.schema
    const typeIn = (of: Json, name: string): string =>
      JSON.stringify(schemaOf(run.document, of?.properties?.[name] ?? {}).type)
    const names = [
      ownId(run.document, schema)?.name ?? 'id',
      'created_at',
      ...Object.keys(made.answer.parts.body ?? {}),
    ].filter(
      (name) =>
        name in (schema.properties ?? {}) &&
        schemaOf(run.document, schema.properties[name])['x-volatile'] !== true &&
        // Another view of the resource may have another type.
        typeIn(created, name) === typeIn(schema, name) &&
        name in made.answer.body,
    )
    const changed = changedNames(made.answer.body, answer.body, names)
    expect(
      changed.length === 0,
      'read-back',
      `${changed.join(', ')} unchanged since the creation: ${JSON.stringify(made.answer.body[changed[0]])}`,
      answer,
      JSON.stringify(answer.body[changed[0]]),
    )
  }
  await checkNotModified(run, read, path, answer)
  return answer
}

async function checkNotModified(
  run: Run,
  read: Operation,
  path: Record<string, string>,
  answer: Answer,
): Promise<void> {
  const etag = answer.headers.get('etag')
  if (etag === null || !read.responses.has(304)) return
  const expect = expectationFor(run, read)
  const same = await run.call(part, read, { path, headers: { 'If-None-Match': etag } })
  expect(
    same.status === 304 || same.headers.get('etag') !== etag,
    'not-modified',
    `304 for If-None-Match: ${etag}`,
    same,
  )
  const other = await run.call(part, read, { path, headers: { 'If-None-Match': '"contract-tests-other"' } })
  expect(other.status === 200, 'not-modified', '200 for a different ETag in If-None-Match', other)
}

/** A singleton such as the profile: its ETag, and its updates if the run created the account. */
async function checkSingleton(run: Run, read: Operation): Promise<void> {
  const answer = await run.call(part, read, {})
  if (answer.status !== 200) return
  await checkNotModified(run, read, {}, answer)
  const update =
    run.operations.find(
      ({ method, path }) => path === read.path && (method === 'PUT' || method === 'PATCH'),
    ) ?? null
  if (update === null || !maySucceed(run, update)) return
  await checkUpdates(run, { kind: '', read, update, remove: null, lists: [] }, {})
}
