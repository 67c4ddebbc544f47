// An answer as server-sent events, and the ids that make a stream resumable.
//
// The id of an event is an offset: the position in the answer at which the event ends. `message.created` has
// the id 1. After it, each UTF-16 code unit of the content and each citation count 1, in the order in which
// they arrived. The end of the answer is one more. The offsets follow from the stored content and citations
// alone, so `Last-Event-ID` resumes at any offset, even if the text was split into other events the first
// time.
import type { StreamEvents } from '../../../generated/operations.ts'
import type { SentEvent } from '../../../infra/contract/operation.ts'
import type { ToolCall } from '../providers/tool-calls.ts'
import type { StoredCitation } from './messages.ts'

export type AnswerEvent = SentEvent<StreamEvents['streamMessage']>

/** The content and the citations of an answer, as they are stored. */
export interface AnswerContent {
  content: string
  citations: StoredCitation[]
}

/** A piece of text or a citation. `end` is the offset of its last unit. Lists of parts only grow. */
export type Part = { end: number; text: string } | { end: number; citation: StoredCitation }

export function partsOf({ content, citations }: AnswerContent): Part[] {
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

/** The offset of the last unit of all parts. */
export function endOf(parts: Part[]): number {
  return parts.at(-1)?.end ?? 1
}

/**
 * The events of the parts behind the offset `after`, which is at least 1. Adjacent pieces of text become one
 * event.
 */
export function eventsAfter(parts: Part[], after: number): Array<AnswerEvent & { id: string }> {
  const events: Array<AnswerEvent & { id: string }> = []
  let texts: string[] = []
  let end = after
  const flushText = (): void => {
    if (texts.length > 0)
      events.push({ event: 'message.delta', id: String(end), data: { delta: texts.join('') } })
    texts = []
  }
  for (let i = firstIndexAfter(parts, after); i < parts.length; i++) {
    const part = parts[i]
    if ('text' in part) texts.push(part.text.slice(Math.max(0, after - (part.end - part.text.length))))
    else {
      flushText()
      events.push({ event: 'citation.added', id: String(part.end), data: toCitation(part.citation) })
    }
    end = part.end
  }
  flushText()
  return events
}

/**
 * The pieces of calls that a client does not have yet. `sent` has the number of characters of the arguments
 * of each call that it has, and is updated.
 */
export function toolCallEvents(calls: ToolCall[], sent: number[]): AnswerEvent[] {
  const events: AnswerEvent[] = []
  for (const [index, { id, name, arguments: args }] of calls.entries()) {
    if (sent[index] === args.length) continue
    const data = { index, id, name, arguments: args.slice(sent[index] ?? 0) }
    events.push({ event: 'tool_call.delta', data })
    sent[index] = args.length
  }
  return events
}

/** The index of the first part that ends behind the offset, by binary search. */
function firstIndexAfter(parts: Part[], after: number): number {
  let [low, high] = [0, parts.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (parts[middle].end > after) high = middle
    else low = middle + 1
  }
  return low
}

function toCitation({ revision: _revision, at: _at, workspace_id: _workspace, ...citation }: StoredCitation) {
  return { ...citation, stale: false }
}
