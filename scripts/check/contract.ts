// Rules for the published document that compare what it says in different places: descriptions with schemas,
// parameters with what the server does, and lists with each other. scripts/generate/rules checks the spec.
import { readFileSync } from 'node:fs'
import { resolve as pathOf } from 'node:path'
import { methods } from '../../packages/openapi/methods.ts'
import { resolve } from '../../packages/openapi/resolve.ts'

type Json = any

interface Operation {
  document: Json
  method: string
  url: string
  operation: Json
  parameters: Json[]
  /** The scopes of which a key needs one set; none for a public operation. */
  scopes: string[]
}

/** @returns each problem of the document as a line of text. */
export function contractProblems(document: Json): string[] {
  const operations = operationsOf(document)
  const names = namesByArea(operations)
  const words = wordsOf(document)
  return [
    ...operations.flatMap((each) => [
      ...idempotencyProblems(each),
      ...descriptionProblems(each, names.get(areaOf(each.url))!, words),
      ...filterProblems(each),
      ...limitProblems(each),
    ]),
    ...cursorProblems(operations),
    ...undeclaredLimits(document),
  ]
}

function operationsOf(document: Json): Operation[] {
  return Object.entries<Json>(document.paths).flatMap(([url, path]) =>
    methods
      .filter((method) => path[method] !== undefined && path[method]['x-same-as'] === undefined)
      .map((method) => {
        const operation = path[method]
        const parameters = [...(path.parameters ?? []), ...(operation.parameters ?? [])]
        const security: Array<Record<string, string[]>> = operation.security ?? document.security ?? []
        return {
          document,
          method,
          url,
          operation,
          parameters: parameters.map((parameter) => resolve(document, parameter)),
          scopes: security.flatMap((schemes) => Object.values(schemes).flat()),
        }
      }),
  )
}

const named = ({ operation }: Operation, problem: string): string => `${operation.operationId}: ${problem}`
const has = ({ parameters }: Operation, name: string): boolean => parameters.some((p) => p.name === name)

/** An operation that declares `Idempotency-Key` replays its successful responses. */
function idempotencyProblems(each: Operation): string[] {
  const { document, method, operation } = each
  if (!has(each, 'Idempotency-Key')) return []
  const successes = Object.entries<Json>(operation.responses).filter(([status]) => status.startsWith('2'))
  const isReplayed = successes.every(
    ([, response]) => resolve(document, response).headers?.['Idempotent-Replayed'] !== undefined,
  )
  const isIgnored = operation['x-idempotency'] === 'none' || method !== 'post' || !isReplayed
  return isIgnored ? [named(each, 'declares Idempotency-Key, and does not replay its response')] : []
}

/** Words of descriptions that no schema has: keys of `Upload-Metadata`, values in a URL, and the like. */
const otherWords: Record<string, string[]> = {
  createUpload: ['filename', 'filetype', 'type'],
  createLinkUpload: ['filename', 'filetype', 'type'],
  startOidcSignIn: ['oidc', 'denied', 'email_not_verified', 'account_not_verified'],
  addPasskey: ['passkey'],
  returnFromGateway: ['success_url'],
}

/** A description names only fields of the operation or its area, and no condition that `security` lacks. */
function descriptionProblems(each: Operation, names: Set<string>, words: Set<string>): string[] {
  const { operation, scopes } = each
  const text: string = operation.description ?? ''
  const unknown = [...text.matchAll(/`([a-z][a-z0-9]*(?:_[a-z0-9]+)*(?:\.[a-z_]+)*)`/g)]
    .map(([, name]) => name)
    .filter((name) => !name.split('.').every((part) => names.has(part)) && !words.has(name))
    .filter((name) => !(otherWords[operation.operationId] ?? []).includes(name))
  const forAdmins = /\b[Oo]nly (?:admins|operators) can\b|[Rr]equires the scope `admin`/.test(text)
  return [
    ...new Set(unknown.map((name) => `the description names \`${name}\`, which no schema of it has`)),
    ...(forAdmins && !scopes.includes('admin')
      ? ['the description says that only admins can call it, and `security` does not']
      : []),
  ].map((problem) => named(each, problem))
}

/** The names of all operations whose paths begin alike: a description may explain a related resource. */
function namesByArea(operations: Operation[]): Map<string, Set<string>> {
  const groups = Map.groupBy(operations, ({ url }) => areaOf(url))
  return new Map([...groups].map(([area, all]) => [area, new Set(all.flatMap((each) => [...namesOf(each)]))]))
}

const areaOf = (url: string): string => url.split('/')[1]

/** The parameters, properties, values and events of an operation. */
function namesOf({ document, operation, parameters }: Operation): Set<string> {
  const names = new Set<string>()
  const seen = new Set<Json>()
  const visit = (node: Json): void => {
    const value = resolve(document, node)
    if (typeof value !== 'object' || value === null || seen.has(value)) return
    seen.add(value)
    for (const key of ['properties', 'headers', 'x-stream-events'])
      for (const name of Object.keys(value[key] ?? {})) names.add(name)
    for (const word of [...(value.enum ?? []), value.const]) if (typeof word === 'string') names.add(word)
    for (const child of Object.values(value)) visit(child)
  }
  for (const parameter of parameters) names.add(parameter.name)
  for (const part of [parameters, operation.requestBody, operation.responses]) visit(part)
  for (const part of Array.from(names).flatMap((name) => name.split('.'))) names.add(part)
  return names
}

