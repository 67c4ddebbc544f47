// Compares two contracts and classifies each change as breaking, safe or documentation. A request schema may
// become wider and a response schema narrower; the opposite breaks clients.
import { isIgnoredParameter } from '@platform-api/openapi/document.ts'
import { keysOf } from '@platform-api/openapi/json-pointer.ts'
import { includesType, mediaFor } from '@platform-api/openapi/media-types.ts'
import { methods } from '@platform-api/openapi/methods.ts'
import { serverPath } from '@platform-api/openapi/servers.ts'
import {
  child,
  comparisonOf,
  compareOthers,
  compareTexts,
  follow,
  nodeAt,
  reporter,
  same,
  type Change,
  type Comparison,
  type Node,
  type Place,
  type Report,
} from './change.ts'
import { openapi, type ChangesProfile } from './profile.ts'
import { compareSchemas } from './schemas.ts'
import { compareSchemes, compareSecurity } from './security.ts'

type Json = any

/** Compares two OpenAPI documents of version 3.1 in one file each. */
export function compareContracts(before: Json, after: Json, profile = openapi): Change[] {
  const comparison = comparisonOf(before, after)
  const [were, are] = [operationsIn(before), operationsIn(after)]
  for (const [key, node] of were)
    if (!are.has(key))
      reporter(comparison, nameOf(node))(
        'breaking',
        'operation-removed',
        'removed',
        { side: 'before', pointer: node.pointer },
        node.pointer,
      )
  for (const [key, node] of are) {
    const former = were.get(key)
    const name = nameOf(node)
    if (former === undefined)
      reporter(comparison, name)('safe', 'operation-added', 'added', {
        side: 'after',
        pointer: node.pointer,
      })
    else compareOperations(comparison, name, former, node, profile)
  }
  compareItems(comparison)
  compareSchemes(comparison)
  compareWebhooks(comparison)
  compareInfo(comparison)
  return comparison.changes
}

/** The texts of the paths that are in both documents. */
function compareItems(comparison: Comparison): void {
  const itemIn = (document: Json, path: string): Node =>
    follow(document, child({ value: document.paths, pointer: '/paths' }, path))
  for (const path of Object.keys(comparison.after.paths ?? {}))
    if (comparison.before.paths?.[path] !== undefined)
      compareTexts(
        reporter(comparison, path),
        itemIn(comparison.before, path),
        itemIn(comparison.after, path),
        ['summary', 'description'],
      )
}

/** Such as `GET /projects/{id}`. */
function nameOf({ pointer }: Node): string {
  const [, path, ...keys] = keysOf(pointer)
  return `${keys.at(-1)!.toUpperCase()} ${path}`
}

/** By method and path. The names of path parameters do not matter to clients. */
function operationsIn(document: Json): Map<string, Node> {
  const found = new Map<string, Node>()
  const paths = { value: document.paths ?? {}, pointer: '/paths' }
  for (const path of Object.keys(paths.value)) {
    const item = follow(document, child(paths, path))
    const additional = Object.keys(item.value?.additionalOperations ?? {})
    for (const keys of [
      ...[...methods, 'head', 'trace', 'query'].map((method) => [method]),
      ...additional.map((method) => ['additionalOperations', method]),
    ]) {
      const { value } = child(item, ...keys)
      if (value === undefined) continue
      const key = `${keys.at(-1)!.toUpperCase()} ${path.replace(/\{[^}]+\}/g, '{}')}`
      found.set(key, { ...child(paths, path, ...keys), value })
    }
  }
  return found
}

