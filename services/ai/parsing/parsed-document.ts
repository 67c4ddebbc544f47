// The result of parsing a document of any type: one text, and the positions of its headings, rows and pages.
import { cleanText } from './charset.ts'
import { ParsingError } from './errors.ts'
import type { DocumentWarning } from './warnings.ts'
import { truncateText } from '../../../infra/text.ts'

/** Offsets are UTF-16 code units. */
export interface Range {
  start: number
  end: number
}

export interface Heading {
  start: number
  /** 1 is the highest. */
  level: number
  title: string
}

export interface ParsedDocument {
  text: string
  headings: Heading[]
  /** Ranges whose lines each stand for themselves: tables, records, code. In order and without overlaps. */
  rows: Range[]
  /**
   * Whether each row is a record. A record is split only if it exceeds a chunk; another long row is split at
   * sentences.
   */
  records?: boolean
  /** Where each page starts; null for a document without pages. */
  pages: number[] | null
  /** What could not be read. Default: nothing. */
  warnings?: DocumentWarning[]
}

const maxTitle = 200

/** A title on one line, shortened to 200 UTF-16 code units. */
export function toTitle(text: string): string {
  const title = cleanText(truncateText(text, 2 * maxTitle))
    .replace(/\s+/g, ' ')
    .trim()
  if (title.length <= maxTitle) return title
  return `${truncateText(title, maxTitle - 1)}…`
}

/** Builds a text of at most `limit` UTF-16 code units; a longer one throws `too_large`. */
export class TextBuilder {
  length = 0
  #limit: number
  #parts: string[] = []

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Appends the source without control characters. */
  add(source: string): void {
    const text = cleanText(source)
    this.length += text.length
    if (this.length > this.#limit) throw new ParsingError('too_large')
    this.#parts.push(text)
  }

  toString(): string {
    if (this.#parts.length > 1) this.#parts = [this.#parts.join('')]
    return this.#parts[0] ?? ''
  }
}
