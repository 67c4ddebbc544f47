// Names for operations, and for the modules and objects of their handlers.
import { requireKnown, type Config } from '@platform-api/openapi/config.ts'
import { addDiscriminatorValues } from '@platform-api/openapi/discriminators.ts'
import { isHidden, type Operation } from '@platform-api/openapi/document.ts'
import { escaped, keysOfFragment } from '@platform-api/openapi/json-pointer.ts'
import { methods } from '@platform-api/openapi/methods.ts'
import { walkObjects } from '@platform-api/openapi/schema-ids.ts'
import { groupBy } from '@platform-api/openapi/group-by.ts'

type Json = any

/**
 * A copy with the names of the configuration, and with the values of discriminators, which may follow from
 * the names in the document.
 * @throws ConfigError for what the document does not have.
 */
export function withNames(document: Json, { operations = {}, types = {} }: Names): Json {
  const copy = withOperationNames(document, operations)
  addDiscriminatorValues(copy)
  return withTypeNames(copy, types)
}

export type Names = Pick<NonNullable<Config['generate']>, 'operations' | 'types'>

/**
 * A copy in which every operation has an operationId of its own: `getPetsPetId` where it has none.
 * @param names of operations, by the operationId or as `GET /pets`.
 * @throws ConfigError for a name of no operation.
 */
function withOperationNames(document: Json, names: Record<string, string>): Json {
  const copy = structuredClone(document)
  // As a key of an object literal it would be no property.
  const taken = new Set<string>(['__proto__'])
  const all = Object.entries<Json>(copy.paths).flatMap(([path, item]) =>
    methods
      .filter((method) => item?.[method] !== undefined && !isHidden(document, path, method))
      .map((method) => ({ path, method, node: item[method] })),
  )
  const keyOf = ({ path, method }: { path: string; method: string }): string =>
    `${method.toUpperCase()} ${path}`
  const ids = all.flatMap(({ node }) => node.operationId ?? [])
  requireKnown(Object.keys(names), [...ids, ...all.map(keyOf)], 'an operation of the document')
  const given = new Map(Object.entries(names))
  for (const each of all)
    each.node.operationId =
      given.get(each.node.operationId) ?? given.get(keyOf(each)) ?? each.node.operationId
  // Declared names first, so that they are kept.
  for (const { node } of all) {
    if (node.operationId === undefined) continue
    // openapi-typescript writes another character for `#`.
    node.operationId = free(String(node.operationId).replaceAll('#', '_'), taken)
  }
  for (const { path, method, node } of all) node.operationId ??= free(camelCase(`${method} ${path}`), taken)
  return copy
}

/** A copy in which schemas have other names. @throws ConfigError for a name of no schema. */
function withTypeNames(document: Json, names: Record<string, string>): Json {
  const schemas = document.components?.schemas ?? {}
  requireKnown(Object.keys(names), Object.keys(schemas), 'a schema of the document')
  if (Object.keys(names).length === 0) return document
  const copy = structuredClone(document)
  const taken = new Set<string>()
  const nameOf = (name: string): string => free(Object.hasOwn(names, name) ? names[name] : name, taken)
  const own = new Map(Object.keys(schemas).map((name) => [name, nameOf(name)]))
  copy.components.schemas = Object.fromEntries(
    Object.entries(copy.components.schemas).map(([name, schema]) => [own.get(name)!, schema]),
  )
  const renamed = (ref: string): string =>
    ref.replace(/^(#\/components\/schemas\/)([^/]+)/, (all, start, name) => {
      const [key] = keysOfFragment(`#/${name}`)
      return own.has(key) ? `${start}${encodeURIComponent(escaped(own.get(key)!))}` : all
    })
  walkObjects(copy, (node) => {
    if (typeof node.$ref === 'string') node.$ref = renamed(node.$ref)
    const mapping: Json = node.discriminator?.mapping
    for (const value of Object.keys(mapping ?? {}))
      mapping[value] = own.get(mapping[value]) ?? renamed(mapping[value])
  })
  return copy
}

export function free(name: string, taken: Set<string>): string {
  let own = name
  for (let i = 2; taken.has(own); i++) own = `${name}${i}`
  taken.add(own)
  return own
}

export function camelCase(text: string): string {
  return text
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== '')
    .map((word, i) => (i === 0 ? word.charAt(0).toLowerCase() : word.charAt(0).toUpperCase()) + word.slice(1))
    .join('')
}

export interface Module {
  /** As in the document; `operations` for operations without a tag. */
  tag: string
  /** Of the file in handlers/, without `.ts`. */
  file: string
  /** Of the object that the file exports. */
  name: string
  operations: Operation[]
}

/** The modules of handlers, by the first tag of the operations, in the order of the document. */
export function modulesOf(operations: Operation[]): Module[] {
  const files = new Set<string>()
  const names = new Set<string>(reserved)
  return [...groupBy(operations, ({ tag }) => tag || 'operations')].map(([tag, own]) => {
    const words = tag.replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    const file = words
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-+|-+$/g, '')
    const name = camelCase(words).replace(/^(\d)/, '_$1')
    return {
      tag,
      file: free(file || 'handlers', files),
      name: free(name || 'handlers', names),
      operations: own,
    }
  })
}

/**
 * Words that cannot name a constant of a module, and the names that routes.ts and the handlers have
 * themselves.
 */
const reserved = (
  'arguments async await break case catch class const continue debugger default delete do else enum eval ' +
  'export extends false finally for function if implements import in instanceof interface let new null of ' +
  'package private protected public return static super switch this throw true try typeof undefined var ' +
  'void while with yield NaN Infinity globalThis ' +
  'handlers Handlers AllHandlers OperationId notImplemented route skeleton'
).split(' ')
