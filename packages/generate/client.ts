// `generate FILE --out FOLDER --client`: an npm package with the typed client of any document. It is compiled
// JavaScript with types, has no dependencies, and runs in Node.js and in browsers.
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { operationsOf, placeOf, type Operation } from '@platform-api/openapi/document.ts'
import { noticesOf } from '@platform-api/openapi/faults.ts'
import { readOpenapi } from '@platform-api/openapi/read.ts'
import { resolve as resolved } from '@platform-api/openapi/resolve.ts'
import { requestView, responseView } from '@platform-api/openapi/views.ts'
import { copyDependencies } from './client-dependencies.ts'
import { capital, errorDeclaration, methodTypes, type MethodTypes, type TypeNames } from './client-methods.ts'
import {
  exportsOf,
  operationsDeclaration,
  resourcesDeclaration,
  type ExtraMethods,
  type Modules,
} from './client-resources.ts'
import { clientFolder, compileRuntime, type RuntimeInputs } from './client-runtime.ts'
import { namesOf, originOf, prefixOf, rowOf } from './client-table.ts'
import { camelCase, free, withNames, type Names } from './names.ts'
import { banner, typesOf, type ProjectReport } from './project.ts'

type Json = any

/** What the client of one API has of its own. */
export interface ClientProfile extends RuntimeInputs {
  banner: string
  /** The names that the files of types export. */
  modules: Modules
  names: TypeNames
  /** The names of the methods by resource, by method; null for flat methods only. */
  resources: { names: Map<string, string>; extra: ExtraMethods } | null
  /** Whether each operation has a type of its errors. */
  hasErrorTypes: boolean
}

/**
 * The files of a client but for its types, manifest and entry.
 * @param methods the names of the flat methods by operationId.
 */
export function clientModules(
  document: Json,
  operations: Operation[],
  methods: Map<string, string>,
  profile: ClientProfile,
): Map<string, string> {
  const { banner: note, modules, names, resources, hasErrorTypes } = profile
  const method = ({ id }: Operation): string => methods.get(id)!
  const all = operations.map((operation) =>
    methodTypes(document, operation, { method: method(operation), names }),
  )
  const errors = operations.map((operation): [string, string[]] => [
    method(operation),
    errorDeclaration(operation, method(operation)),
  ])
  const rows = operations.map((operation) => {
    const row = rowOf(document, operation, resources?.names.get(method(operation)))
    return `  ${method(operation)}: ${JSON.stringify(row)}`
  })
  const flat = all.map((types) => withoutDescription(types, resources?.names.get(types.method)))
  const declared = operationsDeclaration(flat, { errors: hasErrorTypes ? errors : null, modules })
  return new Map([
    [
      'operations.js',
      `${note}\n/** What the client's methods need for each operation. */\n` +
        `export const operationTable = {\n${rows.join(',\n')}\n}\n`,
    ],
    ['operations.d.ts', note + declared],
    ...(resources === null
      ? []
      : [
          [
            'resource-methods.d.ts',
            note + resourcesDeclaration(all, resources.names, resources.extra, modules),
          ] as const,
        ]),
    ...compileRuntime(profile),
    ...copyDependencies(),
  ])
}

/** A method with a name by resource is described there: descriptions are a fifth of the package. */
function withoutDescription(types: MethodTypes, name: string | undefined): MethodTypes {
  if (name === undefined) return types
  const [summary, ...rest] = types.comment
  const deprecated = rest.filter((line) => line === '@deprecated')
  return {
    ...types,
    comment: [summary, '', `As \`client.${name}\`, which has the description.`, ...deprecated],
  }
}

/** What the client knows of the API, as `ApiInfo` of the runtime. */
export function apiInfoOf(document: Json, userAgent: string): object {
  const schemes = Object.keys(document.components?.securitySchemes ?? {}).flatMap((name) => {
    const place = placeOf(document, name)
    return place === null ? [] : [[name, place] as const]
  })
  const { security } = document
  const isUsed =
    security !== undefined || operationsOf(document).some(({ node }) => node.security !== undefined)
  return {
    userAgent,
    prefix: prefixOf(document),
    origin: originOf(document.servers),
    schemes: Object.fromEntries(schemes),
    // A document that only declares its schemes means that each of them is accepted.
    security: isUsed ? namesOf(document, security ?? []) : schemes.map(([name]) => [name]),
  }
}