function compareOperations(
  comparison: Comparison,
  key: string,
  before: Node,
  after: Node,
  profile: ChangesProfile,
): void {
  const report = reporter(comparison, key)
  const place: Place = { side: 'after', pointer: after.pointer }
  const [was, is] = [before.value, after.value]
  if (was.operationId !== is.operationId)
    report(
      'breaking',
      'operation-renamed',
      `renamed from ${was.operationId} to ${is.operationId}`,
      { side: 'after', pointer: child(after, 'operationId').pointer },
      before.pointer,
    )
  if (is.deprecated === true && was.deprecated !== true)
    report(
      'safe',
      'operation-deprecated',
      `deprecated${is['x-sunset'] === undefined ? '' : `, with the sunset date ${is['x-sunset']}`}`,
      place,
    )
  if (was.deprecated === true && is.deprecated !== true)
    report('safe', 'operation-restored', 'no longer deprecated', place)
  compareSunset(report, before, after)
  compareServers(comparison, report, before, after)
  compareSecurity(comparison, report, before, after, profile.includedScopes?.(comparison.after))
  compareParameters(comparison, key, report, before, after)
  compareBodies(comparison, key, report, before, after)
  compareResponses(comparison, key, report, before, after)
  profile.compareOperation(report, before, after)
  compareTexts(report, before, after, ['summary', 'description', 'tags', 'externalDocs'])
  compareOthers(report, before, after, [...knownInOperation, ...profile.extensions])
}

const knownInOperation = (
  'operationId deprecated servers security parameters requestBody responses summary ' +
  'description tags externalDocs x-sunset'
).split(' ')

/** Clients rely on the announced date. */
function compareSunset(report: Report, before: Node, after: Node): void {
  if (after.value.deprecated !== true) return
  const [from, to] = [before.value['x-sunset'], after.value['x-sunset']]
  const place: Place = { side: 'after', pointer: after.pointer }
  if (to === undefined && (from !== undefined || before.value.deprecated !== true))
    return report('breaking', 'sunset-missing', 'is deprecated without a sunset date', place)
  if (to !== undefined && to !== from && Number.isNaN(Date.parse(to)))
    return report('breaking', 'sunset-invalid', `the sunset date ${to} is not a date`, place)
  if (from === undefined || from === to) return
  const isEarlier = Date.parse(to) < Date.parse(from)
  report(
    isEarlier ? 'breaking' : 'safe',
    isEarlier ? 'sunset-earlier' : 'sunset-later',
    `the sunset date changed from ${from} to ${to}`,
    place,
  )
}

function compareServers(
  { before: was, after: is }: Comparison,
  report: Report,
  before: Node,
  after: Node,
): void {
  const base = (document: Json, operation: Node): string =>
    serverPath(operation.value.servers ?? itemOf(document, operation).value.servers ?? document.servers) ||
    '/'
  const [from, to] = [base(was, before), base(is, after)]
  if (from !== to)
    report(
      'breaking',
      'server-changed',
      `base path changed from ${from} to ${to}`,
      { side: 'after', pointer: after.pointer },
      before.pointer,
    )
  else compareTexts(report, before, after, ['servers'])
}

/** The path item of the operation. */
function itemOf(document: Json, { pointer }: Node): Node {
  const path = pointer.split('/').slice(0, 3).join('/')
  return follow(document, { value: nodeAt(document, path), pointer: path })
}

function parametersOf(document: Json, operation: Node): Map<string, Node> {
  const all = new Map<string, Node>()
  let position = 0
  for (const owner of [itemOf(document, operation), operation]) {
    for (const i of Object.keys(owner.value.parameters ?? [])) {
      const node = follow(document, child(owner, 'parameters', i))
      if (isIgnoredParameter(node.value)) continue
      const { in: place, name } = node.value
      // Path parameters are identified by their order.
      const id = place === 'path' ? position++ : place === 'header' ? name.toLowerCase() : name
      all.set(`${place} ${id}`, node)
    }
  }
  return all
}

