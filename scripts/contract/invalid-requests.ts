// Requests with one mistake each: every one is refused with 400, and the error names the mistake.
import fc from 'fast-check'
import { breaksOf } from './mutations.ts'
import { type Json, type Media, type Operation } from './document.ts'
import { refusedOnly } from './exceptions.ts'
import { partsOf, pathOf, sampled } from './requests.ts'
import { type Run, maySucceed } from './cli.ts'
import type { Answer, Parts } from './sender.ts'
import { matching, valuesOf } from './values.ts'
import type { Problem } from './checks.ts'

const part = 'refusals'

export async function breakRequests(run: Run, tick: (done: number, of: number) => void): Promise<void> {
  for (const [i, operation] of run.wanted.entries()) {
    tick(i + 1, run.wanted.length)
    if (run.over()) return
    // A mistake that a server lets through must not change what is not the run's own.
    if (!run.people.ownUser && operation.method !== 'GET' && !maySucceed(run, operation)) continue
    const path = (await pathOf(run, operation)) ?? madeUpPath(run, operation)
    const parts = { ...sampled(run, partsOf(run, operation, { least: true })), path }
    // What this server is not set up for has no rules.
    if (refusedOnly.has(operation.id) && (await run.call(part, operation, parts)).status === 404) continue
    await brokenParameters(run, operation, parts)
    if (operation.body !== null) await brokenBody(run, operation, parts)
    await otherMethod(run, operation, parts)
  }
}

function madeUpPath(run: Run, operation: Operation): Record<string, string> {
  return Object.fromEntries(
    operation.parameters
      .filter((each) => each.in === 'path')
      .map(({ name, schema }) => [
        name,
        schema.pattern === undefined
          ? String(schema.enum?.[0] ?? 'none')
          : sampled(run, matching(schema.pattern)),
      ]),
  )
}

async function brokenParameters(run: Run, operation: Operation, parts: Parts): Promise<void> {
  for (const { name, in: where, schema, required } of operation.parameters) {
    const group = where === 'header' ? 'headers' : where
    const validate = run.validation.parameter(schema)
    const value = sampled(run, valuesOf(run.document, schema, run.world) ?? fc.constant('x'))
    const said = new Set<string>()
    for (const { keyword, value: broken } of breaksOf(run.document, schema, value)) {
      const text = typeof broken === 'object' ? JSON.stringify(broken) : String(broken)
      // An empty or blank text in a path or header is another request.
      if (
        validate(text).length === 0 ||
        said.has(text) ||
        (where !== 'query' && text.trim() === '') ||
        (where !== 'query' && !/^[\x21-\x7e ]+$/.test(text)) ||
        text.length > 5000
      )
        continue
      said.add(text)
      await refused(
        run,
        operation,
        { ...parts, [group]: { ...parts[group], [name]: text } },
        name,
        keyword,
        where,
      )
    }
    if (required && where !== 'path') {
      const { [name]: _left, ...rest } = parts[group]
      await refused(run, operation, { ...parts, [group]: rest }, name, 'required', where)
    }
  }
}

async function brokenBody(run: Run, operation: Operation, parts: Parts): Promise<void> {
  for (const media of operation.body!.media) await brokenMedia(run, operation, parts, media)
  const [{ type }] = operation.body!.media
  if (operation.body!.required)
    await refusedAs(
      run,
      operation,
      { ...parts, body: undefined, type: undefined },
      [400, 411, 415],
      'no-body',
      'no body',
    )
  await refusedAs(
    run,
    operation,
    { ...parts, body: undefined, raw: Buffer.from('<a/>'), type: 'application/xml' },
    [415],
    'media-type-taken',
    'a media type that the operation does not take',
  )
  if (type !== 'application/json') return
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
    await refusedAs(
      run,
      operation,
      { ...parts, body: undefined, raw: Buffer.from(text), type },
      [400],
      'broken-json',
      `the body ${text.slice(0, 40)}`,
    )
  }
  await oddTexts(run, operation, parts)
}

