// Bytes become characters: UTF-8, UTF-16 with its mark, what an HTML page declares, else windows-1252.
import { isUtf8 } from 'node:buffer'

const marks: [string, number[]][] = [
  ['utf-8', [0xef, 0xbb, 0xbf]],
  ['utf-16le', [0xff, 0xfe]],
  ['utf-16be', [0xfe, 0xff]],
]

/** The encoding that a byte order mark tells. */
export function byteOrderMark(bytes: Buffer): string | null {
  return marks.find(([, mark]) => mark.every((byte, index) => bytes[index] === byte))?.[0] ?? null
}

/** The text of the bytes, as `clean` leaves it. `declared` is the encoding that the document itself names. */
export function decode(bytes: Buffer, declared: string | null = null): string {
  const encoding = byteOrderMark(bytes) ?? (isUtf8(bytes) ? 'utf-8' : (declared ?? guess(bytes)))
  return clean(new TextDecoder(encoding).decode(bytes))
}

/** One wrong byte does not make a text of UTF-8 another's: it does where it is as frequent as the right ones. */
function guess(bytes: Buffer): string {
  let wrong = 0
  let right = 0
  for (const character of bytes.toString('utf8', 0, 1 << 20)) {
    if (character === '\ufffd') wrong++
    else if (character > '\x7f') right++
  }
  return wrong * 4 < right ? 'utf-8' : 'windows-1252'
}

/** The encoding that `<meta>` names at the beginning of a page, if it is one. */
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

/** Line ends are `\n`; what no text has is gone: NUL and other controls, halves of characters. */
export function clean(text: string): string {
  return (
    text
      .replace(/\r\n?|[\x85\u2028\u2029]/g, '\n')
      // oxlint-disable-next-line no-control-regex
      .replace(/[\0-\x08\x0b-\x1f\x7f-\x9f\ufeff]/g, '')
      .toWellFormed()
  )
}
