// What a creation promises beside its status: a property that is left out has its default, and a text comes
// back as it was sent, with its spaces.
import { kindOf, schemaOf, successOf, type Json, type Operation } from '@platform-api/openapi/document.ts'
import { matchesSent } from './equality.ts'
import { expectationFor, part } from './expectations.ts'
import { mayAnswer, type Run } from './run-context.ts'
import type { Answer } from './sender.ts'

/** Repeats a creation without the properties that have a default, and with other texts. */
export async function checkPromises(run: Run, operation: Operation, first: Answer): Promise<void> {
  const { body, type = 'application/json' } = first.parts
  const media = operation.body?.media.find((each) => each.type === type)
  if (media === undefined || typeof body !== 'object' || body === null || Array.isArray(body)) return
  const shown = successOf(operation)?.media.schema.properties ?? {}
  const properties = Object.entries<Json>(media.schema.properties ?? {})
    .filter(([name]) => name in shown && name in (first.body ?? {}))
    .map(([name, property]) => [name, schemaOf(run.document, property)] as const)
  const defaults = properties.filter(([, schema]) => schema.default !== undefined)
  const texts = properties.filter(
    ([name, schema]) =>
      name in body &&
      schema.default === undefined &&
      isFreeText(schema) &&
      typeof first.body[name] === 'string',
  )
  const sent = {
    ...Object.fromEntries(
      Object.entries<Json>(body).filter(([name]) => !defaults.some(([own]) => own === name)),
    ),
    ...Object.fromEntries(texts.map(([name]) => [name, ` Zoë  ${run.nextSeed()} `])),
  }
  if (defaults.length + texts.length === 0 || run.validation.asked(media.pointer, sent).length > 0) return
  const headers = Object.fromEntries(
    Object.entries(first.parts.headers ?? {}).filter(([name]) => name !== 'Idempotency-Key'),
  )
  const answer = await run.call(part, operation, { ...first.parts, headers, body: sent })
  if (answer.status !== first.status) return
  const expect = expectationFor(run, operation)
  const promised = [
    ...defaults.map(([name, schema]) => [name, schema.default, 'default', 'its default'] as const),
    ...texts.map(([name]) => [name, sent[name], 'create-value', 'the text that was sent'] as const),
  ]
  for (const [name, value, check, what] of promised)
    if (mayAnswer(run, operation, answer.body, name, value))
      expect(
        matchesSent(value, answer.body?.[name]),
        check,
        `${name} to have ${what}: ${JSON.stringify(value)}`,
        answer,
        JSON.stringify(answer.body?.[name]),
      )
}

/** A text without a syntax of its own, and with room for a few words. */
function isFreeText(schema: Json): boolean {
  const { type, pattern, format, enum: values, const: only, minLength = 0, maxLength = Infinity } = schema
  const isPlain = [pattern, format, values, only].every((each) => each === undefined)
  return (
    [type].flat().includes('string') &&
    isPlain &&
    kindOf(schema) === null &&
    minLength <= 8 &&
    maxLength >= 20
  )
}
