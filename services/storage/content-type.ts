// Detects the media type of a file from its bytes, and decides which types a browser may display.
import { isUtf8 } from 'node:buffer'

/** How many bytes from the start of a file are examined. */
export const sampleBytes = 16 * 1024

interface Hints {
  /** Whether the sample is the whole file. */
  isComplete: boolean
  declared: string | null
  name?: string
}

/** Text types that look alike. Only for these the file name and the declared type count. */
const textTypeByExtension: Record<string, string> = {
  csv: 'text/csv',
  tsv: 'text/tab-separated-values',
  md: 'text/markdown',
  markdown: 'text/markdown',
  json: 'application/json',
  jsonl: 'application/x-ndjson',
  ndjson: 'application/x-ndjson',
  eml: 'message/rfc822',
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
const textTypes = new Set(Object.values(textTypeByExtension))

/**
 * The media type without parameters. Bytes that are neither a known format nor text are
 * `application/octet-stream`.
 */
export async function contentTypeOf(sample: Buffer, { isComplete, declared, name }: Hints): Promise<string> {
  // Loaded with the first file.
  const { fileTypeFromBuffer } = await import('file-type')
  const found = await fileTypeFromBuffer(sample).catch(() => undefined)
  if (found !== undefined && found.mime !== 'application/xml') return found.mime.split(';')[0]
  if (!isText(sample, isComplete)) return found?.mime ?? 'application/octet-stream'
  return (
    markupTypeOf(sample) ??
    textTypeByExtension[/\.(\w+)$/.exec(name ?? '')?.[1].toLowerCase() ?? ''] ??
    declaredTextType(declared) ??
    'text/plain'
  )
}

function isText(sample: Buffer, isComplete: boolean): boolean {
  // The end of the sample may be in the middle of a character.
  const characters = isComplete ? sample : sample.subarray(0, lastBoundary(sample))
  // Text may contain these control characters: tab, line feed, form feed, carriage return, escape.
  return isUtf8(characters) && !/[\0-\x08\x0b\x0e-\x1a\x1c-\x1f]/.test(characters.toString('latin1'))
}

/** The index after the last complete UTF-8 character. */
function lastBoundary(sample: Buffer): number {
  for (let back = 1; back <= Math.min(4, sample.length); back++) {
    const byte = sample[sample.length - back]
    if ((byte & 0xc0) === 0x80) continue
    const length = byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4
    return length <= back ? sample.length : sample.length - back
  }
  return sample.length
}

/** The markup type that a browser would sniff, regardless of the file name. */
function markupTypeOf(sample: Buffer): string | null {
  const start = sample.toString('utf8', 0, 4096).replace(/^\ufeff/, '')
  const body = start.replace(/^(\s|<\?[^>]*\?>|<!--[^]*?-->)+/, '')
  if (/^<!doctype\s+svg|^<svg[\s>]/i.test(body)) return 'image/svg+xml'
  if (htmlStart.test(body)) return 'text/html'
  if (/^\s*<\?xml/.test(start)) return 'application/xml'
  return null
}

const htmlElements =
  '!doctype\\s+html|html|head|body|script|iframe|style|title|meta|link|div|p|h1|a|b|br|table|img|font'
const htmlStart = new RegExp(`^<(${htmlElements})[\\s>/]`, 'i')

function declaredTextType(declared: string | null): string | null {
  const type = declared?.split(';')[0].trim().toLowerCase() ?? ''
  return textTypes.has(type) ? type : null
}

/** Types that a browser displays without running scripts. */
const inlineTypes = new RegExp(
  '^(image/(png|jpeg|gif|webp|avif|bmp|apng)|audio/[\\w.+-]+|video/[\\w.+-]+|application/pdf|text/plain)$',
)

/** Whether a file of this type may be sent with `Content-Disposition: inline`. */
export function isSafeInline(type: string): boolean {
  return inlineTypes.test(type)
}
