// Generates valid requests: values for the parameters and the body, and resources for the path.
import fc from 'fast-check'
import {
  idIn,
  isJson,
  kindOf,
  ownId,
  pathNames,
  responseFor,
  type Json,
  type Media,
  type Operation,
  type Parameter,
} from '@platform-api/openapi/document.ts'
import { digestHeaders, headerValues, opaqueParameters, semanticHeaders } from './exceptions.ts'
import { flatSchemas } from '@platform-api/openapi/intersections.ts'
import { isForm, isJsonLines } from '@platform-api/openapi/media-types.ts'
import { writeParameter } from '@platform-api/openapi/parameters.ts'
import { idKey } from '@platform-api/openapi/resource-ids.ts'
import { isAttachment, withoutAttachments } from './forms.ts'
import { maySucceed, type Run } from './run-context.ts'
import type { Answer, RequestParts } from './sender.ts'
import { matchingPattern, requiredValuesOf, valuesOf } from './values.ts'
import { idKinds, type KnownResource } from './resource-pool.ts'

/** Query, header fields and body. `minimal`: only what is required. */
export function requestParts(
  run: Run,
  operation: Operation,
  { minimal = false, type }: { minimal?: boolean; type?: string } = {},
): fc.Arbitrary<Omit<RequestParts, 'path'>> {
  const { document, pool } = run
  const values = (where: 'query' | 'header' | 'cookie'): fc.Arbitrary<Record<string, Json>> => {
    const own = operation.parameters.filter(
      (each) =>
        each.in === where &&
        !opaqueParameters.has(each.name) &&
        !(
          where === 'header' &&
          (semanticHeaders.has(each.name.toLowerCase()) || digestHeaders.has(each.name.toLowerCase()))
        ),
    )
    const taken = own
      .filter(({ required }) => required || !minimal)
      .map(({ name, schema, required, kind }): [string, fc.Arbitrary<Json> | null] => [
        name,
        headerValues[name.toLowerCase()] ??
          (where === 'header' && isFreeText(schema)
            ? matchingPattern('^[a-z0-9]{1,20}$')
            : required
              ? requiredValuesOf(document, kind === 'array' ? withItem(schema) : schema, pool)
              : valuesOf(document, schema, pool)),
      ])
      .filter((each): each is [string, fc.Arbitrary<Json>] => each[1] !== null)
    // The protocol version is always sent.
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
      .map((record) => {
        const sent = own.flatMap((parameter) => {
          const value = record[parameter.name]
          return value === undefined || value === null
            ? []
            : [{ isOptional: !always.includes(parameter.name), parameter, value }]
        })
        return shortened(sent, run.options.profile.requests.maxParameters)
      })
  }
  return fc
    .record(
      {
        query: values('query'),
        cookies: values('cookie'),
        headers: values('header').map((fields) => headerTexts(operation, fields)),
        body: bodies(run, operation, minimal, type),
      },
      { noNullPrototype: true },
    )
    .map(({ query, cookies, headers, body }) => ({ query, cookies, headers, ...body }))
}

/** The parts with values for the required parameters that they lack; the same ones in each request. */
export function withRequired(
  run: Run,
  operation: Operation,
  parts: Partial<RequestParts>,
): Partial<RequestParts> {
  const has = ({ in: where, name }: Parameter): boolean => {
    const sent =
      { query: parts.query, header: parts.headers, cookie: parts.cookies, path: parts.path }[where] ?? {}
    return Object.keys(sent).some(
      (each) => each === name || (where === 'header' && each.toLowerCase() === name.toLowerCase()),
    )
  }
  const missing = operation.parameters.filter((each) => each.required && each.in !== 'path' && !has(each))
  if (missing.length === 0) return parts
  const known =
    requiredValues.get(run) ?? new Map<string, Pick<RequestParts, 'query' | 'headers' | 'cookies'>>()
  requiredValues.set(run, known)
  if (!known.has(operation.id))
    known.set(operation.id, sample(run, requestParts(run, { ...operation, body: null }, { minimal: true })))
  const { query, headers, cookies } = known.get(operation.id)!
  return {
    ...parts,
    query: { ...query, ...parts.query },
    headers: { ...headers, ...parts.headers },
    cookies: { ...cookies, ...parts.cookies },
  }
}

const requiredValues = new WeakMap<Run, Map<string, Pick<RequestParts, 'query' | 'headers' | 'cookies'>>>()

function headerTexts({ parameters }: Operation, fields: Record<string, Json>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      writeParameter(
        parameters.find((each) => each.in === 'header' && each.name === name)!,
        value,
      ),
    ]),
  )
}

