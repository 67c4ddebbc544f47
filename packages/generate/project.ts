// `generate FILE --out FOLDER`: a server for any OpenAPI document, or a Fastify plugin. Everything in
// generated/ is written each time. The other files are written once: the author of the handlers edits them.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { basename, dirname, join, normalize, relative, resolve } from 'node:path'
import compactJson from 'json-stringify-pretty-compact'
import openapiTS, { astToString } from 'openapi-typescript'
import type { Config } from '@platform-api/openapi/config.ts'
import { discriminatedIn, isMapped } from '@platform-api/openapi/discriminators.ts'
import { operationsOf } from '@platform-api/openapi/document.ts'
import { noticesOf } from '@platform-api/openapi/faults.ts'
import { keysOfFragment, valueAt } from '@platform-api/openapi/json-pointer.ts'
import { readOpenapi } from '@platform-api/openapi/read.ts'
import { resolve as resolveReference } from '@platform-api/openapi/resolve.ts'
import { DocumentResolver } from '@platform-api/openapi/resolver.ts'
import { visitSchemas } from '@platform-api/openapi/schema-places.ts'
import { dataKeys, walkObjects } from '@platform-api/openapi/schema-ids.ts'
import { requestView, responseView } from '@platform-api/openapi/views.ts'
import { emitErrors } from './errors.ts'
import { openapiFolder } from './client-runtime.ts'
import { withNames } from './names.ts'
import { emitHandlers, emitRoutes, emitTable } from './table.ts'
import { addStubs } from './handlers.ts'

export const banner = (file: string): string =>
  `// Generated from ${file}. Do not edit: change the document and generate again.\n`

export interface ProjectReport {
  operations: number
  /** The files that were written, relative to the folder. */
  wrote: string[]
  /** What is left out, and handlers without an operation. */
  notes: string[]
}

/**
 * @param file an OpenAPI document of version 2.0 to 3.2, in one file or several.
 * @param out a folder; existing handlers in it are kept.
 * @param options `isPlugin`: only the Fastify plugin, for an app of one's own; `noFormats`: the server does
 * not validate formats.
 * @returns also the files and URLs of which the document consists.
 * @throws DocumentError before anything is written, if the document cannot be read.
 */
export async function generateProject(
  file: string,
  out: string,
  {
    isPlugin = false,
    noFormats = false,
    bodyLimit,
    handlers: handlersFolder = 'handlers',
    ...options
  }: { allowRemote?: boolean; isPlugin?: boolean } & Config['generate'] = {},
): Promise<ProjectReport & { sources: string[] }> {
  const files = new DocumentResolver(options)
  const document = withNames(await readOpenapi(resolve(file), { files }), options)
  const sources = [...files.sources]
  const handlers = normalize(handlersFolder).replace(/\/$/, '')
  const operations = operationsOf(document)
  const [requests, responses] = [requestView(document), responseView(document)]
  const types = await typesOf(responses)
  const note = banner(basename(file))
  const wrote: string[] = []
  const write = async (name: string, text: string): Promise<void> => {
    const path = join(out, name)
    if (existsSync(path) && readFileSync(path, 'utf8') === text) return
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, text)
    wrote.push(name)
  }
  await write('generated/openapi.json', `${compactJson(document, { maxLength: 110 })}\n`)
  await write('generated/types.ts', note + types)
  // One file of types, unless requests have other required properties than answers.
  const hasOneView = JSON.stringify(requests) === JSON.stringify(responses)
  const asked = hasOneView ? "export type { operations } from './types.ts'\n" : await typesOf(requests)
  await write('generated/request-types.ts', note + asked)
  await write(
    'generated/operations.ts',
    note + emitTable(document, operations, { validatesFormats: !noFormats, bodyLimit }),
  )
  await write('generated/routes.ts', note + emitRoutes(operations))
  for (const [name, text] of template('written-always')) await write(`generated/${name}`, note + text)
  for (const name of sharedModules)
    await write(`generated/openapi/${name}`, note + readFileSync(join(openapiFolder, name), 'utf8'))
  if (isPlugin) return { operations: operations.length, wrote, notes: noticesOf(document), sources }
  await write('generated/handlers.ts', note + emitHandlers(operations, handlers))
  // For `npm run dev`, which generates again.
  const configured = { handlers, noFormats, bodyLimit, operations: options.operations, types: options.types }
  await write('generated/options.json', `${JSON.stringify(configured, null, 2)}\n`)
  for (const [name, text] of template('written-for-server')) await write(`generated/${name}`, note + text)
  for (const [name, text] of template('written-once'))
    if (!existsSync(join(out, name)))
      await write(name, name === 'errors.ts' ? emitErrors(document, operations, text) : text)
  if (!existsSync(join(out, 'package.json')))
    await write('package.json', packageFile(resolve(file), out, options))
  const { files: modules, notes: unused } = addStubs(out, operations, handlers)
  const notes = [...noticesOf(document), ...unused]
  for (const [name, text] of modules) await write(name, text)
  return { operations: operations.length, wrote, notes, sources }
}

/** A property with a default is optional: the server does not fill it in. */
export async function typesOf(document: object): Promise<string> {
  const copy: any = structuredClone(document)
  // Each alternative has its values already; openapi-typescript would replace the property.
  for (const schema of discriminatedIn(copy).filter(isMapped)) delete schema.discriminator
  forTypes(copy)
  withoutOtherReferences(copy)
  const text = astToString(
    await openapiTS(copy as never, { defaultNonNullable: false, emptyObjectsUnknown: true }),
  )
  return text.replace(/^type WithRequired<.*?^};$/ms, withRequired)
}

