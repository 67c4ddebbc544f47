// What OpenAPI says about the parts of a document, where the library that reads them says something else.
import { createConfig } from '@redocly/openapi-core'
import { checkStructure } from './structure.ts'

type Json = any
type Types = Record<string, Json>

/** Of a schema in version 2.0. */
const types20 = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null', 'file']

/**
 * The extensions with schemas, which are read as schemas. All others are data: a reference in them is not
 * followed, unless a reference of the document leads there.
 */
const schemaExtensions: Record<string, string> = { 'x-stream-events': 'NamedSchemas' }

/** A type that describes nothing, and in which references are data. */
const data = { resolvable: false }

function withExtensionsAsData(type: Json): Json {
  // Maps have no extensions: their keys are names.
  if (type.extensionsPrefix === undefined) return type
  const { extensionsPrefix, properties, additionalProperties, ...rest } = type
  const isExtension = (key: string): boolean => key.startsWith(extensionsPrefix)
  return {
    ...rest,
    properties: Object.fromEntries(Object.entries(properties).filter(([key]) => !isExtension(key))),
    additionalProperties: (value: Json, key: string) => {
      if (isExtension(key)) return schemaExtensions[key] ?? data
      return typeof additionalProperties === 'function'
        ? additionalProperties(value, key)
        : additionalProperties
    },
  }
}

function typesOf(types: Types, version: string): Types {
  const all = Object.fromEntries(
    Object.entries(types).map(([name, type]) => [name, withExtensionsAsData(type)]),
  )
  const { Schema } = all
  if (version === 'oas2') {
    // Version 2.0 takes `type` and the limits from JSON Schema.
    Schema.properties = {
      ...Schema.properties,
      type: (value: Json) =>
        Array.isArray(value) ? { type: 'array', items: { enum: types20 } } : { enum: types20 },
    }
    const limits = { maximum: { type: 'number' }, minimum: { type: 'number' } }
    for (const name of ['Parameter', 'ParameterItems', 'Header'])
      all[name].properties = { ...all[name].properties, ...limits }
  } else if (version !== 'oas3_0') {
    // A keyword that JSON Schema does not know is an annotation.
    const { additionalProperties } = Schema
    Schema.additionalProperties = (value: Json, key: string) => additionalProperties(value, key) ?? null
  }
  return all
}

const structure = () => ({ any: checkStructure })

const plugin = {
  id: 'openapi',
  typeExtension: { oas2: typesOf, oas3: typesOf },
  decorators: { oas2: { structure }, oas3: { structure } },
}

/** The configuration with which all tools read documents. A `$ref` in an example is data, too. */
export async function readingConfig(
  more: { rules?: object; plugins?: object[] } = {},
): ReturnType<typeof createConfig> {
  return await createConfig({
    ...more,
    plugins: [plugin, ...(more.plugins ?? [])],
    decorators: { 'openapi/structure': 'error' },
    resolve: { doNotResolveExamples: true },
  } as Parameters<typeof createConfig>[0])
}
