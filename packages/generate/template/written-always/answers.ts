// What is sent of a handler's answer, and whether the contract declares the answer.
import { createCheck, document, type Check } from './contract.ts'
import { keysOfFragment, valueAt } from './openapi/json-pointer.ts'
import { isJson, mediaFor } from './openapi/media-types.ts'
import { responseView } from './openapi/views.ts'
import type { AnswerInfo, AnswerMedia, OperationInfo } from './operations.ts'
import { createSerializer } from './serialize.ts'

export interface AnyAnswer {
  status: number
  type?: string
  headers?: Record<string, string>
  body?: unknown
}

/** The contract does not declare the answer. The message is for the log; the client gets a 500. */
export class AnswerError extends Error {}

const serialize = createSerializer(document)
let check: Check | undefined

/**
 * The media type and the body as it is sent.
 * @throws AnswerError if `isChecked`, and the contract does not declare the answer.
 */
export function renderAnswer(
  operation: OperationInfo,
  { status, type: given, headers = {}, body }: AnyAnswer,
  isChecked: boolean,
): { type: string | undefined; payload: string | Buffer | undefined } {
  const declared = declaredAnswer(operation, status)
  const media = given === undefined ? declared?.media[0] : mediaFor(declared?.media ?? [], given)
  const type = given ?? media?.sent
  const isSentRaw = Buffer.isBuffer(body) || (typeof body === 'string' && type !== undefined && !isJson(type))
  const value = isSentRaw || body === undefined ? body : serialize(schemaOf(media), body)
  if (isChecked) {
    const problem =
      problemOf(operation, declared, { status, type, headers, body }) ??
      (isSentRaw || media === undefined ? undefined : schemaProblem(media, value))
    if (problem !== undefined) throw new AnswerError(`${operation.id} answered ${status}: ${problem}`)
  }
  return { type, payload: isSentRaw ? body : value === undefined ? value : JSON.stringify(value) }
}

/** The declared answer of the status, also by its range (`4XX`) or as the default. */
function declaredAnswer({ answers }: OperationInfo, status: number): AnswerInfo | undefined {
  return answers[status] ?? answers[`${Math.floor(status / 100)}XX`] ?? answers.default
}

const schemaOf = (media: AnswerMedia | undefined): unknown =>
  media?.pointer == null ? {} : valueAt(document, keysOfFragment(media.pointer))

function problemOf(
  { answers }: OperationInfo,
  declared: AnswerInfo | undefined,
  { status, type, headers = {}, body }: AnyAnswer,
): string | undefined {
  const statuses = Object.keys(answers)
  // An operation may declare no answers at all.
  if (statuses.length === 0) return undefined
  if (declared === undefined) return `the status is not declared, only ${statuses.join(', ')}`
  const types = declared.media.map((each) => each.type)
  if (body === undefined)
    return types.length === 0 || status === 204 || status === 304 ? undefined : 'the body is missing'
  if (types.length === 0) return 'no body is declared'
  if (type !== undefined && mediaFor(declared.media, type) === undefined)
    return `the type ${type} is not declared, only ${types.join(', ')}`
  const sent = new Set(Object.keys(headers).map((name) => name.toLowerCase()))
  const missing = declared.headers.find((name) => !sent.has(name.toLowerCase()))
  return missing === undefined ? undefined : `the header ${missing} is missing`
}

function schemaProblem({ pointer }: AnswerMedia, value: unknown): string | undefined {
  if (pointer === null) return undefined
  check ??= createCheck(responseView(document), { isText: false })
  const [first] = check(pointer, () => ({ $ref: `contract${pointer}` }), value)
  if (first === undefined) return undefined
  return `the body at "${first.instancePath}" ${first.message} ${JSON.stringify(first.params)}`
}
