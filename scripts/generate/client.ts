// Writes the npm package generated/client: the types and the table of operations from the spec, and the
// compiled runtime from packages/client/.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { OperationRow } from '../../packages/client/client.ts'
import { copyDependencies } from './client-dependencies.ts'
import { compileRuntime } from './client-runtime.ts'
import type { Operation } from './model.ts'
import { resolve } from './resolve.ts'
import { componentOf } from './schemas.ts'
import { banner } from './types.ts'

type Json = any

const source = join(import.meta.dirname, '../../packages/client')
/** The client has `resumableUpload` if the contract has these operations. */
const uploadOperations = ['createUpload', 'getUpload', 'appendUpload', 'uploadFile']

interface ClientInputs {
  types: string
  project: Json
  existing: (name: string) => string | null
}

/**
 * @param types the text of the contract's types.
 * @param project package.json of this project, for its name, license, homepage and repository.
 * @param existing reads a file of the generated package, or returns null.
 * @returns the text of each file, by its name in generated/.
 */
export function emitClient(
  document: Json,
  operations: Operation[],
  { types, project, existing }: ClientInputs,
): Map<string, string> {
  const name = `@${project.name}/client`
  const { version } = document.info
  const resumable = uploadOperations.every((id) => operations.some((operation) => operation.id === id))
  return new Map([
    ['client/package.json', `${JSON.stringify(manifestOf(name, version, project), null, 2)}\n`],
    ['client/README.md', readFileSync(join(source, 'README.md'), 'utf8').replaceAll('{name}', name)],
    ['client/LICENSE', readFileSync(join(source, 'LICENSE'), 'utf8')],
    ['client/types.d.ts', types],
    ['client/operations.js', table(document, operations)],
    ['client/operations.d.ts', methods(document, operations)],
    ['client/index.js', index(`${project.name}-client/${version}`, resumable)],
    ['client/index.d.ts', indexTypes(resumable)],
    ...[...compileRuntime(existing), ...copyDependencies()].map(([file, text]): [string, string] => [
      `client/${file}`,
      text,
    ]),
  ])
}

function manifestOf(name: string, version: string, { license, homepage, repository }: Json): object {
  return {
    name,
    version,
    description: 'TypeScript client for the Platform API.',
    keywords: ['platform-api', 'api', 'client', 'sdk'],
    license,
    homepage,
    repository,
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
}

/** One operation per line. */
function table(document: Json, operations: Operation[]): string {
  const rows = operations.map(
    (operation) => `  ${operation.id}: ${JSON.stringify(rowOf(document, operation))}`,
  )
  return (
    `${banner}\n/** What the client's methods need for each operation. */\n` +
    `export const operations = {\n${rows.join(',\n')}\n}\n`
  )
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
    idempotent: takes('Idempotency-Key') || undefined,
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

/** Whether a list is paged by `page` or by the cursor `after`. */
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
    const request = `${operation.method.toUpperCase()} ${operation.fullPath}`
    return (
      `  /** ${summary.replaceAll('*/', '* /')}: \`${request}\` */\n` +
      `  ${operation.id}: ${methodOf(document, operation)}`
    )
  })
  return `${banner}import type { OperationRow } from './client.js'
import type { BytesMethod, DownloadMethod, FormMethod, ListMethod, Method, StreamMethod } from './method.js'
import type { components, operations as Declared } from './types.js'

/** One method per operation, named by its operationId. */
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
  const upload = resumable
    ? ', resumableUpload: (file, options = {}) => uploadResumably(methods, file, options, clock)'
    : ''
  return `${banner}import { createClient } from './client.js'
import { operations } from './operations.js'
${resumable ? "import { uploadResumably } from './resumable.js'\n" : ''}
export { ConnectionError, DeadlineError, PlatformError } from './error.js'

export function createPlatformClient (options) {
  const { methods, api${resumable ? ', clock' : ''} } = createClient(operations, options, '${userAgent}')
  return { ...methods, api${upload} }
}
`
}

function indexTypes(resumable: boolean): string {
  const formTypes = resumable ? "import type { FormFields, Output } from './method.js'\n" : ''
  const uploadTypes = resumable ? "import type { ResumableOptions } from './resumable.js'\n" : ''
  return `${banner}import type { Client } from './openapi-fetch.js'
import type { ClientOptions } from './client.js'
${formTypes}import type { Methods } from './operations.js'
${uploadTypes}import type { ${resumable ? 'operations, ' : ''}paths } from './types.js'

export type { Clock } from './clock.js'
export type { ClientOptions } from './client.js'
export { ConnectionError, DeadlineError, PlatformError, type ErrorCode, type ErrorDetails } from './error.js'
export type { Answer, CallOptions, Input, Output, StreamEvent } from './method.js'
export type { TypedResponse, UploadOptions } from './method.js'
export type { Methods } from './operations.js'
export type { Progress } from './progress.js'
export type * from './types.js'

export interface PlatformClient extends Methods {
  /**
   * openapi-fetch by method and path, with the same authentication and retries. It does not throw API
   * errors.
   */
  api: Client<paths>
${
  resumable
    ? `  /** Uploads a file in chunks; resumes after network errors. Returns the upload with \`file_id\`. */
  resumableUpload (
    file: Blob,
    options?: ResumableOptions<FormFields<operations['uploadFile'], 'file'>>,
  ): Promise<Output<operations['getUpload']>>
`
    : ''
}}

/** Sends no request. */
export declare function createPlatformClient (options: ClientOptions): PlatformClient
`
}
