// Validates requests to the mock server as the real server does.
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { Location, Problem } from '../../infra/errors.ts'
import { formats } from '../../infra/validation/formats.ts'
import { collectObjects } from '../../infra/validation/query-objects.ts'
import { checkWith } from '../../infra/validation/problems.ts'
import type { Operation, Parameter } from '../generate/model.ts'
import { plain } from '../generate/schemas.ts'

type Json = any

export interface RequestValues {
  path: Record<string, string>
  query: Record<string, unknown>
  header: Record<string, unknown>
  body: unknown
}

/** @returns a function that lists the problems of a request. Schemas are compiled on first use. */
export function createRequestCheck(document: Json) {
  const ajvs = { text: createAjv('array'), json: createAjv(false) }
  const compiled = new Map<string, ValidateFunction>()

  function createAjv(coerceTypes: false | 'array'): InstanceType<typeof Ajv2020> {
    const ajv = new Ajv2020({
      allErrors: true,
      strict: false,
      coerceTypes,
      useDefaults: true,
      validateSchema: false,
    })
    for (const [name, format] of Object.entries(formats)) ajv.addFormat(name, format as never)
    for (const [name, schema] of Object.entries<Json>(document.components?.schemas ?? {}))
      ajv.addSchema({ $id: `spec:${name}`, ...plain(schema, refTo) })
    return ajv
  }

  function check(
    key: string,
    kind: 'text' | 'json',
    schema: Json,
    value: unknown,
    location: Location,
  ): Problem[] {
    let validate = compiled.get(key)
    if (validate === undefined) compiled.set(key, (validate = ajvs[kind].compile(plain(schema, refTo))))
    const problems: Problem[] = []
    checkWith(validate, value, location, problems)
    return problems
  }

  return function problemsOf(
    { id, path_, query, header, body }: Operation,
    values: RequestValues,
  ): { isPossiblePath: boolean; problems: Problem[] } {
    const objects = query.filter(({ schema }) => schema.type === 'object').map(({ name }) => name)
    collectObjects(values.query, objects)
    const inPath = check(`${id} path`, 'text', objectOf(path_, true), values.path, 'query')
    const problems = [
      ...check(`${id} query`, 'text', objectOf(query, false), values.query, 'query'),
      ...check(`${id} header`, 'text', objectOf(header, true), values.header, 'header'),
      ...(body?.required === true && values.body === undefined
        ? [
            {
              field: 'body',
              constraint: 'required',
              message: 'a body is required',
              location: 'body' as const,
            },
          ]
        : []),
      ...(body?.schema && values.body !== undefined
        ? check(`${id} body`, 'json', body.schema, values.body, 'body')
        : []),
    ]
    return { isPossiblePath: inPath.length === 0, problems }
  }
}

const refTo = (component: string, rest: string): string => `spec:${component}${rest && `#${rest}`}`

function objectOf(parameters: Parameter[], open: boolean): Json {
  const name = (p: Parameter): string => (p.in === 'header' ? p.name.toLowerCase() : p.name)
  return {
    type: 'object',
    additionalProperties: open,
    properties: Object.fromEntries(parameters.map((p) => [name(p), p.schema])),
    required: parameters.filter((p) => p.required === true).map(name),
  }
}