function compareParameters(
  comparison: Comparison,
  key: string,
  report: Report,
  before: Node,
  after: Node,
): void {
  const [were, are] = [parametersOf(comparison.before, before), parametersOf(comparison.after, after)]
  for (const [id, node] of were) {
    if (!are.has(id))
      report(
        'breaking',
        'parameter-removed',
        `the ${node.value.in} parameter ${node.value.name} was removed`,
        { side: 'before', pointer: node.pointer },
        node.pointer,
      )
  }
  for (const [id, node] of are) {
    const { name, in: where, required = false } = node.value
    const place: Place = { side: 'after', pointer: node.pointer }
    const former = were.get(id)
    if (former === undefined) {
      report(
        required ? 'breaking' : 'safe',
        required ? 'required-parameter-added' : 'parameter-added',
        `the ${where} parameter ${name} was added${required ? ' and is required' : ''}`,
        place,
        before.pointer,
      )
      continue
    }
    const wasRequired = former.value.required === true
    if (required && !wasRequired)
      report(
        'breaking',
        'parameter-required',
        `the ${where} parameter ${name} is now required`,
        place,
        former.pointer,
      )
    if (!required && wasRequired)
      report('safe', 'parameter-not-required', `the ${where} parameter ${name} is no longer required`, place)
    const [styleBefore, styleAfter] = [styleOf(former.value), styleOf(node.value)]
    if (!same(styleBefore, styleAfter))
      report(
        'breaking',
        'parameter-style-changed',
        `the ${where} parameter ${name} has a different style or explode`,
        place,
        former.pointer,
      )
    const [mayBeEmpty, mightBeEmpty] = [node, former].map(({ value }) => value.allowEmptyValue === true)
    if (mayBeEmpty !== mightBeEmpty)
      report(
        mayBeEmpty ? 'safe' : 'breaking',
        mayBeEmpty ? 'empty-value-allowed' : 'empty-value-refused',
        `the ${where} parameter ${name} may ${mayBeEmpty ? 'now' : 'no longer'} be empty`,
        place,
        former.pointer,
      )
    compareTexts(report, former, node, ['description', 'example', 'examples'])
    compareSchemas(
      comparison,
      { subject: key, what: `the ${where} parameter ${name}`, direction: 'request' },
      child(former, 'schema'),
      child(node, 'schema'),
    )
    if (former.value.content !== undefined && node.value.content !== undefined)
      compareContents(
        comparison,
        { subject: key, what: `the ${where} parameter ${name}`, direction: 'request' },
        report,
        former,
        node,
      )
    else if (former.value.content !== node.value.content)
      report(
        'breaking',
        'parameter-style-changed',
        `the ${where} parameter ${name} is written differently`,
        place,
        former.pointer,
      )
    compareDeprecation(report, `the ${where} parameter ${name}`, former, node)
    compareOthers(report, former, node, knownInParameter)
  }
}

const knownInParameter = (
  'name in required style explode schema content description example examples deprecated ' +
  'allowEmptyValue allowReserved'
).split(' ')

/** How a parameter is written, with the defaults. */
function styleOf({ in: where, style, explode, allowReserved }: Json): Json {
  const own = style ?? (where === 'query' || where === 'cookie' ? 'form' : 'simple')
  return { style: own, explode: explode ?? own === 'form', allowReserved: allowReserved === true }
}

function compareDeprecation(report: Report, what: string, before: Node, after: Node): void {
  if (after.value.deprecated === true && before.value.deprecated !== true)
    report('safe', 'schema-deprecated', `${what} is deprecated`, { side: 'after', pointer: after.pointer })
}

function compareBodies(comparison: Comparison, key: string, report: Report, before: Node, after: Node): void {
  const [was, is] = [
    follow(comparison.before, child(before, 'requestBody')),
    follow(comparison.after, child(after, 'requestBody')),
  ]
  if (was.value === undefined && is.value === undefined) return
  if (is.value === undefined)
    return report(
      'breaking',
      'body-removed',
      'the request body was removed',
      { side: 'before', pointer: was.pointer },
      was.pointer,
    )
  const required = is.value.required === true
  const place: Place = { side: 'after', pointer: is.pointer }
  if (was.value === undefined)
    return report(
      required ? 'breaking' : 'safe',
      required ? 'required-body-added' : 'body-added',
      `${required ? 'a required' : 'an optional'} request body was added`,
      place,
      before.pointer,
    )
  if (required && was.value.required !== true)
    report('breaking', 'body-required', 'the request body is now required', place, was.pointer)
  if (!required && was.value.required === true)
    report('safe', 'body-not-required', 'the request body is no longer required', place)
  compareContents(comparison, { subject: key, what: 'the body', direction: 'request' }, report, was, is)
  compareTexts(report, was, is, ['description'])
  compareOthers(report, was, is, ['content', 'required', 'description'])
}

interface Content {
  subject: string
  what: string
  direction: 'request' | 'response'
}

