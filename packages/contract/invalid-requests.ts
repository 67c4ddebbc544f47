// Invalid requests: each breaks one constraint and must fail with a 400 that names the field.
import fc from 'fast-check'
import { isDiscriminated } from '@platform-api/openapi/discriminators.ts'
import { hasEmpty } from './forms.ts'
import { mutationsOf } from './mutations.ts'
import {
  isJson,
  type Json,
  type Media,
  type Operation,
  type Parameter,
} from '@platform-api/openapi/document.ts'
import { readParameters, writeParameter } from '@platform-api/openapi/parameters.ts'
import { bodyValues, canEncode, requestParts, pathParameters, sample, unknownPath } from './requests.ts'
import type { Part } from './part.ts'
import { isUnreachable, type Run, maySucceed } from './run-context.ts'
import type { Answer, RequestParts } from './sender.ts'
import { fieldOf } from './validation.ts'
import { valuesOf } from './values.ts'
import type { Problem, CheckName } from './checks.ts'

const part = 'invalid'

export const invalid: Part = {
  name: part,
  checks: (run) =>
    run.selected
      // A server that accepts the request must not change data that the run did not create.
      .filter(
        (operation) => run.accounts.createdUser || operation.method === 'GET' || maySucceed(run, operation),
      )
      .map((operation) => ({ operation, run: async () => await sendInvalidRequests(run, operation) })),
}

async function sendInvalidRequests(run: Run, operation: Operation): Promise<void> {
  const path = (await pathParameters(run, operation)) ?? unknownPath(run, operation)
  const parts = { ...sample(run, requestParts(run, operation, { minimal: true })), path }
  await sendBrokenParameters(run, operation, parts)
  if (operation.body !== null) await sendBrokenBody(run, operation, parts)
}

async function sendBrokenParameters(run: Run, operation: Operation, parts: RequestParts): Promise<void> {
  for (const parameter of operation.parameters) {
    const { name, in: where, schema, required } = parameter
    const group = where === 'header' ? 'headers' : where === 'cookie' ? 'cookies' : where
    const validate = run.validation.parameter(schema)
    const value = sample(run, valuesOf(run.document, schema, run.pool) ?? fc.constant('x'))
    const sent = new Set<string>()
    for (const { keyword, value: broken } of mutationsOf(run.document, schema, value)) {
      // Of another type than the parameter it is text.
      const given =
        typeof broken === 'object' && parameter.kind === 'primitive' ? JSON.stringify(broken) : broken
      const text = writeParameter(parameter, given)
      const read = readBack(parameter, text)
      // An empty or blank value in a path or header makes another request.
      if (
        (read !== undefined && validate(read).length === 0) ||
        (read === undefined && where !== 'path') ||
        sent.has(text) ||
        (where !== 'query' && text.trim() === '') ||
        (where !== 'query' && !/^[\x21-\x7e ]+$/.test(typeof given === 'string' ? given : text)) ||
        text.length > 5000
      )
        continue
      sent.add(text)
      await expectRejection(
        run,
        operation,
        { ...parts, [group]: { ...parts[group], [name]: where === 'header' ? text : given } },
        name,
        keyword,
        where,
      )
    }
    if (required && where !== 'path') {
      const { [name]: _left, ...rest } = parts[group] ?? {}
      await expectRejection(
        run,
        operation,
        { ...parts, [group]: rest, isExact: true },
        name,
        'required',
        where,
      )
    }
  }
}

/** The value that a server reads from the text of a parameter; undefined if it finds none. */
function readBack(parameter: Parameter, text: string): Json {
  const { in: where, name } = parameter
  const header = name.toLowerCase()
  const read = readParameters([parameter], {
    path: where === 'path' ? { [name]: text } : {},
    query: where === 'query' ? text : '',
    headers: where === 'header' ? { [header]: text } : where === 'cookie' ? { cookie: text } : {},
  })
  return read[where][where === 'header' ? header : name]
}

