// Requests that keep the contract: values for everything that an operation takes, and resources for its path.
import fc from 'fast-check'
import { kindOf, pathNames, schemaOf, type Json, type Operation } from './document.ts'
import { digests, headerValues, meaning } from './exceptions.ts'
import { maySucceed, type Run } from './cli.ts'
import type { Answer, Parts } from './sender.ts'
import { matching, valuesOf } from './values.ts'
import { kindsOf, type Known } from './resource-pool.ts'

/** Query, header fields and body, without the path. `least`: only what is required. */
export function partsOf(
  run: Run,
  operation: Operation,
  { least = false, type }: { least?: boolean; type?: string } = {},
): fc.Arbitrary<Omit<Parts, 'path'>> {
  const { document, world } = run
  const values = (where: 'query' | 'header'): fc.Arbitrary<Record<string, string>> => {
    const own = operation.parameters.filter(
      (each) =>
        each.in === where &&
        !(
          where === 'header' &&
          (meaning.has(each.name.toLowerCase()) || digests.has(each.name.toLowerCase()))
        ),
    )
    const taken = own
      .filter(({ required }) => required || !least)
      .map(({ name, schema }): [string, fc.Arbitrary<Json> | null] => [
        name,
        headerValues[name.toLowerCase()] ??
          (where === 'header' && isFreeText(schema)
            ? matching('^[a-z0-9]{1,20}$')
            : valuesOf(document, schema, world)),
      ])
      .filter((each): each is [string, fc.Arbitrary<Json>] => each[1] !== null)
    // A protocol's version is sent, whether it is required or not.
    const always = own
      .filter(({ required, name }) => required || name.toLowerCase() === 'tus-resumable')
      .map(({ name }) => name)
    const known = new Map([
      ...taken,
      ...always
        .filter((name) => headerValues[name.toLowerCase()] !== undefined)
        .map((name): [string, fc.Arbitrary<Json>] => [name, headerValues[name.toLowerCase()]]),
    ])
    return fc
      .record(Object.fromEntries(known), {
        requiredKeys: always.filter((name) => known.has(name)),
        noNullPrototype: true,
      })
      .map((record) =>
        Object.fromEntries(Object.entries(record).map(([name, value]) => [name, String(value)])),
      )
  }
  return fc
    .record(
      { query: values('query'), headers: values('header'), body: bodies(run, operation, least, type) },
      { noNullPrototype: true },
    )
    .map(({ query, headers, body }) => ({ query, headers, ...body }))
}

/** Header fields hold ASCII alone. */
function isFreeText({ type, pattern, enum: values, format }: Json): boolean {
  return (
    [type].flat().includes('string') && pattern === undefined && values === undefined && format === undefined
  )
}

function bodies(
  run: Run,
  operation: Operation,
  least: boolean,
  wanted?: string,
): fc.Arbitrary<{ body?: Json; type?: string }> {
  if (operation.body === null || (least && !operation.body.required)) return fc.constant({})
  const media = operation.body.media.filter(({ type }) => wanted === undefined || type === wanted)
  return fc.oneof(
    ...media.map(({ type, schema, pointer }) => {
      const value = valuesOf(run.document, schema, run.world)
      if (value === null) return fc.constant({})
      const kept =
        schema.format === 'binary' || containsBytes(run.document, schema)
          ? value
          : value.filter((each) => run.validation.asked(pointer, each).length === 0)
      const examples: Json[] = (schema.examples ?? []).filter(
        (example: Json) => !typedId.test(JSON.stringify(example)),
      )
      if (least) return kept.map((each) => ({ body: leastOf(schema, each), type }))
      // What is not required is often in the way of what the rest is about.
      const mixed = fc.oneof(
        { arbitrary: kept, weight: 3 },
        { arbitrary: kept.map((each) => leastOf(schema, each)), weight: 1 },
        ...examples.map((example) => ({ arbitrary: fc.constant(example), weight: 1 })),
      )
      return mixed.map((body) => ({ body, type }))
    }),
  )
}

/** An example that names a resource names none that there is. */
const typedId = /"[a-z]+_[0-7][0-9a-z]{25}"/

/** Only the required properties, or all where the schema has it that some of them are needed. */
function leastOf({ required = [], oneOf, anyOf, properties = {} }: Json, value: Json): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || Buffer.isBuffer(value.bytes))
    return value
  const needed = new Set([
    ...required,
    ...(oneOf ?? anyOf ?? []).flatMap((choice: Json) => choice.required ?? []),
  ])
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => needed.has(name))
      .map(([name, item]) => [
        name,
        Array.isArray(item) ? item.slice(0, Math.max(1, properties[name]?.minItems ?? 1)) : item,
      ]),
  )
}

function containsBytes(document: Json, schema: Json): boolean {
  return Object.values<Json>(schema.properties ?? {}).some(
    (property) => schemaOf(document, property).format === 'binary',
  )
}

/** One request, made anew from the seed at each call of a run that goes the same way. */
export function sampled<Value>(run: Run, arbitrary: fc.Arbitrary<Value>): Value {
  return fc.sample(arbitrary, { numRuns: 1, seed: run.draw() })[0]
}

/**
 * Values of the operation's path. With `fresh`, of something made for this; without, of what the run has made, or only seen where it is only read.
 * null where there is nothing.
 */
