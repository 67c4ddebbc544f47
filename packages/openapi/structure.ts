// The JSON types of the parts of a document. A document with another type in a place is refused there. null
// is the same as nothing, as in YAML that ends behind a colon, and a number is a text where one is expected.

type Json = any

/** A type of the library that reads documents: a part with properties, a list of parts, or a value. */
interface Type {
  name?: string
  type?: string
  enum?: unknown[]
  items?: Type
  properties: Record<string, Json>
  additionalProperties?: Json
  isExample?: boolean
}

/** What must be there, by the name of the part. Tools do without the rest. */
const needed: Record<string, string[]> = { Parameter: ['name', 'in'], Server: ['url'] }

/** Spellings of other versions, and what the library has another type for than JSON Schema. */
const lenient = new Set(['exclusiveMinimum', 'exclusiveMaximum', 'type', '$vocabulary'])

// The type of a response in version 2.0 may be `file`.
const schemaTypes = ['string', 'number', 'integer', 'boolean', 'array', 'object', 'null', 'file']

/** What no tool needs: it is left out if it is wrong. */
const annotations = new Set(
  'title summary description examples deprecated externalDocs contact license xml $comment'.split(' '),
)

/** Reports what is wrong in one part, and changes the part to what is meant. */
export function checkStructure(node: Json, { type, key, location, report }: { type: Type } & Json): void {
  if (type.name === 'SpecExtension' || type.name === 'scalar') return
  // Schemas may be booleans, and lists of them are the items of draft 4.
  if (type.name === 'Schema' && (typeof node === 'boolean' || (key === 'items' && Array.isArray(node))))
    return
  const expected = typeOf(type)
  if (jsonType(node) !== expected) {
    const name = typeof key === 'string' && key !== '' ? `\`${key}\`` : 'This'
    report({ message: `${name} must be ${article(expected)}, not ${article(jsonType(node))}.`, location })
    return
  }
  if (expected === 'array') return
  const unknown =
    type.name === 'Schema' && [node.type ?? []].flat().find((each) => !schemaTypes.includes(each))
  if (unknown) report({ message: `${JSON.stringify(unknown)} is no type.`, location: location.child('type') })
  for (const own of Object.keys(node)) checkProperty(node, own, type, { location, report })
  for (const name of (typeof node.$ref !== 'string' && needed[type.name!]) || [])
    if (node[name] === undefined)
      report({ message: `\`${name}\` is missing.`, location: { ...location, reportOnKey: true } })
}

function checkProperty(node: Json, key: string, type: Type, { location, report }: Json): void {
  const value = node[key]
  const declared = Object.hasOwn(type.properties, key) ? type.properties[key] : undefined
  const found = declared ?? type.additionalProperties
  const own: Type | undefined | null = typeof found === 'function' ? found(value, key) : found
  const expected = own && !own.isExample && typeOf(own)
  if (!own || !expected) return
  if (expected === jsonType(value)) {
    if (own.name === undefined && own.items?.type === 'string') node[key] = value.filter(isScalar).map(String)
    return
  }
  // In a map, the name still counts.
  if (value === null && declared === undefined && own.name !== undefined) node[key] = {}
  else if (value === null || annotations.has(key)) delete node[key]
  // The `required` of a parameter, in a schema.
  else if (key === 'required' && typeof value === 'boolean') delete node[key]
  else if (expected === 'string' && isScalar(value)) node[key] = String(value)
  else if (own.name === undefined && !lenient.has(key))
    report({
      message: `\`${key}\` must be ${article(expected)}, not ${article(jsonType(value))}.`,
      location: location.child(key),
    })
}

const isScalar = (value: Json): boolean => typeof value !== 'object'

/** The JSON type of a value; undefined if any will do. */
function typeOf(type: Type): string | undefined {
  if (type.name !== undefined) return type.items === undefined ? 'object' : 'array'
  if (type.type === 'integer') return 'number'
  return type.type ?? (type.enum && 'string')
}

function jsonType(value: Json): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

const article = (type = 'undefined'): string =>
  type === 'null' ? 'null' : `${/^[aio]/.test(type) ? 'an' : 'a'} ${type}`
