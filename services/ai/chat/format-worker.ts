// The thread that checks answers by schemas of callers.
import { parentPort } from 'node:worker_threads'
import { Ajv2020 } from 'ajv/dist/2020.js'

export interface FormatRequest {
  /** A JSON Schema, as JSON. */
  schema: string
  /** The text of an answer. Without it, only the schema is checked. */
  text?: string
}

export interface FormatAnswer {
  /** What is wrong, in words; null for nothing. */
  problem: string | null
}

/** Characters of what is said of a schema or an answer. */
const maxProblemLength = 500

// Formats are annotations.
const options = { strict: false, validateFormats: false, logger: false } as const
/** Compiled before the first check, because that takes longer than most checks. */
const dialect = new Ajv2020(options)
void dialect.validateSchema({})

parentPort!.on('message', (request: FormatRequest) => {
  const problem = problemOf(request)?.slice(0, maxProblemLength).toWellFormed() ?? null
  parentPort!.postMessage({ problem } satisfies FormatAnswer)
})
parentPort!.postMessage('loaded')

function problemOf({ schema, text }: FormatRequest): string | null {
  let validate
  try {
    const { $schema: _dialect, ...rest } = JSON.parse(schema)
    if (!dialect.validateSchema(rest)) return `The schema is invalid: ${dialect.errorsText()}.`
    // Each schema has a compiler of its own, so that none refers to another.
    validate = new Ajv2020({ ...options, validateSchema: false }).compile(rest)
    // A schema that refers to itself without an end has no answer.
    for (const value of [null, {}, [], '', 0]) validate(value)
  } catch (error) {
    return error instanceof RangeError
      ? 'The schema refers to itself without an end.'
      : `The schema is invalid: ${(error as Error).message}.`
  }
  if (text === undefined) return null
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return 'The answer is not valid JSON.'
  }
  try {
    if (validate(value)) return null
  } catch {
    return 'The answer is nested too deeply.'
  }
  const [{ instancePath: path, message }] = validate.errors!
  return `The answer${path === '' ? '' : ` at ${path}`} ${message}.`
}
