// Reads form bodies by their schemas: every value of a form is text, a list is a repeated field, and an
// object is JSON or has one field for each key: `address[city]`.
import { schemaOf, type Json, type Media } from '@platform-api/openapi/document.ts'

/**
 * The fields as an object. Files are text, one character for each byte.
 * @param type the whole header field `Content-Type`
 * @throws TypeError if the bytes are no form of this type.
 */
export async function readForm(
  document: Json,
  { schema }: Media,
  type: string,
  bytes: Buffer,
): Promise<Json> {
  const form = await new Response(new Uint8Array(bytes), { headers: { 'content-type': type } }).formData()
  const fields: Array<[string, string]> = []
  for (const [name, value] of form)
    fields.push([
      name,
      typeof value === 'string' ? value : Buffer.from(await value.arrayBuffer()).toString('latin1'),
    ])
  const properties = propertiesOf(document, schema)
  const found: Json = {}
  for (const [name, text] of fields) {
    const keys = properties[name] === undefined ? bracketKeys(name) : [name]
    if (keys.length > 1) {
      setAt(found, keys, text)
      continue
    }
    const property = plain(document, properties[name])
    if (typesOf(property).includes('array'))
      (found[name] ??= []).push(valueOf(plain(document, property.items), text))
    else found[name] = valueOf(property, text)
  }
  return found
}

/** The properties of an object, those of its parts and alternatives included. */
function propertiesOf(document: Json, node: Json, depth = 0): Json {
  const schema = schemaOf(document, node)
  const parts = [...(schema.allOf ?? []), ...(schema.oneOf ?? []), ...(schema.anyOf ?? [])]
  return Object.assign(
    {},
    ...(depth > 4 ? [] : parts.map((part: Json) => propertiesOf(document, part, depth + 1))),
    schema.properties,
  )
}

/** The schema; of alternatives the first that is not null. */
function plain(document: Json, node: Json): Json {
  const schema = schemaOf(document, node)
  const first = (schema.anyOf ?? schema.oneOf)?.find((each: Json) => each.type !== 'null')
  return first === undefined || schema.type !== undefined ? schema : schemaOf(document, first)
}

const typesOf = ({ type }: Json): Json[] => [type].flat()

/** Other values than text are converted by the validator. */
function valueOf(schema: Json, text: string): Json {
  if (typesOf(schema).includes('string') || !/^\s*[[{]/.test(text)) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** `['address', 'city']` of `address[city]`. */
function bracketKeys(name: string): string[] {
  const [, first, rest] = /^([^[]+)((?:\[[^\]]*\])+)$/.exec(name) ?? []
  return first === undefined ? [name] : [first, ...[...rest.matchAll(/\[([^\]]*)\]/g)].map(([, key]) => key)]
}

/** Numbers and empty keys are positions in a list. */
function setAt(root: Json, keys: string[], value: string): void {
  let at = root
  keys.forEach((key, i) => {
    const position = Array.isArray(at) && key === '' ? at.length : key
    if (i === keys.length - 1) at[position] = value
    else {
      const isList = /^\d*$/.test(keys[i + 1])
      if (typeof at[position] !== 'object') at[position] = isList ? [] : Object.create(null)
      at = at[position]
    }
  })
}