/** The classes of errors. */
export const errorClasses = [
  'AbortError',
  'ApiError',
  'AuthenticationError',
  'ClientError',
  'ConfigurationError',
  'ConflictError',
  'ConnectionError',
  'GoneError',
  'NotFoundError',
  'PermissionError',
  'PreconditionFailedError',
  'RateLimitError',
  'ServerError',
  'TimeoutError',
  'ValidationError',
]

/**
 * @param file an OpenAPI document of version 2.0 to 3.2, in one file or several.
 * @param out the folder of the package.
 * @throws DocumentError before anything is written, if the document cannot be read.
 */
export async function generateClient(
  file: string,
  out: string,
  options: { allowRemote?: boolean } & Names = {},
): Promise<ProjectReport> {
  const document = withNames(await readOpenapi(resolve(file), options), options)
  const operations = operationsOf(document)
  const note = banner(basename(file))
  const [requests, responses] = [requestView(document), responseView(document)]
  const types = note + (await typesOf(responses))
  const hasOneView = JSON.stringify(requests) === JSON.stringify(responses)
  const asked = hasOneView ? "import type { operations } from './types.js'\n" : await typesOf(requests)
  const existing = (name: string): string | null => {
    const path = join(out, name)
    return existsSync(path) ? readFileSync(path, 'utf8') : null
  }
  const names = methodNames(operations)
  const modules = clientModules(document, operations, names, {
    banner: note,
    modules: [
      ['types', exportsOf(types)],
      ['request-types', ['requests']],
    ],
    names: {
      requests: 'requests',
      parameters: ({ id }, place) => `NonNullable<requests[${JSON.stringify(id)}]['parameters']['${place}']>`,
      schema: () => undefined,
    },
    resources: null,
    hasErrorTypes: true,
    existing,
  })
  const name = packageName(document)
  const info = apiInfoOf(document, `${name}/${document.info?.version ?? '1'}`)
  const files = new Map([
    ['types.d.ts', types],
    ['request-types.d.ts', `${note}${asked}export type requests = operations\n`],
    ...modules,
    ['index.js', note + index(info)],
    ['index.d.ts', note + indexTypes(document, exportsOf(modules.get('operations.d.ts')!))],
  ])
  const once = new Map([
    ['package.json', `${JSON.stringify(manifestOf(document, name), null, 2)}\n`],
    ['LICENSE', readFileSync(join(clientFolder, 'LICENSE'), 'utf8')],
    ['README.md', readme(document, name, names.get(operations[0]?.id ?? ''))],
  ])
  const changed = [...files].filter(([each, text]) => existing(each) !== text)
  const missing = [...once].filter(([each]) => existing(each) === null)
  const wrote = [...changed, ...missing]
  await mkdir(out, { recursive: true })
  for (const [each, text] of wrote) await writeFile(join(out, each), text)
  return { operations: operations.length, wrote: wrote.map(([each]) => each), notes: noticesOf(document) }
}

/** Identifiers that differ also with a capital, and that no other part of the client has. */
function methodNames(operations: Operation[]): Map<string, string> {
  const taken = new Set([...reserved].map(capital))
  return new Map(
    operations.map(({ id }) => {
      const plain = /^[A-Za-z_$][\w$]*$/.test(id) ? id : camelCase(id)
      const name = free(capital(/^\d/.test(plain) || plain === '' ? `_${plain}` : plain), taken)
      return [id, /^[A-Z]/.test(plain) ? name : name.charAt(0).toLowerCase() + name.slice(1)]
    }),
  )
}

/** A client with a method `then` would be a promise. */
const reserved = [
  'api',
  'then',
  'constructor',
  '__proto__',
  'toString',
  'valueOf',
  'operation',
  'stream',
  'call',
  'upload',
]

