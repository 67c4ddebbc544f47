// What is wrong with a body is said in full: every problem at once, by field, constraint and location.
import t from 'tap'
import { operations } from '../../generated/operations.ts'
import {
  askFor,
  contentOf,
  send,
  withBody,
  withFields,
  withForm,
  withJson,
} from '../support/operation-fixtures.ts'
import type { Ask } from '../support/operation-fixture.ts'
import { createDump } from '../support/db-fixtures.ts'
import { allows, bodyOf, isFile, type Schema } from '../support/contract-schema.ts'
import { startServer } from '../support/server.ts'

interface Problem {
  field: string
  constraint: string
  message: string
  location: string
}

const server = await startServer(t)
const dump = await createDump(t, server)
const problemsOf = async (
  ask: Ask,
  init = {},
): Promise<{ status: number; details: { field: string; constraint: string; errors: Problem[] } }> => {
  const { status, body } = await send(ask, init)
  return { status, details: body.error?.details ?? { errors: [] } }
}
/** What a form can say that is wrong for a field: nothing in it has a type but text. */
const wrongText = (schema: Schema): unknown =>
  allows(schema, 'object') ? 7 : allows(schema, 'array') ? [''] : schema.pattern === '\\S' ? ' ' : '\u0001'
const without = (body: Record<string, unknown>, name: string) =>
  Object.fromEntries(Object.entries(body).filter(([key]) => key !== name))

for (const { id, body: declared, form } of withBody) {
  const name = declared!.contentTypes.length > 1 && form ? `${id} as a form` : id
  t.test(`${name} says what its body lacks`, async (t) => {
    const ask = await askFor(server, id, { form })
    const { properties = {}, required = [] } = bodyOf(id, { form })
    const before = await dump()
    for (const name of required) {
      const { status, details } = await problemsOf({ ...ask, body: without(ask.body!, name) })
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
        const { status, details } = await problemsOf({ ...ask, body: { ...ask.body, [name]: value } })
        t.equal(status, 400, `${name} ${JSON.stringify(value)}`)
        t.match(details, { field: name, constraint: 'required' }, `${name} ${JSON.stringify(value)}`)
        t.equal(details.errors.length, 1, `${name} ${JSON.stringify(value)} is one problem`)
      }
    }
    if (declared!.required) {
      const { status, details } = await problemsOf({ ...ask, body: undefined })
      t.equal(status, 400, 'no body at all')
      t.match(details, { field: 'body', constraint: 'required' })
    }
    t.same(await dump(), before, 'nothing is written')
  })

  t.test(`${name} names all problems at once`, async (t) => {
    const ask = await askFor(server, id, { form })
    const { properties = {} } = bodyOf(id, { form })
    const fields = Object.entries(properties).filter(([, schema]) => !isFile(schema))
    const typed = !form && !withFields.some((info) => info.id === id)
    const wrong = Object.fromEntries(
      fields.map(([name, schema]) => [
        name,
        form ? wrongText(schema) : !typed ? 'x'.repeat(600) : allows(schema, 'object') ? 7 : {},
      ]),
    )
    const before = await dump()
    const { status, details } = await problemsOf(
      { ...ask, body: { ...(form && ask.body), ...wrong, surprise: 1 }, query: { unasked: '1' } },
      { headers: { 'idempotency-key': 'two words', 'if-match': '' } },
    )
    t.equal(status, 400)
    const { errors } = details
    for (const [name] of fields)
      t.ok(
        errors.some(
          (e) =>
            e.field.replace('[0]', '') === name &&
            (!typed || e.constraint === 'type') &&
            e.location === 'body',
        ),
        `${name} is wrong`,
      )
    t.ok(
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
      'and a bad header',
    )
    t.match(
      details,
      { field: errors[0].field, constraint: errors[0].constraint },
      'the first problem stands in front',
    )
    for (const problem of errors) {
      t.same(Object.keys(problem).sort(), ['constraint', 'field', 'location', 'message'])
      t.ok(problem.message.length > 0)
    }
    const places = errors.map(({ field, constraint, location }) => `${location} ${field} ${constraint}`)
    t.equal(new Set(places).size, places.length, 'none twice')
    t.same(await dump(), before, 'nothing is written')
  })

  if (!form && withJson.some((info) => info.id === id))
    t.test(`${id} takes an object and nothing else`, async (t) => {
      const ask = await askFor(server, id, { form })
      const before = await dump()
      for (const raw of ['null', '[]', '[{}]', '"text"', '0', 'true', '""']) {
        const { status, details } = await problemsOf(ask, {
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
      t.same(await dump(), before, 'nothing is written')
    })
}

for (const { id, body: declared } of withForm) {
  t.test(`${id} takes its file as a file, once and last`, async (t) => {
    const ask = await askFor(server, id, { form: true })
    const { file } = declared!.form!
    const before = await dump()
    t.match(
      await problemsOf({ ...ask, body: { ...ask.body, [file]: 'text' } }),
      { status: 400, details: { field: file, constraint: 'file' } },
      'no file but a field',
    )
    const { raw, type } = contentOf(ask)!
    const boundary = type.split('boundary=')[1]
    const text = Buffer.from(raw as Uint8Array).toString('latin1')
    const end = text.lastIndexOf(`--${boundary}--`)
    const refuses = async (what: string, more: string, field: string, constraint: string) => {
      const { status, details } = await problemsOf(ask, {
        raw: new Uint8Array(Buffer.from(`${text.slice(0, end)}${more}--${boundary}--\r\n`, 'latin1')),
        headers: { 'content-type': type },
      })
      t.equal(status, 400, what)
      t.match(details, { field, constraint }, what)
    }
    await refuses(
      'a second file',
      `--${boundary}\r\ncontent-disposition: form-data; name="${file}"; filename="second.txt"\r\n\r\nx\r\n`,
      file,
      'order',
    )
    await refuses(
      'a field after the file',
      `--${boundary}\r\ncontent-disposition: form-data; name="late"\r\n\r\nx\r\n`,
      'late',
      'order',
    )
    for (const [what, cut] of [
      ['nothing', ''],
      ['half of it', text.slice(0, end / 2)],
      ['no end', text.slice(0, end)],
      ['no form', 'x'.repeat(100)],
    ]) {
      const { status } = await problemsOf(ask, {
        raw: new Uint8Array(Buffer.from(cut, 'latin1')),
        headers: { 'content-type': type },
      })
      t.equal(status, 400, what)
    }
    t.equal(
      (await problemsOf(ask, { raw, headers: { 'content-type': 'multipart/form-data' } })).status,
      400,
      'no boundary',
    )
    t.same(await dump(), before, 'nothing is written')
    t.ok((await send(ask)).status < 300, 'and without the faults it is taken')
  })
}

t.test('a malformed id is 400 with its name and the location path', async (t) => {
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
    t.equal(reply.status, 400, id)
    t.match(reply.body.error.details, { field: 'id', errors: [{ field: 'id', location: 'path' }] }, id)
  }
})
