// Reads any OpenAPI document, in one file or several, as one document of version 3.1. Nothing is linted.
import { relative } from 'node:path'
import { upgrade } from '@scalar/openapi-upgrader'
import { bundle, createConfig, getLineColLocation } from '@redocly/openapi-core'
import { withoutFaults } from './faults.ts'
import { methods } from './methods.ts'
import { resolve } from './resolve.ts'
import { visitSchemas } from './schema-places.ts'

type Json = any

/**
 * A `$ref` in an example is data: it is neither resolved nor fetched.
 * @throws Error if the file cannot be read or is no OpenAPI document: one line with file, line and column.
 */
export async function readOpenapi(file: string): Promise<Json> {
  const config = await createConfig({ resolve: { doNotResolveExamples: true } })
  const { bundle: bundled, problems } = await bundle({ ref: file, config }).catch((error: Error) => {
    throw new Error(unreadable(file, error))
  })
  const [failed] = problems.filter(({ severity }) => severity === 'error')
  if (failed !== undefined) {
    const [at] = failed.location
    const { start } = getLineColLocation(at)
    throw new Error(
      `${relative(process.cwd(), at.source.absoluteRef)}:${start.line}:${start.col} ` +
        failed.message.split('\n')[0],
    )
  }
  return asOpenapi31(bundled.parsed)
}

/** The first line of the error with the file and the place; of a YAML error the place is in its message. */
function unreadable(file: string, error: Error): string {
  const [line] = error.message.split('\n')
  return line.includes(file) ? line : `${file}: ${line}`
}

/** The document in version 3.1. Throws an Error if it is no OpenAPI document. */
export function asOpenapi31(document: Json): Json {
  const version = String(document?.openapi ?? document?.swagger ?? '')
  // Since 3.1 a document may have webhooks or components only.
  if (/^3\.[12]/.test(version) && (document.webhooks ?? document.components) !== undefined)
    document.paths ??= {}
  if (!/^(2\.0|3\.[012])/.test(version) || typeof document.paths !== 'object')
    throw new Error('This is no OpenAPI document: it has no `openapi` with its version, or no `paths`')
  const copy = structuredClone(document)
  if (/^3\.[12]/.test(version)) return withoutFaults(withNull(copy))
  const required = requiredForms(copy)
  const upgraded: Json = upgrade(copy, '3.1')
  for (const [path, method] of required) upgraded.paths[path][method].requestBody.required = true
  return withoutFaults(withNull(upgraded))
}

/** The operations of version 2.0 whose form has a required field: the upgrade forgets that the body is required. */
function requiredForms(document: Json): Array<[path: string, method: string]> {
  return Object.entries<Json>(document.paths).flatMap(([path, item]) =>
    methods
      .filter((method) =>
        [...(item?.parameters ?? []), ...(item?.[method]?.parameters ?? [])]
          .map((parameter) => resolve(document, parameter))
          .some((parameter) => parameter?.in === 'formData' && parameter.required === true),
      )
      .filter((method) => item[method] !== undefined)
      .map((method): [string, string] => [path, method]),
  )
}

/**
 * Writes the null of `nullable` where the upgrade leaves it out: in an enum, and beside a reference.
 * Documents of version 3.1 that still have `nullable` mean the same. Changes the document.
 */
function withNull(document: Json): Json {
  visitSchemas(document, (schema) => {
    if (typeof schema.nullable === 'boolean') {
      const { nullable, ...rest } = schema
      for (const key of Object.keys(schema)) delete schema[key]
      const isCombined = ['$ref', 'allOf', 'oneOf', 'anyOf'].some((key) => key in rest)
      if (nullable && isCombined) Object.assign(schema, { anyOf: [rest, { type: 'null' }] })
      else if (nullable && rest.type !== undefined)
        Object.assign(schema, rest, { type: [...new Set([rest.type, 'null'].flat())] })
      else Object.assign(schema, rest)
    }
    if (Array.isArray(schema.type) && schema.type.includes('null') && Array.isArray(schema.enum))
      if (!schema.enum.includes(null)) schema.enum.push(null)
  })
  return document
}
