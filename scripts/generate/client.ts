// Writes the npm package generated/client: the client that `toolkit generate --client` writes for any
// document, with methods by resource, resumable uploads, webhooks, the options of the platform, and the
// command line.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { apiInfoOf, clientModules, errorClasses, packageShape } from '@platform-api/generate/client.ts'
import { exportsOf, type ExtraMethods } from '@platform-api/generate/client-resources.ts'
import { operationsOf } from '@platform-api/openapi/document.ts'
import { parametersTypeOf, parameterTypes, typeNameOf } from '../../services/docs/client-types.ts'
import { clientNames } from './client-names.ts'
import { GenerateError } from './error.ts'
import type { Operation } from './model.ts'
import { componentOf } from './schemas.ts'
import { banner } from './types.ts'
import { messageOf } from '../../infra/command-help.ts'

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
 * @param types the text of types.d.ts, which is written elsewhere.
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
  const has = {
    uploads: uploadOperations.every((id) => operations.some((operation) => operation.id === id)),
    webhooks: 'PlatformEvent' in (document.components?.schemas ?? {}),
  }
  const modules = modulesOf(document, {
    modules: [['types', exportsOf(types)]],
    resources: { names: clientNames(document, operations), extra: extraMethods(has) },
    existing,
  })
  return new Map([
    ['client/package.json', `${JSON.stringify(manifestOf(name, version, project), null, 2)}\n`],
    ['client/README.md', readFileSync(join(source, 'README.md'), 'utf8').replaceAll('{name}', name)],
    ['client/LICENSE', readFileSync(join(source, 'LICENSE'), 'utf8')],
    ['client/index.js', index(apiInfoOf(document, `${project.name}-client/${version}`), has)],
    ['client/index.d.ts', indexTypes(has)],
    ['client/bin.js', bin],
    ...[...modules].map(([file, text]): [string, string] => [`client/${file}`, text]),
  ])
}

/** @throws GenerateError */
function modulesOf(
  document: Json,
  own: Pick<Parameters<typeof clientModules>[3], 'modules' | 'resources' | 'existing'>,
): Map<string, string> {
  const operations = operationsOf(document)
  const methods = new Map(operations.map(({ id }) => [id, id]))
  try {
    return clientModules(document, operations, methods, {
      ...own,
      banner,
      folders: [source, join(source, 'platform'), join(source, 'cli')],
      names: {
        requests: 'operations',
        parameters: ({ id }, place) => parametersTypeOf(id, place as keyof typeof parameterTypes),
        schema: (schema) => {
          const component = componentOf(schema ?? {})
          return component === undefined ? undefined : typeNameOf(component)
        },
      },
      hasErrorTypes: false,
    })
  } catch (error) {
    throw new GenerateError(messageOf(error), { cause: error })
  }
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
    ...packageShape,
    bin: { platform: './bin.js' },
  }
}

/** The program; an interpreter is named by the first line. */
const bin = `#!/usr/bin/env node
${banner}import { main } from './cli.js'

process.exitCode = await main(process.argv.slice(2))
`

/** The parts of the client that exist if the contract has the operations or the events. */
interface Has {
  uploads: boolean
  webhooks: boolean
}

const resumableUpload = [
  '/**',
  ' * Uploads a file in chunks with the tus protocol; resumes after network errors, and in a later run with',
  ' * `uploadId`. Returns the upload with `file_id`.',
  ' */',
  'resumableUpload (',
  '  file: Uploadable,',
  "  options?: ResumableOptions<Omit<FileUpload, 'file'>>,",
  '): Promise<Upload>',
]

const verify = [
  '/**',
  ' * Checks the signature and the age of a webhook, and returns its event.',
  ' * @throws WebhookVerificationError: answer 400 and ignore the request.',
  ' */',
  'verify (request: WebhookRequest): Promise<PlatformEvent>',
]

function extraMethods(has: Has): ExtraMethods {
  return {
    ...(has.uploads && { 'storage.files.resumableUpload': () => resumableUpload }),
    ...(has.webhooks && { 'webhooks.verify': () => verify }),
  }
}

const errors = [...errorClasses, 'ClientError as PlatformError', 'WebhookVerificationError'].join(', ')

function index(info: object, has: Has): string {
  const imports = [
    "import { createClient } from './client.js'",
    "import { operationTable } from './operations.js'",
    "import { isInProgress, platformOptions } from './platform.js'",
    ...(has.uploads ? ["import { uploadResumably } from './resumable.js'"] : []),
    ...(has.webhooks ? ["import { verifyWebhook } from './webhooks.js'"] : []),
  ]
  const body = [
    'const { methods, resources, api, clock } = createClient(operationTable, info, platformOptions(options))',
    'const client = { ...methods, ...resources, api }',
    ...(has.uploads
      ? [
          'client.resumableUpload = (file, options = {}) => uploadResumably(methods, file, options, clock)',
          'resources.storage.files.resumableUpload = client.resumableUpload',
        ]
      : []),
    ...(has.webhooks ? ['resources.webhooks.verify = verifyWebhook'] : []),
    'return client',
  ]
  return `${banner}${imports.join('\n')}

export { ${errors} } from './error.js'
export { fileFrom, toFile } from './files.js'
${has.webhooks ? "export { verifyWebhook } from './webhooks.js'\n" : ''}
const info = { ...${JSON.stringify(info)}, isInProgress }

export function createPlatformClient (options = {}) {
${body.map((line) => `  ${line}`).join('\n')}
}
`
}

function indexTypes(has: Has): string {
  const indented = (lines: string[]): string => lines.map((line) => `  ${line}\n`).join('')
  return `${banner}import type { Client } from './openapi-fetch.js'
import type { PlatformOptions } from './platform.js'
${has.uploads ? "import type { Uploadable } from './files.js'\n" : ''}\
import type { Methods } from './operations.js'
import type { Resources } from './resource-methods.js'
${has.uploads ? "import type { ResumableOptions } from './resumable.js'\n" : ''}\
import type { ${has.uploads ? 'FileUpload, Upload, ' : ''}paths } from './types.js'

export type { AnswerStream } from './answer-stream.js'
export type { Clock } from './clock.js'
export { ${errors} } from './error.js'
export type { ErrorCode, ErrorDetails } from './error-types.js'
export { fileFrom, toFile } from './files.js'
export type { FileProperties, StreamedFile, Uploadable } from './files.js'
export type { Answer, CallOptions, EventStream, ListAnswer, StreamEvent, StreamOptions } from './method.js'
export type { BytesBody, UploadOptions } from './method.js'
export type { PlatformOptions as ClientOptions } from './platform.js'
export type * from './operations.js'
export type { Progress } from './progress.js'
export type * from './resource-methods.js'
export type { ResumableOptions } from './resumable.js'
export type { LogEntry } from './retry.js'
export type * from './types.js'
${has.webhooks ? "export { verifyWebhook, type WebhookRequest } from './webhooks.js'\n" : ''}
export interface PlatformClient extends Methods, Resources {
  /**
   * openapi-fetch by method and path, with the same authentication and retries. It does not throw API
   * errors.
   */
  api: Client<paths>
${has.uploads ? indented(resumableUpload) : ''}}

/** Sends no request. @throws ConfigurationError if the URL or the key cannot be right. */
export declare function createPlatformClient (options?: PlatformOptions): PlatformClient
`
}
