// Validates requests against the schemas of openapi.json. A schema is compiled with its first request.
import { readFileSync } from 'node:fs'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { fullFormats } from 'ajv-formats/dist/formats.js'
import { HttpError, type Problem } from './handler.ts'
import type { OperationInfo, ParameterInfo } from './operations.ts'

const document = JSON.parse(readFileSync(new URL('openapi.json', import.meta.url), 'utf8'))
const text = createAjv('array', forText(document))
const json = createAjv(false, document)
const compiled = new Map<string, ValidateFunction>()

export interface Parts {
  path: Record<string, unknown>
  query: Record<string, unknown>
  header: Record<string, unknown>
  body: unknown
  /** The media type of the body, without parameters; empty if there is none. */
  type: string
}

/**
 * Converts parameters to their declared types.
 * @throws HttpError 404 for a path that no resource can have, 400 or 415 for other violations.
 */
export function requireValid(operation: OperationInfo, parts: Parts): void {
  if (problemsOf(operation, 'path', parts.path).length > 0) throw new HttpError(404, 'Not found')
  for (const parameter of operation.parameters) if (parameter.in === 'query') split(parameter, parts.query)
  const problems = [
    ...problemsOf(operation, 'query', parts.query),
    ...problemsOf(operation, 'header', { ...parts.header }),
    ...bodyProblems(operation, parts),
  ]
  if (problems.length > 0) throw new HttpError(400, 'The request is invalid', problems)
}

function bodyProblems({ id, body }: OperationInfo, { type, body: value }: Parts): Problem[] {
  if (body === null || (type === '' && value === undefined))
    return body?.required === true ? [{ in: 'body', at: '', message: 'is required' }] : []
  const media = body.media.find((each) => each.type === type || each.type === '*/*')
  if (media === undefined)
    throw new HttpError(415, `Send one of ${body.media.map((each) => each.type).join(', ')}`)
  if (media.pointer === null || Buffer.isBuffer(value)) return []
  const { pointer, form } = media
  const ajv = form !== undefined || type === 'application/x-www-form-urlencoded' ? text : json
  const checked = form === undefined ? value : withoutFiles(value as object)
  const problems = check(ajv, `${id} body ${type}`, () => ({ $ref: `contract${pointer}` }), checked, 'body')
  if (form !== undefined)
    for (const [name, converted] of Object.entries(checked as object))
      if (!form.files.includes(name)) (value as Record<string, unknown>)[name] = converted
  return problems
}

/** A copy in which each file is a text of the same length. */
function withoutFiles(fields: object): object {
  const textOf = (value: unknown): unknown => (value instanceof File ? ' '.repeat(value.size) : value)
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.map(textOf) : textOf(value),
    ]),
  )
}

function problemsOf(
  { id, parameters }: OperationInfo,
  where: ParameterInfo['in'],
  values: Record<string, unknown>,
): Problem[] {
  const own = parameters.filter((each) => each.in === where)
  if (own.length === 0) return []
  const nameOf = ({ name }: ParameterInfo): string => (where === 'header' ? name.toLowerCase() : name)
  const schema = () => ({
    type: 'object',
    properties: Object.fromEntries(
      own.map((each) => [nameOf(each), each.pointer === null ? {} : { $ref: `contract${each.pointer}` }]),
    ),
    required: own.filter((each) => each.required).map(nameOf),
  })
  return check(text, `${id} ${where}`, schema, values, where)
}

/** Objects are sent as `name[key]=value`, and lists perhaps as one value with commas. Changes `query`. */
function split({ name, style }: ParameterInfo, query: Record<string, unknown>): void {
  const value = query[name]
  if (style === 'commas' && typeof value === 'string') query[name] = value.split(',')
  if (style !== 'object' || name in query) return
  const keys = Object.keys(query).filter((key) => key.startsWith(`${name}[`) && key.endsWith(']'))
  if (keys.length === 0) return
  query[name] = Object.fromEntries(keys.map((key) => [key.slice(name.length + 1, -1), query[key]]))
  for (const key of keys) delete query[key]
}

function check(
  ajv: Ajv2020,
  key: string,
  schema: () => object,
  value: unknown,
  where: Problem['in'],
): Problem[] {
  let validate = compiled.get(key)
  if (validate === undefined) compiled.set(key, (validate = ajv.compile(schema())))
  if (validate(value)) return []
  return validate.errors!.map(({ instancePath, message = 'is invalid' }) => ({
    in: where,
    at: instancePath,
    message,
  }))
}

function createAjv(coerceTypes: false | 'array', contract: object): Ajv2020 {
  const ajv = new Ajv2020({
    strict: false,
    validateSchema: false,
    allErrors: true,
    inlineRefs: false,
    logger: false,
    coerceTypes,
  })
  for (const [name, format] of Object.entries(fullFormats)) ajv.addFormat(name, format)
  ajv.addSchema(contract, 'contract')
  return ajv
}

/** A copy with `anyOf` instead of `oneOf`: the text 12 is a string and also an integer. */
function forText<Value>(node: Value): Value {
  if (typeof node !== 'object' || node === null) return node
  if (Array.isArray(node)) return node.map(forText) as Value
  return Object.fromEntries(
    Object.entries(node).map(([key, value]) => [
      key === 'oneOf' && Array.isArray(value) && !('anyOf' in node) ? 'anyOf' : key,
      typeof value === 'string' && key === '$ref' ? value.replaceAll('/oneOf/', '/anyOf/') : forText(value),
    ]),
  ) as Value
}
