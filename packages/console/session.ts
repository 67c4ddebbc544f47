// The API key of this tab or the session of this browser, and calls through the generated client.
import { createPlatformClient, PlatformError, type CurrentApiKey } from '../../generated/client/index.js'
import { model, requestOf, valueAt } from './model.ts'
import { fill } from './router.ts'

const storageKey = 'platform-api-key'

export interface Input {
  path?: Record<string, string>
  query?: Record<string, unknown>
  body?: unknown
  headers?: Record<string, string>
  signal?: AbortSignal
  /** In milliseconds; null for no limit. */
  timeout?: number | null
  onProgress?: (progress: { sent: number }) => void
}

export interface Answer {
  data: any
  /** For If-Match; null if the answer has none. */
  etag: string | null
}

export interface StreamedEvent {
  event: string
  id: string | null
  data: any
}

interface Limits {
  retries: number
  timeout: number | null
}

const limits: Limits = { retries: 1, timeout: 30_000 }

type Call = (input: Input & Limits) => {
  withResponse(): Promise<{ data: unknown; response: Response }>
}

type Client = ReturnType<typeof createPlatformClient>
type ResumableOptions = Omit<NonNullable<Parameters<Client['resumableUpload']>[1]>, 'fields'> & {
  fields: Record<string, string>
}

let client: Client | null = null
let calls: Record<string, Call> = {}
let current: CurrentApiKey | null = null

/** Takes a key out of the address, so that it stays in no history, or the one that this tab has. */
export function storedKey(): string | null {
  const inAddress = /^#key=(.+)$/.exec(location.hash)?.[1]
  if (inAddress !== undefined) {
    sessionStorage.setItem(storageKey, decodeURIComponent(inAddress))
    history.replaceState(null, '', location.pathname + location.search)
  }
  return sessionStorage.getItem(storageKey)
}

/**
 * @param key null for the session of the browser, which is in a cookie that no script can read
 * @returns the name of the key, or the email address of the user
 * @throws PlatformError if the server does not accept the key, or the browser has no session.
 */
export async function signIn(key: string | null): Promise<string> {
  client = createPlatformClient({
    baseUrl: location.origin,
    apiKey: key,
    dangerouslyAllowBrowser: true,
  })
  calls = client as unknown as Record<string, Call>
  current = (await call('getCurrentApiKey')).data as CurrentApiKey
  if (key === null) return (await call('getProfile')).data.email
  sessionStorage.setItem(storageKey, key)
  return current.name
}

/** The console then asks who signs in: the browser may have the session of another user. */
const signedOut = '?signed-out'

export const isSignedOut = (): boolean => location.search === signedOut

/** @throws PlatformError if the session did not end. */
export async function signOut(): Promise<void> {
  if (current?.type === 'session')
    await call('signOut').catch((error) => {
      if (failureOf(error).code !== 'UNAUTHORIZED') throw error
    })
  sessionStorage.removeItem(storageKey)
  location.assign(`/console${signedOut}`)
}

export const currentUserId = (): string | undefined => current?.user_id

/** Whether the key may call the operation. */
export const isAllowed = (operation: string | null): operation is string =>
  operation !== null && (current?.operations.includes(operation) ?? false)

/** Whether the state of a resource allows an operation. Only operators sell what is not an organization's. */
export const isPossible = (operation: string, item: any): boolean => {
  const { sells, when } = model.operations[operation] ?? {}
  const seller = item.seller_organization_id ?? item.organization_id ?? null
  return (
    (!sells || seller !== null || current!.operator_scopes.includes('payments:sell')) &&
    Object.entries(when ?? {}).every(([name, values]) => values.includes(valueAt(item, name)))
  )
}

/** A request of this page, for its log. */
export interface Sent {
  operation: string
  input: Input
  /** null without an answer. */
  status: number | null
  ms: number
  /** How often it was sent in a row. */
  times: number
}

