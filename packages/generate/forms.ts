// The JSON, file and list fields of a form, for a server.
import { isJson, styleOf, type Encoding, type Media } from '@platform-api/openapi/document.ts'
import { plain, propertiesOf, typesOf } from '@platform-api/openapi/plain-schemas.ts'
import { essenceOf, isForm } from '@platform-api/openapi/media-types.ts'

type Json = any

export interface Form {
  json: string[]
  files: string[]
  lists: string[]
}

/** null for a media type of another kind, or without a schema. */
export function formOf(document: Json, { type, schema, encoding }: Media): Form | null {
  if (!isForm(type) || Object.keys(schema).length === 0) return null
  const hasFiles = essenceOf(type) === 'multipart/form-data'
  const fields = Object.entries<Json>(propertiesOf(document, schema)).map(([name, node]) => {
    const property = plain(document, node)
    const isList = typesOf(property).includes('array')
    const item = isList ? plain(document, property.items) : property
    return { name, isList, isFile: hasFiles && isFile(item), isJson: isJsonField(item, encoding[name]) }
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