/** Long values are cut, and optional parameters left out, where they do not fit in `maxLength` characters. */
function shortened(
  parameters: Array<{ isOptional: boolean; parameter: Parameter; value: Json }>,
  maxLength: number,
): Record<string, Json> {
  const sent: Record<string, Json> = {}
  let length = 0
  for (const { isOptional, parameter, value } of parameters) {
    const isLong = typeof value === 'string' && encodeURIComponent(value).length > maxLength / 6
    const cut = isLong ? [...value].slice(0, 80).join('') : value
    const added = encodeURIComponent(writeParameter(parameter, cut)).length
    if (isOptional && length + added > maxLength) continue
    length += added
    sent[parameter.name] = cut
  }
  return sent
}

/** An empty list is not sent, unless it is JSON. */
const withItem = (schema: Json): Json => ({ ...schema, minItems: Math.max(1, schema.minItems ?? 0) })

/** Free text in a header field is limited to ASCII. */
function isFreeText({ type, pattern, enum: values, format }: Json): boolean {
  return (
    [type].flat().includes('string') && pattern === undefined && values === undefined && format === undefined
  )
}

function bodies(
  run: Run,
  operation: Operation,
  minimal: boolean,
  selected?: string,
): fc.Arbitrary<{ body?: Json; type?: string }> {
  if (operation.body === null || (minimal && !operation.body.required)) return fc.constant({})
  const media = operation.body.media.filter(
    ({ type, schema }) => (selected === undefined || type === selected) && canEncode(type, schema),
  )
  if (media.length === 0) return fc.constant({})
  return fc.oneof(
    ...media.map(({ type, schema, pointer }) => {
      const value = bodyValues(run, { type, schema })
      if (value === null) return fc.constant({})
      const isValid = (each: Json): boolean => run.validation.asked(pointer, each).length === 0
      const matched = isRarelyValid(schema, value, isValid) ? value : value.filter(isValid)
      const smallest = (each: Json): Json => {
        const small = minimalBody(schema, each)
        return isValid(small) || !isValid(each) ? small : each
      }
      if (minimal) return matched.map((each) => ({ body: smallest(each), type }))
      // Optional properties often cause an early error; minimal bodies get further in the handler.
      const mixed = fc.oneof(
        { arbitrary: matched, weight: 3 },
        { arbitrary: matched.map(smallest), weight: 1 },
        ...run.options.profile.requests
          .examples(schema)
          .map((example) => ({ arbitrary: fc.constant(example), weight: 1 })),
      )
      return mixed.map((body) => ({ body, type }))
    }),
  )
}

/** The values of a body. In JSON, a file is text. */
export function bodyValues(
  run: Run,
  { type, schema }: Pick<Media, 'type' | 'schema'>,
): fc.Arbitrary<Json> | null {
  const values = valuesOf(run.document, schema, run.pool)
  return (isJson(type) || isJsonLines(type)) && values !== null ? values.map(withoutAttachments) : values
}

const rarelyValid = new WeakMap<object, boolean>()

/** Whether a search for a valid value might not end, because the schema has constraints that none meets. */
function isRarelyValid(
  schema: object,
  values: fc.Arbitrary<Json>,
  isValid: (value: Json) => boolean,
): boolean {
  if (!rarelyValid.has(schema))
    rarelyValid.set(schema, !fc.sample(values, { numRuns: 20, seed: 1 }).some(isValid))
  return rarelyValid.get(schema)!
}

/** Whether values of the schema can be sent as this media type: as JSON, a form, text or bytes. */
export function canEncode(type: string, { format, type: types }: Json): boolean {
  const isText = ['string', 'boolean', 'integer', 'number'].includes(types)
  return isJson(type) || isForm(type) || isJsonLines(type) || format === 'binary' || isText
}

/** Only the required properties, including those that a `oneOf` or `anyOf` requires. */
function minimalBody({ required = [], oneOf, anyOf, properties = {} }: Json, value: Json): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || isAttachment(value)) return value
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

/** One generated value. The same seed and course of a run give the same value. */
export function sample<Value>(run: Run, arbitrary: fc.Arbitrary<Value>): Value {
  return fc.sample(arbitrary, { numRuns: 1, seed: run.nextSeed() })[0]
}

/**
 * Values for the operation's path parameters. `fresh` creates a new resource; otherwise the run's own
 * resources are used, and for a GET any known resource. null if there is none.
 */
