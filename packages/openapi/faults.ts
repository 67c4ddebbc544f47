// Published documents have faults that say nothing about the API but stop validators. They are read as their
// authors mean them. What cannot be read stays in the document, and is reported.
import { isHidden, isQuerystring } from './document.ts'
import { contradictionIn } from './intersections.ts'
import { keysOfFragment, valueAt } from './json-pointer.ts'
import { hasItems, isMediaType } from './media-types.ts'
import { methods } from './methods.ts'
import { visitSchemas } from './schema-places.ts'
import { unreadPart, withoutSelfParts } from './self-parts.ts'

type Json = any

/** The keyword for a pattern that is no regular expression of ECMA-262. No tool validates it. */
export const unreadPattern = 'x-unread-pattern'

/**
 * Reads the boolean limits, the lists of items and the dependencies of earlier JSON Schema, and rewrites
 * patterns for the flag `u`. A pattern that is no regular expression moves to `x-unread-pattern`. Changes the
 * document.
 * @param isStrict whether the document has version 3.1 or later.
 */
export function withoutFaults(document: Json, { isStrict }: { isStrict: boolean }): Json {
  const readSchema = (schema: Json): void => {
    // Only since version 3.1 does an empty enum allow nothing; before, it is a fault.
    if (Array.isArray(schema.enum) && schema.enum.length === 0) {
      delete schema.enum
      if (isStrict) schema.not = {}
    }
    if (Array.isArray(schema.items)) {
      const { items, additionalItems } = schema
      delete schema.items
      delete schema.additionalItems
      Object.assign(schema, {
        prefixItems: items,
        ...(additionalItems !== undefined && { items: additionalItems }),
      })
    }
    // Before version 3.1 this is no keyword, so that bundling leaves its references as they are.
    for (const [name, { $ref }] of Object.entries<Json>((!isStrict && schema.definitions) || {}))
      if (typeof $ref === 'string' && valueAt(document, keysOfFragment($ref)) === undefined)
        delete schema.definitions[name]
    for (const [name, needed] of Object.entries<Json>(schema.dependencies ?? {})) {
      const keyword = Array.isArray(needed) ? 'dependentRequired' : 'dependentSchemas'
      schema[keyword] = { [name]: needed, ...schema[keyword] }
    }
    delete schema.dependencies
    // Of draft 2019-09. Ajv would follow it.
    if (schema.$recursiveRef !== undefined) schema[unreadReference] = schema.$recursiveRef
    delete schema.$recursiveRef
    if (typeof schema.pattern === 'string') readPattern(schema)
    for (const key of Object.keys(schema.patternProperties ?? {})) {
      const pattern = unicodePattern(key)
      if (pattern === key) continue
      if (pattern === null) schema[unreadPattern] ??= key
      else schema.patternProperties[pattern] = schema.patternProperties[key]
      delete schema.patternProperties[key]
    }
    for (const [exclusive, limit] of [
      ['exclusiveMinimum', 'minimum'],
      ['exclusiveMaximum', 'maximum'],
    ])
      if (typeof schema[exclusive] === 'boolean') {
        if (schema[exclusive] && schema[limit] !== undefined) {
          schema[exclusive] = schema[limit]
          delete schema[limit]
        } else delete schema[exclusive]
      }
  }
  visitSchemas(document, readSchema, readContent)
  return withoutSelfParts(document)
}

/** A key in the wrong place, such as `examples`, moves to `x-unread-content`. */
function readContent(holder: Json): void {
  for (const type of Object.keys(holder.content ?? {}).filter((key) => !isMediaType(key))) {
    delete holder.content[type]
    ;(holder[unreadContent] ??= []).push(type)
  }
}

const unreadContent = 'x-unread-content'
const unreadReference = 'x-unread-reference'

/** By place: the fields that no tool carries out. */
const unreadFields = {
  document: { $self: '$self is not applied: references are relative to their file.' },
  schema: {
    xml: 'xml is not applied: bodies of XML are not read.',
    contentSchema: 'contentSchema is not validated: no tool reads the document inside a text.',
    $vocabulary: '$vocabulary is not applied: it is for meta-schemas.',
    [unreadReference]: '$recursiveRef is not applied: JSON Schema 2020-12 has $dynamicRef instead.',
  },
  media: {
    prefixEncoding: 'prefixEncoding is not applied: parts of a multipart body are read by their names.',
    itemEncoding: 'itemEncoding is not applied: parts of a multipart body are read by their names.',
  },
  encoding: {
    headers: 'headers of an encoding are not applied: the header fields of a part are not read.',
    encoding: 'encoding in an encoding is not applied: a part is not read as a form.',
  },
  example: {
    serializedValue: 'serializedValue of an example is not sent: tools send dataValue or value.',
    externalValue: 'externalValue of an example is not opened: tools send dataValue or value.',
  },
}

const dialects =
  /^https:\/\/(json-schema\.org\/draft\/2020-12\/schema|spec\.openapis\.org\/oas\/3\.\d\/dialect\/)/