async function sendBrokenBody(run: Run, operation: Operation, parts: RequestParts): Promise<void> {
  const { missingBody, mediaType, brokenJson, strictBodies } = run.options.profile.refusals
  for (const media of operation.body!.media)
    if (canEncode(media.type, media.schema)) await sendBrokenMedia(run, operation, parts, media)
  const [first] = operation.body!.media
  if (first === undefined) return
  const { type } = first
  if (operation.body!.required)
    await expectStatus(
      run,
      operation,
      { ...parts, body: undefined, type: undefined },
      missingBody,
      'no-body',
      'no body',
    )
  if (strictBodies || operation.body!.media.every((media) => isJson(media.type)))
    await expectStatus(
      run,
      operation,
      { ...parts, body: undefined, raw: Buffer.from('<a/>'), type: 'application/xml' },
      mediaType,
      'media-type-accepted',
      'an undeclared media type',
    )
  if (!isJson(type)) return
  for (const text of [
    '{"a": ',
    '[1',
    '{"a": "\\ud800"}',
    '{"a": "\\u0000"}',
    '[]',
    'null',
    '"text"',
    `${'['.repeat(2000)}${']'.repeat(2000)}`,
  ]) {
    if (!strictBodies && isValidJson(run, first, text)) continue
    await expectStatus(
      run,
      operation,
      { ...parts, body: undefined, raw: Buffer.from(text), type },
      brokenJson,
      'broken-json',
      `the body ${text.slice(0, 40)}`,
    )
  }
  await sendUnusualTexts(run, operation, parts)
}

function isValidJson(run: Run, { pointer }: Media, text: string): boolean {
  try {
    return run.validation.asked(pointer, JSON.parse(text)).length === 0
  } catch {
    return false
  }
}

