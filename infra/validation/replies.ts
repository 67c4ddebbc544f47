// The validators of responses and events, undeclared fields included. Ajv compiles each schema of
// generated/schemas.json on its first use; only tests and VALIDATE_RESPONSES use them.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { ValidateFunction } from 'ajv'
import { formats, lengthKeywords } from './formats.ts'

const require = createRequire(import.meta.url)

/** The validators by their names in generated/operations.ts. */
export const replies: Record<string, ValidateFunction> = onFirstUse(() => compileReplies(readSchemas()))

function readSchemas(): Record<string, object> {
  const file = join(import.meta.dirname, '../../generated/schemas.json')
  const { components, responses, payloads } = JSON.parse(readFileSync(file, 'utf8'))
  return { ...components, ...responses, ...payloads }
}

/** Compiles in half of the time: most of the work where a process uses each validator a few times. */
export const quickCompilation = { code: { optimize: false }, inlineRefs: false }

/** @param schemas by name; they refer to each other by `{ $ref: name }`. */
export function compileReplies(schemas: Record<string, object>): Record<string, ValidateFunction> {
  const { Ajv2020 } = require('ajv/dist/2020.js') as typeof import('ajv/dist/2020.js')
  const ajv = new Ajv2020({ allErrors: true, strict: false, validateSchema: false, ...quickCompilation })
  for (const [name, format] of Object.entries(formats)) ajv.addFormat(name, format)
  for (const { definition, isBroken } of lengthKeywords) {
    ajv.removeKeyword(definition.keyword)
    ajv.addKeyword({
      ...definition,
      compile: (limit: number) => (text: string) => !isBroken(text, limit),
      errors: false,
    })
  }
  for (const [name, schema] of Object.entries(schemas)) ajv.addSchema({ ...schema, $id: name })
  const validators: Record<string, ValidateFunction> = {}
  for (const name of Object.keys(schemas))
    Object.defineProperty(validators, name, { enumerable: true, get: () => ajv.getSchema(name) })
  return validators
}

function onFirstUse<T extends object>(create: () => T): T {
  let created: T | undefined
  return new Proxy({} as T, { get: (_, name) => Reflect.get((created ??= create()), name) })
}
