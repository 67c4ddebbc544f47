// Compares two contracts and classifies each change as breaking, safe or documentation. A request schema may
// become wider and a response schema narrower; the opposite breaks clients.
import { keysOf } from '../../infra/validation/json-pointer.ts'
import { methods } from '../generate/methods.ts'
import { serverPath } from '../generate/servers.ts'
import {
  child,
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
import { compareSchemas } from './schemas.ts'

type Json = any

/** Compares two published documents, such as generated/openapi.json. */
export function compareContracts(before: Json, after: Json): Change[] {
  const comparison: Comparison = { before, after, changes: [], seen: new Set() }
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
    else compareOperations(comparison, name, former, node)
  }
  compareWebhooks(comparison)
  compareInfo(comparison)
  return comparison.changes
}

/** Such as `GET /projects/{id}`. */
function nameOf({ pointer }: Node): string {
  const [, path, method] = keysOf(pointer)
  return `${method.toUpperCase()} ${path}`
}

/** By method and path. The names of path parameters do not matter to clients. */
function operationsIn(document: Json): Map<string, Node> {
  const found = new Map<string, Node>()
  for (const [path, item] of Object.entries<Json>(document.paths ?? {})) {
    for (const method of [...methods, 'head']) {
      if (item[method] === undefined) continue
      found.set(
        `${method.toUpperCase()} ${path.replace(/\{[^}]+\}/g, '{}')}`,
        child({ value: document.paths, pointer: '/paths' }, path, method),
      )
    }
  }
  return found
}

const roles = ['none', 'viewer', 'editor', 'admin', 'owner']

function compareOperations(comparison: Comparison, key: string, before: Node, after: Node): void {
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
  compareServers(comparison, report, before, after)
  compareSecurity(comparison, report, before, after)
  compareAccess(report, before, after)
  compareParameters(comparison, key, report, before, after)
  compareBodies(comparison, key, report, before, after)
  compareResponses(comparison, key, report, before, after)
  if (was['x-rate-limit'] !== is['x-rate-limit'])
    report(
      'safe',
      'rate-limit-changed',
      `rate limit changed from ${was['x-rate-limit'] ?? 'the default'} ` +
        `to ${is['x-rate-limit'] ?? 'the default'}`,
      place,
    )
  compareTexts(report, before, after, ['summary', 'description', 'tags', 'externalDocs'])
}

function compareServers(
  { before: was, after: is }: Comparison,
  report: Report,
  before: Node,
  after: Node,
): void {
  const base = (document: Json, operation: Json): string =>
    serverPath(operation.servers ?? document.servers) || '/'
  const [from, to] = [base(was, before.value), base(is, after.value)]
  if (from !== to)
    report(
      'breaking',
      'server-changed',
      `base path changed from ${from} to ${to}`,
      { side: 'after', pointer: after.pointer },
      before.pointer,
    )
}

function compareSecurity(
  { before: was, after: is }: Comparison,
  report: Report,
  before: Node,
  after: Node,
): void {
  const alternatives = (document: Json, operation: Json): Json[] =>
    operation.security ?? document.security ?? []
  const [from, to] = [alternatives(was, before.value), alternatives(is, after.value)]
  const place: Place = { side: 'after', pointer: child(after, 'security').pointer }
  const open = (list: Json[]): boolean =>
    list.length === 0 || list.some((alternative) => Object.keys(alternative).length === 0)
  if (open(from) && !open(to))
    return report('breaking', 'key-required', 'an API key is now required', place, before.pointer)
  if (!open(from) && open(to)) report('safe', 'key-not-required', 'no API key is required any more', place)
  const scopes = (list: Json[]): string[] =>
    list.flatMap((alternative) => Object.values<string[]>(alternative).flat())
  for (const scope of scopes(to))
    if (!scopes(from).includes(scope))
      report('breaking', 'scope-required', `the scope ${scope} is now required`, place, before.pointer)
  for (const scope of scopes(from))
    if (!scopes(to).includes(scope))
      report('safe', 'scope-not-required', `the scope ${scope} is no longer required`, place)
}

