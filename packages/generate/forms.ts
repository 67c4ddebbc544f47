// The JSON, file and list fields of a multipart form, for a server.
import { isJson, schemaOf, styleOf, type Encoding, type Media } from '@platform-api/openapi/document.ts'

type Json = any

export interface Form {
  json: string[]
  files: string[]
  lists: string[]
}

/** null for a media type of another kind, or without a schema. */
export function formOf(document: Json, { type, schema, encoding }: Media): Form | null {
  if (!/^multipart\/form-data\b/i.test(type) || Object.keys(schema).length === 0) return null
  const fields = Object.entries<Json>(propertiesOf(document, schema)).map(([name, node]) => {
    const property = plain(document, node)
    const isList = typesOf(property).includes('array')
    const item = isList ? plain(document, property.items) : property
    return { name, isList, isFile: isFile(item), isJson: isJsonField(item, encoding[name]) }
  })
  const named = (kind: 'isJson' | 'isFile' | 'isList'): string[] =>
    fields.filter((field) => field[kind]).map(({ name }) => name)
  return { json: named('isJson'), files: named('isFile'), lists: named('isList') }
}

/** An object is JSON, unless its encoding says otherwise (OpenAPI 3.1, 4.8.15). */
function isJsonField(item: Json, encoding: Encoding = {}): boolean {
  if (styleOf(encoding) !== null) return false
  if (encoding.contentType !== undefined) return isJson(encoding.contentType.trim())
  return typesOf(item).includes('object') || item.properties !== undefined
}

function isFile({ format, contentMediaType, contentEncoding }: Json): boolean {
  return format === 'binary' || (contentMediaType !== undefined && contentEncoding === undefined)
}

/** The properties of an object and of its parts. */
function propertiesOf(document: Json, node: Json, depth = 0): Json {
  const schema = schemaOf(document, node)
  const parts: Json[] = depth > 4 ? [] : (schema.allOf ?? [])
  return Object.assign({}, ...parts.map((part) => propertiesOf(document, part, depth + 1)), schema.properties)
}

/** The schema; of alternatives the first that is not null. */
export function plain(document: Json, node: Json): Json {
  const schema = schemaOf(document, node)
  const first = (schema.anyOf ?? schema.oneOf)?.find((each: Json) => each.type !== 'null')
  return first === undefined || schema.type !== undefined ? schema : schemaOf(document, first)
}

const typesOf = ({ type }: Json): Json[] => [type].flat()
