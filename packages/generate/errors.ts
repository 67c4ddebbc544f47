// The source of errors.ts, in the shape that most errors of the document have. It is RFC 9457 where the
// document declares no errors, or requires something of which the server knows nothing.
import { schemaOf, type Operation } from '@platform-api/openapi/document.ts'
import { isJson } from '@platform-api/openapi/media-types.ts'
import { createAjv } from '@platform-api/openapi/validators.ts'
import { propertiesOf, responseView } from '@platform-api/openapi/views.ts'
import { plain } from '@platform-api/openapi/plain-schemas.ts'

type Json = any

/** A value, with the names of variables of errors.ts in it. */
type Shape = string | number | boolean | Variable | Shape[] | { [name: string]: Shape }
class Variable {
  name: 'status' | 'title' | 'code'
  constructor(name: Variable['name']) {
    this.name = name
  }
}

/** @param standard the source with the shape of RFC 9457 */
export function emitErrors(document: Json, operations: Operation[], standard: string): string {
  const found = declaredShape(document, operations)
  if (found === null) return standard
  const source = sourceOf(found.shape, '    ')
  return `// The body of every error, in the shape that most operations declare. Others are yours to add.
import type { FastifyRequest } from 'fastify'
import type { HttpError } from './generated/handler.ts'

export function errorBody(
  { status, message, problems }: HttpError,
  _request: FastifyRequest,
): { type: string; body: unknown } {
  const reasons = problems.map((each) => \`\${each.in} \${each.at} \${each.message}\`)
  const title = status === 500 ? 'The server failed' : [message, ...reasons].join('; ')
  return {
    type: ${sourceOf(found.type, '')},
    body: ${source},
  }
}
`
}

/** The shape of most declared errors; null if there is none that the server can fill. */
function declaredShape(document: Json, operations: Operation[]): { type: string; shape: Shape } | null {
  const counts = new Map<string, { type: string; schema: Json; pointer: string; count: number }>()
  for (const { responses, otherResponses } of operations)
    for (const [status, { media }] of [...responses, ...otherResponses]) {
      const [first] = media
      const isError = typeof status === 'number' ? status >= 400 : /^([45]|default)/i.test(status)
      if (!isError || first === undefined || !isJson(first.type) || first.node.schema === undefined) continue
      const { type, schema, pointer } = first
      const key = `${type} ${JSON.stringify(first.node.schema)}`
      const known = counts.get(key) ?? { type, schema, pointer, count: 0 }
      counts.set(key, { ...known, count: known.count + 1 })
    }
  const [most] = [...counts.values()].toSorted((a, b) => b.count - a.count)
  if (most === undefined) return null
  const validate = createAjv(responseView(document), { isText: false }).compile({
    $ref: `contract${most.pointer}`,
  })
  if (validate(sampleOf(standardShape))) return null
  const shape = shapeOf(document, most.schema, 'body')
  return shape !== null && validate(sampleOf(shape)) ? { type: most.type, shape } : null
}

const standardShape = { status: new Variable('status'), title: new Variable('title'), instance: '/' }

/** null for a schema of which the server knows no value. */
function shapeOf(document: Json, node: Json, name: string, depth = 0): Shape | null {
  const schema = plain(document, node)
  const { const: only, enum: listed = [], format } = schema
  const [constant = only] = listed.length === 1 ? listed : []
  // Another constant is that of one error.
  if (constant !== undefined) return /^(type|kind|object)$/i.test(name) ? constant : null
  const types = [schema.type].flat()
  const properties = propertiesOf(document, schema)
  if (Object.keys(properties).length > 0)
    return depth > 3 ? null : objectOf(document, schema, properties, depth)
  if (types.includes('array')) {
    const item = shapeOf(document, schema.items ?? {}, name, depth + 1)
    return item === null ? [] : [item]
  }
  if (types.includes('integer') || types.includes('number'))
    return /status|code/i.test(name) ? new Variable('status') : null
  if (types.includes('boolean')) return /^(success|ok)$/i.test(name) ? false : /^error$/i.test(name) || null
  if (!types.includes('string') || listed.length > 0) return null
  if (format?.startsWith('uri') && /^type$/i.test(name)) return 'about:blank'
  if (format !== undefined) return null
  if (/message|detail|title|description|reason|^(error|errors|msg)$/i.test(name)) return new Variable('title')
  return /status|code|type|^(name|kind)$/i.test(name) ? new Variable('code') : null
}

function objectOf(document: Json, schema: Json, properties: Json, depth: number): Shape | null {
  const parts: Json[] = (schema.allOf ?? []).map((each: Json) => schemaOf(document, each))
  const required = new Set<string>([schema, ...parts].flatMap((each) => each.required ?? []))
  const shape: Record<string, Shape> = {}
  for (const [name, node] of Object.entries<Json>(properties)) {
    const value = shapeOf(document, node, name, depth + 1)
    if (value === null && required.has(name)) return null
    // A list that the shape need not have would be a second message.
    if (value !== null && (required.has(name) || !Array.isArray(value))) shape[name] = value
  }
  return Object.keys(shape).length === 0 ? null : shape
}

const samples = { status: 404, title: 'Not found', code: '404' }

function sampleOf(shape: Shape): unknown {
  if (shape instanceof Variable) return samples[shape.name]
  if (Array.isArray(shape)) return shape.map(sampleOf)
  if (typeof shape !== 'object') return shape
  return Object.fromEntries(Object.entries(shape).map(([name, value]) => [name, sampleOf(value)]))
}

const sources = { status: 'status', title: 'title', code: 'String(status)' }

function sourceOf(shape: Shape, indent: string): string {
  if (shape instanceof Variable) return sources[shape.name]
  if (Array.isArray(shape)) return `[${shape.map((each) => sourceOf(each, indent)).join(', ')}]`
  if (typeof shape === 'string') return `'${JSON.stringify(shape).slice(1, -1).replaceAll("'", "\\'")}'`
  if (typeof shape !== 'object') return String(shape)
  const inner = `${indent}  `
  const rows = Object.entries(shape).map(([name, value]) => {
    const key = /^[A-Za-z_]\w*$/.test(name) ? name : sourceOf(name, '')
    const source = sourceOf(value, inner)
    return source === key ? `${inner}${key},` : `${inner}${key}: ${source},`
  })
  return `{\n${rows.join('\n')}\n${indent}}`
}
