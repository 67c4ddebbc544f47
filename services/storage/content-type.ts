// The media type of a file, found from its bytes, and how a browser may be given it.
import { isUtf8 } from 'node:buffer'
import { fileTypeFromBuffer } from 'file-type'

/** How much of the beginning is looked at. */
export const sampleBytes = 16 * 1024

interface Hints {
  /** Whether the sample is all there is. */
  whole: boolean
  declared: string | null
  name?: string
}

/** Kinds of text that no bytes tell apart: here, and only here, the name or the client is asked. */
const texts: Record<string, string> = {
  csv: 'text/csv',
  tsv: 'text/tab-separated-values',
  md: 'text/markdown',
  markdown: 'text/markdown',
  json: 'application/json',
  yaml: 'application/yaml',
  yml: 'application/yaml',
  txt: 'text/plain',
  log: 'text/plain',
  js: 'text/javascript',
  mjs: 'text/javascript',
  css: 'text/css',
  html: 'text/html',
  htm: 'text/html',
  xhtml: 'application/xhtml+xml',
  svg: 'image/svg+xml',
  xml: 'application/xml',
}
const textTypes = new Set(Object.values(texts))

/** Bytes that neither a known form nor text have are `application/octet-stream`. */
export async function contentTypeOf(sample: Buffer, { whole, declared, name }: Hints): Promise<string> {
  const found = await fileTypeFromBuffer(sample).catch(() => undefined)
  if (found !== undefined && found.mime !== 'application/xml') return found.mime.split(';')[0]
  if (!isText(sample, whole)) return found?.mime ?? 'application/octet-stream'
  return (
    markupOf(sample) ??
    texts[/\.(\w+)$/.exec(name ?? '')?.[1].toLowerCase() ?? ''] ??
    declaredText(declared) ??
    'text/plain'
  )
}

function isText(sample: Buffer, whole: boolean): boolean {
  // The last character may be cut in the middle.
  const characters = whole ? sample : sample.subarray(0, lastBoundary(sample))
  // Control characters that text has: tab, line feed, form feed, carriage return, escape.
  return isUtf8(characters) && !/[\0-\x08\x0b\x0e-\x1a\x1c-\x1f]/.test(characters.toString('latin1'))
}

/** Where the last whole character of UTF-8 ends, or at most four bytes before. */
function lastBoundary(sample: Buffer): number {
  for (let back = 1; back <= Math.min(4, sample.length); back++) {
    const byte = sample[sample.length - back]
    if ((byte & 0xc0) === 0x80) continue
    const length = byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4
    return length <= back ? sample.length : sample.length - back
  }
  return sample.length
}

/** What a browser would take the text for, whatever else it is called. */
function markupOf(sample: Buffer): string | null {
  const start = sample.toString('utf8', 0, 4096).replace(/^\ufeff/, '')
  const body = start.replace(/^(\s|<\?[^>]*\?>|<!--[^]*?-->)+/, '')
  if (/^<!doctype\s+svg|^<svg[\s>]/i.test(body)) return 'image/svg+xml'
  if (
    /^<(!doctype\s+html|html|head|body|script|iframe|style|title|meta|link|div|p|h1|a|b|br|table|img|font)[\s>/]/i.test(
      body,
    )
  )
    return 'text/html'
  if (/^\s*<\?xml/.test(start)) return 'application/xml'
  return null
}

function declaredText(declared: string | null): string | null {
  const type = declared?.split(';')[0].trim().toLowerCase() ?? ''
  return textTypes.has(type) ? type : null
}

/** Types that a browser shows and never runs. */
const shown =
  /^(image\/(png|jpeg|gif|webp|avif|bmp|apng)|audio\/[\w.+-]+|video\/[\w.+-]+|application\/pdf|text\/plain)$/

export function mayBeShown(type: string): boolean {
  return shown.test(type)
}
