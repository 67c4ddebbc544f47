// generated/client: the package that others install. What depends on the spec, its types and its table of operations, is
// written here; the rest is packages/client/.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { OperationRow } from '../../packages/client/client.ts'
import { compileRuntime } from './client-runtime.ts'
import type { Operation } from './model.ts'
import { resolve } from './resolve.ts'
import { componentOf } from './schemas.ts'
import { banner } from './types.ts'

type Json = any

const source = join(import.meta.dirname, '../../packages/client')
const uploads = ['createUpload', 'getUpload', 'appendUpload', 'uploadFile']

interface Given {
  types: string
  project: Json
  standing: (name: string) => string | null
}

/**
 * @param types the text of the contract's types.
 * @param project package.json of this project, which says whose license it is and which versions the client is tested with.
 * @param standing the text that a file of the package has, or null.
 * @returns the text of each file, by its name in generated/.
 */
export function emitClient(
  document: Json,
  operations: Operation[],
  { types, project, standing }: Given,
): Map<string, string> {
  const name = `@${project.name}/client`
  const { version } = document.info
  const resumable = uploads.every((id) => operations.some((operation) => operation.id === id))
  return new Map([
    ['client/package.json', `${JSON.stringify(manifestOf(name, version, project), null, 2)}\n`],
    ['client/README.md', readFileSync(join(source, 'README.md'), 'utf8').replaceAll('{name}', name)],
    ['client/LICENSE', readFileSync(join(source, 'LICENSE'), 'utf8')],
    ['client/types.d.ts', types],
    ['client/operations.js', table(document, operations)],
    ['client/operations.d.ts', methods(document, operations)],
    ['client/index.js', index(`${project.name}-client/${version}`, resumable)],
    ['client/index.d.ts', indexTypes(resumable)],
    ...[...compileRuntime(standing)].map(([file, text]): [string, string] => [`client/${file}`, text]),
  ])
}

function manifestOf(name: string, version: string, { license, dependencies, devDependencies }: Json): object {
  const versions = { ...dependencies, ...devDependencies }
  return {
    name,
    version,
    description: 'The typed client of the Platform API.',
    license,
    type: 'module',
    engines: { node: '>=22.12' },
    sideEffects: false,
    exports: {
      '.': { types: './index.d.ts', default: './index.js' },
      './types': { types: './types.d.ts' },
      './package.json': './package.json',
    },
    files: ['*.js', '*.d.ts'],
    dependencies: {
      'eventsource-parser': versions['eventsource-parser'],
      'openapi-fetch': versions['openapi-fetch'],
    },
  }
}

/** One operation a line. */
function table(document: Json, operations: Operation[]): string {
  const rows = operations.map(
    (operation) => `  ${operation.id}: ${JSON.stringify(rowOf(document, operation))}`,
  )
  return `${banner}\n/** What the methods need to know of each operation. */\nexport const operations = {\n${rows.join(',\n')}\n}\n`
}

function rowOf(document: Json, operation: Operation): OperationRow {
  const { body, header } = operation
  const stream = streamOf(document, operation)
  const takes = (name: string): boolean => header.some((parameter) => parameter.name === name)
  return {
    method: operation.method.toUpperCase(),
    path: operation.path,
    prefix: operation.fullPath.slice(0, -operation.path.length),
    answer: answerOf(operation),
    type:
      body === null || body.form !== null || body.contentTypes.includes('application/json')
        ? undefined
        : body.contentTypes[0],
    form: body?.form ? { file: body.form.file, json: body.form.json } : undefined,
    keyed: takes('Idempotency-Key') || undefined,
    list: listOf(document, operation),
    ends: stream?.ends,
    resumes: stream === null ? undefined : takes('Last-Event-ID') || undefined,
  }
}

function successesOf(operation: Operation): Operation['responses'] {
  return operation.responses.filter(({ status }) => status < 300)
}

function answerOf(operation: Operation): OperationRow['answer'] {
  const answered = successesOf(operation).find(({ contentType }) => contentType !== null)
  if (answered === undefined) return null
  if (answered.events !== null) return 'events'
  if (answered.binary) return 'bytes'
  return answered.contentType === 'application/json' ? 'json' : 'text'
}

