// Parses JSON lines: each line is a record, written as JSON documents are.
import { ParsingError } from './errors.ts'
import { parseJson } from './json.ts'
import { TextBuilder, type ParsedDocument } from './parsed-document.ts'

/** Throws `damaged` if no line is JSON; a line among others that is none is left out, with a warning. */
export function parseJsonLines(source: string, limit: number): ParsedDocument {
  const builder = new TextBuilder(limit)
  let invalid = 0
  let valid = 0
  for (const line of source.split('\n')) {
    if (line.trim() === '') continue
    try {
      const { text } = parseJson(line, limit)
      valid++
      if (text !== '') builder.add(builder.length > 0 ? `\n${text}` : text)
    } catch (error) {
      if (!(error instanceof ParsingError) || error.code !== 'damaged') throw error
      invalid++
    }
  }
  if (valid === 0 && invalid > 0) throw new ParsingError('damaged')
  const text = builder.toString()
  return {
    text,
    headings: [],
    rows: [{ start: 0, end: text.length }],
    records: true,
    pages: null,
    warnings: invalid > 0 ? [{ code: 'skipped_part', pages: null }] : [],
  }
}
