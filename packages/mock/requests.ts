// Validates requests to the mock server as the real server does.
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { collectObjects } from '@platform-api/openapi/query-objects.ts'
import { isJson, type Media, type Operation, type Parameter } from '@platform-api/openapi/document.ts'
import { rebased, withoutRequired } from '@platform-api/contract/validation.ts'
import { isDiscriminated, isMapped, withChosenAlternative } from '@platform-api/openapi/discriminators.ts'
import { forText } from '@platform-api/openapi/text-values.ts'
import type { Problem } from './errors.ts'
import type { MockProfile } from './profile.ts'

type Json = any

export interface RequestValues {
  path: Record<string, string>
  query: Record<string, unknown>
  header: Record<string, unknown>
  body: unknown
  /** The media type of the body, without parameters; empty if there is none. */
  type: string
}

/** @returns a function that lists the problems of a request. Schemas are compiled on first use. */
export function createRequestCheck(document: Json, { formats, check: addProblems }: MockProfile) {
  const asked = withChosenAlternatives(withoutRequired(document, 'readOnly'))
  const ajvs = { text: createAjv('array', forText(asked)), json: createAjv(false, asked) }
  const compiled = new Map<string, ValidateFunction>()

  function createAjv(coerceTypes: false | 'array', contract: Json): InstanceType<typeof Ajv2020> {
    const ajv = new Ajv2020({
      allErrors: true,
      strict: false,
      logger: false,
      coerceTypes,
      validateSchema: false,
    })
    for (const [name, format] of Object.entries(formats)) ajv.addFormat(name, format as never)
    ajv.addSchema(contract, 'contract')
    return ajv
  }

  function check(
    key: string,
    kind: 'text' | 'json',
    schema: () => Json,
    value: unknown,
    location: Problem['location'],
  ): Problem[] {
    let validate = compiled.get(key)
    if (validate === undefined) compiled.set(key, (validate = ajvs[kind].compile(schema())))
    const problems: Problem[] = []
    addProblems(validate, value, location, problems)
    return problems
  }

  return function problemsOf(
    { id, parameters, body }: Operation,
    values: RequestValues,
  ): { isPossiblePath: boolean; problems: Problem[] } {
    const of = (where: Parameter['in']): Parameter[] => parameters.filter((each) => each.in === where)
    const query = of('query')
    const objects = query.filter(({ schema }) => schema.type === 'object').map(({ name }) => name)
    collectObjects(values.query, objects)
    const inPath = check(`${id} path`, 'text', () => objectOf(of('path'), true), values.path, 'query')
    const media = body?.media.find(({ type }) => type === values.type)
    const lists = isJson(values.type) ? [] : listsIn(values.body)
    const problems = [
      ...check(`${id} query`, 'text', () => objectOf(query, false), values.query, 'query'),
      ...check(`${id} header`, 'text', () => objectOf(of('header'), true), values.header, 'header'),
      ...(body?.required === true && values.body === undefined && values.type === ''
        ? [
            {
              field: 'body',
              constraint: 'required',
              message: 'a body is required',
              location: 'body' as const,
            },
          ]
        : []),
      ...(media !== undefined && values.body !== undefined
        ? check(
            `${id} body ${media.type}`,
            isJson(media.type) ? 'json' : 'text',
            () => ({ $ref: `contract${media.pointer}` }),
            values.body,
            'body',
          )
        : []),
    ]
    // Where an alternative is no list, Ajv replaces a list of one item by the item.
    for (const { holder, name, list } of lists) if (typeof holder[name] === 'string') holder[name] = list
    return { isPossiblePath: inPath.length === 0, problems }
  }
}

/** The lists in the value and where they are. */
function listsIn(value: Json): Array<{ holder: Json; name: string; list: Json[] }> {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries<Json>(value).flatMap(([name, list]) => [
    ...(Array.isArray(list) ? [{ holder: value, name, list }] : []),
    ...listsIn(list),
  ])
}

/** The problems of a discriminated body are only those of the alternative that it chooses. */
function withChosenAlternatives(node: Json): Json {
  if (Array.isArray(node)) return node.map(withChosenAlternatives)
  if (typeof node !== 'object' || node === null) return node
  const copy = Object.fromEntries(
    Object.entries(node).map(([key, value]) => [key, withChosenAlternatives(value)]),
  )
  return isDiscriminated(copy) && isMapped(copy) ? withChosenAlternative(copy) : copy
}

/** The media type of the body that the request has; undefined if the operation does not take it. */
export function mediaFor({ body }: Operation, type: string): Media | undefined {
  return body?.media.find((each) => each.type === type || each.type === '*/*')
}

function objectOf(parameters: Parameter[], open: boolean): Json {
  const name = (p: Parameter): string => (p.in === 'header' ? p.name.toLowerCase() : p.name)
  return {
    type: 'object',
    additionalProperties: open,
    properties: Object.fromEntries(parameters.map((p) => [name(p), forText(rebased(p.schema))])),
    required: parameters.filter((p) => p.required).map(name),
  }
}
