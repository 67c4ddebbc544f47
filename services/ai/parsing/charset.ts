// Decodes bytes to text. The charset is, in this order: that of the byte order mark, the one that was
// declared with the file, UTF-16 if the bytes look like it, UTF-8 if the bytes are valid, the one that the
// text itself declares, and otherwise the one that fits best. test/ai/charsets.test.ts measures the last
// step: of 230 passages and sentences in twelve encodings, jschardet 4.1 reads 227, chardet 2.2 reads 212.
import { isUtf8 } from 'node:buffer'
import type { DocumentWarning } from './warnings.ts'

const byteOrderMarks: [string, number[]][] = [
  ['utf-8', [0xef, 0xbb, 0xbf]],
  ['utf-16le', [0xff, 0xfe]],
  ['utf-16be', [0xfe, 0xff]],
]

/** The charset of the byte order mark, or null without a mark. */
export function byteOrderMark(bytes: Buffer): string | null {
  return byteOrderMarks.find(([, mark]) => mark.every((byte, index) => bytes[index] === byte))?.[0] ?? null
}

export interface Charset {
  /** A name of the Encoding Standard. */
  name: string
  isUncertain: boolean
}

/** Bytes in which charsets are declared, and from which they are detected. */
const declarationBytes = 4096
const detectionBytes = 64 * 1024

/** `declared`: the charset that was sent with the file, or null. */
export async function findCharset(bytes: Buffer, declared: string | null = null): Promise<Charset> {
  const certain =
    byteOrderMark(bytes) ??
    (declared !== null && fits(bytes, declared) ? charsetOf(declared) : null) ??
    utf16WithoutMark(bytes)
  if (certain !== null) return { name: certain, isUncertain: false }
  if (isUtf8(bytes)) return { name: hasJapaneseEscape(bytes) ? 'iso-2022-jp' : 'utf-8', isUncertain: false }
  const inside = declaredInside(bytes)
  if (inside !== null && fits(bytes, inside)) return { name: inside, isUncertain: false }
  // A few invalid bytes do not rule out UTF-8.
  if (invalidShare(bytes, 'utf-8') < 0.2) return { name: 'utf-8', isUncertain: false }
  return await detect(bytes)
}

/** The charset of a content type, or null. */
export function charsetParameter(contentType: string | null | undefined): string | null {
  return /;\s*charset\s*=\s*"?([\w.:-]{1,40})/i.exec(contentType ?? '')?.[1].toLowerCase() ?? null
}

/** The name of a charset by one of its labels, or null if it is unknown. */
export function charsetOf(label: string): string | null {
  try {
    return new TextDecoder(label).encoding
  } catch {
    return null
  }
}

/** The text of the bytes, cleaned by `cleanText`, with a warning if some bytes are invalid. */
export function decode(bytes: Buffer, charset: string): { text: string; warnings: DocumentWarning[] } {
  const source = new TextDecoder(charset).decode(bytes)
  return {
    text: cleanText(source),
    warnings: source.includes('\ufffd') ? [{ code: 'invalid_characters', pages: null }] : [],
  }
}

/** Whether nearly all bytes of the start are characters of the charset. Declarations are often wrong. */
function fits(bytes: Buffer, label: string): boolean {
  const name = charsetOf(label)
  if (name === null || name === 'replacement') return false
  if (name.startsWith('utf-16') && isUtf8(bytes) && !bytes.includes(0)) return false
  return invalidShare(bytes, name) < 0.05
}

/** The invalid characters of the start of the text, as a share of those that are not ASCII. */
function invalidShare(bytes: Buffer, charset: string): number {
  let invalid = 0
  let all = 0
  for (const character of decodeStart(bytes, charset, 1 << 20)) {
    if (character === '\ufffd' || (character >= '\x80' && character <= '\x9f' && character !== '\x85'))
      invalid++
    if (character > '\x7f') all++
  }
  return all === 0 ? 0 : invalid / all
}

/** The text of the first bytes, without a character that is cut. */
function decodeStart(bytes: Buffer, charset: string, length: number): string {
  return new TextDecoder(charset).decode(bytes.subarray(0, length), { stream: bytes.length > length })
}

