// Encodes texts in old charsets: the inverse of what TextDecoder decodes.

const tables = new Map<string, Map<string, Buffer>>()

export function encodeAs(charset: string, text: string): Buffer {
  if (charset === 'utf-16le') return Buffer.from(text, 'utf16le')
  const table = tables.get(charset) ?? createTable(charset)
  tables.set(charset, table)
  return Buffer.concat(
    [...text].map((character) => {
      const bytes = table.get(character)
      if (bytes === undefined) throw new Error(`${charset} has no ${character}`)
      return bytes
    }),
  )
}

/** Every character of one or two bytes. */
function createTable(charset: string): Map<string, Buffer> {
  const table = new Map<string, Buffer>()
  const add = (bytes: Buffer): void => {
    const character = new TextDecoder(charset).decode(bytes)
    if ([...character].length === 1 && character !== '\ufffd' && !table.has(character))
      table.set(character, bytes)
  }
  for (let first = 0; first < 256; first++) add(Buffer.from([first]))
  for (let first = 0x81; first < 255; first++)
    for (let second = 0x40; second < 255; second++) add(Buffer.from([first, second]))
  return table
}