function compareContents(
  comparison: Comparison,
  content: Content,
  report: Report,
  before: Node,
  after: Node,
): void {
  const [were, are] = [mediaTypesOf(before), mediaTypesOf(after)]
  for (const [type, former] of were) {
    const now = content.direction === 'request' ? acceptedBy(are, type) : (are.get(type) ?? within(are, type))
    if (now === undefined)
      report(
        'breaking',
        'media-type-removed',
        `${content.what} can no longer be ${type}`,
        { side: 'before', pointer: former.pointer },
        former.pointer,
      )
    else {
      // The schema of a stream follows from its events.
      if (type !== 'text/event-stream')
        compareSchemas(comparison, content, child(former, 'schema'), child(now, 'schema'))
      const [items, newItems] = [child(former, 'itemSchema'), child(now, 'itemSchema')]
      if (items.value !== newItems.value)
        compareSchemas(comparison, { ...content, what: `an item of ${content.what}` }, items, newItems)
      compareTexts(report, former, now, textsOfMedia)
      compareStreams(comparison, content, report, former, now)
      compareOthers(report, former, now, ['schema', 'itemSchema', ...textsOfMedia, 'x-stream-events'])
    }
  }
  for (const [type, { pointer }] of are) {
    if (acceptedBy(were, type) === undefined)
      report('safe', 'media-type-added', `${content.what} can now be ${type}`, { side: 'after', pointer })
  }
}

const textsOfMedia = ['description', 'example', 'examples']

/** What is declared for the media type, itself or as a range such as `application/*`. */
function acceptedBy(types: Map<string, Node>, type: string): Node | undefined {
  return (
    types.get(type) ??
    mediaFor(
      Array.from(types, ([each, node]) => ({ type: each, node })),
      type,
    )?.node
  )
}

/** The first media type in the range. */
function within(types: Map<string, Node>, range: string): Node | undefined {
  return [...types].find(([type]) => includesType(range, type))?.[1]
}

/** By media type, without the charset that is the default. */
function mediaTypesOf(node: Node): Map<string, Node> {
  return new Map(
    Object.keys(node.value?.content ?? {}).map((type) => [
      type.toLowerCase().replace(/;\s*charset=utf-8$/, ''),
      child(node, 'content', type),
    ]),
  )
}

/** Compares the events of an event stream. */
function compareStreams(
  comparison: Comparison,
  content: Content,
  report: Report,
  before: Node,
  after: Node,
): void {
  const [were, are] = [before.value['x-stream-events'] ?? {}, after.value['x-stream-events'] ?? {}]
  for (const event of Object.keys(were)) {
    const former = child(before, 'x-stream-events', event)
    if (are[event] === undefined)
      report(
        'breaking',
        'stream-event-removed',
        `the event ${event} was removed`,
        { side: 'before', pointer: former.pointer },
        former.pointer,
      )
    else
      compareSchemas(
        comparison,
        { ...content, what: `the event ${event}` },
        former,
        child(after, 'x-stream-events', event),
      )
  }
  for (const event of Object.keys(are))
    if (were[event] === undefined)
      report('safe', 'stream-event-added', `the event ${event} was added`, {
        side: 'after',
        pointer: child(after, 'x-stream-events', event).pointer,
      })
}

function compareResponses(
  comparison: Comparison,
  key: string,
  report: Report,
  before: Node,
  after: Node,
): void {
  const [were, are] = [before.value.responses ?? {}, after.value.responses ?? {}]
  for (const status of Object.keys(were)) {
    const former = follow(comparison.before, child(before, 'responses', status))
    if (are[status] === undefined) {
      const succeeds = status < '400'
      report(
        succeeds ? 'breaking' : 'safe',
        succeeds ? 'success-removed' : 'error-removed',
        `the response ${status} was removed`,
        { side: 'before', pointer: child(before, 'responses', status).pointer },
        before.pointer,
      )
      continue
    }
    const now = follow(comparison.after, child(after, 'responses', status))
    const content: Content = { subject: key, what: `the body of ${status}`, direction: 'response' }
    compareContents(comparison, content, report, former, now)
    compareHeaders(comparison, content, report, former, now, status)
    // Links help to find operations. They change no answer.
    const texts = ['summary', 'description', 'links']
    compareTexts(report, former, now, texts)
    compareOthers(report, former, now, ['content', 'headers', ...texts])
  }
  for (const status of Object.keys(are)) {
    if (were[status] !== undefined) continue
    const succeeds = status < '400'
    report(
      succeeds ? 'breaking' : 'safe',
      succeeds ? 'success-added' : 'error-added',
      `the response ${status} was added`,
      { side: 'after', pointer: child(after, 'responses', status).pointer },
      before.pointer,
    )
  }
}

