// The files that uploads accept: Blobs, bytes, streams, and files on disk.

/** A file that is sent while it is read. It can be sent only once, so the upload is not retried. */
export interface StreamedFile {
  name: string
  /** The media type; empty if unknown. */
  type: string
  /** The size in bytes, if known. */
  size?: number
  content: AsyncIterable<Uint8Array>
}

/**
 * A file to upload: a File or Blob, bytes (a Buffer too), or a stream of Node.js or the web. `toFile` gives
 * bytes and streams a name, and `fileFrom` opens a file on disk.
 */
export type Uploadable =
  | Blob
  | ArrayBuffer
  | ArrayBufferView
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array | string>
  | StreamedFile

export interface FileProperties {
  /** The media type, such as `application/pdf`. */
  type?: string
  /** The size of a stream in bytes. The server then rejects a file that is too large at once. */
  size?: number
}

/** Bytes, a Blob or a stream as a file with a name and a media type. */
export function toFile(
  content: Uploadable,
  name?: string,
  properties: FileProperties = {},
): File | StreamedFile {
  const { type = typeOf(content), size } = properties
  const known = name ?? nameOf(content)
  if (content instanceof Blob) return new File([content], known ?? 'file', { type })
  if (content instanceof ArrayBuffer || ArrayBuffer.isView(content))
    return new File([content as Uint8Array<ArrayBuffer>], known ?? 'file', { type })
  if (isStreamedFile(content)) return { ...content, name: known ?? 'file', type, size: size ?? content.size }
  if (content instanceof ReadableStream || Symbol.asyncIterator in Object(content))
    return { name: known ?? 'file', type, size, content: chunksOf(content as AsyncIterable<Uint8Array>) }
  throw new TypeError(
    `A file must be a Blob, bytes or a stream, not ${content === null ? 'null' : `a ${typeof content}`}.` +
      (typeof content === 'string' ? ' To upload a file on disk, use `await fileFrom(path)`.' : ''),
  )
}

/** A file on disk, by its path, in Node.js. Uploads read it while they send it, and can send it again. */
export async function fileFrom(
  path: string,
  { name, type = '' }: { name?: string; type?: string } = {},
): Promise<File> {
  const { process } = globalThis as unknown as { process?: { getBuiltinModule?: (id: string) => any } }
  const fs = process?.getBuiltinModule?.('fs')
  if (fs?.openAsBlob === undefined)
    throw new TypeError('`fileFrom` needs Node.js 20.16 or later. Pass a Blob or a File instead.')
  return new File([await fs.openAsBlob(path)], name ?? path.split(/[\\/]/).at(-1)!, { type })
}

/** A Blob as it is; bytes as a Blob; a stream as a streamed file. */
export function uploadOf(content: Uploadable): (Blob & { name?: string }) | StreamedFile {
  return content instanceof Blob ? content : toFile(content)
}

/** Whether the value is a file. */
export function isUploadable(value: unknown): value is Uploadable {
  return (
    value instanceof Blob ||
    value instanceof ArrayBuffer ||
    ArrayBuffer.isView(value) ||
    value instanceof ReadableStream ||
    isStreamedFile(value) ||
    (typeof value === 'object' && value !== null && Symbol.asyncIterator in value)
  )
}

export function isStreamedFile(value: unknown): value is StreamedFile {
  if (typeof value !== 'object' || value === null || !('content' in value && 'name' in value)) return false
  return Symbol.asyncIterator in Object(value.content)
}

/** The whole stream as a Blob, for browsers, which cannot send streams over HTTP/1.1. */
export async function collected(file: StreamedFile): Promise<File> {
  const parts: Array<Uint8Array<ArrayBuffer>> = []
  for await (const chunk of file.content) parts.push(chunk as Uint8Array<ArrayBuffer>)
  return new File(parts, file.name, { type: file.type })
}

/** The name of a File, and of a stream that Node.js reads from a path. */
function nameOf(content: Uploadable): string | undefined {
  const { name, path } = Object(content) as { name?: unknown; path?: unknown }
  if (typeof name === 'string' && name !== '') return name
  return typeof path === 'string' ? path.split(/[\\/]/).at(-1) : undefined
}

function typeOf(content: Uploadable): string {
  return content instanceof Blob || isStreamedFile(content) ? content.type : ''
}

async function* chunksOf(
  stream: ReadableStream<Uint8Array> | AsyncIterable<Uint8Array | string>,
): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder()
  const chunks = Symbol.asyncIterator in stream ? stream : readerOf(stream as ReadableStream<Uint8Array>)
  for await (const chunk of chunks as AsyncIterable<Uint8Array | string>)
    yield typeof chunk === 'string' ? encoder.encode(chunk) : chunk
}

/** For browsers whose streams are not iterable. */
async function* readerOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield value
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}