/** The words that any operation may name: scopes, event types, and the values of errors. */
function wordsOf(document: Json): Set<string> {
  const codes = Object.values<Json>(document['x-error-codes'] ?? {})
  return new Set([
    ...Object.keys(document['x-scopes'] ?? {}),
    ...Object.keys(document.webhooks ?? {}),
    ...codes.flatMap(({ constraints, states, reasons }) =>
      Object.keys({ ...constraints, ...states, ...reasons }),
    ),
    'null',
    'true',
    'false',
  ])
}

/** The `pagination` of a list; null for other operations. */
function paginationOf({ document, method, operation }: Operation): Json | null {
  const ok = resolve(document, operation.responses['200'])?.content?.['application/json']?.schema
  const { data, pagination } = resolve(document, ok)?.properties ?? {}
  return method === 'get' && data !== undefined && pagination !== undefined
    ? resolve(document, pagination)
    : null
}

/** Every list that `cursor` continues has the same `next_cursor` and `has_more` in `pagination`. */
function cursorProblems(operations: Operation[]): string[] {
  const lists = operations.filter(
    (each) => each.method === 'get' && has(each, 'cursor') && has(each, 'limit'),
  )
  const meaning = (each: Operation): string => {
    const { next_cursor: cursor, has_more: more } = paginationOf(each)?.properties ?? {}
    return JSON.stringify([cursor?.type, cursor?.description, more?.type, more?.description])
  }
  const counts = Map.groupBy(lists, meaning)
  const most = [...counts].toSorted(([, a], [, b]) => b.length - a.length)[0]?.[0]
  return lists
    .filter((each) => meaning(each) !== most || paginationOf(each)?.properties?.has_more === undefined)
    .map((each) =>
      named(each, '`next_cursor` and `has_more` of `pagination` are not those of the other lists'),
    )
}

/** Lists of a project whose items belong to people or a conversation, not to their authors. */
const withoutAuthor = ['listServiceAccounts', 'listMembers', 'listInvitations', 'listSessionMessages']

/** The items of one folder, which is in one project. */
const ofOneProject = ['listStorageItems']

/** A list of resources in projects is filtered by organization, and by the author that its items name. */
function filterProblems(each: Operation): string[] {
  const { document, operation } = each
  const pagination = paginationOf(each)
  if (pagination === null || !has(each, 'limit') || ofOneProject.includes(operation.operationId)) return []
  const ok = resolve(document, operation.responses['200'].content['application/json'].schema)
  const item = resolve(document, resolve(document, ok.properties.data).items)?.properties ?? {}
  const isInProjects = has(each, 'project_id') || operation['x-project-access'] !== undefined
  const hasAuthor = item.created_by !== undefined && !withoutAuthor.includes(operation.operationId)
  const author = hasAuthor ? ['created_by'] : []
  const wanted = [...(has(each, 'project_id') ? ['organization_id'] : []), ...(isInProjects ? author : [])]
  return wanted
    .filter((name) => !has(each, name))
    .map((name) => named(each, `the list of a project's resources lacks the filter \`${name}\``))
}

/** An error over a limit can carry `details.limit`. */
function limitProblems(each: Operation): string[] {
  const { document, operation } = each
  const codes = Object.values<Json>(document['x-error-codes'] ?? {})
  const statuses = new Set(
    codes.filter(({ limits = [] }) => limits.length > 0).flatMap(({ status }) => status.map(String)),
  )
  return Object.entries<Json>(operation.responses)
    .filter(([status]) => statuses.has(status))
    .filter(([, response]) => {
      const schema = resolve(document, response).content?.['application/json']?.schema
      if (schema === undefined) return false
      const error = resolve(document, resolve(document, schema).properties?.error)
      const details = resolve(document, error?.properties?.details)
      const limit = resolve(document, details?.properties?.limit)
      return !['name', 'limit', 'used', 'resets_at'].every((name) => limit?.required?.includes(name))
    })
    .map(([status]) => named(each, `the ${status} cannot carry \`details.limit\``))
}

/** A constraint that says "too many" is in `limits`, and a limit is a constraint. */
function undeclaredLimits(document: Json): string[] {
  return Object.entries<Json>(document['x-error-codes'] ?? {}).flatMap(
    ([code, { constraints = {}, limits = [] }]) => [
      ...Object.entries<string>(constraints)
        .filter(
          ([name, means]) => !limits.includes(name) && /\btoo many\b|\bYou have \d+\b|\bquota\b/.test(means),
        )
        .map(([name]) => `${code}: the constraint \`${name}\` is a limit, and \`limits\` does not list it`),
      ...limits
        .filter((name: string) => constraints[name] === undefined)
        .map((name: string) => `${code}: the limit \`${name}\` is no constraint`),
    ],
  )
}

if (import.meta.main) {
  const file = pathOf(import.meta.dirname, '../../generated/openapi.json')
  const problems = contractProblems(JSON.parse(readFileSync(file, 'utf8')))
  for (const problem of problems) console.log(problem)
  process.exit(problems.length === 0 ? 0 : 1)
}
