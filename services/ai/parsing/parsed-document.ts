// What the reader of each kind of document makes of it: one text, and where in it things are.
import { clean } from './charset.ts'
import { ParsingError } from './errors.ts'

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
  /** Where every line stands for itself: tables, records, code. In order, apart from one another. */
  rows: Range[]
  /** Whether rows are divided only where one alone is longer than a chunk, since each is a record; elsewhere long ones are by their sentences. */
  records?: boolean
  /** Where each page begins. */
  pages: number[] | null
}

const longestTitle = 200

/** A title on one line, shortened. */
export function toTitle(text: string): string {
  const title = clean(text.slice(0, 2 * longestTitle))
    .replace(/\s+/g, ' ')
    .trim()
  return title.length <= longestTitle
    ? title
    : `${title
        .slice(0, longestTitle - 1)
        .toWellFormed()
        .replace(/\ufffd$/, '')}…`
}

/** Text that grows, up to a limit: beyond, `too_large`. */
export class TextBuilder {
  length = 0
  #limit: number
  #parts: string[] = []

  constructor(limit: number) {
    this.#limit = limit
  }

  /** What no text has does not get in, however it was written. */
  add(source: string): void {
    const text = clean(source)
    this.length += text.length
    if (this.length > this.#limit) throw new ParsingError('too_large')
    this.#parts.push(text)
  }

  /** All of it. */
  toString(): string {
    if (this.#parts.length > 1) this.#parts = [this.#parts.join('')]
    return this.#parts[0] ?? ''
  }
}
