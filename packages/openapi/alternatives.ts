// A body that needs exactly one of several properties is written as a `oneOf` of `required` lists:
//   oneOf: [{ required: [user_id] }, { required: [email] }]
// Code generators need a union of whole schemas instead, one for each of these properties.
import { mapSubschemas } from './subschemas.ts'

type Json = any

/**
 * The document with each such `oneOf` expanded to whole schemas.
 * @param excludedAs what becomes of a property that an alternative must not have: `omitted` leaves it out;
 * `never` gives it the schema `false`, which is the TypeScript type `never`
 */
export function withWholeAlternatives(document: Json, excludedAs: 'omitted' | 'never'): Json {
  const schemas = Object.entries<Json>(document.components?.schemas ?? {})
  return {
    ...document,
    components: {
      ...document.components,
      schemas: Object.fromEntries(schemas.map(([name, schema]) => [name, expanded(schema)])),
    },
  }

  function expanded(schema: Json): Json {
    const own = mapSubschemas(schema, expanded)
    return isRequiredChoice(own) ? expandedChoice(own, excludedAs) : own
  }
}

/** Whether the schema's `oneOf` only says which one of its properties is required. */
export function isRequiredChoice({ oneOf, properties }: Json): boolean {
  return (
    properties !== undefined &&
    oneOf?.every((alternative: Json) => Object.keys(alternative).join() === 'required') === true
  )
}

/**
 * The alternatives of a `oneOf` of `required` lists, each with its required properties and those that it must
 * not have: the properties of the other alternatives, and what depends on them by `dependentRequired`.
 */
export function alternativesOf({ oneOf, dependentRequired = {} }: Json): Array<{
  required: string[]
  excluded: Set<string>
}> {
  const lists: string[][] = oneOf.map(({ required }: Json) => required)
  return lists.map((required) => {
    const others = lists.flat().filter((name) => !required.includes(name))
    const dependent = Object.entries<string[]>(dependentRequired)
      .filter(([, needed]) => needed.some((name) => others.includes(name)))
      .map(([name]) => name)
    return { required, excluded: new Set([...others, ...dependent]) }
  })
}

function expandedChoice(schema: Json, excludedAs: 'omitted' | 'never'): Json {
  const {
    type,
    oneOf: _,
    dependentRequired = {},
    properties,
    required = [],
    additionalProperties,
    ...annotations
  } = schema
  const oneOf = alternativesOf(schema).map(({ required: chosen, excluded }) => {
    const allRequired: string[] = [...required, ...chosen]
    // What the alternative requires or excludes anyway needs no dependency.
    const dependencies = Object.entries<string[]>(dependentRequired).filter(
      ([name, needed]) => !excluded.has(name) && needed.some((each) => !allRequired.includes(each)),
    )
    return {
      type,
      ...(additionalProperties !== undefined && { additionalProperties }),
      required: allRequired,
      ...(dependencies.length > 0 && { dependentRequired: Object.fromEntries(dependencies) }),
      properties: Object.fromEntries(
        Object.entries(properties).flatMap(([name, property]) => {
          if (!excluded.has(name)) return [[name, property]]
          return excludedAs === 'never' ? [[name, false]] : []
        }),
      ),
    }
  })
  return { ...annotations, oneOf }
}
