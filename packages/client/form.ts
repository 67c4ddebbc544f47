// Encodes a form with a file as one Blob (RFC 7578). The length is known, the file is read only when it is
// sent, and the Blob can be sent again. Names are escaped as in
// https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#multipart-form-data.

export interface FormShape {
  /** The field of the file. */
  file: string
  /** The fields that are JSON. */
  json: readonly string[]
}

export interface EncodedForm {
  blob: Blob
  contentType: string
  /** The offset of the file in the Blob. */
  start: number
  /** The size of the file. */
  size: number
}

/** The fields come before the file. undefined and null are left out; a list becomes repeated fields. */
export function encodeForm({ file: fileField, json }: FormShape, body: Record<string, unknown>): EncodedForm {
  const { [fileField]: file, ...fields } = body as { [name: string]: unknown } & Record<
    typeof fileField,
    Blob
  >
  const content = file as Blob & { name?: string }
  const boundary = `form-${randomText()}`
  const texts = Object.entries(fields)
    .filter(([, value]) => value !== undefined && value !== null)
    .flatMap(([name, value]) => {
      const values = json.includes(name) ? [JSON.stringify(value)] : Array.isArray(value) ? value : [value]
      return values.map((one) => `${head(boundary, name)}\r\n\r\n${String(one)}\r\n`)
    })
  const filename = content.name ?? (typeof fields.name === 'string' ? fields.name : fileField)
  const before = new Blob([
    ...texts,
    `${head(boundary, fileField)}; filename="${escaped(filename)}"\r\n`,
    `Content-Type: ${content.type || 'application/octet-stream'}\r\n\r\n`,
  ])
  return {
    blob: new Blob([before, content, `\r\n--${boundary}--\r\n`]),
    contentType: `multipart/form-data; boundary=${boundary}`,
    start: before.size,
    size: content.size,
  }
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
