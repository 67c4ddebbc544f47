// The first request that the reference page and the Postman collection send for an operation: its example,
// without optional parameters and without optional fields that name resources which may not exist.

type Json = any

/** The example request of an operation, from generated/docs.json. */
export interface RequestExample {
  path: Record<string, string | number>
  query: Record<string, string | number>
  headers: Record<string, string | number>
  body: { type: string; value: Json } | null
}

/** The suffix of every id in the examples. */
const placeholderId = /_01jd6y8m5qe8btc4y5w1r0n3fz$/

/** Follows a reference within the document. */
export function resolved(document: Json, node: Json): Json {
  if (node?.$ref === undefined) return node
  const path = node.$ref.slice(2).split('/')
  return resolved(
    document,
    path.reduce((part: Json, key: string) => part[key], document),
  )
}

/** The first example, default or enum value of a parameter, if it has one. */
export function exampleValue(document: Json, parameter: Json): Json {
  const schema = resolved(document, parameter.schema) ?? {}
  return parameter.example ?? schema.examples?.[0] ?? schema.default ?? schema.enum?.[0]
}

/** Whether the example request has the parameter. */
export function isSent({ name, in: place }: Json, request: RequestExample): boolean {
  if (place === 'path') return true
  return name in (place === 'header' ? request.headers : request.query)
}

/**
 * The body of the first request: optional fields with the id of a resource are left out, because the resource
 * of an example does not exist. Of fields of which one is required, the one of the example stays.
 */
export function tryOutBody(document: Json, schema: Json, value: Json): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const { required: always = [], oneOf = [] } = resolved(document, schema) ?? {}
  const chosen = oneOf.find((each: Json) => each.required?.every((name: string) => name in value))
  const required: string[] = [...always, ...(chosen?.required ?? [])]
  return Object.fromEntries(
    Object.entries<Json>(value).filter(
      ([name, field]) =>
        required.includes(name) ||
        ![field].flat().some((one) => typeof one === 'string' && placeholderId.test(one)),
    ),
  )
}