/** Bodies with only the required properties that each break one constraint. */
async function sendBrokenMedia(
  run: Run,
  operation: Operation,
  parts: RequestParts,
  { type, schema, pointer }: Media,
): Promise<void> {
  if (schema.format === 'binary') return
  const { strictBodies } = run.options.profile.refusals
  const values = bodyValues(run, { type, schema })
  if (values === null) return
  const minimal =
    parts.type === type ? parts.body : sample(run, requestParts(run, operation, { minimal: true, type })).body
  const sent = new Set<string>()
  const tried = new Set<string>()
  // Several bodies, because a generated body may lack optional properties.
  for (let i = 0; i < 12; i++) {
    const full: Json = sample(run, values)
    for (const { field, keyword, value } of mutationsOf(run.document, schema, full)) {
      if (tried.has(`${field} ${keyword}`)) continue
      // A name may have brackets itself.
      const top = schema.properties?.[field] === undefined ? /^[^.[]+/.exec(field)?.[0] : field
      const body =
        // The minimal body may be another alternative.
        typeof value !== 'object' ||
        value === null ||
        top === undefined ||
        minimal === undefined ||
        isDiscriminated(schema)
          ? value
          : keyword === 'required' && !field.includes('.')
            ? omit(minimal, field)
            : { ...minimal, [top]: value[top] }
      const problems = run.validation.asked(pointer, body)
      const asText = JSON.stringify(body)
      if (
        problems.length === 0 ||
        sent.has(asText) ||
        asText.length > 900_000 ||
        (!isJson(type) && (isHiddenByForm(type, keyword, schema, top) || (!strictBodies && hasEmpty(body))))
      )
        continue
      sent.add(asText)
      tried.add(`${field} ${keyword}`)
      await expectRejection(
        run,
        operation,
        { ...parts, body, type },
        field === '' ? 'body' : field,
        keyword,
        'body',
        problems.map(fieldOf),
      )
    }
  }
}

function omit(value: Json, name: string): Json {
  const { [name]: _left, ...rest } = value ?? {}
  return rest
}

/** In a form every value is text, so it cannot have a wrong type; and a list of one item looks like text. */
function isHiddenByForm(_type: string, keyword: string, schema: Json, top: string | undefined): boolean {
  return (
    keyword === 'type' ||
    top === undefined ||
    keyword === 'minItems' ||
    schema.properties?.[top]?.format === 'binary'
  )
}

/** @param fields that are invalid, too: a server may name any of them. */
async function expectRejection(
  run: Run,
  operation: Operation,
  parts: RequestParts,
  field: string,
  keyword: string,
  where: string,
  fields: string[] = [],
): Promise<void> {
  const answer = await run.call(part, operation, parts)
  const find = (problem: Problem): void => run.findings.add(operation.id, part, problem, answer)
  const what = `${field} that breaks ${keyword}`
  // `call` has recorded the server error.
  if (answer.status >= 500) return
  if (answer.status < 400)
    return find({ check: 'accepted', expected: `400 for ${what}`, actual: `${answer.status}` })
  // 404 is correct for an invalid path, and 400 may be about another part of the request.
  if (where === 'path' && (answer.status === 404 || answer.status === 400)) return
  if (isUnreachable(run.options, operation) && answer.status === 404) return
  // tus answers 412 to an unsupported version before it validates other fields.
  if (where === 'header' && answer.status === 412) return
  const { isOfInvalid, nameField, businessRules } = run.options.profile.refusals
  if (answer.status !== 400 && !isOfInvalid(operation, answer.status))
    return find({
      check: 'wrong-status',
      expected: `400 for ${what}`,
      actual: `${answer.status} ${answer.text.slice(0, 200)}`,
    })
  const problems: Json[] = answer.body?.error?.details?.errors ?? []
  const isAbout = (name: string, invalid: string): boolean =>
    name.toLowerCase() === invalid.toLowerCase() ||
    // An error about alternatives may name the whole body.
    (!nameField && name === 'body' && where === 'body') ||
    name.startsWith(invalid) ||
    invalid.startsWith(`${name}.`) ||
    invalid.startsWith(`${name}[`) ||
    name.endsWith(invalid)
  const isRight = (name: string): boolean =>
    [field, ...fields.filter((each) => each !== '')].some((each) => isAbout(name, each))
  /** Whether the server refused the whole body by a rule of its own, before its schema. */
  const isOfBusiness = ({ field: name, constraint }: Json): boolean =>
    name === 'body' && businessRules.some((rule) => rule.test(`${operation.id} body ${constraint}`))
  if (problems.length > 0 && !problems.some((problem) => isRight(problem.field) || isOfBusiness(problem)))
    find({
      check: 'wrong-error',
      expected: `an error about ${field}`,
      actual: problems.map((problem) => `${problem.field} ${problem.constraint}`).join(', '),
    })
}

async function expectStatus(
  run: Run,
  operation: Operation,
  parts: RequestParts,
  statuses: number[],
  check: CheckName,
  what: string,
): Promise<Answer> {
  const answer = await run.call(part, operation, parts)
  if (isUnreachable(run.options, operation) && answer.status === 404) return answer
  if (!statuses.includes(answer.status) && answer.status < 500)
    run.findings.add(
      operation.id,
      part,
      {
        check,
        expected: `${statuses.join(' or ')} for ${what}`,
        actual: `${answer.status} ${answer.text.slice(0, 200)}`,
      },
      answer,
    )
  return answer
}

/** Text that PostgreSQL cannot store, in each free-text property: it must not cause a server error. */
async function sendUnusualTexts(run: Run, operation: Operation, parts: RequestParts): Promise<void> {
  const { schema } = operation.body!.media[0]
  for (const [name, property] of Object.entries<Json>(schema.properties ?? {})) {
    const value = sample(run, valuesOf(run.document, property, run.pool) ?? fc.constant(null))
    if (typeof value !== 'string') continue
    for (const text of ['a\u0000b', 'a\ud800b', '\ufffe\uffff'])
      await run.call(part, operation, {
        ...parts,
        body: { ...parts.body, [name]: text },
        type: operation.body!.media[0].type,
      })
  }
}
