// Visits the schemas of a document by their places. Examples, defaults, enums and extensions are data, which
// no tool reads as schemas.
import { keysOfFragment, valueAt } from './json-pointer.ts'
import { subschemasOf } from './subschemas.ts'

type Json = any

/** Calls `visit` with the schema and each schema inside it, once. The visitor may change the schema. */
export function visitSchema(schema: Json, visit: (schema: Json) => void, seen = new Set<Json>()): void {
  if (typeof schema !== 'object' || schema === null || seen.has(schema)) return
  seen.add(schema)
  visit(schema)
  for (const [, inner] of subschemasOf(schema)) visitSchema(inner, visit, seen)
}

/**
 * Calls `visit` with each schema of an OpenAPI document of version 3.0 to 3.2, once, outer schemas first, and
 * follows references. The visitor may change the schema.
 * @param visitHolder called with each parameter, header, body, response, media type and encoding
 */
export function visitSchemas(
  document: Json,
  visit: (schema: Json) => void,
  visitHolder: (holder: Json) => void = () => {},
): void {
  const seen = new Set<Json>()
  const isNew = (node: Json): boolean => {
    if (typeof node !== 'object' || node === null || seen.has(node)) return false
    seen.add(node)
    return true
  }
  const each = (map: Json, walk: (value: Json) => void): void => {
    if (typeof map === 'object' && map !== null) Object.values(map).forEach(walk)
  }

  // A reference may lead to a place that is none for schemas, such as an extension.
  const schemaAt = (schema: Json): void => {
    const referenced: string[] = []
    const visitAndFollow = (each: Json): void => {
      if (typeof each.$ref === 'string' && each.$ref.startsWith('#/')) referenced.push(each.$ref)
      visit(each)
    }
    visitSchema(schema, visitAndFollow, seen)
    for (const ref of referenced) schemaAt(valueAt(document, keysOfFragment(ref)))
  }
  const holderAt = (holder: Json): void => {
    if (!isNew(holder)) return
    visitHolder(holder)
    schemaAt(holder.schema)
    schemaAt(holder.itemSchema)
    each(holder.content, holderAt)
    each(holder.headers, holderAt)
    each(holder.encoding, holderAt)
    each(holder.prefixEncoding, holderAt)
    holderAt(holder.itemEncoding)
    // The events of a stream, by their names.
    each(holder['x-stream-events'], schemaAt)
  }
  const pathItemAt = (item: Json): void => {
    if (!isNew(item)) return
    each(item.parameters, holderAt)
    each(item.additionalOperations, operationAt)
    for (const method of httpMethods) operationAt(item[method])
  }
  const operationAt = (operation: Json): void => {
    if (!isNew(operation)) return
    each(operation.parameters, holderAt)
    holderAt(operation.requestBody)
    each(operation.responses, holderAt)
    each(operation.callbacks, callbackAt)
  }
  const callbackAt = (callback: Json): void => {
    if (isNew(callback)) each(callback, pathItemAt)
  }

  each(document.paths, pathItemAt)
  each(document.webhooks, pathItemAt)
  const { components = {} } = document
  each(components.schemas, schemaAt)
  for (const kind of ['parameters', 'headers', 'requestBodies', 'responses', 'mediaTypes'])
    each(components[kind], holderAt)
  each(components.pathItems, pathItemAt)
  each(components.callbacks, callbackAt)
}

const httpMethods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace', 'query']
