// The format that a request wants of an answer: a JSON object, or JSON that a schema accepts. The schema
// comes from a caller: its size is limited here, and format-thread.ts limits the time of everything else.
import type { components } from '../../../generated/types.ts'
import { FairSemaphore } from '../../../infra/concurrency/fair-semaphore.ts'
import { invalidField } from '../../../infra/errors.ts'
import { runInThread } from './format-thread.ts'

type ResponseFormat = NonNullable<components['schemas']['ChatCompletionRequest']['response_format']>

export interface AnswerFormat {
  /** Whether the text is sent before it is checked. */
  streams: boolean
  /** What is wrong with the text of an answer, in words; null if it has the format. */
  problemOf(text: string, userId: string, signal: AbortSignal): Promise<string | null>
}

/** Characters of a schema as JSON, its references, and the characters of a pattern. */
const maxLength = 65_536
const maxReferences = 200
const maxPatternLength = 500

/** Users take turns, so that the schemas of one do not delay the answers of others. */
const turns = new FairSemaphore({
  total: 1,
  perUser: 1,
  maxWaiting: 1_000,
  maxWaitMs: 30_000,
  name: 'answers in a format',
})

/**
 * Null for a format of any text. `field` is the place of the format in the request, and `userId` its user.
 * Throws 400 for a schema that is invalid or exceeds the limits.
 */
export async function answerFormatOf(
  format: ResponseFormat | null | undefined,
  { field, userId, streams }: { field: string; userId: string; streams: boolean },
): Promise<AnswerFormat | null> {
  if (format == null || format.type === 'text') return null
  const { type, json_schema: given } = format
  if ((type === 'json_schema') !== (given !== undefined))
    throw invalidField(
      `${field}.json_schema`,
      type === 'json_schema' ? 'required' : 'type',
      '`json_schema` is required with the type `json_schema`, and only allowed with it.',
    )
  const schema = type === 'json_object' ? '{"type":"object"}' : JSON.stringify(given!.schema ?? {})
  if (given?.schema !== undefined) {
    const problem =
      excessOf(given.schema, schema) ?? (await turns.run(userId, () => runInThread({ schema }))).problem
    if (problem !== null) throw invalidField(`${field}.json_schema.schema`, 'json_schema', problem)
  }
  return {
    streams,
    async problemOf(text, userId, signal) {
      return (await turns.run(userId, () => runInThread({ schema, text }), signal)).problem
    },
  }
}

/** Which limit the schema exceeds; null if it exceeds none. */
function excessOf(schema: unknown, text: string): string | null {
  if (text.length > maxLength) return `The schema has more than ${maxLength} characters.`
  let references = 0
  const visit = (value: unknown): string | null => {
    if (typeof value !== 'object' || value === null) return null
    for (const [name, item] of Object.entries(value)) {
      if (name === '$ref' && ++references > maxReferences)
        return `The schema has more than ${maxReferences} references.`
      const patterns =
        name === 'patternProperties' ? Object.keys(item ?? {}) : name === 'pattern' ? [item] : []
      if (patterns.some((pattern) => String(pattern).length > maxPatternLength))
        return `A pattern of the schema has more than ${maxPatternLength} characters.`
      const problem = visit(item)
      if (problem !== null) return problem
    }
    return null
  }
  return visit(schema)
}
