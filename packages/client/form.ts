// Encodes a form with a file (RFC 7578). A Blob is read only when it is sent, and can be sent again; a stream
// is sent while it is read. Names are escaped as in
// https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#multipart-form-data.
import { isStreamedFile, type StreamedFile } from './files.ts'

export interface FormShape {
  /** The field of the file. */
  file: string
  /** The fields that are JSON. */
  json: readonly string[]
}

export interface EncodedForm {
  content: Blob | ReadableStream<Uint8Array>
  contentType: string
  /** The length of the form in bytes; null if unknown. */
  length: number | null
  /** The offset of the file in the form. */
  start: number
  /** The size of the file; Infinity if unknown. */
  size: number
  /** The bytes of the file that have been read so far, if it is a stream. */
  read?: () => number
}

/** The fields come before the file. undefined and null are left out; a list becomes repeated fields. */
export function encodeForm(
  { file: fileField, json }: FormShape,
  fields: Record<string, unknown>,
  file: (Blob & { name?: string }) | StreamedFile,
): EncodedForm {
  const boundary = `form-${randomText()}`
  const texts = Object.entries(fields)
    .filter(([name, value]) => name !== fileField && value !== undefined && value !== null)
    .flatMap(([name, value]) => {
      const values = json.includes(name) ? [JSON.stringify(value)] : Array.isArray(value) ? value : [value]
      return values.map((one) => `${head(boundary, name)}\r\n\r\n${String(one)}\r\n`)
    })
  const filename = file.name ?? (typeof fields.name === 'string' ? fields.name : fileField)
  const before = new Blob([
    ...texts,
    `${head(boundary, fileField)}; filename="${escaped(filename)}"\r\n`,
    `Content-Type: ${file.type || 'application/octet-stream'}\r\n\r\n`,
  ])
  const after = new Blob([`\r\n--${boundary}--\r\n`])
  const size = file.size ?? Infinity
  const length = before.size + size + after.size
  const encoded = {
    contentType: `multipart/form-data; boundary=${boundary}`,
    length: Number.isFinite(length) ? length : null,
    start: before.size,
    size,
  }
  if (!isStreamedFile(file)) return { ...encoded, content: new Blob([before, file, after]) }
  let read = 0
  const chunks = chunksOf(before, file, after, (bytes) => (read += bytes))
  return { ...encoded, content: streamOf(chunks), read: () => read }
}

function streamOf(chunks: AsyncGenerator<Uint8Array, void, undefined>): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    async cancel() {
      await chunks.return()
    },
  })
}

async function* chunksOf(
  before: Blob,
  file: StreamedFile,
  after: Blob,
  onRead: (bytes: number) => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  yield new Uint8Array(await before.arrayBuffer())
  for await (const chunk of file.content) {
    onRead(chunk.byteLength)
    yield chunk
  }
  yield new Uint8Array(await after.arrayBuffer())
}

/** 32 random hexadecimal digits. `crypto.randomUUID` does not exist on pages without TLS. */
export function randomText(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('')
}

function head(boundary: string, name: string): string {
  return `--${boundary}\r\nContent-Disposition: form-data; name="${escaped(name)}"`
}

function escaped(text: string): string {
  return text.replace(/\r\n|\r|\n/g, '%0D%0A').replaceAll('"', '%22')
}