function compareHeaders(
  comparison: Comparison,
  content: Content,
  report: Report,
  before: Node,
  after: Node,
  status: string,
): void {
  const [were, are] = [headersOf(comparison.before, before), headersOf(comparison.after, after)]
  for (const [key, { name, node: former }] of were) {
    const what = `the header ${name} of ${status}`
    const now = are.get(key)?.node
    if (now === undefined) {
      report(
        'breaking',
        'header-removed',
        `${what} was removed`,
        { side: 'before', pointer: former.pointer },
        former.pointer,
      )
      continue
    }
    const place: Place = { side: 'after', pointer: now.pointer }
    const [wasRequired, isRequired] = [former.value.required === true, now.value.required === true]
    if (wasRequired && !isRequired)
      report('breaking', 'header-not-required', `${what} may be missing now`, place, former.pointer)
    if (!wasRequired && isRequired) report('safe', 'header-required', `${what} is always present now`, place)
    if (!same(styleOf(former.value), styleOf(now.value)))
      report('breaking', 'header-style-changed', `${what} is written differently`, place, former.pointer)
    compareSchemas(comparison, { ...content, what }, child(former, 'schema'), child(now, 'schema'))
    compareContents(comparison, { ...content, what }, report, former, now)
    compareDeprecation(report, what, former, now)
    compareTexts(report, former, now, ['description', 'example', 'examples', 'allowEmptyValue'])
    compareOthers(report, former, now, knownInParameter)
  }
  for (const [key, { name, node }] of are)
    if (!were.has(key))
      report('safe', 'header-added', `the header ${name} of ${status} was added`, {
        side: 'after',
        pointer: node.pointer,
      })
}

/** By lowercase name. `node` has its references resolved. */
function headersOf(document: Json, response: Node): Map<string, { name: string; node: Node }> {
  return new Map(
    Object.keys(response.value.headers ?? {}).map((name) => [
      name.toLowerCase(),
      { name, node: follow(document, child(response, 'headers', name)) },
    ]),
  )
}

function compareWebhooks(comparison: Comparison): void {
  const [were, are] = [comparison.before.webhooks ?? {}, comparison.after.webhooks ?? {}]
  const root = (value: Json): Node => ({ value, pointer: '/webhooks' })
  for (const name of Object.keys(were)) {
    const report = reporter(comparison, `event ${name}`)
    const former = child(root(were), name)
    if (are[name] === undefined) {
      report(
        'breaking',
        'event-removed',
        'removed',
        { side: 'before', pointer: former.pointer },
        former.pointer,
      )
      continue
    }
    const [was, is] = [child(former, 'post'), child(root(are), name, 'post')]
    compareTexts(report, was, is, ['summary', 'description'])
    const body = (document: Json, operation: Node): Node => follow(document, child(operation, 'requestBody'))
    compareContents(
      comparison,
      { subject: `event ${name}`, what: 'the payload', direction: 'response' },
      report,
      body(comparison.before, was),
      body(comparison.after, is),
    )
  }
  for (const name of Object.keys(are))
    if (were[name] === undefined)
      reporter(comparison, `event ${name}`)('safe', 'event-added', 'added', {
        side: 'after',
        pointer: child(root(are), name).pointer,
      })
}

function compareInfo(comparison: Comparison): void {
  const report = reporter(comparison, 'the document')
  const node = (document: Json, key: string): Node => ({ value: document[key], pointer: `/${key}` })
  compareTexts(report, node(comparison.before, 'info'), node(comparison.after, 'info'), [
    'title',
    'summary',
    'description',
    'version',
    'contact',
    'license',
    'termsOfService',
  ])
  const root = (value: Json): Node => ({ value, pointer: '' })
  compareTexts(report, root(comparison.before), root(comparison.after), ['tags', 'servers', 'externalDocs'])
}
