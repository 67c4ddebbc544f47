// Invalid bodies: the answer lists every problem at once, each with its field, constraint and location.
import t from 'tap'
import { operations } from '../../generated/operations.ts'
import {
  requestFor,
  encodedBody,
  send,
  withBody,
  withFields,
  withForm,
  withJson,
} from '../support/operations/operation-fixtures.ts'
import type { OperationRequest } from '../support/operations/operation-fixture.ts'
import { recordChanges } from '../support/server/changes.ts'
import { allows, bodyOf, isFile, type Schema } from '../support/contract/contract-schema.ts'
import { oneOfEachKind, pipelineKind } from '../support/operations/kinds.ts'
import { isLongForm } from '../support/long-form.ts'
import { startServer } from '../support/server/server.ts'

interface Problem {
  field: string
  constraint: string
  message: string
  location: string
}

const server = await startServer(t)
const changes = await recordChanges(t, server)
const problemsOf = async (
  request: OperationRequest,
  init = {},
): Promise<{ status: number; details: { field: string; constraint: string; errors: Problem[] } }> => {
  const { status, body } = await send(request, init)
  return { status, details: body.error?.details ?? { errors: [] } }
}
/** A value that is wrong for the field even in a form, where every value is text. */
const wrongText = (schema: Schema): unknown =>
  allows(schema, 'object') ? 7 : allows(schema, 'array') ? [''] : schema.pattern === '\\S' ? ' ' : '\u0001'
const without = (body: Record<string, unknown>, name: string) =>
  Object.fromEntries(Object.entries(body).filter(([key]) => key !== name))

/** One of each kind in the short form: the type of the body is checked before its fields. */
const onlyObjects = isLongForm ? withJson : oneOfEachKind(withJson, pipelineKind)

for (const { id, body: declared, form } of withBody) {
  const name = declared!.contentTypes.length > 1 && form ? `${id} as a form` : id
  t.test(`${name} reports missing and blank fields`, async (t) => {
    const request = await requestFor(server, id, { form })
    const { properties = {}, required = [] } = bodyOf(id, { form })
    const before = await changes()
    for (const name of required) {
      const { status, details } = await problemsOf({ ...request, body: without(request.body!, name) })
      t.equal(status, 400, `no ${name}`)
      t.match(
        details,
        {
          field: name,
          constraint: 'required',
          errors: [{ field: name, constraint: 'required', location: 'body' }],
        },
        `no ${name}`,
      )
    }
    for (const [name, schema] of Object.entries(properties)) {
      if (
        !allows(schema, 'string') ||
        allows(schema, 'null') ||
        isFile(schema) ||
        (schema.pattern !== '\\S' && !required.includes(name))
      )
        continue
      for (const value of ['', ' ', '\t \n', '\u00a0\u3000']) {
        const { status, details } = await problemsOf({ ...request, body: { ...request.body, [name]: value } })
        t.equal(status, 400, `${name} ${JSON.stringify(value)}`)
        t.match(details, { field: name, constraint: 'required' }, `${name} ${JSON.stringify(value)}`)
        t.equal(details.errors.length, 1, `${name} ${JSON.stringify(value)} is one problem`)
      }
    }
    if (declared!.required) {
      const { status, details } = await problemsOf({ ...request, body: undefined })
      t.equal(status, 400, 'no body at all')
      t.match(details, { field: 'body', constraint: 'required' })
    }
    t.same(await changes(), before, 'nothing is written to the database')
  })

  t.test(`${name} reports all problems at once`, async (t) => {
    const request = await requestFor(server, id, { form })
    const { properties = {}, discriminator } = bodyOf(id, { form })
    const chosen = discriminator?.propertyName
    const fields = Object.entries(properties).filter(
      // The other fields depend on the value of this one.
      ([name, schema]) => !isFile(schema) && (chosen === undefined || name === chosen),
    )
    const typed = !form && !withFields.some((info) => info.id === id)
    const wrong = Object.fromEntries(
      fields.map(([name, schema]) => [
        name,
        form
          ? wrongText(schema)
          : !typed
            ? 'x'.repeat(Math.max(600, (schema.maxLength ?? 0) + 1))
            : allows(schema, 'object')
              ? 7
              : {},
      ]),
    )
    const before = await changes()
    const { status, details } = await problemsOf(
      { ...request, body: { ...(form && request.body), ...wrong, surprise: 1 }, query: { unasked: '1' } },
      { headers: { 'idempotency-key': 'two words', 'if-match': '' } },
    )
    t.equal(status, 400)
    const { errors } = details
    for (const [name] of fields)
      t.ok(
        errors.some(
          (e) =>
            e.field.replace('[0]', '') === name &&
            (!typed || chosen !== undefined || e.constraint === 'type') &&
            e.location === 'body',
        ),
        `${name} is reported`,
      )
    t.ok(
      chosen !== undefined ||
        errors.some(
          (e) => e.field === 'surprise' && e.constraint === 'additionalProperties' && e.location === 'body',
        ),
      'an unknown field',
    )
    t.ok(
      errors.some(
        (e) => e.field === 'unasked' && e.constraint === 'additionalProperties' && e.location === 'query',
      ),
      'an unknown parameter',
    )
    t.equal(
      errors.filter((e) => e.location === 'header').length,
      operations[id].validators.header === undefined ? 0 : 1,
      'an invalid header',
    )
    t.match(
      details,
      { field: errors[0].field, constraint: errors[0].constraint },
      'details.field is that of the first problem',
    )
    for (const problem of errors) {
      t.same(Object.keys(problem).sort(), ['constraint', 'field', 'location', 'message'])
      t.ok(problem.message.length > 0)
    }
    const places = errors.map(({ field, constraint, location }) => `${location} ${field} ${constraint}`)
    t.equal(new Set(places).size, places.length, 'no problem is reported twice')
    t.same(await changes(), before, 'nothing is written to the database')
  })

  if (!form && onlyObjects.some((info) => info.id === id))
    t.test(`${id} accepts only an object`, async (t) => {
      const request = await requestFor(server, id, { form })
      const before = await changes()
      for (const raw of ['null', '[]', '[{}]', '"text"', '0', 'true', '""']) {
        const { status, details } = await problemsOf(request, {
          raw,
          headers: { 'content-type': 'application/json' },
        })
        t.equal(status, 400, raw)
        t.equal(details.field, 'body', raw)
        t.ok(
          details.errors.some((e) => e.field === 'body' && e.constraint === 'type'),
          raw,
        )
      }
      t.same(await changes(), before, 'nothing is written to the database')
    })
}

