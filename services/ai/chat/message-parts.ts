// The parts of messages in requests: texts, images and documents. The text of a document becomes text of the
// message; an image stays an image, and its bytes are read when the model is asked.
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { components } from '../../../generated/types.ts'
import { FairSemaphore } from '../../../infra/concurrency/fair-semaphore.ts'
import type { OperationInfo } from '../../../infra/contract/operation.ts'
import type { Db } from '../../../infra/database/database.ts'
import { ApiError, forbidden, invalidField } from '../../../infra/errors.ts'
import { contentTypeOf, sampleBytes } from '../../storage/content-type.ts'
import { openFile, type FileRow } from '../../storage/files.ts'
import type { Storage } from '../../storage/storage.ts'
import type { Principal } from '../../users/authentication.ts'
import { isSupportedType } from '../parsing/detect-type.ts'
import { parseDocument, ParsingError } from '../parsing/parse.ts'
import type { ChatMessage, Image } from '../providers/providers.ts'

type Part = components['schemas']['MessagePart']
export type Content = string | Array<Pick<Part, 'image_url' | 'file'>> | null | undefined

export interface PartsServices {
  db: Db
  storage: Pick<Storage, 'tempFiles' | 'blobStore'>
}

interface PartsRequest {
  operation: OperationInfo
  principal: Principal
}

/** Of one request. */
const maxImages = 10
const maxDocuments = 5
/** Of an image, of all images that a model gets, and of a document, in bytes. */
const maxImageBytes = 5 * 2 ** 20
const maxAllImagesBytes = 8 * 2 ** 20
const maxDocumentBytes = 20 * 2 ** 20
/** UTF-8 bytes of the text of a document. A message has at most 200,000 characters. */
const maxDocumentText = 800_000

const imageTypes = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif'])
const readOperation = { id: 'getFile', method: 'GET', projectAccess: { role: 'viewer' } } as const

const parsing = new FairSemaphore({
  name: 'documents in messages',
  total: 2,
  perUser: 1,
  maxWaiting: 5,
  maxWaitMs: 30_000,
})

/** Whether the contents have images or documents, in parts of any type. */
export function hasFiles(contents: Content[]): boolean {
  return contents.some(
    (content) => Array.isArray(content) && content.some((part) => part.image_url ?? part.file),
  )
}

/** Reads the parts of the messages of one request, and counts them. */
export class PartsReader {
  readonly #services: PartsServices
  readonly #request: PartsRequest
  readonly #files = new Map<string, FileRow>()
  #images = 0
  #documents = 0

  constructor(services: PartsServices, request: PartsRequest) {
    this.#services = services
    this.#request = request
  }

  /**
   * Opens the stored files of all contents, in parts of any type and role, before anything else is refused.
   * A file that the caller may not read is refused before one that does not exist. @throws ApiError
   */
  async openFiles(contents: Content[], field: string): Promise<void> {
    const parts = contents.flatMap((content) => (Array.isArray(content) ? content : []))
    const ids = new Set(
      parts.flatMap(({ image_url: image, file }) => [image?.file_id ?? [], file?.file_id ?? []].flat()),
    )
    if (ids.size > maxImages + maxDocuments)
      throw invalidField(field, 'maxItems', `A request may have ${maxImages + maxDocuments} stored files.`)
    let refusal: ApiError | null = null
    for (const id of ids) {
      if (this.#files.has(id)) continue
      try {
        this.#files.set(id, await this.#openFile(id))
      } catch (error) {
        if (!(error instanceof ApiError) || error.status === 403 || error.status >= 500) throw error
        refusal ??= error
      }
    }
    if (refusal !== null) throw refusal
  }

  /** The texts of the parts, then of the documents, and the images. After `openFiles`. @throws ApiError */
  async read(parts: Part[], field: string): Promise<{ text: string; images: Image[] }> {
    const texts: string[] = []
    const documents: string[] = []
    const images: Image[] = []
    for (const [i, part] of parts.entries()) {
      const read = await this.#readPart(part, `${field}[${i}]`)
      if (typeof read !== 'string') images.push(read)
      else if (part.type === 'file') documents.push(read)
      else texts.push(read)
    }
    return { text: [...texts, ...documents].join('\n'), images }
  }

  async #readPart(part: Part, field: string): Promise<string | Image> {
    for (const name of ['text', 'image_url', 'file'] as const)
      if (name !== part.type && part[name] !== undefined)
        throw invalidField(`${field}.${name}`, 'type', `A part of the type \`${part.type}\` has no ${name}.`)
    if (part.type === 'text') return required(part.text, `${field}.text`)
    if (part.type === 'image_url') {
      const image = required(part.image_url, `${field}.image_url`)
      if ((image.url === undefined) === (image.file_id === undefined))
        throw invalidField(`${field}.image_url`, 'oneOf', 'An image has either `url` or `file_id`.')
      this.#countImage(field)
      return image.file_id === undefined
        ? { url: await checkedImage(image.url!, `${field}.image_url.url`) }
        : this.#imageOf(this.#files.get(image.file_id)!, `${field}.image_url.file_id`)
    }
    const file = required(part.file, `${field}.file`)
    if ((file.file_data === undefined) === (file.file_id === undefined))
      throw invalidField(`${field}.file`, 'oneOf', 'A document has either `file_data` or `file_id`.')
    if (file.file_id === undefined) {
      const at = `${field}.file.file_data`
      const { type, bytes } = decodeDataUrl(file.file_data!, at)
      return await this.#textOf(Readable.from([bytes]), { type, name: file.filename ?? 'document' }, at)
    }
    const stored = this.#files.get(file.file_id)!
    const at = `${field}.file.file_id`
    if (imageTypes.has(stored.content_type)) {
      this.#countImage(field)
      return this.#imageOf(stored, at)
    }
    if (stored.bytes > maxDocumentBytes) throw tooLarge(at, maxDocumentBytes)
    const content = await (await this.#services.storage.blobStore()).read(stored.blob_key)
    return await this.#textOf(content, { type: stored.content_type, name: stored.name }, at)
  }

  #countImage(field: string): void {
    if (++this.#images > maxImages)
      throw invalidField(field, 'maxItems', `A request may have ${maxImages} images.`)
  }

  #imageOf(file: FileRow, field: string): Image {
    if (!imageTypes.has(file.content_type)) throw notAnImage(field)
    if (file.bytes > maxImageBytes) throw tooLarge(field, maxImageBytes)
    return { fileId: file.id }
  }

