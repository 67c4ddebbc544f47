// A `$dynamicRef` leads to the `$dynamicAnchor` of the outermost schema resource that a value passed on its
// way (JSON Schema 2020-12, 8.2.3.2). Here each way gets its own copy of the schemas, with plain references.
import { keysOfFragment, valueAt } from './json-pointer.ts'
import { addReference, walkObjects } from './schema-ids.ts'
import { visitSchemas } from './schema-places.ts'
import { mapSubschemas, subschemasOf } from './subschemas.ts'

type Json = any

/** By name: the schema with this `$dynamicAnchor` that counts. */
type Scope = ReadonlyMap<string, Json>

/** Replaces each `$dynamicRef`, then leaves out `$id` and the anchors. Changes the document. */
export function withStaticReferences(document: Json): Json {
  const roots = rootsOf(document)
  const source = structuredClone(document)
  const pointers = new Map<Json, string>()
  const resources = new Map<Json, Json>()
  const anchors = new Map<Json, Map<string, Json>>()
  walkObjects(source, (node, pointer, holders) => {
    pointers.set(node, pointer)
    const resource = [...holders, node].findLast((each) => typeof each.$id === 'string') ?? source
    resources.set(node, resource)
    if (typeof node.$dynamicAnchor !== 'string') return
    if (!anchors.has(resource)) anchors.set(resource, new Map())
    anchors.get(resource)!.set(node.$dynamicAnchor, node)
  })
  const targetOf = (ref: string): Json => valueAt(source, keysOfFragment(ref))
  const isDynamic = (schema: Json, seen = new Set<Json>()): boolean => {
    if (typeof schema !== 'object' || schema === null || seen.has(schema)) return false
    seen.add(schema)
    return (
      typeof schema.$dynamicRef === 'string' ||
      (typeof schema.$ref === 'string' && isDynamic(targetOf(schema.$ref), seen)) ||
      subschemasOf(schema).some(([, inner]) => isDynamic(inner, seen))
    )
  }
  const entered = (schema: Json, scope: Scope): Scope =>
    new Map([...(anchors.get(resources.get(schema)) ?? []), ...scope])
  const names = new Map<string, string>()
  const reference = (schema: Json, scope: Scope): string => {
    if (!isDynamic(schema)) return `#${encodeURI(pointers.get(schema)!)}`
    const inner = entered(schema, scope)
    const way = [...inner].map(([name, to]) => `${name} ${pointers.get(to)}`).sort()
    const key = [pointers.get(schema), ...way].join('\n')
    if (!names.has(key)) {
      const schemas = ((document.components ??= {}).schemas ??= {})
      const name = freeName(schemas, pointers.get(schema)!.split('/').at(-1)!)
      names.set(key, `#/components/schemas/${name}`)
      schemas[name] = {}
      schemas[name] = specialized(schema, inner)
    }
    return names.get(key)!
  }
  const specialized = (schema: Json, scope: Scope): Json => {
    if (typeof schema !== 'object' || schema === null) return schema
    const inner = entered(schema, scope)
    const { $dynamicRef, ...copy } = mapSubschemas(schema, (each) => specialized(each, inner))
    if (typeof copy.$ref === 'string') {
      const target = targetOf(copy.$ref)
      if (typeof target === 'object' && target !== null) copy.$ref = reference(target, inner)
    }
    if (typeof $dynamicRef === 'string') {
      const target = targetOf($dynamicRef)
      addReference(copy, reference(inner.get(target.$dynamicAnchor) ?? target, inner))
    }
    return copy
  }
  for (const [i, root] of rootsOf(source).entries())
    if (isDynamic(root)) {
      const copy = specialized(root, new Map())
      for (const key of Object.keys(roots[i])) delete roots[i][key]
      Object.assign(roots[i], copy)
    }
  visitSchemas(document, (schema) => {
    // `id` is a keyword of draft 4 and of no version of OpenAPI.
    for (const key of ['$id', 'id', '$anchor', '$dynamicAnchor']) delete schema[key]
  })
  return document
}

/** The schemas that are inside no other. */
function rootsOf(document: Json): Json[] {
  const inside = new Set<Json>()
  const roots: Json[] = []
  visitSchemas(document, (schema) => {
    if (!inside.has(schema)) roots.push(schema)
    for (const [, inner] of subschemasOf(schema)) inside.add(inner)
  })
  return roots
}

/** A name for a schema that no other component has. */
export function freeName(schemas: Json, name: string): string {
  const base = name.replaceAll(/[^\w.-]+/g, '_') || 'schema'
  for (let n = 2; ; n++) if (schemas[`${base}_${n}`] === undefined) return `${base}_${n}`
}
