// Validates requests to the mock server as the real server does.
import type { ValidateFunction } from 'ajv'
import { mediaFor as mediaOf } from '@platform-api/openapi/media-types.ts'
import { isJson, type Media, type Operation, type Parameter } from '@platform-api/openapi/document.ts'
import { discriminatedIn, isMapped, withChosenAlternative } from '@platform-api/openapi/discriminators.ts'
import type { ParameterStyle } from '@platform-api/openapi/parameters.ts'
import { forText, schemaForText } from '@platform-api/openapi/text-values.ts'
import { createAjv, rebased } from '@platform-api/openapi/validators.ts'
import { requestView } from '@platform-api/openapi/views.ts'
import type { Problem } from './errors.ts'
import type { MockProfile } from './profile.ts'

type Json = any

export interface RequestValues {
  path: Record<string, unknown>
  query: Record<string, unknown>
  header: Record<string, unknown>
  cookie: Record<string, unknown>
  /** The parameters with content that is not JSON. */
  notJson: ParameterStyle[]
  body: unknown
  /** The media type of the body, without parameters; empty if there is none. */
  type: string
}

/** @returns a function that lists the problems of a request. Schemas are compiled on first use. */
export function createRequestCheck(document: Json, { formats, check: addProblems }: MockProfile) {
  const asked = withChosenAlternatives(requestView(document))
  const ajvs = {
    text: createAjv(forText(asked), { isText: true, formats }),
    json: createAjv(asked, { isText: false, formats }),
  }
  const compiled = new Map<string, ValidateFunction>()

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
    const inPath = check(`${id} path`, 'text', () => objectOf(of('path'), true), values.path, 'query')
    const media = mediaFor({ body }, values.type)
    const lists = isJson(values.type) ? [] : listsIn(values.body)
    const problems: Problem[] = [
      ...values.notJson.map((each) => ({
        field: each.name,
        constraint: 'json',
        message: `${each.name} is not valid JSON`,
        location: each.in === 'query' ? ('query' as const) : ('header' as const),
      })),
      ...parameters
        .map((each) => ({ each, value: values[each.in][nameIn(each)] }))
        .filter(({ each, value }) => each.isJson === true && value !== undefined)
        .flatMap(({ each: { in: where, name, schema }, value }) =>
          check(
            `${id} ${where} ${name}`,
            'json',
            () => ({ type: 'object', properties: { [name]: rebased(schema) } }),
            { [name]: value },
            where === 'query' ? 'query' : 'header',
          ),
        ),
      ...check(`${id} query`, 'text', () => objectOf(of('query'), false), values.query, 'query'),
      ...check(`${id} header`, 'text', () => objectOf(of('header'), true), values.header, 'header'),
      ...check(`${id} cookie`, 'text', () => objectOf(of('cookie'), true), values.cookie, 'header'),
      ...(body?.required === true && values.body === undefined && (values.type === '' || isJson(values.type))
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
            `${id} body ${media.type} ${isJson(values.type)}`,
            isJson(values.type) ? 'json' : 'text',
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

/**
 * The problems of a discriminated body are only those of the alternative that it chooses. Changes the
 * document.
 */
function withChosenAlternatives(document: Json): Json {
  for (const schema of discriminatedIn(document).filter(isMapped)) {
    const chosen = withChosenAlternative(schema)
    delete schema.oneOf
    delete schema.discriminator
    Object.assign(schema, chosen)
  }
  return document
}

/** The media type of the body that the request has; undefined if the operation does not take it. */
export function mediaFor({ body }: Pick<Operation, 'body'>, type: string): Media | undefined {
  return body === null ? undefined : mediaOf(body.media, type)
}

const nameIn = ({ in: where, name }: Parameter): string => (where === 'header' ? name.toLowerCase() : name)

function objectOf(parameters: Parameter[], open: boolean): Json {
  return {
    type: 'object',
    additionalProperties: open,
    properties: Object.fromEntries(parameters.map((p) => [nameIn(p), schemaOfParameter(p)])),
    required: parameters.filter((p) => p.required).map(nameIn),
  }
}

function schemaOfParameter({ schema, allowEmptyValue, isJson }: Parameter): Json {
  // Values of JSON have types of their own.
  if (isJson === true) return {}
  const own = schemaForText(rebased(schema))
  return allowEmptyValue === true ? { anyOf: [{ const: '' }, own] } : own
}