export async function pathOf(
  run: Run,
  operation: Operation,
  { fresh = false, depth = 0 }: { fresh?: boolean; depth?: number } = {},
): Promise<Record<string, string> | null> {
  const names = pathNames(operation.path)
  if (names.length === 0) return {}
  const kinds = kindsOf(operation)
  const last = names.findLast((name) => kinds[name] !== undefined)
  const addressed = run.world.addressed(operation)
  if (last === undefined || Object.keys(kinds).length < names.length)
    return addressed.length === 0 ? null : addressed[0]
  const reads = operation.method === 'GET'
  const parents = Object.values(kinds).filter((kind) => kind !== kinds[last])
  const fits = (known: Known): boolean => parents.every((kind) => known.under[kind] !== undefined)
  let found = fresh ? undefined : run.world.known(kinds[last], !reads).find(fits)
  if (found === undefined && !run.options.readOnly && depth < 4)
    found = (await make(run, kinds[last], depth + 1)) ?? undefined
  found = found !== undefined && fits(found) ? found : run.world.known(kinds[last], !reads).find(fits)
  if (found === undefined) return null
  return Object.fromEntries(
    names.map((name) => [name, kinds[name] === found.kind ? found.id : found.under[kinds[name]]]),
  )
}

/** The operations that answer a POST with a new resource of the kind, those that do nothing else first. */
export function makersOf(run: Run, kind: string): Operation[] {
  const made = run.operations.filter(
    (operation) =>
      operation.method === 'POST' &&
      maySucceed(run, operation) &&
      !Object.values(kindsOf(operation)).includes(kind) &&
      [...operation.responses].some(
        ([status, { media }]) =>
          status < 300 &&
          media.some(({ schema }) => kindOf(schemaOf(run.document, schema.properties?.id)) === kind),
      ),
  )
  const reads = run.operations.find(
    ({ method, path }) =>
      method === 'GET' &&
      new RegExp(`^(.*)/\\{[^}]+\\}$`).test(path) &&
      kindOf(
        run.operations.find((each) => each.path === path)?.parameters.findLast((each) => each.in === 'path')
          ?.schema,
      ) === kind,
  )
  return made.toSorted(
    (a, b) =>
      Number(reads?.path.startsWith(`${b.path}/{`) ?? false) -
        Number(reads?.path.startsWith(`${a.path}/{`) ?? false) ||
      Number(b.responses.has(201)) - Number(a.responses.has(201)),
  )
}

/** Makes one, with whatever it needs. null where no try succeeds. */
export async function make(run: Run, kind: string, depth = 0): Promise<Known | null> {
  const made = await makeWith(run, kind, {}, depth)
  return made === null
    ? null
    : (run.world.known(kind, true).find(({ id }) => id === made.answer.body.id) ?? null)
}

/** The same, with these properties in its body, and what was asked and answered. */
export async function makeWith(
  run: Run,
  kind: string,
  given: { body?: Json; path?: Record<string, string>; part?: string; headers?: Record<string, string> },
  depth = 0,
): Promise<{ answer: Answer; operation: Operation } | null> {
  for (const operation of makersOf(run, kind)) {
    let last = 0
    for (let attempt = 0; attempt < 8; attempt++) {
      const missing = last >= 400
      await makeNeeded(run, operation, missing && attempt < 5, depth)
      const path =
        given.path ?? (await pathOf(run, operation, { depth, fresh: missing && attempt > 3 && depth < 2 }))
      if (path === null) break
      const parts = sampled(run, partsOf(run, operation, { least: attempt % 2 === 1 }))
      const body =
        parts.body !== undefined && given.body !== undefined ? { ...parts.body, ...given.body } : parts.body
      const answer = await run.call(given.part ?? 'making', operation, {
        ...parts,
        body,
        path,
        headers: { ...parts.headers, ...given.headers },
      })
      last = answer.status
      const answered = answer.operation.responses.get(answer.status)?.media[0]?.schema
      if (
        answer.status < 300 &&
        answer.body?.id !== undefined &&
        kindOf(schemaOf(run.document, answered?.properties?.id)) === kind
      )
        return { answer, operation }
    }
  }
  return null
}

/** So many of a kind are made to be named, and no more. */
const most = 30

/** Makes what the body names, where there is none yet, or another where it may have to be one that was not used before. */
export async function makeNeeded(
  run: Run,
  operation: Operation,
  anew: boolean,
  depth: number,
): Promise<void> {
  if (depth > 3) return
  for (const kind of bodyKinds(run, operation))
    if (
      makersOf(run, kind).length > 0 &&
      ((anew && run.world.known(kind, true).length < most) || run.world.ids(kind).length === 0)
    )
      await make(run, kind, depth + 1)
}

/** The kinds of ids in the operation's body, as deep as objects and lists in it. */
function bodyKinds(run: Run, operation: Operation): string[] {
  const kinds = new Set<string>()
  const look = (node: Json, depth: number): void => {
    const schema = schemaOf(run.document, node)
    const kind = kindOf(schema)
    if (kind !== null) kinds.add(kind)
    if (depth > 3) return
    for (const property of Object.values<Json>(schema.properties ?? {})) look(property, depth + 1)
    if (schema.items !== undefined) look(schema.items, depth + 1)
  }
  for (const { schema } of operation.body?.media ?? []) look(schema, 0)
  return [...kinds]
}
