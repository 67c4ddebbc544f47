// Splits a parsed document into chunks. Chunks follow the headings, end at sentences and rows, and repeat the
// last sentences of the chunk before.
import type { Heading, ParsedDocument, Range } from './parsed-document.ts'
import { countTokens } from './count-tokens.ts'
import { firstIndexFrom, splitIntoUnits, type Unit } from './split.ts'

/** Offsets are UTF-16 code units into the text. */
export interface ChunkRange {
  start: number
  end: number
  /** The page on which the chunk starts, from 1; null for a document without pages. */
  page: number | null
  /** The heading path, such as `Events › Retention`. */
  heading: string | null
  tokens: number
}

export interface ChunkingOptions {
  maxTokens: number
  overlapTokens: number
}

/** Whitespace characters between two units that always end a chunk. */
const maxGap = 200
/** UTF-16 code units of a heading path. */
const maxPath = 500

/**
 * No chunk crosses a heading of the two highest levels, and every character other than whitespace is in a
 * chunk. `tokens` counts the whole text.
 */
export function chunkDocument(
  document: ParsedDocument,
  options: ChunkingOptions,
): { chunks: ChunkRange[]; tokens: number } {
  const paths = headingPaths(document.headings)
  const pageAt = pageLookup(document.pages)
  const chunks: ChunkRange[] = []
  let tokens = 0
  for (const section of sectionsOf(document)) {
    const packer = new ChunkPacker(document.text, options)
    const addChunk = ({ start, end, newStart, tokens }: PackedChunk): void => {
      const heading = paths[firstIndexFrom(document.headings, newStart + 1) - 1] ?? null
      chunks.push({ start, end, page: pageAt(start), heading, tokens })
    }
    for (const unit of splitIntoUnits(document, section, options.maxTokens)) {
      tokens += unit.tokens
      for (const chunk of packer.add(unit)) addChunk(chunk)
    }
    for (const chunk of packer.end()) addChunk(chunk)
  }
  return { chunks, tokens: chunks.length === 1 ? chunks[0].tokens : tokens }
}

/** The text is divided at the headings of its two highest levels. */
function sectionsOf({ text, headings }: ParsedDocument): Range[] {
  const [, second = Infinity] = [...new Set(headings.map(({ level }) => level))].sort((a, b) => a - b)
  const starts = headings.filter(({ level }) => level <= second).map(({ start }) => start)
  return [0, ...starts]
    .map((start, index) => ({ start, end: starts[index] ?? text.length }))
    .filter(({ start, end }) => start < end)
}

/** The path of each heading: its ancestors' titles and its own. */
function headingPaths(headings: Heading[]): string[] {
  const ancestors: Heading[] = []
  return headings.map((heading) => {
    while (ancestors.length > 0 && ancestors[ancestors.length - 1].level >= heading.level) ancestors.pop()
    ancestors.push(heading)
    const path = ancestors
      .map(({ title }) => title)
      .filter((title) => title !== '')
      .join(' › ')
    return path.length <= maxPath ? path : shortenedPath(path)
  })
}

/** Keeps the end of the path, which is the most specific. */
function shortenedPath(path: string): string {
  const end = path
    .slice(1 - maxPath)
    .toWellFormed()
    .replace(/^\ufffd/, '')
  return `…${end}`
}

function pageLookup(pages: number[] | null): (start: number) => number | null {
  if (pages === null) return () => null
  const starts = pages.map((start) => ({ start }))
  return (start) => Math.max(1, firstIndexFrom(starts, start + 1))
}

interface PackedChunk extends Range {
  /** Where the text starts that the chunk before does not contain. */
  newStart: number
  tokens: number
}

/** Packs units into chunks: each chunk takes as many units as fit. */
class ChunkPacker {
  #text: string
  #maxTokens: number
  #overlapTokens: number
  #units: Unit[] = []
  /** How many of the first units repeat the end of the chunk before. */
  #repeated = 0
  #tokens = 0