/** Writes the schemas that openapi-typescript does not read in a form that it reads. Changes the document. */
function forTypes(document: any): void {
  // It takes booleans for properties and items only. The type of an empty enum is `never`.
  const asObject = (schema: unknown): unknown =>
    typeof schema !== 'boolean' ? schema : schema ? {} : { enum: [] }
  const asObjects = (map: object): object =>
    Object.fromEntries(Object.entries(map).map(([name, schema]) => [name, asObject(schema)]))
  visitSchemas(document, (schema) => {
    if (Array.isArray(schema.allOf)) schema.allOf = schema.allOf.map(asObject)
    if (schema.$defs !== undefined) schema.$defs = asObjects(schema.$defs)
    // It ignores constraints beside a reference.
    const { $ref, ...rest } = schema
    if ($ref === undefined || Object.keys(rest).every((key) => annotations.has(key))) return
    delete schema.$ref
    schema.allOf = [...(schema.allOf ?? []), { $ref }]
  })
  withoutDefinitions(document)
  visitSchemas(
    document,
    () => {},
    (holder) => {
      if (holder.itemSchema !== undefined) holder.schema ??= holder.itemSchema
    },
  )
  if (document.components?.schemas !== undefined)
    document.components.schemas = asObjects(document.components.schemas)
}

const annotations = new Set(
  'title description default deprecated readOnly writeOnly example examples $comment externalDocs xml'.split(
    ' ',
  ),
)

/** Whether it has a type for what the reference leads to. */
const isPlace = /^#\/(?!.*\/(\$defs|definitions)\/)(paths|webhooks|components\/(?!x-))/

/**
 * Moves the schemas in `$defs`, which it takes for properties, and in extensions to the components. Changes
 * the document.
 */
function withoutDefinitions(document: any): void {
  const names = new Map<unknown, string>()
  const schemas = ((document.components ??= {}).schemas ??= {})
  visitSchemas(document, (schema) => {
    if (typeof schema.$ref !== 'string' || isPlace.test(schema.$ref)) return
    const keys = keysOfFragment(schema.$ref)
    const target = valueAt(document, keys)
    if (typeof target !== 'object' || target === null) return
    for (let n = 1; !names.has(target); n++) {
      const name = `${keys.at(-1)!.replaceAll(/[^\w.-]/g, '_')}${n === 1 ? '' : `_${n}`}`
      if (schemas[name] !== undefined) continue
      schemas[name] = target
      names.set(target, name)
    }
    schema.$ref = `#/components/schemas/${names.get(target)}`
  })
  visitSchemas(document, (schema) => {
    for (const key of ['$defs', 'definitions']) delete schema[key]
  })
}

/**
 * The helper of openapi-typescript, also for properties that the type lacks or has in some alternatives
 * only.
 */
const withRequired = `type WithRequired<T, K extends PropertyKey> = T extends unknown
    ? T & { [P in Extract<keyof T, K>]-?: T[P] }
    : never;`

/**
 * openapi-typescript would resolve a `$ref` in an example, and has no types of extensions. Changes the
 * document.
 */
function withoutOtherReferences(document: any): void {
  walkObjects(document, (node) => {
    for (const [key, value] of Object.entries(node))
      if (dataKeys.has(key) && /"\$ref"/.test(JSON.stringify(value))) delete node[key]
    const { $ref } = node
    if (typeof $ref !== 'string') return
    const target = $ref.startsWith('#/') ? resolveReference(document, { $ref }) : undefined
    if (target !== undefined && isPlace.test($ref)) return
    delete node.$ref
    Object.assign(node, target)
  })
}

/** The modules of the package openapi that a generated server has a copy of. They import only each other. */
export const sharedModules = [
  'group-by.ts',
  'json-pointer.ts',
  'media-types.ts',
  'parameters.ts',
  'path-template.ts',
  'resolve.ts',
  'schema-places.ts',
  'subschemas.ts',
  'text-values.ts',
  'unevaluated.ts',
  'unique-items.ts',
  'validators.ts',
  'views.ts',
]

/** The files of a folder of template/, by their paths in it. */
function template(folder: string): Array<[name: string, text: string]> {
  const path = join(import.meta.dirname, 'template', folder)
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => {
      const file = join(parentPath, name)
      return [relative(path, file).replaceAll('\\', '/'), readFileSync(file, 'utf8')]
    })
}

/** The packages of the server, in the versions of this package. */
function packageFile(file: string, out: string, { allowRemote = false }: { allowRemote?: boolean }): string {
  const document = relative(resolve(out), file).replaceAll('\\', '/')
  const remote = allowRemote ? ' --allow-remote' : ''
  const own = JSON.parse(readFileSync(join(import.meta.dirname, 'package.json'), 'utf8'))
  const pick = (from: Record<string, string>, names: string[]): Record<string, string> =>
    Object.fromEntries(names.map((name) => [name, from[name]]))
  return `${JSON.stringify(
    {
      name:
        basename(resolve(out))
          .toLowerCase()
          .replace(/[^a-z0-9-]+/g, '-')
          .replace(/^-+|-+$/g, '') || 'server',
      private: true,
      type: 'module',
      engines: { node: '>=22.18' },
      scripts: {
        start: 'node main.ts',
        dev: `node generated/dev.ts ${quoted(document)}${remote}`,
        check: 'tsc',
        test: 'node --test',
        contract: 'toolkit contract --spec generated/openapi.json --url http://127.0.0.1:3000',
      },
      dependencies: pick(own.devDependencies, ['ajv', 'ajv-formats', 'fastify', 'fastify-openapi-glue']),
      devDependencies: pick({ ...own.devDependencies, ...own.dependencies }, ['@types/node', 'typescript']),
    },
    null,
    2,
  )}\n`
}

/** A name of a file, for the shells of Linux and Windows. */
const quoted = (name: string): string => (/^[\w./-]+$/.test(name) ? name : JSON.stringify(name))
