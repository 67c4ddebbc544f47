// An answer as the events of its stream. Their ids are places in it: the one before an event is 1, then one for each UTF-16
// code unit of the content and for each citation, in the order in which they came. So whoever comes back with the last id it has
// seen is told the rest from what is stored, however it was cut into events before.
import type { StreamEvents } from '../../generated/operations.ts'
import type { SentEvent } from '../operation.ts'
import type { StoredCitation } from './messages.ts'

export type Told = SentEvent<StreamEvents['streamMessage']>

/** What is written so far. */
export interface Draft {
  content: string
  citations: StoredCitation[]
}

/** The place behind all of it. */
export function endOf ({ content, citations }: Draft): number {
  return 1 + content.length + citations.length
}

/** The pieces and citations that come after the place `after`, which is at least 1. */
export function * storyAfter ({ content, citations }: Draft, after: number): Generator<Told & { id: string }> {
  let start = 0
  for (let i = 0; i <= citations.length; i++) {
    const end = i < citations.length ? Math.max(start, citations[i].at) : content.length
    // Before this piece stand 1, the content up to `start`, and i citations.
    const from = Math.max(start, after - 1 - i)
    if (from < end) yield { event: 'message.delta', id: String(1 + end + i), data: { delta: content.slice(from, end) } }
    if (i < citations.length && 1 + end + i + 1 > after) {
      yield { event: 'citation.added', id: String(1 + end + i + 1), data: shown(citations[i]) }
    }
    start = end
  }
}

function shown ({ revision: _revision, at: _at, knowledge_base_id: _base, ...citation }: StoredCitation) {
  return { ...citation, stale: false }
}