function compareAccess(report: Report, before: Node, after: Node): void {
  const [from, to] = [before.value['x-project-access'], after.value['x-project-access']]
  if (same(from, to)) return
  const place: Place = { side: 'after', pointer: child(after, 'x-project-access').pointer }
  const [rankBefore, rankAfter] = [roles.indexOf(from?.role ?? 'none'), roles.indexOf(to?.role ?? 'none')]
  if (rankAfter > rankBefore)
    report(
      'breaking',
      'role-raised',
      `the required role changed from ${from?.role ?? 'none'} to ${to.role}`,
      place,
      before.pointer,
    )
  if (rankAfter < rankBefore)
    report(
      'safe',
      'role-lowered',
      `the required role changed from ${from.role} to ${to?.role ?? 'none'}`,
      place,
    )
  const defaults = ['active', 'archived']
  const [statesBefore, statesAfter]: [string[], string[]] = [from?.states ?? defaults, to?.states ?? defaults]
  for (const state of statesBefore)
    if (!statesAfter.includes(state))
      report(
        'breaking',
        'project-state-removed',
        `no longer allowed for a project in state ${state}`,
        place,
        before.pointer,
      )
  for (const state of statesAfter)
    if (!statesBefore.includes(state))
      report('safe', 'project-state-added', `now allowed for a project in state ${state}`, place)
}

function parametersOf(document: Json, operation: Node): Map<string, Node> {
  const path = operation.pointer.slice(0, operation.pointer.lastIndexOf('/'))
  const all = new Map<string, Node>()
  let position = 0
  for (const owner of [{ value: nodeAt(document, path), pointer: path }, operation]) {
    for (const i of Object.keys(owner.value.parameters ?? [])) {
      const node = follow(document, child(owner, 'parameters', i))
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
    if (former.value.style !== node.value.style || former.value.explode !== node.value.explode)
      report(
        'breaking',
        'parameter-style-changed',
        `the ${where} parameter ${name} has a different style or explode`,
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
  }
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
  const [were, are] = [before.value.content ?? {}, after.value.content ?? {}]
  for (const type of Object.keys(were)) {
    const former = child(before, 'content', type)
    if (are[type] === undefined)
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
        compareSchemas(comparison, content, child(former, 'schema'), child(after, 'content', type, 'schema'))
      compareTexts(report, former, child(after, 'content', type), ['example', 'examples'])
      compareStreams(comparison, content, report, former, child(after, 'content', type))
    }
  }
  for (const type of Object.keys(are)) {
    if (were[type] === undefined)
      report('safe', 'media-type-added', `${content.what} can now be ${type}`, {
        side: 'after',
        pointer: child(after, 'content', type).pointer,
      })
  }
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
    compareTexts(report, former, now, ['description'])
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
  const [were, are] = [before.value.headers ?? {}, after.value.headers ?? {}]
  for (const name of Object.keys(were)) {
    const former = follow(comparison.before, child(before, 'headers', name))
    if (are[name] === undefined)
      report(
        'breaking',
        'header-removed',
        `the header ${name} of ${status} was removed`,
        { side: 'before', pointer: former.pointer },
        former.pointer,
      )
    else
      compareSchemas(
        comparison,
        { ...content, what: `the header ${name} of ${status}` },
        child(former, 'schema'),
        child(follow(comparison.after, child(after, 'headers', name)), 'schema'),
      )
  }
  for (const name of Object.keys(are))
    if (were[name] === undefined)
      report('safe', 'header-added', `the header ${name} of ${status} was added`, {
        side: 'after',
        pointer: child(after, 'headers', name).pointer,
      })
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
  ])
  if (!same(comparison.before.tags, comparison.after.tags))
    report('documentation', 'text-changed', 'tags changed', { side: 'after', pointer: '/tags' })
}
