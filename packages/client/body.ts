// Encodes the body of a request.
import { concreteType, essenceOf, isJson, isRange } from '@platform-api/openapi/media-types.ts'
import { fieldsOf } from '@platform-api/openapi/form-fields.ts'
import type { BodyMedia, OperationRow } from './operation-row.ts'
import { collected, isStreamedFile, isUploadable, uploadOf, type Uploadable } from './files.ts'
import { encodeForm, streamOf } from './form.ts'
import { isWebPage } from './environment.ts'
import type { UploadBody } from './progress.ts'

export interface EncodedBody {
  body?: Blob | ReadableStream<Uint8Array> | string
  type?: string
  /** Of a file, or a form with files. */
  upload?: UploadBody
}

const isForm = ({ type }: BodyMedia): boolean => essenceOf(type).startsWith('multipart/')

/** @param contentType one of the media types of the operation. Default: the one that fits the body. */
export async function encodeBody(
  { media = [{ type: 'application/json' }] }: OperationRow,
  body: unknown,
  contentType?: string,
): Promise<EncodedBody> {
  if (body === undefined) return {}
  const chosen =
    contentType === undefined
      ? mediaFor(media, body)
      : (media.find(({ type }) => type === contentType) ?? { type: contentType })
  const { encoding = {} } = chosen
  const type = isRange(chosen.type) ? concreteOf(chosen.type, body) : chosen.type
  if (isForm(chosen)) {
    for (const name of chosen.files ?? []) requireFiles((body as Record<string, unknown>)[name])
    const upload = await encodeForm(type, body as Record<string, unknown>, encoding)
    return { body: upload.content, type: upload.contentType, upload }
  }
  if (isUploadable(body)) return await rawBody(type, body)
  if (essenceOf(type) === 'application/x-www-form-urlencoded')
    return { body: urlEncoded(body as Record<string, unknown>, encoding), type }
  if (typeof body === 'string' && !isJson(type)) return { body, type }
  return { body: JSON.stringify(body), type }
}

/** @throws TypeError if the value is neither a file nor a list of files. */
function requireFiles(value: unknown): void {
  for (const each of [value].flat()) if (!isUploadable(each)) uploadOf(each as never)
}

/** A file as it is, or a form with a file; otherwise the first media type, which is JSON if there is any. */
function mediaFor(media: BodyMedia[], body: unknown): BodyMedia {
  const isOther = ({ type }: BodyMedia): boolean =>
    !isJson(type) && !isForm({ type }) && essenceOf(type) !== 'application/x-www-form-urlencoded'
  const hasFile = typeof body === 'object' && body !== null && Object.values(body).flat().some(isUploadable)
  const fitting = isUploadable(body) ? media.find(isOther) : hasFile ? media.find(isForm) : undefined
  return fitting ?? media[0]
}

function concreteOf(range: string, body: unknown): string {
  const own = body instanceof Blob || isStreamedFile(body) ? body.type : ''
  return own === '' ? concreteType(range, {}) : own
}

async function rawBody(type: string, body: Uploadable): Promise<EncodedBody> {
  const given = uploadOf(body)
  const file = isStreamedFile(given) && isWebPage() ? await collected(given) : given
  const size = file.size ?? Infinity
  const about = { length: Number.isFinite(size) ? size : null, start: 0, size }
  if (!isStreamedFile(file)) return { body: file, type, upload: { content: file, ...about } }
  let read = 0
  const content = streamOf(counted(file.content, (bytes) => (read += bytes)))
  return { body: content, type, upload: { content, ...about, read: () => read } }
}

async function* counted(
  chunks: AsyncIterable<Uint8Array>,
  onRead: (bytes: number) => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const chunk of chunks) {
    onRead(chunk.byteLength)
    yield chunk
  }
}

function urlEncoded(body: Record<string, unknown>, encoding: BodyMedia['encoding'] = {}): string {
  const sent = Object.entries(body).filter(([, value]) => value !== undefined && value !== null)
  const fields = fieldsOf(Object.fromEntries(sent), encoding, isUploadable)
  const pairs = fields.map(({ name, value }): [string, string] => [name, String(value)])
  return new URLSearchParams(pairs).toString()
}