/** The last requests, the latest first. Each change makes a new list. */
export let log: Sent[] = []
export const logChanges = new EventTarget()
const keptRequests = 50

function record(sent: Omit<Sent, 'times'>): void {
  const [last] = log
  const isRepeated =
    last?.operation === sent.operation && JSON.stringify(last.input) === JSON.stringify(sent.input)
  const times = isRepeated ? last.times + 1 : 1
  log = [{ ...sent, times }, ...log.slice(Number(isRepeated), keptRequests)]
  logChanges.dispatchEvent(new Event('change'))
}

async function answerOf(operation: string, input: Input): Promise<{ data: unknown; response: Response }> {
  const started = performance.now()
  const recordWith = (status: number | null): void =>
    record({ operation, input, status, ms: Math.round(performance.now() - started) })
  try {
    const answer = await calls[operation]({ ...limits, ...input }).withResponse()
    recordWith(answer.response.status)
    return answer
  } catch (error) {
    recordWith(error instanceof PlatformError ? error.status : null)
    throw error
  }
}

export async function call(operation: string, input: Input = {}): Promise<Answer> {
  const { data, response } = await answerOf(operation, input)
  return { data, etag: response.headers.get('etag') }
}

/** The messages of an event stream. `return()` of the generator ends it. */
export const stream = (
  operation: string,
  input: Input & Partial<Limits> = {},
): AsyncGenerator<StreamedEvent, void> =>
  calls[operation](input as Input & Limits) as unknown as AsyncGenerator<StreamedEvent, void>

export const contentOf = async (operation: string, input: Input = {}): Promise<Blob> =>
  await (await answerOf(operation, input)).response.blob()

/** Uploads a file in pieces. @returns the upload, with the `file_id`. */
export const resumableUpload = async (file: File, options: ResumableOptions): Promise<{ file_id: string }> =>
  (await client!.resumableUpload(file, options as any)) as { file_id: string }

/** Saves the file of an answer under the name that the server gives it. */
export async function download(operation: string, input: Input = {}): Promise<void> {
  const { response } = await answerOf(operation, input)
  const disposition = response.headers.get('content-disposition') ?? ''
  const encoded = /filename\*=UTF-8''([^;]+)/i.exec(disposition)?.[1]
  const link = document.createElement('a')
  link.href = URL.createObjectURL(await response.blob())
  link.download =
    encoded !== undefined ? decodeURIComponent(encoded) : (/filename="?([^";]+)/.exec(disposition)?.[1] ?? '')
  link.click()
  URL.revokeObjectURL(link.href)
}

/** Saves a large answer. A browser with a session asks for it itself, without keeping it in memory. */
export async function downloadLarge(operation: string, path: Record<string, string>): Promise<void> {
  if (current?.type !== 'session') return await download(operation, { path, timeout: null })
  const link = document.createElement('a')
  link.href = fill(requestOf(operation).path, path)
  link.download = ''
  link.click()
}

/** One problem of a request, at its field. */
export interface Problem {
  field: string
  message: string
}

export interface Failure {
  message: string
  /** The code of the API; null if it did not answer, or the error is the browser's. */
  code: string | null
  /** The rule that the request broke, such as `name_taken`; null for none. */
  constraint: string | null
  requestId: string | null
  problems: Problem[]
}

/** An error that is not of the client, such as a full `sessionStorage`, is also reported to the browser. */
export function failureOf(error: unknown): Failure {
  if (!(error instanceof PlatformError)) {
    reportError(error)
    return { message: String(error), code: null, constraint: null, requestId: null, problems: [] }
  }
  const details = error.details as { errors?: Problem[]; constraint?: string } | null
  return {
    message: error.code === null ? `The server did not answer: ${error.message}` : error.message,
    code: error.code,
    constraint: details?.constraint ?? null,
    requestId: error.requestId,
    problems: details?.errors ?? [],
  }
}