/** Only in UTF-16 does text have NUL and other control bytes, such as those of space (0020) and 。 (3002). */
function utf16WithoutMark(bytes: Buffer): string | null {
  let [zeros, controls, printable] = [0, 0, 0]
  const sample = bytes.subarray(0, detectionBytes)
  for (const byte of sample) {
    if (byte === 0) zeros++
    else if (byte < 7) controls++
    else if (byte >= 0x20 && byte < 0x7f) printable++
  }
  // A stray control character in ASCII text is not UTF-16, although pairs of letters are Chinese in it.
  if (zeros + controls === 0 || (zeros * 10 < sample.length && printable * 10 > 8 * sample.length))
    return null
  const shares = ['utf-16le', 'utf-16be'].map((name) => ({
    name,
    share: shareOfLetters(decodeStart(bytes, name, detectionBytes)),
  }))
  const [{ name, share }] = shares.sort((one, other) => other.share - one.share)
  const text = decodeStart(bytes, name, detectionBytes)
  // Few bytes are not enough for text without Latin letters, which most NUL bytes belong to.
  const latin = text.match(/[\t\n\r -~\xa0-\xff]/g)?.length ?? 0
  const isLikely = zeros * 10 < sample.length ? text.length >= 8 : latin * 10 >= 9 * zeros
  return share >= 0.95 && isLikely ? name : null
}

/** The share of characters of the scripts that are most written; 0 if there is a control character. */
function shareOfLetters(text: string): number {
  if (/[\0-\x08\x0e-\x1a\x1c-\x1f\ufffd-\uffff]/.test(text)) return 0
  const letters =
    /[\t\n\r -~\xa0-\u06ff\u0900-\u0e7f\u1e00-\u22ff\u3000-\u30ff\u4e00-\u9fff\uac00-\ud7a3\uff01-\uffee]/g
  return (text.match(letters)?.length ?? 0) / text.length
}

/** ISO-2022-JP is ASCII with escape sequences. */
function hasJapaneseEscape(bytes: Buffer): boolean {
  return bytes.includes('\x1b$B') || bytes.includes('\x1b$@')
}

/**
 * The charset that the text declares at its start: a `<meta>` tag of HTML, the declaration of XML, the first
 * lines of source code; null if it is unknown or missing.
 */
export function declaredInside(bytes: Buffer): string | null {
  const start = bytes.toString('latin1', 0, declarationBytes)
  const label =
    /^\s{0,10}<\?xml[^>]{0,100}?\sencoding\s*=\s*["']([\w.:-]{1,40})/i.exec(start)?.[1] ??
    /<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]{1,40})/i.exec(start)?.[1] ??
    /^@charset "([\w.:-]{1,40})"/i.exec(start)?.[1] ??
    /^(?:[^\n]{0,200}\n)?[ \t\f]{0,20}#[^\n]{0,100}?coding[:=][ \t]{0,10}([\w.-]{1,40})/.exec(start)?.[1]
  return label === undefined ? null : charsetOf(label)
}

/** The names that the library uses, where the Encoding Standard has another. */
const standardNames: Record<string, string> = { cp932: 'shift_jis', cp949: 'euc-kr', cp874: 'windows-874' }
const detectEncodings = [
  ...['1250', '1251', '1252', '1253', '1254', '1255', '1256', '1257', '1258'].map(
    (page) => `windows-${page}`,
  ),
  'iso-8859-2',
  'iso-8859-5',
  'iso-8859-7',
  'iso-8859-15',
  'koi8-r',
  'koi8-u',
  'cp874',
  'cp932',
  'euc-jp',
  'gb18030',
  'big5',
  'cp949',
]
/** Below this confidence the text is too short to distinguish the charsets of Latin letters. */
const leastConfidence = 0.03
const confident = 0.1
const latin = /^(?:windows-125[02478]|iso-8859-(?:2|15))$/

async function detect(bytes: Buffer): Promise<Charset> {
  const first = bytes.findIndex((byte) => byte > 0x7f)
  const lineStart = bytes.lastIndexOf('\n', first) + 1
  const from = Math.max(lineStart, first - 1000)
  const { detect } = await import('jschardet')
  const { encoding, confidence } = detect(bytes.subarray(from, from + detectionBytes), { detectEncodings })
  const found = encoding?.toLowerCase() ?? ''
  const name = charsetOf(standardNames[found] ?? found) ?? 'windows-1252'
  const isUncertain = confidence <= confident
  return { name: confidence < leastConfidence && latin.test(name) ? 'windows-1252' : name, isUncertain }
}

/** Normalizes line ends to `\n` and removes NUL, other control characters and lone surrogates. */
export function cleanText(text: string): string {
  return text
    .replace(/\r\n?|[\x85\u2028\u2029]/g, '\n')
    .replace(/[\0-\x08\x0b-\x1f\x7f-\x9f\ufeff]/g, '')
    .toWellFormed()
}
