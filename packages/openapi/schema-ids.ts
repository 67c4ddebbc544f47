// References by `$id` and `$anchor` as JSON pointers (JSON Schema 2020-12, 8.2), which is all that the tools
// read. An `$id` changes the base of the references inside it.
import { pathToFileURL } from 'node:url'
import { escaped } from './json-pointer.ts'

type Json = any

/** Where a file that others refer to has its schemas with an `$anchor`. */
const anchorsKey = 'x-anchors'

/** The keys of data, which has no schemas and no references. */
export const dataKeys = new Set(['example', 'examples', 'default', 'const', 'enum', 'value'])
/** The keys of maps, in which every key is a name. */
const nameMaps = new Set(
  (
    'properties patternProperties dependentSchemas $defs definitions schemas headers responses parameters ' +
    'requestBodies securitySchemes securityDefinitions pathItems callbacks links content encoding'
  ).split(' '),
)

/** Calls `visit` with each object of the file that is no data. */
export function walkObjects(
  node: Json,
  visit: (node: Json, pointer: string, holders: Json[]) => void,
  at: { pointer: string; key: string; holders: Json[] } = { pointer: '', key: '', holders: [] },
): void {
  if (typeof node !== 'object' || node === null || at.holders.includes(node)) return
  const isMap = nameMaps.has(at.key)
  if (!Array.isArray(node) && !isMap) visit(node, at.pointer, at.holders)
  for (const [key, value] of Object.entries<Json>(node))
    if (isMap || !dataKeys.has(key))
      walkObjects(value, visit, {
        pointer: `${at.pointer}/${escaped(key)}`,
        key: isMap ? '' : key,
        holders: [...at.holders, node],
      })
}

/** Whether a file may need `withPointers`. */
export const hasIds = (text: string): boolean => /\$(id|anchor|dynamicAnchor|dynamicRef)\b/.test(text)

/**
 * Writes each reference as a JSON pointer or as the URL of another file. A `$dynamicRef` stays if it depends
 * on the schemas that refer to it. Changes the file.
 * @param place the path or URL of the file.
 */
export function withPointers(file: Json, place: string, { isRoot }: { isRoot: boolean }): Json {
  const own = /^[a-z][a-z+.-]+:/i.test(place) ? place : pathToFileURL(place).href
  const resources = new Map([[own, '']])
  const anchors = new Map<string, { pointer: string; isDynamic: boolean }>()
  const references: Array<{ schema: Json; base: string }> = []
  const bases = new Map<Json, string>()
  walkObjects(file, (node, pointer, holders) => {
    const outer = holders.findLast((holder) => bases.has(holder))
    let base = outer === undefined ? own : bases.get(outer)!
    if (typeof node.$id === 'string') {
      base = withoutFragment(absolute(node.$id, base))
      bases.set(node, base)
      if (!resources.has(base)) resources.set(base, encodeURI(pointer))
    }
    for (const key of ['$anchor', '$dynamicAnchor'])
      if (typeof node[key] === 'string' && !anchors.has(`${base}#${node[key]}`))
        anchors.set(`${base}#${node[key]}`, {
          pointer: encodeURI(pointer),
          isDynamic: key === '$dynamicAnchor',
        })
    if (typeof node.$ref === 'string' || typeof node.$dynamicRef === 'string')
      references.push({ schema: node, base })
  })
  const locate = (reference: string, base: string): { to: string; isDynamic: boolean } => {
    const url = absolute(reference, base)
    const resource = resources.get(withoutFragment(url))
    const fragment = url.slice(withoutFragment(url).length + 1)
    const anchor = anchors.get(`${withoutFragment(url)}#${fragment}`)
    if (anchor !== undefined) return { to: `#${anchor.pointer}`, isDynamic: anchor.isDynamic }
    const isPointer = fragment === '' || fragment.startsWith('/')
    if (resource !== undefined && isPointer) return { to: `#${resource}${fragment}`, isDynamic: false }
    const to = base === own ? reference : url
    return { to: isPointer ? to : to.replace(/#.*/, `#/${anchorsKey}/${fragment}`), isDynamic: false }
  }
  for (const { schema, base } of references) {
    if (typeof schema.$ref === 'string') schema.$ref = locate(schema.$ref, base).to
    if (typeof schema.$dynamicRef !== 'string') continue
    const { to, isDynamic } = locate(schema.$dynamicRef, base)
    if (isDynamic && isRoot) schema.$dynamicRef = to
    else {
      delete schema.$dynamicRef
      addReference(schema, to)
    }
  }
  if (!isRoot && anchors.size > 0)
    file[anchorsKey] = Object.fromEntries(
      [...anchors]
        .filter(([url]) => resources.get(withoutFragment(url)) === '')
        .map(([url, { pointer }]) => [url.slice(url.indexOf('#') + 1), { $ref: `#${pointer}` }]),
    )
  return file
}

/** Adds a reference to a schema that may have another one. */
export function addReference(schema: Json, $ref: string): void {
  if (schema.$ref === undefined) schema.$ref = $ref
  else schema.allOf = [...(schema.allOf ?? []), { $ref }]
}

const withoutFragment = (url: string): string => url.replace(/#.*$/s, '')

function absolute(reference: string, base: string): string {
  try {
    return new URL(reference, base).href
  } catch {
    return reference
  }
}
