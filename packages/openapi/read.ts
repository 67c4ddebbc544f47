// Reads any OpenAPI document, in one file or several, as one document of version 3.1. Nothing is linted.
import { relative } from 'node:path'
import { upgrade } from '@scalar/openapi-upgrader'
import { bundle, getLineColLocation, type Document, type NormalizedProblem } from '@redocly/openapi-core'
import { freeName, withStaticReferences } from './dynamic-references.ts'
import { withoutFaults } from './faults.ts'
import { keysOfFragment, valueAt } from './json-pointer.ts'
import { methods } from './methods.ts'
import { readingConfig } from './node-types.ts'
import { DocumentResolver } from './resolver.ts'
import { resolve } from './resolve.ts'
import { walkObjects } from './schema-ids.ts'
import { visitSchemas } from './schema-places.ts'

type Json = any

/** Where something is in a file. Both counts start at 1. */
export interface Place {
  file: string
  line: number
  column: number
}

const noDocument =
  'This is no OpenAPI document: it has no `openapi` or `swagger` with its version, or no `paths`'

/** A document that cannot be read. The message is one line with the place of the reason. */
export class DocumentError extends Error {
  readonly place: Place
  readonly reason: string

  constructor(place: Place, reason: string) {
    const at = reason.startsWith('ENOENT') ? ':' : `:${place.line}:${place.column}`
    super(`${shown(place.file)}${at} ${reason}`)
    this.place = place
    this.reason = reason
  }
}

/**
 * A `$ref` in an example or an extension is data: it is neither resolved nor fetched.
 * @param options.allowRemote whether references to URLs are fetched
 * @param options.files the files of the document that are read already; they are changed.
 * @throws DocumentError
 */
export async function readOpenapi(
  file: string,
  options: { allowRemote?: boolean; files?: DocumentResolver } = {},
): Promise<Json> {
  const config = await readingConfig()
  const externalRefResolver = options.files ?? new DocumentResolver(options)
  const { bundle: bundled, problems } = await bundle({ ref: file, config, externalRefResolver }).catch(
    (error: Error) => {
      throw unreadable(file, error)
    },
  )
  const [failed] = problems.filter(({ severity }) => severity === 'error')
  if (failed !== undefined)
    throw new DocumentError(placeOf(failed), await reasonOf(failed, externalRefResolver))
  try {
    return asOpenapi31(withReadableNames(bundled.parsed))
  } catch (error) {
    throw new DocumentError({ file, line: 1, column: 1 }, firstLine(error as Error))
  }
}

/**
 * The bundler names a schema by its pointer as it is written: `a~1b` for the key `a/b`, so that its own
 * reference leads nowhere. Changes the document.
 */
function withReadableNames(document: Json): Json {
  const schemas = document?.components?.schemas ?? {}
  const names = Object.keys(schemas).filter((name) => /[~%]/.test(name))
  const own = new Map(names.map((name) => [`#/components/schemas/${name}`, name]))
  const ids = new Map<string, string>()
  walkObjects(names.length === 0 ? {} : document, (node) => {
    const name = own.get(node.$ref)
    if (name === undefined) return
    if (!ids.has(name)) ids.set(name, freeName(schemas, name))
    node.$ref = `#/components/schemas/${ids.get(name)}`
    schemas[ids.get(name)!] = schemas[name]
  })
  for (const name of ids.keys()) delete schemas[name]
  return document
}

export function placeOf({ location: [at] }: NormalizedProblem): Place {
  const { start } = getLineColLocation(at)
  // What is wrong with the whole file has no line.
  return { file: at.source.absoluteRef, line: start.line || 1, column: start.col || 1 }
}

/** The message, with the reference if it leads nowhere. */
export async function reasonOf(
  { message, location: [{ source, pointer }] }: NormalizedProblem,
  files: DocumentResolver,
): Promise<string> {
  const [, reason = message] = inYaml(message) ?? []
  if (reason !== "Can't resolve $ref" || pointer === undefined) return reason.replace(/\s+/g, ' ').trim()
  const { parsed } = (await files.resolveDocument(null, source.absoluteRef)) as Document
  const found = valueAt(parsed, keysOfFragment(pointer))
  return `${reason} ${found?.$ref ?? found}`
}

/** `deficient indentation in "pets.yaml" (9:7)`: the reason, the file, the line and the column. */
const inYaml = (message: string): RegExpExecArray | null => /^(.*) in "(.*)" \((\d+):(\d+)\)$/.exec(message)

function unreadable(name: string, error: Error): DocumentError {
  const [, reason = firstLine(error), file = name, line = 1, column = 1] = inYaml(firstLine(error)) ?? []
  const isDocument = !/^(Unsupported specification|Document must be|Invalid OpenAPI version)/.test(reason)
  return new DocumentError(
    { file, line: Number(line), column: Number(column) },
    isDocument ? reason : noDocument,
  )
}

const firstLine = ({ message }: { message: string }): string => message.split('\n')[0]

/** The path from the working folder, if the file is inside it. */
function shown(file: string): string {
  const path = relative(process.cwd(), file)
  return path.startsWith('..') ? file : path
}

