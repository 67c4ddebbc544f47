// Query parameters that are objects, `metadata[key]=value` (the style deepObject of OpenAPI).

/** Replaces the parameters `name[key]` of the query by one object for each name. Changes `query`. */
export function collectObjects(query: Record<string, unknown>, names: string[]): void {
  for (const name of names) {
    const parts = Object.keys(query).filter((key) => key.startsWith(`${name}[`) && key.endsWith(']'))
    if (parts.length === 0 || name in query) continue
    query[name] = Object.fromEntries(parts.map((part) => [part.slice(name.length + 1, -1), query[part]]))
    for (const part of parts) delete query[part]
  }
}

/** The parameters of a query as they are sent: one for each value of an array and each key of an object. */
export function flattened(query: Record<string, unknown>): Array<[name: string, value: string]> {
  return Object.entries(query).flatMap(([name, value]): Array<[string, string]> => {
    if (value === undefined) return []
    if (Array.isArray(value)) return value.map((item): [string, string] => [name, String(item)])
    if (typeof value !== 'object' || value === null) return [[name, String(value)]]
    return Object.entries(value).map(([key, item]): [string, string] => [`${name}[${key}]`, String(item)])
  })
}