/** A list is read on by its `page`, or after what was seen. */
function listOf(document: Json, operation: Operation): OperationRow['list'] {
  const { properties = {} } = resolve(document, successesOf(operation)[0]?.schema) ?? {}
  const asks = (name: string): boolean => operation.query.some((parameter) => parameter.name === name)
  if (properties.data === undefined) return undefined
  if (asks('after') && properties.next_after !== undefined && properties.has_more !== undefined)
    return 'after'
  return asks('page') && properties.pagination !== undefined ? 'pages' : undefined
}

function streamOf(
  document: Json,
  operation: Operation,
): { events: Record<string, Json>; ends: string[] } | null {
  const answered = successesOf(operation).find(({ events }) => events !== null)
  if (answered === undefined) return null
  const media = resolve(document, document.paths[operation.path][operation.method].responses[answered.status])
    .content[answered.contentType!]
  return { events: answered.events!, ends: media['x-stream-ends'] ?? [] }
}

function methods(document: Json, operations: Operation[]): string {
  const lines = operations.map((operation) => {
    const { summary } = document.paths[operation.path][operation.method]
    return `  /** ${summary.replaceAll('*/', '* /')}: \`${operation.method.toUpperCase()} ${operation.fullPath}\` */\n  ${operation.id}: ${methodOf(document, operation)}`
  })
  return `${banner}import type { OperationRow } from './client.js'
import type { BytesMethod, DownloadMethod, FormMethod, ListMethod, Method, StreamMethod } from './method.js'
import type { components, operations as Declared } from './types.js'

/** A method for each operation, by its name in the contract. */
export interface Methods {
${lines.join('\n')}
}

export declare const operations: Record<keyof Methods, OperationRow>
`
}

function methodOf(document: Json, operation: Operation): string {
  const declared = `Declared['${operation.id}']`
  const stream = streamOf(document, operation)
  if (stream !== null) {
    const events = Object.entries(stream.events).map(
      ([name, schema]) => `'${name}': components['schemas']['${componentOf(schema)}']`,
    )
    return `StreamMethod<${declared}, { ${events.join(', ')} }>`
  }
  if (answerOf(operation) === 'bytes') return `DownloadMethod<${declared}>`
  if (operation.body?.form) return `FormMethod<${declared}, '${operation.body.form.file}'>`
  if (operation.body?.streamed) return `BytesMethod<${declared}>`
  return listOf(document, operation) === undefined ? `Method<${declared}>` : `ListMethod<${declared}>`
}

function index(userAgent: string, resumable: boolean): string {
  return `${banner}import { createClient } from './client.js'
import { operations } from './operations.js'
${resumable ? "import { sendResumably } from './resumable.js'\n" : ''}
export { ConnectionError, DeadlineError, PlatformError } from './error.js'

export function createPlatformClient (options) {
  const { methods, api${resumable ? ', clock' : ''} } = createClient(operations, options, '${userAgent}')
  return { ...methods, api${resumable ? ', resumableUpload: (file, its = {}) => sendResumably(methods, file, its, clock)' : ''} }
}
`
}

function indexTypes(resumable: boolean): string {
  return `${banner}import type { Client } from 'openapi-fetch'
import type { ClientOptions } from './client.js'
${resumable ? "import type { FormFields, Output } from './method.js'\n" : ''}import type { Methods } from './operations.js'
${resumable ? "import type { ResumableOptions } from './resumable.js'\n" : ''}import type { ${resumable ? 'operations, ' : ''}paths } from './types.js'

export type { Clock } from './clock.js'
export type { ClientOptions } from './client.js'
export { ConnectionError, DeadlineError, PlatformError, type ErrorCode, type ErrorDetails } from './error.js'
export type { Answer, CallOptions, Input, Output, StreamEvent, TypedResponse, UploadOptions } from './method.js'
export type { Methods } from './operations.js'
export type { Progress } from './progress.js'
export type { components, operations, paths } from './types.js'

export interface PlatformClient extends Methods {
  /** openapi-fetch by method and path, with the same key, Idempotency-Keys and repetitions; what it answers is not thrown. */
  api: Client<paths>
${
  resumable
    ? `  /** Uploads a file in pieces that goes on where it is cut off. @returns the upload, with its \`file_id\`. */
  resumableUpload (file: Blob, options?: ResumableOptions<FormFields<operations['uploadFile'], 'file'>>): Promise<Output<operations['getUpload']>>
`
    : ''
}}

/** Sends nothing yet. */
export declare function createPlatformClient (options: ClientOptions): PlatformClient
`
}