export async function pathParameters(
  run: Run,
  operation: Operation,
  { fresh = false, making = [] }: { fresh?: boolean; making?: string[] } = {},
): Promise<Record<string, Json> | null> {
  const names = pathNames(operation.path)
  if (names.length === 0) return {}
  const kinds = idKinds(operation)
  const last = names.findLast((name) => kinds[name] !== undefined)
  const linkedPaths = run.pool.linkedPaths(operation)
  const plainNames = names.filter((name) => kinds[name] === undefined)
  const mustBeLinked = run.options.profile.requests.linkedPaths
  if (plainNames.length > 0 && mustBeLinked) return linkedPaths.length === 0 ? null : linkedPaths[0]
  const plainValues = Object.fromEntries(
    plainNames.map((name) => [name, plainParameter(run, operation, name)]),
  )
  if (last === undefined) return linkedPaths[0] ?? plainValues
  const reads = operation.method === 'GET'
  const parents = Object.values(kinds).filter((kind) => kind !== kinds[last])
  const { schema = {} } = operation.parameters.find((each) => each.in === 'path' && each.name === last) ?? {}
  const isPlaced = (known: KnownResource): boolean =>
    parents.every((kind) => known.parents[kind] !== undefined)
  // Another operation may take fewer ids than the one that returned it.
  const fits = (known: KnownResource): boolean =>
    isPlaced(known) && run.validation.parameter(schema)(known.id).length === 0
  const known = run.pool.list(kinds[last], !reads)
  let found = fresh ? undefined : known.find(fits)
  if (found === undefined && !run.options.readOnly && (fresh || !known.some(isPlaced)))
    found = (await make(run, kinds[last], making)) ?? undefined
  found = found !== undefined && fits(found) ? found : run.pool.list(kinds[last], !reads).find(fits)
  if (found === undefined)
    return mustBeLinked
      ? null
      : Object.fromEntries(names.map((name) => [name, plainParameter(run, operation, name)]))
  return Object.fromEntries(
    names.map((name) => [
      name,
      found.parents[`{${name}}`] ??
        plainValues[name] ??
        (kinds[name] === found.kind ? found.id : found.parents[kinds[name]]),
    ]),
  )
}

/** A value for a path parameter that is no id: an example of the contract, or a generated value. */
function plainParameter(run: Run, operation: Operation, name: string): Json {
  const parameter = operation.parameters.find((each) => each.in === 'path' && each.name === name)
  const { schema = {}, examples = [] } = parameter ?? {}
  const [example] = [...examples, schema.example, ...(schema.examples ?? [])].filter(
    (value) => value !== undefined,
  )
  if (example !== undefined) return typeof example === 'object' ? example : String(example)
  const { [idKey]: _kind, ...plain } = schema
  const values = valuesOf(run.document, plain, run.pool)
  const found = values === null ? '' : sample(run, values)
  if (typeof found === 'object' && parameter !== undefined && writeParameter(parameter, found) !== '')
    return found
  const value = String(found)
  return /^[\w .~-]+$/.test(value) && !/^\.+$/.test(value) ? value : 'none'
}

