// Names for operations, and for the modules and objects of their handlers.
import { isHidden, type Operation } from '@platform-api/openapi/document.ts'
import { methods } from '@platform-api/openapi/methods.ts'
import { groupBy } from '@platform-api/openapi/group-by.ts'

type Json = any

/** A copy in which every operation has an operationId of its own: `getPetsPetId` where it has none. */
export function withOperationNames(document: Json): Json {
  const copy = structuredClone(document)
  // As a key of an object literal it would be no property.
  const taken = new Set<string>(['__proto__'])
  const all = Object.entries<Json>(copy.paths).flatMap(([path, item]) =>
    methods
      .filter((method) => item?.[method] !== undefined && !isHidden(document, path, method))
      .map((method) => ({ path, method, node: item[method] })),
  )
  // Declared names first, so that they are kept.
  for (const { node } of all) {
    if (node.operationId === undefined) continue
    // openapi-typescript writes another character for `#`.
    node.operationId = free(String(node.operationId).replaceAll('#', '_'), taken)
  }
  for (const { path, method, node } of all) node.operationId ??= free(camelCase(`${method} ${path}`), taken)
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
