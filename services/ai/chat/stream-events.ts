// An answer as the events of its stream. Their ids are places in it: the one before an event is 1, then one for each UTF-16
// code unit of the content and for each citation, in the order in which they came. So whoever comes back with the last id it has
// seen is told the rest from what is stored, however it was cut into events before.
import type { StreamEvents } from '../../../generated/operations.ts'
import type { SentEvent } from '../../../infra/contract/operation.ts'
import type { StoredCitation } from './messages.ts'

export type Told = SentEvent<StreamEvents['streamMessage']>

/** What is stored of an answer. */
export interface Draft {
  content: string
  citations: StoredCitation[]
}

/** A piece of the content, or a citation; `end` is the place of its last unit. Parts are only ever added. */
export type Part = { end: number; text: string } | { end: number; citation: StoredCitation }

/** The parts of what is stored. */
export function partsOf({ content, citations }: Draft): Part[] {
  const parts: Part[] = []
  let start = 0
  const addText = (end: number): void => {
    if (end > start) parts.push({ end: endOf(parts) + end - start, text: content.slice(start, end) })
    start = Math.max(start, end)
  }
  for (const citation of citations) {
    addText(citation.at)
    parts.push({ end: endOf(parts) + 1, citation })
  }
  addText(content.length)
  return parts
}

/** The place behind all of it. */
export function endOf(parts: Part[]): number {
  return parts.at(-1)?.end ?? 1
}

/** The text and citations that are there when it is called, after the place `after`, which is at least 1; text comes in one piece as far as it goes. */
export function storyAfter(parts: Part[], after: number): Array<Told & { id: string }> {
  const told: Array<Told & { id: string }> = []
  let texts: string[] = []
  let end = after
  const flush = (): void => {
    if (texts.length > 0)
      told.push({ event: 'message.delta', id: String(end), data: { delta: texts.join('') } })
    texts = []
  }
  for (let i = firstAfter(parts, after); i < parts.length; i++) {
    const part = parts[i]
    if ('text' in part) texts.push(part.text.slice(Math.max(0, after - (part.end - part.text.length))))
    else {
      flush()
      told.push({ event: 'citation.added', id: String(part.end), data: shown(part.citation) })
    }
    end = part.end
  }
  flush()
  return told
}

/** The index of the first part that ends behind the place. */
function firstAfter(parts: Part[], after: number): number {
  let [low, high] = [0, parts.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (parts[middle].end > after) high = middle
    else low = middle + 1
  }
  return low
}

function shown({ revision: _revision, at: _at, space_id: _space, ...citation }: StoredCitation) {
  return { ...citation, stale: false }
}
