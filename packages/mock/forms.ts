// Reads form bodies by their schemas: every value of a form is text, a list is a repeated field, and an
// object is JSON or has one field for each key: `address[city]`. The encoding of a property says otherwise.
import {
  isJson,
  separators,
  styleOf,
  type Encoding,
  type Json,
  type Media,
} from '@platform-api/openapi/document.ts'
import { plain, propertiesOf, typesOf } from '@platform-api/openapi/plain-schemas.ts'

/**
 * The fields as an object. Files are text, one character for each byte.
 * @param type the whole header field `Content-Type`
 * @throws TypeError if the bytes are no form of this type.
 */
export async function readForm(
  document: Json,
  { schema, encoding }: Media,
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
  const properties: Record<string, Json> = propertiesOf(document, schema)
  const found: Json = Object.create(null)
  for (const [name, text] of fields) {
    const isDeclared = Object.hasOwn(properties, name)
    const keys = isDeclared ? [name] : bracketKeys(name)
    const holder = isDeclared ? undefined : holderOf(document, properties, encoding, name)
    if (holder !== undefined) setAt(found, [holder, name], text)
    else if (keys.length > 1) setAt(found, keys, text)
    else {
      const property = isDeclared ? plain(document, properties[name]) : {}
      const value = valueOf(document, property, text, encoding[name])
      const isItem =
        typesOf(property).includes('array') &&
        !(Array.isArray(value) && !typesOf(plain(document, property.items)).includes('array'))
      if (isItem) (found[name] ??= []).push(value)
      else found[name] = value
    }
  }
  return found
}

/** The object whose keys are fields of their own, among them this one: the style `form`, exploded. */
function holderOf(
  document: Json,
  properties: Record<string, Json>,
  encoding: Media['encoding'],
  name: string,
): string | undefined {
  return Object.keys(encoding).find((each) => {
    const styled = styleOf(encoding[each])
    if (styled?.style !== 'form' || !styled.explode || !Object.hasOwn(properties, each)) return false
    const own = plain(document, properties[each])
    return typesOf(own).includes('object') && Object.hasOwn(propertiesOf(document, own), name)
  })
}

/** The value of a field. Other values than text are converted by the validator. */
function valueOf(document: Json, schema: Json, text: string, encoding: Encoding = {}): Json {
  const styled = styleOf(encoding)
  const types = typesOf(schema)
  if (styled !== null && !styled.explode && styled.style !== 'deepObject') {
    const items = text.split(separators[styled.style] ?? ',')
    if (types.includes('array')) return items
    if (types.includes('object'))
      return Object.fromEntries(
        items.flatMap((key, i): Array<[string, string]> => (i % 2 === 0 ? [[key, items[i + 1] ?? '']] : [])),
      )
  }
  const item = types.includes('array') ? plain(document, schema.items) : schema
  const declared = styled === null && isJson(encoding.contentType?.split(',')[0].trim() ?? '')
  if (!declared && (typesOf(item).includes('string') || !/^\s*[[{]/.test(text))) return text
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

/** More would make a list of many holes, and objects too deep to be written. */
const [maxPosition, maxKeys] = [1000, 20]

/**
 * Numbers and empty keys are positions in a list.
 * @throws TypeError if a list has other keys, or too many.
 */
function setAt(root: Json, keys: string[], value: string): void {
  if (keys.length > maxKeys) throw new TypeError(`A field has more than ${maxKeys} keys.`)
  let at = root
  keys.forEach((key, i) => {
    const position = Array.isArray(at) && key === '' ? at.length : key
    if (Array.isArray(at) && !(/^\d+$/.test(String(position)) && Number(position) <= maxPosition))
      throw new TypeError(`${keys[0]} is a list, which has no position ${position}.`)
    if (i === keys.length - 1) at[position] = value
    else {
      const isList = /^\d*$/.test(keys[i + 1])
      if (!Object.hasOwn(at, position) || typeof at[position] !== 'object')
        at[position] = isList ? [] : Object.create(null)
      at = at[position]
    }
  })
}