/** The POST operations that return a new resource of the kind, the most specific ones first. */
export function createOperations(run: Run, kind: string): Operation[] {
  const made = run.operations.filter(
    (operation) =>
      operation.method === 'POST' &&
      maySucceed(run, operation) &&
      !Object.values(idKinds(operation)).includes(kind) &&
      [...operation.responses].some(
        ([status, { media }]) =>
          status < 300 && media.some(({ schema }) => ownId(run.document, schema)?.kind === kind),
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

/** The maximum depth of resources that need each other: each may need another one. */
const maxMaking = 5
/** A resource is not tried again after this number of failures. */
const maxFailures = 3
const failures = new WeakMap<Run, Map<string, number>>()

/**
 * Creates a resource and everything it needs. null if no attempt succeeds.
 * @param making the kinds that are being created and need it, the outermost first.
 */
export async function make(run: Run, kind: string, making: string[] = []): Promise<KnownResource | null> {
  const failed = failures.get(run) ?? new Map<string, number>()
  failures.set(run, failed)
  const count = failed.get(kind) ?? 0
  // A resource that needs one of its own kind would double the attempts at each level.
  if (making.includes(kind) || making.length >= maxMaking || count >= maxFailures) return null
  const made = await createWith(run, kind, {}, making)
  if (made === null) failed.set(kind, count + 1)
  return made === null ? null : (run.pool.list(kind, true).find(({ id }) => id === made.id) ?? null)
}

/** Creates a resource with the given parts of the request; returns the operation and its response. */
export async function createWith(
  run: Run,
  kind: string,
  given: {
    body?: Json
    path?: Record<string, string>
    part?: string
    headers?: Record<string, string>
    /** Whether the first attempt has a value for each property. */
    isFull?: boolean
  },
  making: string[] = [],
): Promise<{ answer: Answer; operation: Operation; id: string } | null> {
  const inside = [...making, kind]
  for (const operation of createOperations(run, kind)) {
    let last = 0
    for (let attempt = 0; attempt < 8; attempt++) {
      const missing = last >= 400
      await createDependencies(run, operation, missing && attempt < 5, inside)
      const own =
        given.path !== undefined && pathNames(operation.path).every((name) => name in given.path!)
          ? {}
          : await pathParameters(run, operation, {
              making: inside,
              fresh: missing && attempt > 3 && making.length < 2,
            })
      if (own === null) break
      // The path of a list may have fewer parameters than the one that adds to it.
      const path = { ...own, ...given.path }
      const parts = sample(run, requestParts(run, operation, { minimal: attempt % 2 === 1 }))
      const full = given.isFull === true && attempt === 0 ? fullBody(run, operation, parts) : parts.body
      const body = full !== undefined && given.body !== undefined ? { ...full, ...given.body } : full
      const answer = await run.call(given.part ?? 'setup', operation, {
        ...parts,
        body,
        path,
        headers: { ...parts.headers, ...given.headers },
      })
      last = answer.status
      const schema = responseFor(operation, answer.status)?.media[0]?.schema
      const id = idIn(run.document, schema, answer.body)
      if (answer.status < 300 && id !== null && ownId(run.document, schema)?.kind === kind)
        return { answer, operation, id }
    }
  }
  return null
}

/** The body with a value for each property that it leaves out, as far as it stays valid. */
function fullBody(run: Run, operation: Operation, { body, type }: Pick<RequestParts, 'body' | 'type'>): Json {
  const media = operation.body?.media.find((each) => each.type === type)
  if (media === undefined || typeof body !== 'object' || body === null || Array.isArray(body)) return body
  let full = body
  for (const [name, property] of Object.entries<Json>(media.schema.properties ?? {})) {
    const values = isEmpty(full[name]) ? valuesOf(run.document, property, run.pool) : null
    const value =
      values === null
        ? undefined
        : fc.sample(values, { numRuns: 6, seed: run.nextSeed() }).find((each) => !isEmpty(each))
    if (value === undefined) continue
    const next = { ...full, [name]: isJson(type!) ? withoutAttachments(value) : value }
    if (run.validation.asked(media.pointer, next).length === 0) full = next
  }
  return full
}

const isEmpty = (value: Json): boolean =>
  value === undefined || value === null || (typeof value === 'object' && Object.keys(value).length === 0)

/** The run creates at most this many resources of a kind to reference them. */
const maxReferenced = 30

/** Creates the resources that the body references if there are none; with `always`, new ones in any case. */
export async function createDependencies(
  run: Run,
  operation: Operation,
  always: boolean,
  making: string[] = [],
): Promise<void> {
  for (const kind of bodyKinds(run, operation))
    if (
      createOperations(run, kind).length > 0 &&
      ((always && run.pool.list(kind, true).length < maxReferenced) || run.pool.ids(kind).length === 0)
    )
      await make(run, kind, making)
}

/** The kinds of ids in the operation's body, including nested objects and lists. */
function bodyKinds(run: Run, operation: Operation): string[] {
  const kinds = new Set<string>()
  const look = (node: Json, depth: number): void => {
    for (const schema of flatSchemas(run.document, node)) {
      const kind = kindOf(schema)
      if (kind !== null) kinds.add(kind)
      if (depth > 3) continue
      for (const property of Object.values<Json>(schema.properties ?? {})) look(property, depth + 1)
      if (schema.items !== undefined) look(schema.items, depth + 1)
    }
  }
  for (const { schema } of operation.body?.media ?? []) look(schema, 0)
  return [...kinds]
}

/** Well-formed path parameters of a resource that does not exist. */
export function unknownPath(run: Run, operation: Operation): Record<string, string> {
  return Object.fromEntries(
    operation.parameters
      .filter((each) => each.in === 'path')
      .map(({ name, schema }) => [name, unknownValue(run, schema)]),
  )
}

function unknownValue(run: Run, schema: Json): string {
  if (schema.pattern !== undefined) return sample(run, matchingPattern(schema.pattern))
  if (schema.format === 'uuid') return sample(run, fc.uuid({ version: 4 }))
  if ([schema.type].flat().includes('integer'))
    return String(Math.min(schema.maximum ?? 2 ** 31 - 2, 2 ** 31 - 2))
  return String(schema.enum?.[0] ?? 'none')
}