for (const { id, body: declared } of withForm) {
  t.test(`${id} accepts exactly one file, anywhere in the form`, async (t) => {
    const request = await requestFor(server, id, { form: true })
    const { file } = declared!.form!
    const before = await changes()
    t.match(
      await problemsOf({ ...request, body: { ...request.body, [file]: 'text' } }),
      { status: 400, details: { field: file, constraint: 'file' } },
      'a text field in place of the file',
    )
    const { raw, type } = encodedBody(request)!
    const boundary = type.split('boundary=')[1]
    const text = Buffer.from(raw as Uint8Array).toString('latin1')
    const end = text.lastIndexOf(`--${boundary}--`)
    const assertRejected = async (what: string, more: string, field: string, constraint: string) => {
      const { status, details } = await problemsOf(request, {
        raw: new Uint8Array(Buffer.from(`${text.slice(0, end)}${more}--${boundary}--\r\n`, 'latin1')),
        headers: { 'content-type': type },
      })
      t.equal(status, 400, what)
      t.match(details, { field, constraint }, what)
    }
    await assertRejected(
      'a second file',
      `--${boundary}\r\ncontent-disposition: form-data; name="${file}"; filename="second.txt"\r\n\r\nx\r\n`,
      file,
      'once',
    )
    await assertRejected(
      'an unknown field after the file',
      `--${boundary}\r\ncontent-disposition: form-data; name="late"\r\n\r\nx\r\n`,
      'late',
      'additionalProperties',
    )
    for (const [what, cut] of [
      ['nothing', ''],
      ['the first half', text.slice(0, end / 2)],
      ['no closing boundary', text.slice(0, end)],
      ['not a form', 'x'.repeat(100)],
    ]) {
      const { status } = await problemsOf(request, {
        raw: new Uint8Array(Buffer.from(cut, 'latin1')),
        headers: { 'content-type': type },
      })
      t.equal(status, 400, what)
    }
    t.equal(
      (await problemsOf(request, { raw, headers: { 'content-type': 'multipart/form-data' } })).status,
      400,
      'no boundary',
    )
    t.same(await changes(), before, 'nothing is written to the database')
    const [start, ...parts] = text.slice(0, end).split(`--${boundary}`)
    const fileFirst = [start, parts.at(-1)!, ...parts.slice(0, -1), '--\r\n'].join(`--${boundary}`)
    const init = {
      raw: new Uint8Array(Buffer.from(fileFirst, 'latin1')),
      headers: { 'content-type': type },
    }
    t.ok((await send(request, init)).status < 400, 'the same form with the file first is accepted')
  })
}

t.test('a malformed id is answered with 400, its name and the location path', async (t) => {
  const person = await server.person()
  for (const id of [
    'prj_',
    'prj_01JD6Y8M5QE8BTC4Y5W1R0N3FZ',
    'usr_01jd6y8m5qe8btc4y5w1r0n3fz',
    'prj_81jd6y8m5qe8btc4y5w1r0n3fz',
    "prj_01jd6y8m5qe8btc4y5w1r0n3f'",
    '%00',
    '..%2fusers',
    '%F0%9F%98%80',
  ]) {
    const reply = await person.client.get(`/projects/${id}`)
    t.equal(reply.status, 404, id)
    t.match(reply.body.error, { code: 'NOT_FOUND', message: /^There is no resource with this id: / }, id)
  }
})
