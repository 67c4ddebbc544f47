// Reads any OpenAPI document, in one file or several, as one document of version 3.1. Nothing is linted.
import { upgrade } from '@scalar/openapi-upgrader'
import { bundle, createConfig } from '@redocly/openapi-core'
import { withoutFaults } from './faults.ts'

type Json = any

/** Throws an Error if the file cannot be read or is no OpenAPI document. */
export async function readOpenapi(file: string): Promise<Json> {
  const { bundle: bundled, problems } = await bundle({ ref: file, config: await createConfig({}) })
  const [failed] = problems.filter(({ severity }) => severity === 'error')
  if (failed !== undefined) throw new Error(`${file}: ${failed.message.split('\n')[0]}`)
  return asOpenapi31(bundled.parsed)
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
  return withoutFaults(withNull(/^3\.[12]/.test(version) ? copy : upgrade(copy, '3.1')))
}

/**
 * Writes the null of `nullable` where the upgrade leaves it out: in an enum, and beside a reference.
 * Documents of version 3.1 that still have `nullable` mean the same.
 */
function withNull(node: Json): Json {
  if (typeof node !== 'object' || node === null) return node
  if (typeof node.nullable === 'boolean') {
    const { nullable, ...rest } = node
    for (const key of Object.keys(node)) delete node[key]
    const isCombined = ['$ref', 'allOf', 'oneOf', 'anyOf'].some((key) => key in rest)
    if (nullable && isCombined) Object.assign(node, { anyOf: [rest, { type: 'null' }] })
    else if (nullable && rest.type !== undefined)
      Object.assign(node, rest, { type: [...new Set([rest.type, 'null'].flat())] })
    else Object.assign(node, rest)
  }
  if (Array.isArray(node.type) && node.type.includes('null') && Array.isArray(node.enum))
    if (!node.enum.includes(null)) node.enum.push(null)
  for (const value of Object.values(node)) withNull(value)
  return node
}
