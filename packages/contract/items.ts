// The items of a response that a server sends one by one: lines of JSON, and server-sent events
// (https://html.spec.whatwg.org/multipage/server-sent-events.html).
import type { ErrorObject } from 'ajv'
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import type { Json, Media } from '@platform-api/openapi/document.ts'
import { escaped } from '@platform-api/openapi/json-pointer.ts'
import { isJsonLines } from '@platform-api/openapi/media-types.ts'

/** Validates an item by the schema at the pointer. */
type Answered = (pointer: string, item: Json) => ErrorObject[]
type Found = Array<ErrorObject | string>

/**
 * The first error of each complete item of the text, or a sentence about it: by `itemSchema`, or of the data
 * of an event by the schema of its name (`x-stream-events`). The end of the text may be cut off.
 */
export function itemProblems(media: Media, text: string, answered: Answered): Found {
  const { type, pointer, isItem, node } = media
  if (isItem && isJsonLines(type))
    return linesOf(text).flatMap((line): Found => {
      const [item] = parsed(line)
      return item === undefined ? ['a line is not JSON'] : answered(pointer, item).slice(0, 1)
    })
  const events = eventsOf(text)
  if (isItem)
    // The data of an event may be described as text or as what the text says.
    return events.flatMap(({ data, ...fields }) =>
      leastOf([...parsed(data), data].map((value) => answered(pointer, { ...fields, data: value }))),
    )
  const schemas: Record<string, Json> = node['x-stream-events'] ?? {}
  return events.flatMap(({ event = 'message', data }): Found => {
    if (Object.keys(schemas).length === 0 || data === node['x-stream-end']) return []
    if (!Object.hasOwn(schemas, event)) return [`the event ${event} is not declared`]
    const parent = pointer.slice(0, pointer.lastIndexOf('/'))
    const [value = data] = parsed(data)
    return answered(`${parent}/x-stream-events/${encodeURIComponent(escaped(event))}`, value).slice(0, 1)
  })
}

const leastOf = (attempts: ErrorObject[][]): ErrorObject[] =>
  attempts.some((errors) => errors.length === 0) ? [] : attempts[0].slice(0, 1)

/** The value, or nothing for a text that is not JSON. */
function parsed(text: string): Json[] {
  try {
    return [JSON.parse(text)]
  } catch {
    return []
  }
}

/** The lines that are not empty, without an end that was cut off. */
function linesOf(text: string): string[] {
  const lines = text.split('\n')
  const last = lines.pop()!
  return [...lines, ...(parsed(last).length > 0 ? [last] : [])].filter((line) => line.trim() !== '')
}

type Event = EventSourceMessage & { retry?: number }

function eventsOf(text: string): Event[] {
  const events: Event[] = []
  let retry: { retry?: number } = {}
  const parser = createParser({
    onEvent: (event) => {
      events.push(JSON.parse(JSON.stringify({ ...event, ...retry })))
      retry = {}
    },
    onRetry: (interval) => (retry = { retry: interval }),
  })
  parser.feed(text)
  return events
}
