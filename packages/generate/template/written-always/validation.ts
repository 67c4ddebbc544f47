// Validates requests against the schemas of openapi.json. A schema is compiled with its first request.
import { createCheck, document, type Check } from './contract.ts'
import { HttpError, type Problem } from './handler.ts'
import { isJson, mediaFor } from './openapi/media-types.ts'
import { readParameters, type RawParameters } from './openapi/parameters.ts'
import { forText } from './openapi/text-values.ts'
import { requestView } from './openapi/views.ts'
import type { OperationInfo, ParameterInfo } from './operations.ts'

const contract = requestView(document)
const text = createCheck(forText(contract), { isText: true })
const json = createCheck(contract, { isText: false })

export interface Parameters {
  path: Record<string, unknown>
  query: Record<string, unknown>
  /** By name in lower case; only declared ones. */
  header: Record<string, unknown>
  cookie: Record<string, unknown>
}

export interface Body {
  value: unknown
  /** The media type, without parameters; empty if there is none. */
  type: string
}

/**
 * The parameters, with their declared types.
 * @throws HttpError 404 for a path that no resource can have, 400 or 415 for other violations.
 */
export function requireValid(operation: OperationInfo, raw: RawParameters, body: Body): Parameters {
  const { notJson, ...parameters } = readParameters(operation.parameters, raw)
  if (problemsOf(operation, 'path', parameters.path).length > 0) throw new HttpError(404, 'Not found')
  const problems = [
    ...notJson.map((each) => ({ in: each.in, at: `/${each.name}`, message: 'is not valid JSON' })),
    ...problemsOf(operation, 'query', parameters.query),
    ...problemsOf(operation, 'header', parameters.header),
    ...problemsOf(operation, 'cookie', parameters.cookie),
    ...bodyProblems(operation, body),
  ]
  if (problems.length > 0) throw new HttpError(400, 'The request is invalid', problems)
  return parameters
}

function bodyProblems({ id, body }: OperationInfo, { type, value }: Body): Problem[] {
  if (body === null || (type === '' && value === undefined))
    return body?.required === true ? [{ in: 'body', at: '', message: 'is required' }] : []
  const media = mediaFor(body.media, type)
  if (media === undefined)
    throw new HttpError(415, `Send one of ${body.media.map((each) => each.type).join(', ')}`)
  if (media.pointer === null || Buffer.isBuffer(value)) return []
  const { pointer, form } = media
  const check = form !== undefined || !isJson(type) ? text : json
  const checked = form === undefined ? value : withoutFiles(value as object)
  const problems = list(check, `${id} body ${type}`, () => ({ $ref: `contract${pointer}` }), checked, 'body')
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
  const nameOf = ({ name }: ParameterInfo): string => (where === 'header' ? name.toLowerCase() : name)
  const schemaOf = ({ pointer, allowEmptyValue }: ParameterInfo): object => {
    if (pointer === null) return {}
    const schema = { $ref: `contract${pointer}` }
    return allowEmptyValue === true ? { anyOf: [{ const: '' }, schema] } : schema
  }
  const of = (isJson: boolean) => () => ({
    type: 'object',
    properties: Object.fromEntries(
      own.filter((each) => (each.isJson === true) === isJson).map((each) => [nameOf(each), schemaOf(each)]),
    ),
    required: own.filter((each) => each.required && (each.isJson === true) === isJson).map(nameOf),
  })
  // Values of JSON have types of their own; the others are text.
  return [
    ...(own.length > 0 ? list(text, `${id} ${where}`, of(false), values, where) : []),
    ...(own.some((each) => each.isJson) ? list(json, `${id} ${where} json`, of(true), values, where) : []),
  ]
}

function list(
  check: Check,
  key: string,
  schema: () => object,
  value: unknown,
  where: Problem['in'],
): Problem[] {
  return check(key, schema, value).map(({ instancePath, message = 'is invalid' }) => ({
    in: where,
    at: instancePath,
    message,
  }))
}
