// From `deprecated` to what follows of it: each answer of the operation declares the header fields that announce its end, and its description says it.
import { resolve } from './resolve.ts'

type Json = any

/** Days as in the spec; the path of the operation that comes after it, with the server's prefix. */
export interface Deprecation {
  since: string
  sunset: string
  successor: string | null
}

const fields = {
  Deprecation: {
    description: 'Since when it is deprecated (RFC 9745).',
    schema: { type: 'string', pattern: '^@[0-9]+$' },
  },
  Sunset: {
    description: 'Until when it answers (RFC 8594); a Link has what comes after it.',
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
        `${operation.description ?? ''}\n\nDeprecated since ${operation['x-deprecated-at']}; it answers until ${operation['x-sunset']}.${instead}`.trim()
      operation.responses = Object.fromEntries(
        Object.entries<Json>(operation.responses).map(([status, given]) => {
          const response = resolve(document, given)
          return [status, { ...response, headers: { ...fields, ...response.headers } }]
        }),
      )
    }
  }
}

/** @returns null for an operation that stays. */
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

/** What YAML took for a time is a day again. */
function day(value: unknown): string {
  return value instanceof Date ? value.toISOString().slice(0, 10) : String(value)
}
