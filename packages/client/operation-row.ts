// The description of an operation in the client.
import type { AnswerShape } from './answer-stream.ts'
import type { FormShape } from './form.ts'
import type { ListKind } from './pages.ts'

/** A row of the generated table of operations. */
export interface OperationRow {
  method: string
  path: string
  /** The server's prefix of the path. */
  prefix: string
  /** The name by resource, such as `projects.members.add`, if it has one. */
  name?: string
  /** Whether there is a body; otherwise whether there are query parameters. */
  body?: boolean
  query?: boolean
  /** The kind of the success body; null if there is none. */
  answer: 'json' | 'text' | 'bytes' | 'events' | null
  /** The media type of the request body, unless it is JSON or a form with a file. */
  type?: string
  form?: FormShape
  /** Whether an operation with a form accepts JSON too. */
  json?: boolean
  /** Whether the operation accepts an Idempotency-Key. */
  idempotent?: boolean
  list?: ListKind
  /** The events that end a stream. */
  ends?: readonly string[]
  /** Whether a stream can resume with Last-Event-ID. */
  resumes?: boolean
  /** The events of a stream that are an answer. */
  answers?: AnswerShape
}
