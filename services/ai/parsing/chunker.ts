// A text cut into chunks: along its headings, at the ends of sentences and rows, each with some of what came before.
import type { Heading, Range, ParsedDocument } from './parsed-document.ts'
import { countTokens } from './count-tokens.ts'
import { firstIndexFrom, splitIntoUnits, type Unit } from './split.ts'

/** Offsets are UTF-16 code units into the text. */
export interface ChunkRange {
  start: number
  end: number
  /** Counted from 1: where it begins. */
  page: number | null
  /** The path to it, such as `Events › Retention`. */
  heading: string | null
  tokens: number
}

export interface Chunking {
  maxTokens: number
  overlapTokens: number
}

/** A chunk does not reach over more blanks than that. */
const widestGap = 200
/** UTF-16 code units of a path. */
const longestPath = 500

/** No chunk crosses a heading of the two highest levels, and every character that is no blank is in one. `tokens` is the whole's. */
export function chunkDocument(
  structure: ParsedDocument,
  chunking: Chunking,
): { chunks: ChunkRange[]; tokens: number } {
  const paths = pathsOf(structure.headings)
  const pageOf = pagesOf(structure.pages)
  const chunks: ChunkRange[] = []
  let tokens = 0
  for (const section of sectionsOf(structure)) {
    const packer = new Packer(structure.text, chunking)
    const units = splitIntoUnits(structure, section, chunking.maxTokens)
    const add = ({ start, end, fresh, tokens }: Packed): void => {
      const heading = paths[firstIndexFrom(structure.headings, fresh + 1) - 1] ?? null
      chunks.push({ start, end, page: pageOf(start), heading, tokens })
    }
    for (const unit of units) {
      tokens += unit.tokens
      for (const packed of packer.add(unit)) add(packed)
    }
    for (const packed of packer.end()) add(packed)
  }
  return { chunks, tokens: chunks.length === 1 ? chunks[0].tokens : tokens }
}

function sectionsOf({ text, headings }: ParsedDocument): Range[] {
  const [, second = Infinity] = [...new Set(headings.map(({ level }) => level))].sort((a, b) => a - b)
  const starts = headings.filter(({ level }) => level <= second).map(({ start }) => start)
  return [0, ...starts]
    .map((start, index) => ({ start, end: starts[index] ?? text.length }))
    .filter(({ start, end }) => start < end)
}

/** Of each heading, the path to it. */
function pathsOf(headings: Heading[]): string[] {
  const above: Heading[] = []
  return headings.map((heading) => {
    while (above.length > 0 && above[above.length - 1].level >= heading.level) above.pop()
    above.push(heading)
    const path = above
      .map(({ title }) => title)
      .filter((title) => title !== '')
      .join(' › ')
    return path.length <= longestPath
      ? path
      : `…${path
          .slice(1 - longestPath)
          .toWellFormed()
          .replace(/^\ufffd/, '')}`
  })
}

function pagesOf(pages: number[] | null): (start: number) => number | null {
  if (pages === null) return () => null
  const starts = pages.map((start) => ({ start }))
  return (start) => Math.max(1, firstIndexFrom(starts, start + 1))
}

interface Packed extends Range {
  /** Where what is not in the chunk before begins. */
  fresh: number
  tokens: number
}

/** Takes units and gives chunks of as many of them as fit. */
class Packer {
  #text: string
  #maxTokens: number
  #overlapTokens: number
  #units: Unit[] = []
  /** How many of the units are in the chunk before too. */
  #old = 0
  #tokens = 0

  constructor(text: string, { maxTokens, overlapTokens }: Chunking) {
    this.#text = text
    this.#maxTokens = maxTokens
    this.#overlapTokens = overlapTokens
  }

  *add(unit: Unit): Generator<Packed> {
    const last = this.#units.at(-1)
    if (last !== undefined && unit.start - last.end > widestGap) yield* this.#flush(0)
    else if (unit.heading && this.#tokens * 2 > this.#maxTokens) yield* this.#flush(0)
    else if (this.#tokens + unit.tokens > this.#maxTokens) yield* this.#flush(this.#overlapTokens)
    while (this.#old > 0 && this.#tokens + unit.tokens > this.#maxTokens) this.#dropFirst()
    // Only what was carried over can still be in the way.
    if (this.#tokens + unit.tokens > this.#maxTokens) yield* this.#flush(0)
    this.#push(unit)
  }

  *end(): Generator<Packed> {
    while (this.#units.length > this.#old) yield* this.#flush(0)
  }

  #push(unit: Unit): void {
    this.#units.push(unit)
    this.#tokens += unit.tokens
  }

  #dropFirst(): void {
    this.#tokens -= this.#units.shift()!.tokens
    this.#old--
  }

  /** Gives what there is, and begins the next chunk with its last sentences. */
  *#flush(overlapTokens: number): Generator<Packed> {
    const units = this.#units
    const fresh = units[this.#old]
    if (fresh === undefined) return this.#restart([], [])
    const carried = overlapTokens > 0 ? this.#takeHeadings() : []
    while (units.length > this.#old + 1 && this.#exactTokens() > this.#maxTokens)
      carried.unshift(units.pop()!)
    // Should sentences that were in the chunk before make it too long, they go.
    while (this.#old > 0 && this.#exactTokens() > this.#maxTokens) this.#dropFirst()
    yield {
      start: units[0].start,
      end: units[units.length - 1].end,
      fresh: fresh.start,
      tokens: this.#exactTokens(),
    }
    this.#restart(this.#overlap(overlapTokens), carried)
  }

  #restart(old: Unit[], carried: Unit[]): void {
    this.#units = [...old, ...carried]
    this.#old = old.length
    this.#tokens = this.#units.reduce((sum, { tokens }) => sum + tokens, 0)
  }

  /** A heading belongs to what follows it. */
  #takeHeadings(): Unit[] {
    let count = 0
    while (count < this.#units.length - this.#old - 1 && this.#units[this.#units.length - 1 - count].heading)
      count++
    return this.#units.splice(this.#units.length - count)
  }

  #overlap(most: number): Unit[] {
    let tokens = 0
    let first = this.#units.length
    while (first > 1) {
      const unit = this.#units[first - 1]
      tokens += unit.tokens
      if (unit.cut || unit.heading || tokens > most) break
      first--
    }
    return this.#units.slice(first)
  }

  /** Without the blanks around the whole. */
  #exactTokens(): number {
    const units = this.#units
    const [first, last] = [units[0], units[units.length - 1]]
    const adjoins = (at: number): boolean => /^\S\S$/.test(this.#text.slice(at - 1, at + 1))
    if (first === last || units.some(({ cut, from }, index) => cut || (index > 0 && adjoins(from))))
      return countTokens(this.#text.slice(first.start, last.end))
    const between = units.slice(1, -1).reduce((sum, { tokens }) => sum + tokens, 0)
    const bare = (from: number, to: number, tokens: number, unit: Unit): number =>
      from === unit.from && to === unit.to ? tokens : countTokens(this.#text.slice(from, to))
    return (
      bare(first.start, first.to, first.tokens, first) +
      between +
      bare(last.from, last.end, last.tokens, last)
    )
  }
}
