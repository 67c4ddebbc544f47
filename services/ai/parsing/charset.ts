// Decodes bytes to text: UTF-8, UTF-16 with a byte order mark, the charset that an HTML page declares,
// otherwise windows-1252.
import { isUtf8 } from 'node:buffer'

const byteOrderMarks: [string, number[]][] = [
  ['utf-8', [0xef, 0xbb, 0xbf]],
  ['utf-16le', [0xff, 0xfe]],
  ['utf-16be', [0xfe, 0xff]],
]

/** The charset of the byte order mark, or null without a mark. */
export function byteOrderMark(bytes: Buffer): string | null {
  return byteOrderMarks.find(([, mark]) => mark.every((byte, index) => bytes[index] === byte))?.[0] ?? null
}

/** The text of the bytes, cleaned by `cleanText`. `declared` is the charset that the document declares. */
export function decode(bytes: Buffer, declared: string | null = null): string {
  const charset = byteOrderMark(bytes) ?? (isUtf8(bytes) ? 'utf-8' : (declared ?? guessCharset(bytes)))
  return cleanText(new TextDecoder(charset).decode(bytes))
}

/** A few invalid bytes do not rule out UTF-8; the text is windows-1252 when they are frequent. */
function guessCharset(bytes: Buffer): string {
  let invalid = 0
  let valid = 0
  for (const character of bytes.toString('utf8', 0, 1 << 20)) {
    if (character === '\ufffd') invalid++
    else if (character > '\x7f') valid++
  }
  return invalid * 4 < valid ? 'utf-8' : 'windows-1252'
}

/**
 * The charset that a `<meta>` tag at the start of an HTML page declares, or null if it is unknown or missing.
 */
export function declaredCharset(html: Buffer): string | null {
  const label = /<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]{1,40})/i.exec(
    html.toString('latin1', 0, 2048),
  )?.[1]
  if (label === undefined) return null
  try {
    return new TextDecoder(label).encoding
  } catch {
    return null
  }
}

/** Normalizes line ends to `\n` and removes NUL, other control characters and lone surrogates. */
export function cleanText(text: string): string {
  return text
    .replace(/\r\n?|[\x85\u2028\u2029]/g, '\n')
    .replace(/[\0-\x08\x0b-\x1f\x7f-\x9f\ufeff]/g, '')
    .toWellFormed()
}
