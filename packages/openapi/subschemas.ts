// The schemas directly inside a schema.
type Json = any

const maps = ['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions']
const lists = ['allOf', 'anyOf', 'oneOf', 'prefixItems']
const single = [
  'items',
  'additionalProperties',
  'propertyNames',
  'contains',
  'not',
  'if',
  'then',
  'else',
  'unevaluatedItems',
  'unevaluatedProperties',
  'contentSchema',
]

const isSchema = (value: Json): boolean => typeof value === 'object' && value !== null

/** A copy of the schema with every direct subschema replaced by `change`. */
export function mapSubschemas(schema: Json, change: (subschema: Json) => Json): Json {
  return Object.fromEntries(
    Object.entries<Json>(schema).map(([keyword, value]) => {
      if (maps.includes(keyword) && isSchema(value))
        return [
          keyword,
          Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, change(inner)])),
        ]
      if (lists.includes(keyword) && Array.isArray(value)) return [keyword, value.map(change)]
      return [keyword, single.includes(keyword) && isSchema(value) ? change(value) : value]
    }),
  )
}

/** Each direct subschema with its path. */
export function subschemasOf(schema: Json): Array<[path: Array<string | number>, schema: Json]> {
  return Object.entries<Json>(schema).flatMap(([keyword, value]): Array<[Array<string | number>, Json]> => {
    if (!isSchema(value)) return []
    if (maps.includes(keyword)) return Object.entries(value).map(([name, inner]) => [[keyword, name], inner])
    if (lists.includes(keyword)) return value.map((inner: Json, i: number) => [[keyword, i], inner])
    return single.includes(keyword) ? [[[keyword], value]] : []
  })
}