/** What no tool carries out, a sentence for each. */
export function noticesOf(document: Json): string[] {
  const notices = new Set<string>()
  const dialect = (uri: unknown): void => {
    if (typeof uri === 'string' && !dialects.test(uri))
      notices.add(`The dialect ${uri} is not applied: schemas are read as JSON Schema 2020-12.`)
  }
  const fieldsOf = (node: Json, fields: Record<string, string>): void => {
    for (const key of Object.keys(node ?? {})) if (Object.hasOwn(fields, key)) notices.add(fields[key])
  }
  dialect(document.jsonSchemaDialect)
  fieldsOf(document, unreadFields.document)
  const schemaNotices = (schema: Json): void => {
    dialect(schema.$schema)
    fieldsOf(schema, unreadFields.schema)
    if (typeof schema[unreadPattern] === 'string')
      notices.add(
        `The pattern ${JSON.stringify(schema[unreadPattern])} is no regular expression of ECMA-262.`,
      )
    if (typeof schema[unreadPart] === 'string')
      notices.add(`${schema[unreadPart]}, for the same value: at most its own keywords apply there.`)
    const contradiction = schema.allOf === undefined ? null : contradictionIn(document, schema)
    if (contradiction !== null)
      notices.add(`An allOf has no value: ${contradiction}. It can be neither sent nor answered.`)
    if (schema.discriminator?.defaultMapping !== undefined)
      notices.add('defaultMapping is not applied: an unknown value of the discriminator is refused.')
  }
  visitSchemas(document, schemaNotices, (holder) => {
    fieldsOf(holder, unreadFields.media)
    for (const key of holder[unreadContent] ?? [])
      notices.add(`${key} in content is left out: it is no media type.`)
    for (const [type, media] of Object.entries<Json>(holder.content ?? {}))
      if (media?.itemSchema !== undefined && (media.schema !== undefined || !hasItems(type)))
        notices.add(
          `itemSchema of ${type} is not applied: it is for events and lines of JSON without schema.`,
        )
    if (isQuerystring(holder))
      notices.add(
        `The parameter ${holder.name} in querystring is left out: no tool reads the query as one value.`,
      )
    for (const each of Object.values<Json>(holder.encoding ?? {})) fieldsOf(each, unreadFields.encoding)
    for (const each of Object.values<Json>(holder.examples ?? {}))
      if (each?.value === undefined) fieldsOf(each, unreadFields.example)
  })
  const silent: string[] = []
  for (const [path, item] of Object.entries<Json>(document.paths ?? {})) {
    const unserved = Object.keys({ ...item, ...item.additionalOperations }).filter(
      (key) =>
        ['trace', 'query'].includes(key) ||
        (key === 'head' && item.get === undefined) ||
        Object.hasOwn(item.additionalOperations ?? {}, key),
    )
    for (const method of unserved)
      notices.add(`${method.toUpperCase()} ${path} is left out: no tool has the method.`)
    if (item.get?.requestBody !== undefined)
      notices.add(`The body of GET ${path} is left out: it has no meaning in HTTP.`)
    for (const method of methods) {
      const statuses = Object.keys(item[method]?.responses ?? {})
      if (statuses.length > 0 && !statuses.some((status) => /^([23]|default)/i.test(status)))
        silent.push(`${method.toUpperCase()} ${path}`)
      if (item[method] !== undefined && isHidden(document, path, method))
        notices.add(`${method.toUpperCase()} ${path} is left out: no request has what follows the #.`)
    }
  }
  if (silent.length > 0)
    notices.add(`No success is declared, and so none is checked, for ${silent.join(', ')}.`)
  return [...notices]
}

function readPattern(schema: Json): void {
  const pattern = unicodePattern(schema.pattern)
  if (pattern === null) {
    schema[unreadPattern] = schema.pattern
    delete schema.pattern
  } else schema.pattern = pattern
}

/** The pattern as JSON Schema reads it, with Unicode; null if it is no regular expression. */
export function unicodePattern(pattern: string): string | null {
  // No text matches `/^a$/`: its author wrote a literal of JavaScript, and means `^a$`.
  const [, inside = pattern] = /^\/(\^.*\$)\/$/.exec(pattern) ?? []
  return [inside, rewritten(inside)].find(isPattern) ?? null
}

const token = /\\[^]|\{\d+(?:,\d*)?\}|[^]/g

/**
 * The same pattern for the flag `u`, which allows no identity escapes such as `\-`, no single braces and
 * brackets, and no class such as `\w` as the end of a range (ECMA-262, annex B.1.2).
 */
function rewritten(pattern: string): string {
  let inClass = false
  const tokens = pattern.match(token) ?? []
  return tokens
    .map((part, i) => {
      if (part.startsWith('\\') && part.length === 2) {
        const [, char] = part
        if (char === '-') return inClass ? part : char
        return /[\^$\\.*+?()[\]{}|/a-zA-Z0-9]/.test(char) ? part : char
      }
      if (inClass) {
        if (part === ']') inClass = false
        const isEnd = [tokens[i - 1], tokens[i + 1]].some((near) => /^\\[wWdDsS]$/.test(near ?? ''))
        return part === '-' && isEnd ? '\\-' : part
      }
      if (part === '[') inClass = true
      return ['{', '}', ']'].includes(part) ? `\\${part}` : part
    })
    .join('')
}

function isPattern(pattern: string): boolean {
  try {
    new RegExp(pattern, 'u').test('')
    return true
  } catch {
    return false
  }
}