function packageName(document: Json): string {
  const words = camelCase(document.info?.title ?? '').replace(/([a-z\d])([A-Z])/g, '$1-$2')
  return `${words.toLowerCase().replace(/^-+|-+$/g, '') || 'api'}-client`
}

/** The fields of package.json that are the same for every client. */
export const packageShape = {
  type: 'module',
  engines: { node: '>=20' },
  sideEffects: false,
  exports: {
    '.': { types: './index.d.ts', default: './index.js' },
    './types': { types: './types.d.ts' },
    './package.json': './package.json',
  },
  files: ['*.js', '*.d.ts', 'LICENSES.md'],
}

function manifestOf({ info }: Json, name: string): object {
  return {
    name,
    version: /^\d+\.\d+\.\d+$/.test(info?.version) ? info.version : '1.0.0',
    private: true,
    description: `TypeScript client for ${info?.title ?? 'the API'}.`,
    ...packageShape,
  }
}

function index(info: object): string {
  return `import { createClient as createUntyped } from './client.js'
import { operationTable } from './operations.js'

export { ${errorClasses.join(', ')}, isErrorOf } from './error.js'
export { fileFrom, toFile } from './files.js'

const info = ${JSON.stringify(info)}

export function createClient (options = {}) {
  const { methods, api } = createUntyped(operationTable, info, options)
  return { ...methods, api }
}
`
}

function indexTypes(document: Json, own: string[]): string {
  const declared = Object.entries<Json>(document.components?.securitySchemes ?? {})
  const schemes = declared.flatMap(([name, node]) => {
    const { type, description } = resolved(document, node)
    const place = placeOf(document, name)
    if (place === null) return []
    const about = String(description ?? type)
      .replace(/\s+/g, ' ')
      .replaceAll('*/', '* /')
      .trim()
    const secret = place.scheme === 'basic' ? 'BasicSecret' : 'Secret'
    return `  /** ${about} */\n  ${JSON.stringify(name)}?: ${secret} | null`
  })
  return `import type { BasicSecret, Secret } from './auth.js'
import type { Client as FetchClient } from './openapi-fetch.js'
import type { ClientOptions as SharedOptions } from './options.js'
import type { Methods, OperationErrors } from './operations.js'
import type { paths } from './types.js'

export type { BasicCredentials, BasicSecret, Secret } from './auth.js'
export type { Clock } from './clock.js'
export { ${errorClasses.join(', ')} } from './error.js'
export { fileFrom, toFile } from './files.js'
export type { FileProperties, StreamedFile, Uploadable } from './files.js'
export type { Answer, CallOptions, EventStream, ListAnswer, StreamOptions, UploadOptions } from './method.js'
export type { ${own.join(', ')} } from './operations.js'
export type { Progress } from './progress.js'
export type { LogEntry } from './retry.js'
export type * from './types.js'

/** The credentials by the names of the security schemes. */
export interface ClientAuth {
${schemes.join('\n')}
}

export interface ClientOptions extends Omit<SharedOptions, 'auth'> {
  auth?: ClientAuth
}

export interface ApiClient extends Methods {
  /**
   * openapi-fetch by method and path, with the same authentication and retries. It does not throw API
   * errors.
   */
  api: FetchClient<paths>
}

/** Sends no request. @throws ConfigurationError if the URL cannot be right. */
export declare function createClient (options?: ClientOptions): ApiClient

/** Whether the error is a response of the operation. The type of \`body\` depends on \`status\`. */
export declare function isErrorOf<Operation extends keyof OperationErrors> (
  error: unknown,
  operation: Operation,
): error is OperationErrors[Operation]
`
}

function readme({ info }: Json, name: string, method = 'method'): string {
  return readFileSync(join(clientFolder, 'any-README.md'), 'utf8')
    .replaceAll('{name}', name)
    .replaceAll('{title}', info?.title ?? 'the API')
    .replaceAll('{method}', method)
}
