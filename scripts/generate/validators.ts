// Compiles every schema of the contract ahead of time: Ajv 2020 standalone code for what comes in and, for tests and
// a setting, what goes out; fast-json-stringify standalone code for what goes out.
import { Ajv2020 } from 'ajv/dist/2020.js'
import { _ } from 'ajv'
import standalone from 'ajv/dist/standalone/index.js'
import addFormats from 'ajv-formats'
import fastJson from 'fast-json-stringify'
import { formats } from '../../services/formats.ts'
import type { Operation } from './model.ts'

type Json = any

/** Keywords of OpenAPI and annotations that say nothing about validity. */
const annotations = new Set(['example', 'examples', 'xml', 'externalDocs', 'discriminator', 'description', 'title', 'deprecated', 'readOnly', 'writeOnly', '$comment'])

/** A schema for JSON Schema tools: annotations gone, component references rebased to `$defs` under `base`. */
function plain (node: Json, base: string, inProperties = false): Json {
  if (Array.isArray(node)) return node.map((item) => plain(item, base))
  if (typeof node !== 'object' || node === null) return node
  return Object.fromEntries(Object.entries(node)
    .filter(([key]) => inProperties || !(annotations.has(key) || key.startsWith('x-')))
    .map(([key, value]) => {
      if (key === '$ref' && !inProperties) return [key, String(value).replace('#/components/schemas/', `${base}#/$defs/`)]
      if (key === 'const' || key === 'enum' || key === 'default') return [key, value]
      return [key, plain(value, base, key === 'properties' || key === '$defs')]
    }))
}

/** Gives equal schemas one name, so that each is compiled once. */
class Pool {
  names = new Map<string, string>()
  schemas: Record<string, Json> = {}
  prefix: string
  constructor (prefix: string) { this.prefix = prefix }

  add (schema: Json): string {
    const key = JSON.stringify(schema)
    let name = this.names.get(key)
    if (name === undefined) {
      const component = /^\{"\$ref":"[^"]*\/([A-Za-z0-9_]+)"\}$/.exec(key)?.[1]
      name = component === undefined ? `${this.prefix}${this.names.size}` : `${this.prefix}${component}`
      this.names.set(key, name)
      this.schemas[name] = schema
    }
    return name
  }
}

function definitions (document: Json, base: string): Json {
  return {
    $id: base,
    $defs: Object.fromEntries(Object.entries(document.components?.schemas ?? {}).map(([name, schema]) => [name, plain(schema, base)]))
  }
}

function ajv (document: Json, coerceTypes: false | 'array'): InstanceType<typeof Ajv2020> {
  const instance = new Ajv2020({
    allErrors: true,
    strictSchema: true,
    strictTypes: false,
    strictTuples: false,
    strictRequired: false,
    coerceTypes,
    useDefaults: true,
    removeAdditional: false,
    inlineRefs: false,
    code: { source: true, lines: true, formats: _`formats` }
  })
  addFormats.default(instance)
  for (const [name, format] of Object.entries(formats)) instance.addFormat(name, format)
  instance.addSchema(definitions(document, 'spec'))
  return instance
}

/** What a request's parameters of one place must be, as one closed object. */
function parametersSchema (parameters: Json[], closed: boolean): Json {
  const name = (p: Json) => p.in === 'header' ? p.name.toLowerCase() : p.name
  return {
    type: 'object',
    ...(closed && { additionalProperties: false }),
    properties: Object.fromEntries(parameters.map((p) => [name(p), plain(p.schema, 'spec')])),
    required: parameters.filter((p) => p.required).map(name)
  }
}

export interface ValidatorNames { path?: string, query?: string, header?: string, body?: string, responses: Record<number, string> }

/** @returns the three modules' source, and for each operation the names of its validators in them. */
export function compileValidators (document: Json, operations: Operation[]): { requests: string, responses: string, serializers: string, names: Map<string, ValidatorNames> } {
  const parameters = new Pool('params')
  const bodies = new Pool('body')
  const responses = new Pool('reply')
  const names = new Map<string, ValidatorNames>()
  for (const operation of operations) {
    const own: ValidatorNames = { responses: {} }
    if (operation.path_.length > 0) own.path = parameters.add(parametersSchema(operation.path_, true))
    own.query = parameters.add(parametersSchema(operation.query, true))
    if (operation.header.length > 0) own.header = parameters.add(parametersSchema(operation.header, false))
    if (operation.body?.schema) own.body = bodies.add(plain(operation.body.schema, 'spec'))
    for (const response of operation.responses) {
      if (response.contentType === 'application/json') own.responses[response.status] = responses.add(plain(response.schema, 'spec'))
    }
    names.set(operation.id, own)
  }
  return {
    requests: asModule(`${standaloneCode(document, 'array', parameters)}\n${standaloneCode(document, false, bodies)}`),
    responses: asModule(standaloneCode(document, false, responses)),
    serializers: serializers(document, responses),
    names
  }
}

/** Ajv writes the body of a CommonJS module: wrapped, so that two of them can stand in one ES module. */
function standaloneCode (document: Json, coerceTypes: false | 'array', pool: Pool): string {
  const instance = ajv(document, coerceTypes)
  const ids: Record<string, string> = {}
  for (const [name, schema] of Object.entries(pool.schemas)) {
    instance.addSchema({ ...schema, $id: name })
    ids[name] = name
  }
  const code = (standalone as Json).default(instance, ids)
  return `;(function (exports) {\n${code.replace(/^"use strict";/, '')}\n})(validators);`
}

function asModule (code: string): string {
  return `import { createRequire } from 'node:module'
import { formats } from '../services/formats.ts'

const require = createRequire(import.meta.url)
const validators = {}
${code}
export default validators
`
}

function serializers (document: Json, pool: Pool): string {
  // fast-json-stringify reads draft 7 definitions; the vocabulary used here is the same in both.
  const external = { spec: { $id: 'spec', ...definitions(document, 'spec') } }
  const entries = Object.entries(pool.schemas).map(([name, schema]) => {
    const code = fastJson(structuredClone(schema), { mode: 'standalone', schema: structuredClone(external) } as Json) as unknown as string
    return `  get ${name}() { return define(this, '${name}', (module) => {${code.trim()}\n  return module.exports }) }`
  })
  return `import { createRequire } from 'node:module'
const require = createRequire(import.meta.url)

// Built on first use: a start pays only for what it serves.
const define = (target, name, build) => {
  const value = build({ exports: {} })
  Object.defineProperty(target, name, { value })
  return value
}
export default {
${entries.join(',\n')}
}
`
}