  async #openFile(id: string): Promise<FileRow> {
    const { principal } = this.#request
    if (!principal.scopes.has('storage:read'))
      throw forbidden('A message with a stored file requires the scope storage:read.', 'scope')
    return await openFile(this.#services.db, { operation: readOperation as never, principal, params: { id } })
  }

  async #textOf(
    content: Readable,
    { type, name }: { type: string; name: string },
    field: string,
  ): Promise<string> {
    if (++this.#documents > maxDocuments)
      throw invalidField(field, 'maxItems', `A request may have ${maxDocuments} documents.`)
    const file = await this.#services.storage.tempFiles.receive(
      { declaredType: type, name, content },
      { maxBytes: maxDocumentBytes, tooLarge: () => tooLarge(field, maxDocumentBytes) },
    )
    try {
      if (!isSupportedType(file.contentType))
        throw invalidField(field, 'content_type', `A document of the type ${file.contentType} is not read.`)
      const { text } = await parsing.run(this.#request.principal.accountId, () =>
        parseDocument(
          { path: file.path, contentType: file.contentType, name, declaredType: type },
          { maxTokens: 1_000, overlapTokens: 0 },
          { limits: { seconds: 20, outputBytes: maxDocumentText, inputBytes: maxDocumentBytes } },
        ),
      )
      const read = text.toWellFormed().replaceAll('\0', '')
      return `<document name=${JSON.stringify(name)}>\n${read}\n</document>`
    } catch (error) {
      if (!(error instanceof ParsingError)) throw error
      throw invalidField(field, error.code, error.message)
    } finally {
      await file.discard()
    }
  }
}

function required<T>(value: T | undefined, field: string): T {
  if (value === undefined) throw invalidField(field, 'required', `${field} is required.`)
  return value
}

function tooLarge(field: string, bytes: number): ApiError {
  return invalidField(field, 'max_bytes', `${field} may have ${bytes} bytes.`)
}

function notAnImage(field: string): ApiError {
  return invalidField(field, 'content_type', 'The file must be an image: PNG, JPEG, WebP or GIF.')
}

/** The data URL in its shortest form. The bytes decide whether it is an image. */
async function checkedImage(url: string, field: string): Promise<string> {
  const { bytes } = decodeDataUrl(url, field)
  const sample = bytes.subarray(0, sampleBytes)
  const type = await contentTypeOf(sample, { isComplete: sample.length === bytes.length, declared: null })
  if (!imageTypes.has(type)) throw notAnImage(field)
  return dataUrl(type, bytes)
}

function decodeDataUrl(url: string, field: string): { type: string; bytes: Buffer } {
  if (/^https?:/i.test(url))
    throw invalidField(field, 'remote_url', 'The server fetches no URLs: send a data URL, or a `file_id`.')
  const comma = url.slice(0, 200).indexOf(',')
  const head = /^data:([\w.+-]+\/[\w.+-]+)(;[\w=.-]+)*;base64$/i.exec(url.slice(0, Math.max(comma, 0)))
  const data = url.slice(comma + 1)
  if (head === null || data === '' || /[^A-Za-z0-9+/=]/.test(data))
    throw invalidField(field, 'data_url', `${field} must be a data URL in base64.`)
  return { type: head[1].toLowerCase(), bytes: Buffer.from(data, 'base64') }
}

function dataUrl(type: string, bytes: Buffer): string {
  return `data:${type};base64,${bytes.toString('base64')}`
}

/**
 * The messages with the bytes of their images, the newest first as far as the limits allow. An image whose
 * file was deleted, or which the caller may no longer read, is left out.
 */
export async function loadImages(
  { db, storage }: PartsServices,
  principal: Principal,
  messages: ChatMessage[],
): Promise<ChatMessage[]> {
  let free = { images: maxImages, bytes: maxAllImagesBytes }
  const load = async (image: Image): Promise<Image[]> => {
    const url = 'url' in image ? image.url : await readImage(image.fileId)
    const bytes = url === null ? 0 : url.length * 0.75
    if (url === null || free.images === 0 || bytes > free.bytes) return []
    free = { images: free.images - 1, bytes: free.bytes - bytes }
    return [{ url }]
  }
  const readImage = async (id: string): Promise<string | null> => {
    if (free.images === 0 || !principal.scopes.has('storage:read')) return null
    try {
      const file = await openFile(db, { operation: readOperation as never, principal, params: { id } })
      if (file.bytes > Math.min(maxImageBytes, free.bytes)) return null
      return dataUrl(file.content_type, await buffer(await (await storage.blobStore()).read(file.blob_key)))
    } catch (error) {
      if (error instanceof ApiError && error.status < 500) return null
      throw error
    }
  }
  const loaded: ChatMessage[] = []
  for (const { images, ...message } of messages.toReversed()) {
    const sent: Image[] = []
    for (const image of images ?? []) sent.push(...(await load(image)))
    loaded.unshift(sent.length === 0 ? message : { ...message, images: sent })
  }
  return loaded
}