/** A body each in which one constraint is broken, the rest being what is least required. */
async function brokenMedia(
  run: Run,
  operation: Operation,
  parts: Parts,
  { type, schema, pointer }: Media,
): Promise<void> {
  if (schema.format === 'binary') return
  const values = valuesOf(run.document, schema, run.world)
  if (values === null) return
  const least =
    parts.type === type ? parts.body : sampled(run, partsOf(run, operation, { least: true, type })).body
  const said = new Set<string>()
  const tried = new Set<string>()
  // Several bodies, since none need have all that a body may have.
  for (let i = 0; i < 12; i++) {
    const full: Json = sampled(run, values)
    for (const { field, keyword, value } of breaksOf(run.document, schema, full)) {
      if (tried.has(`${field} ${keyword}`)) continue
      const top = /^[^.[]+/.exec(field)?.[0]
      const body =
        typeof value !== 'object' || value === null || top === undefined
          ? value
          : keyword === 'required' && !field.includes('.')
            ? without(least ?? {}, field)
            : { ...least, [top]: value[top] }
      const problems = run.validation.asked(pointer, body)
      const asText = JSON.stringify(body)
      if (
        problems.length === 0 ||
        said.has(asText) ||
        asText.length > 900_000 ||
        (type !== 'application/json' && isInvisible(type, keyword, schema, top))
      )
        continue
      said.add(asText)
      tried.add(`${field} ${keyword}`)
      await refused(run, operation, { ...parts, body, type }, field === '' ? 'body' : field, keyword, 'body')
    }
  }
}

function without(value: Json, name: string): Json {
  const { [name]: _left, ...rest } = value
  return rest
}

/** In a form everything is text, so that a wrong type cannot be said; and a list of one is a text. */
function isInvisible(_type: string, keyword: string, schema: Json, top: string | undefined): boolean {
  return (
    keyword === 'type' ||
    top === undefined ||
    keyword === 'minItems' ||
    schema.properties?.[top]?.format === 'binary'
  )
}

async function refused(
  run: Run,
  operation: Operation,
  parts: Parts,
  field: string,
  keyword: string,
  where: string,
): Promise<void> {
  const answer = await run.call(part, operation, parts)
  const find = (problem: Problem): void => run.findings.add(operation.id, part, problem, answer)
  const what = `${field} that breaks ${keyword}`
  // Told of already, as every failure is.
  if (answer.status >= 500) return
  if (answer.status < 400)
    return find({ check: 'accepted', expected: `400 for ${what}`, came: `${answer.status}` })
  // A path that cannot be is a place where there is nothing.
  if (where === 'path' && answer.status === 404) return
  // What a protocol of its own has to say comes first.
  if (where === 'header' && answer.status === 412) return
  if (answer.status !== 400)
    return find({
      check: 'not-refused',
      expected: `400 for ${what}`,
      came: `${answer.status} ${answer.text.slice(0, 200)}`,
    })
  const problems: Json[] = answer.body?.error?.details?.errors ?? []
  const same = (name: string): boolean =>
    name.toLowerCase() === field.toLowerCase() ||
    name.startsWith(field) ||
    field.startsWith(`${name}.`) ||
    field.startsWith(`${name}[`) ||
    name.endsWith(field)
  if (problems.length > 0 && !problems.some((problem) => same(problem.field)))
    find({
      check: 'wrong-problem',
      expected: `an error about ${field}`,
      came: problems.map((problem) => `${problem.field} ${problem.constraint}`).join(', '),
    })
}

async function refusedAs(
  run: Run,
  operation: Operation,
  parts: Parts,
  statuses: number[],
  check: string,
  what: string,
): Promise<Answer> {
  const answer = await run.call(part, operation, parts)
  if (!statuses.includes(answer.status) && answer.status < 500)
    run.findings.add(
      operation.id,
      part,
      {
        check,
        expected: `${statuses.join(' or ')} for ${what}`,
        came: `${answer.status} ${answer.text.slice(0, 200)}`,
      },
      answer,
    )
  return answer
}

/** Text that is none for a database, in each property that may be any text: refused or kept, but never a failure. */
async function oddTexts(run: Run, operation: Operation, parts: Parts): Promise<void> {
  const { schema } = operation.body!.media[0]
  for (const [name, property] of Object.entries<Json>(schema.properties ?? {})) {
    const value = sampled(run, valuesOf(run.document, property, run.world) ?? fc.constant(null))
    if (typeof value !== 'string') continue
    for (const text of ['a\u0000b', 'a\ud800b', '\ufffe\uffff'])
      await run.call(part, operation, {
        ...parts,
        body: { ...parts.body, [name]: text },
        type: 'application/json',
      })
  }
}

/** A method that the path does not have: 405, with those that it has. */
async function otherMethod(run: Run, operation: Operation, parts: Parts): Promise<void> {
  const here = run.operations.filter(({ path }) => path === operation.path)
  const method = ['PATCH', 'PUT', 'DELETE'].find((each) => !here.some((other) => other.method === each))
  // Asked once a path, where another path does not mean the same address.
  if (
    method === undefined ||
    here[0] !== operation ||
    run.operations.some(
      (other) =>
        other.method === method &&
        other.path.split('/').length === operation.path.split('/').length &&
        other.path !== operation.path,
    )
  )
    return
  const answer = await run.call(part, operation, { path: parts.path, method })
  if (answer.status !== 405 && answer.status !== 404)
    run.findings.add(
      operation.id,
      part,
      {
        check: 'method',
        expected: `405 for ${method}, which the path does not have`,
        came: String(answer.status),
      },
      answer,
    )
  else if (answer.status === 405 && answer.headers.get('allow') === null)
    run.findings.add(
      operation.id,
      part,
      { check: 'method', expected: 'Allow with 405', came: 'none' },
      answer,
    )
}
