// Completes deprecated operations: adds the Deprecation and Sunset headers to their responses and the dates
// to their descriptions.
import { resolve } from '@platform-api/openapi/resolve.ts'

type Json = any

export interface Deprecation {
  /** Dates such as 2027-06-30. */
  since: string
  sunset: string
  /** The path of the replacement, with the server's prefix. */
  successor: string | null
}

const fields = {
  Deprecation: {
    description: 'The time since which the operation is deprecated, as a Unix timestamp (RFC 9745).',
    schema: { type: 'string', pattern: '^@[0-9]+$' },
  },
  Sunset: {
    description: 'The time when the operation is removed (RFC 8594). The Link header names the successor.',
    schema: { type: 'string' },
  },
}

/** Changes `document`. */
export function addDeprecations(document: Json): void {
  for (const item of Object.values<Json>(document.paths)) {
    for (const operation of Object.values<Json>(item)) {
      if (operation?.deprecated !== true) continue
      operation['x-deprecated-at'] = day(operation['x-deprecated-at'])
      operation['x-sunset'] = day(operation['x-sunset'])
      const instead =
        operation['x-successor'] === undefined ? '' : ` Use \`${operation['x-successor']}\` instead.`
      operation.description =
        `${operation.description ?? ''}\n\nDeprecated since ${operation['x-deprecated-at']}, ` +
        `available until ${operation['x-sunset']}.${instead}`
      operation.description = operation.description.trim()
      operation.responses = Object.fromEntries(
        Object.entries<Json>(operation.responses).map(([status, given]) => {
          const response = resolve(document, given)
          return [status, { ...response, headers: { ...fields, ...response.headers } }]
        }),
      )
    }
  }
}

/** @returns null for an operation that is not deprecated. */
export function deprecationOf(
  document: Json,
  operation: Json,
  prefixOf: (operation: Json, item: Json) => string,
): Deprecation | null {
  if (operation.deprecated !== true) return null
  const successor = Object.entries<Json>(document.paths).flatMap(([path, item]) =>
    Object.values<Json>(item)
      .filter(
        (other) => operation['x-successor'] !== undefined && other?.operationId === operation['x-successor'],
      )
      .map((other) => prefixOf(other, item) + path),
  )
  return {
    since: operation['x-deprecated-at'],
    sunset: operation['x-sunset'],
    successor: successor[0] ?? null,
  }
}

/** The date as text; YAML may have parsed it as a timestamp. */
function day(value: unknown): string {
  return value instanceof Date ? value.toISOString().slice(0, 10) : String(value)
}
