// What a request and what a response has of a schema: the two views that `readOnly` and `writeOnly` make
// (OpenAPI 3.1, 4.8.24). Types, validation, the mock and the contract tests use them.
import { resolve } from './resolve.ts'
import { visitSchemas } from './schema-places.ts'

type Json = any

/** A copy in which a request need not have `readOnly` properties. */
export function requestView(document: Json): Json {
  return withoutRequired(document, 'readOnly')
}

/** A copy in which a response need not have `writeOnly` properties. */
export function responseView(document: Json): Json {
  return withoutRequired(document, 'writeOnly')
}

function withoutRequired(document: Json, keyword: 'readOnly' | 'writeOnly'): Json {
  const copy = structuredClone(document)
  visitSchemas(copy, (schema) => {
    const holders = [schema, ...(schema.allOf ?? [])]
    const properties = propertiesOf(copy, schema)
    for (const holder of holders) {
      if (!Array.isArray(holder?.required)) continue
      holder.required = holder.required.filter((name: string) => !hasKeyword(copy, properties[name], keyword))
    }
  })
  return copy
}

/**
 * The properties of the schema and of the parts of its `allOf`: one part may require what another declares.
 */
export function propertiesOf(document: Json, schema: Json, depth = 0): Json {
  const own = resolve(document, schema)
  const parts: Json[] = depth > 8 ? [] : (own?.allOf ?? [])
  return Object.assign({}, ...parts.map((part) => propertiesOf(document, part, depth + 1)), own?.properties)
}

/** Whether the schema, or a part of it, has the keyword. */
function hasKeyword(document: Json, node: Json, keyword: string, depth = 0): boolean {
  if (node?.[keyword] === true) return true
  const schema = resolve(document, node)
  const parts: Json[] = depth > 8 ? [] : (schema?.allOf ?? [])
  return schema?.[keyword] === true || parts.some((part) => hasKeyword(document, part, keyword, depth + 1))
}
