// The schemas that x-crud becomes.
import { requestSchema } from '../request-schemas.ts'
import {
  capital,
  common,
  has,
  idField,
  isMetadata,
  outerSchema,
  placeOf,
  withArticle,
  words,
  type Declared,
} from './declared.ts'

type Json = any

/** The schema of the resource, with the fields that every resource has. */
export function answerSchema(crud: Declared, schema: Json): Json {
  const { schema: one } = crud
  const place = placeOf(crud)
  const outer = outerSchema(crud)
  const answered = Object.entries<Json>(schema.properties).map(([key, property]) => [
    key,
    withoutLimits(withoutDefault(withoutUse(property))),
  ])
  const time = (verb: string): Json => ({
    ...common('schemas', 'Timestamp'),
    description: `When the ${words(one)} was ${verb}.`,
  })
  const properties = {
    id: { $ref: `#/components/schemas/${one}Id` },
    ...(place !== null && { [place.field]: common('schemas', place.id) }),
    ...(outer !== null && { [idField(outer)]: { $ref: `#/components/schemas/${outer}Id` } }),
    ...Object.fromEntries(answered),
    ...(place !== null && {
      created_by: {
        ...common('schemas', 'UserId'),
        description: `The user who created the ${words(one)}.`,
      },
    }),
    created_at: time('created'),
    updated_at: time('last updated'),
  }
  return { ...schema, type: 'object', required: Object.keys(properties), properties }
}

/** The values that a creation stores in the fields that it does not have. */
export function storedValues({ properties }: Json): Json {
  const unsent = Object.entries<Json>(properties).filter(
    ([, property]) => !isIn(property, 'create') && property.default !== undefined,
  )
  return Object.fromEntries(unsent.map(([key, property]) => [key, property.default]))
}

/** Whether the request has the property. */
function isIn(property: Json, request: 'create' | 'update'): boolean {
  return property.readOnly !== true && (property['x-writable'] ?? request) === request
}

/** The other schemas of the resource: its id, its creation and update, and its list. */
export function schemasOf(
  name: string,
  crud: Declared,
  schema: Json,
  components: Record<string, Json>,
): Json {
  const { schema: one, prefix } = crud
  const what = words(one)
  const fieldsOf = (request: 'create' | 'update'): Array<[string, Json]> =>
    Object.entries<Json>(schema.properties)
      .filter(([, property]) => isIn(property, request))
      .map(([key, property]) => {
        const declared = components[`${one}${capital(request)}`]?.properties?.[key]
        return [key, declared?.$ref ? declared : requestSchema(withoutUse(property), components)]
      })
  return {
    [`${one}Id`]: {
      type: 'string',
      pattern: `^${prefix}_[0-7][0-9a-hjkmnp-tv-z]{25}$`,
      description: `The ID of ${withArticle(what)}. It starts with \`${prefix}_\`.`,
      examples: [`${prefix}_01jd6y8m5qe8btc4y5w1r0n3fz`],
    },
    ...(has(crud, 'create') && {
      [`${one}Create`]: {
        type: 'object',
        description: `A new ${what}.`,
        additionalProperties: false,
        ...(schema.required && { required: schema.required }),
        properties: Object.fromEntries(fieldsOf('create')),
      },
    }),
    ...(has(crud, 'update') && {
      [`${one}Update`]: {
        type: 'object',
        description: `The fields of the ${what} to change.`,
        additionalProperties: false,
        properties: Object.fromEntries(
          fieldsOf('update').map(([key, property]) => [key, inUpdate(property)]),
        ),
      },
    }),
    [`${one}List`]: {
      type: 'object',
      description: `A page of ${words(name)}.`,
      required: ['data', 'pagination'],
      properties: {
        data: {
          type: 'array',
          description: `The ${words(name)} of this page.`,
          items: { $ref: `#/components/schemas/${one}` },
        },
        pagination: common('schemas', 'Pagination'),
      },
    },
  }
}

/** Answers promise nothing about texts, so that a limit can be raised. */
function withoutLimits({ minLength: _min, maxLength: _max, pattern: _, ...property }: Json): Json {
  const { 'x-pattern-says': _says, 'x-lowercase': _case, ...rest } = property
  return rest
}

/** Without what says which requests have the property. */
export function withoutUse({ readOnly: _, 'x-writable': _writable, ...property }: Json): Json {
  return property
}

export function withoutDefault(property: Json): Json {
  const { default: value, ...rest } = property ?? {}
  const hasExample = value === undefined || rest.examples !== undefined || rest.enum !== undefined
  return hasExample ? rest : { ...rest, examples: [value] }
}

/** An update has no defaults, and merges `metadata`. */
function inUpdate(property: Json): Json {
  return isMetadata(property) ? common('schemas', 'MetadataUpdate') : withoutDefault(property)
}