  constructor(text: string, { maxTokens, overlapTokens }: ChunkingOptions) {
    this.#text = text
    this.#maxTokens = maxTokens
    this.#overlapTokens = overlapTokens
  }

  *add(unit: Unit): Generator<PackedChunk> {
    const last = this.#units.at(-1)
    if (last !== undefined && unit.start - last.end > maxGap) yield* this.#flush(0)
    else if (unit.isHeading && this.#tokens * 2 > this.#maxTokens) yield* this.#flush(0)
    else if (this.#tokens + unit.tokens > this.#maxTokens) yield* this.#flush(this.#overlapTokens)
    while (this.#repeated > 0 && this.#tokens + unit.tokens > this.#maxTokens) this.#dropFirst()
    // Headings that were carried over may still leave too little space.
    if (this.#tokens + unit.tokens > this.#maxTokens) yield* this.#flush(0)
    this.#push(unit)
  }

  *end(): Generator<PackedChunk> {
    while (this.#units.length > this.#repeated) yield* this.#flush(0)
  }

  #push(unit: Unit): void {
    this.#units.push(unit)
    this.#tokens += unit.tokens
  }

  #dropFirst(): void {
    this.#tokens -= this.#units.shift()!.tokens
    this.#repeated--
  }

  /** Yields a chunk of the units so far, and starts the next chunk with the last sentences of this one. */
  *#flush(overlapTokens: number): Generator<PackedChunk> {
    const units = this.#units
    const firstNew = units[this.#repeated]
    if (firstNew === undefined) return this.#restart([], [])
    const carried = overlapTokens > 0 ? this.#takeTrailingHeadings() : []
    while (units.length > this.#repeated + 1 && this.#exactTokens() > this.#maxTokens)
      carried.unshift(units.pop()!)
    // Drop repeated sentences if the chunk is still too long with them.
    while (this.#repeated > 0 && this.#exactTokens() > this.#maxTokens) this.#dropFirst()
    yield {
      start: units[0].start,
      end: units[units.length - 1].end,
      newStart: firstNew.start,
      tokens: this.#exactTokens(),
    }
    this.#restart(this.#overlap(overlapTokens), carried)
  }

  #restart(repeated: Unit[], carried: Unit[]): void {
    this.#units = [...repeated, ...carried]
    this.#repeated = repeated.length
    this.#tokens = this.#units.reduce((sum, { tokens }) => sum + tokens, 0)
  }

  /** Removes headings at the end: they belong to the text that follows. */
  #takeTrailingHeadings(): Unit[] {
    const units = this.#units
    let count = 0
    while (count < units.length - this.#repeated - 1 && units[units.length - 1 - count].isHeading) count++
    return units.splice(units.length - count)
  }

  /** The last whole sentences of at most `maxTokens` together. */
  #overlap(maxTokens: number): Unit[] {
    let tokens = 0
    let first = this.#units.length
    while (first > 1) {
      const unit = this.#units[first - 1]
      tokens += unit.tokens
      if (unit.isFragment || unit.isHeading || tokens > maxTokens) break
      first--
    }
    return this.#units.slice(first)
  }

  /** The tokens of the units as one text, without surrounding whitespace. */
  #exactTokens(): number {
    const units = this.#units
    const [first, last] = [units[0], units[units.length - 1]]
    const touches = (at: number): boolean => /^\S\S$/.test(this.#text.slice(at - 1, at + 1))
    if (
      first === last ||
      units.some(({ isFragment, from }, index) => isFragment || (index > 0 && touches(from)))
    )
      return countTokens(this.#text.slice(first.start, last.end))
    const between = units.slice(1, -1).reduce((sum, { tokens }) => sum + tokens, 0)
    const trimmedTokens = (from: number, to: number, unit: Unit): number =>
      from === unit.from && to === unit.to ? unit.tokens : countTokens(this.#text.slice(from, to))
    return trimmedTokens(first.start, first.to, first) + between + trimmedTokens(last.from, last.end, last)
  }
}
