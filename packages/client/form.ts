// A form with a file as one Blob, whose length is known, of which nothing is read before it is sent, and which can be sent
// again (RFC 7578; names as in https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#multipart-form-data).

export interface FormShape {
  /** The field of the file. */
  file: string
  /** The fields that are JSON. */
  json: readonly string[]
}

export interface EncodedForm {
  blob: Blob
  contentType: string
  /** Where in it the file begins, and how long that is. */
  start: number
  size: number
}

/** Fields come before the file; one that is undefined or null is left out, a list is as many fields. */
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
    `${head(boundary, fileField)}; filename="${escaped(filename)}"\r\nContent-Type: ${content.type || 'application/octet-stream'}\r\n\r\n`,
  ])
  return {
    blob: new Blob([before, content, `\r\n--${boundary}--\r\n`]),
    contentType: `multipart/form-data; boundary=${boundary}`,
    start: before.size,
    size: content.size,
  }
}

/** 32 characters that nobody else has. Also where there is no `crypto.randomUUID`: on pages that came without TLS. */
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
