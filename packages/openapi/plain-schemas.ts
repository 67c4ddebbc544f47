// Schemas with the keywords of their parts and alternatives in one place.
import { schemaOf } from './document.ts'

type Json = any

/** The properties of an object, those of its parts and alternatives included. */
export function propertiesOf(document: Json, node: Json, depth = 0): Json {
  const schema = schemaOf(document, node)
  const parts = [...(schema.allOf ?? []), ...(schema.oneOf ?? []), ...(schema.anyOf ?? [])]
  return Object.assign(
    {},
    ...(depth > 4 ? [] : parts.map((part: Json) => propertiesOf(document, part, depth + 1))),
    schema.properties,
  )
}

/** The schema; of alternatives the first that is not null. */
export function plain(document: Json, node: Json): Json {
  const schema = schemaOf(document, node)
  const first = (schema.anyOf ?? schema.oneOf)?.find((each: Json) => each.type !== 'null')
  return first === undefined || schema.type !== undefined ? schema : schemaOf(document, first)
}

export const typesOf = ({ type }: Json): Json[] => [type].flat()