/** The document in version 3.1. Throws an Error if it is no OpenAPI document. */
export function asOpenapi31(document: Json): Json {
  const version = String(document?.openapi ?? document?.swagger ?? '')
  // Since 3.1 a document may have webhooks or components only.
  if (/^3\.[12]/.test(version) && (document.webhooks ?? document.components) !== undefined)
    document.paths ??= {}
  if (!/^(2\.0|3\.[012])/.test(version) || typeof document.paths !== 'object') throw new Error(noDocument)
  const copy = withPathItems(structuredClone(document))
  if (/^3\.[12]/.test(version))
    return withoutFaults(withNull(withStaticReferences(withMedia(copy))), { isStrict: true })
  const required = requiredForms(copy)
  const produced = ownProduces(copy)
  // Those of version 2.0 are in other places.
  visitSchemas(copy, withoutSiblings)
  const upgraded: Json = upgrade(copy, '3.1')
  visitSchemas(upgraded, withoutSiblings)
  for (const [path, method] of required) upgraded.paths[path][method].requestBody.required = true
  for (const [path, method, types] of produced) produce(upgraded, upgraded.paths[path][method], types)
  return withoutFaults(withNull(withStaticReferences(upgraded)), { isStrict: false })
}

/** A path item with a reference has what the reference leads to. Changes the document. */
function withPathItems(document: Json): Json {
  for (const items of [document.paths, document.webhooks])
    for (const [path, item] of Object.entries<Json>(items ?? {}))
      if (typeof item?.$ref === 'string') {
        const { $ref, ...own } = item
        items[path] = { ...structuredClone(resolve(document, { $ref })), ...own }
      }
  return document
}

/**
 * Version 3.2 has references to media types, and `dataValue` for the value of an example. Changes the
 * document.
 */
function withMedia(document: Json): Json {
  const examples = (of: Json): void => {
    for (const example of Object.values<Json>(of ?? {}))
      if (example?.dataValue !== undefined) {
        example.value ??= example.dataValue
        delete example.dataValue
      }
  }
  examples(document.components?.examples)
  visitSchemas(
    document,
    () => {},
    (holder) => {
      examples(holder.examples)
      for (const [type, media] of Object.entries<Json>(holder.content ?? {}))
        if (media?.$ref !== undefined) holder.content[type] = structuredClone(resolve(document, media))
    },
  )
  return document
}

/**
 * The operations of version 2.0 whose form has a required field: the upgrade forgets that the body is
 * required.
 */
function requiredForms(document: Json): Array<[path: string, method: string]> {
  return Object.entries<Json>(document.paths).flatMap(([path, item]) =>
    methods
      .filter((method) =>
        [...(item?.parameters ?? []), ...(item?.[method]?.parameters ?? [])]
          .map((parameter) => resolve(document, parameter))
          .some((parameter) => parameter?.in === 'formData' && parameter.required === true),
      )
      .filter((method) => item[method] !== undefined)
      .map((method): [string, string] => [path, method]),
  )
}

/** The operations of version 2.0 with `produces`: the upgrade prefers the one of the document. */
function ownProduces(document: Json): Array<[path: string, method: string, types: string[]]> {
  return Object.entries<Json>(document.paths).flatMap(([path, item]) =>
    methods
      .filter((method) => document.produces !== undefined && item?.[method]?.produces?.length > 0)
      .map((method): [string, string, string[]] => [path, method, item[method].produces]),
  )
}

/** The responses of the operation get these media types. Changes the document. */
function produce(document: Json, operation: Json, types: string[]): void {
  for (const [status, response] of Object.entries<Json>(operation.responses ?? {})) {
    const { content, ...rest } = resolve(document, response) ?? {}
    if (content === undefined) continue
    const [{ schema }] = Object.values<Json>(content)
    operation.responses[status] = {
      ...rest,
      content: Object.fromEntries(types.map((type) => [type, content[type] ?? { schema }])),
    }
  }
}

const siblings = /^(\$ref|nullable|readOnly|writeOnly|deprecated|description|title|default|examples?|x-.*)$/

/** Before version 3.1, constraints beside a reference do not count. Annotations and `nullable` are meant. */
function withoutSiblings(schema: Json): void {
  if (typeof schema.$ref !== 'string') return
  for (const key of Object.keys(schema)) if (!siblings.test(key)) delete schema[key]
}

/**
 * Writes the null of `nullable` where the upgrade leaves it out: in an enum, and beside a reference.
 * Documents of version 3.1 that still have `nullable` mean the same. Changes the document.
 */
function withNull(document: Json): Json {
  visitSchemas(document, (schema) => {
    if (typeof schema.nullable === 'boolean') {
      const { nullable, ...rest } = schema
      for (const key of Object.keys(schema)) delete schema[key]
      const isCombined = ['$ref', 'allOf', 'oneOf', 'anyOf'].some((key) => key in rest)
      if (nullable && isCombined) Object.assign(schema, { anyOf: [rest, { type: 'null' }] })
      else if (nullable && rest.type !== undefined)
        Object.assign(schema, rest, { type: [...new Set([rest.type, 'null'].flat())] })
      else Object.assign(schema, rest)
    }
    if (Array.isArray(schema.type) && schema.type.includes('null') && Array.isArray(schema.enum))
      if (!schema.enum.includes(null)) schema.enum.push(null)
  })
  return document
}
