// What is wrong with a body is said in full: every problem at once, by field, constraint and location.
import t from 'tap'
import { askFor, send, withBody, type Ask } from '../support/contract.ts'
import { createDump } from '../support/contract-rows.ts'
import { allows, bodyOf } from '../support/contract-schema.ts'
import { startServer } from '../support/server.ts'

interface Problem { field: string, constraint: string, message: string, location: string }

const server = await startServer(t)
const dump = await createDump(t, server)
const problemsOf = async (ask: Ask, init = {}): Promise<{ status: number, details: { field: string, constraint: string, errors: Problem[] } }> => {
  const { status, body } = await send(ask, init)
  return { status, details: body.error?.details ?? { errors: [] } }
}
const without = (body: Record<string, unknown>, name: string) => Object.fromEntries(Object.entries(body).filter(([key]) => key !== name))

for (const { id, body: declared } of withBody) {
  t.test(`${id} says what its body lacks`, async (t) => {
    const ask = await askFor(server, id)
    const { properties = {}, required = [] } = bodyOf(id)
    const before = await dump()
    for (const name of required) {
      const { status, details } = await problemsOf({ ...ask, body: without(ask.body!, name) })
      t.equal(status, 400, `no ${name}`)
      t.match(details, { field: name, constraint: 'required', errors: [{ field: name, constraint: 'required', location: 'body' }] }, `no ${name}`)
    }
    for (const [name, schema] of Object.entries(properties)) {
      if (!allows(schema, 'string') || allows(schema, 'null') || (schema.pattern !== '\\S' && !required.includes(name))) continue
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

  t.test(`${id} names all problems at once`, async (t) => {
    const ask = await askFor(server, id)
    const { properties = {} } = bodyOf(id)
    const wrong = Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, allows(schema, 'object') ? 7 : {}]))
    const before = await dump()
    const { status, details } = await problemsOf(
      { ...ask, body: { ...wrong, surprise: 1 }, query: { unasked: '1' } },
      { headers: { 'idempotency-key': 'two words', 'if-match': '' } }
    )
    t.equal(status, 400)
    const { errors } = details
    for (const name of Object.keys(properties)) t.ok(errors.some((e) => e.field === name && e.constraint === 'type' && e.location === 'body'), `${name} is of the wrong type`)
    t.ok(errors.some((e) => e.field === 'surprise' && e.constraint === 'additionalProperties' && e.location === 'body'), 'an unknown field')
    t.ok(errors.some((e) => e.field === 'unasked' && e.constraint === 'additionalProperties' && e.location === 'query'), 'an unknown parameter')
    t.equal(errors.filter((e) => e.location === 'header').length, 1, 'and a bad header')
    t.match(details, { field: errors[0].field, constraint: errors[0].constraint }, 'the first problem stands in front')
    for (const problem of errors) {
      t.same(Object.keys(problem).sort(), ['constraint', 'field', 'location', 'message'])
      t.ok(problem.message.length > 0)
    }
    const places = errors.map(({ field, constraint, location }) => `${location} ${field} ${constraint}`)
    t.equal(new Set(places).size, places.length, 'none twice')
    t.same(await dump(), before, 'nothing is written')
  })

  t.test(`${id} takes an object and nothing else`, async (t) => {
    const ask = await askFor(server, id)
    const before = await dump()
    for (const raw of ['null', '[]', '[{}]', '"text"', '0', 'true', '""']) {
      const { status, details } = await problemsOf(ask, { raw, headers: { 'content-type': 'application/json' } })
      t.equal(status, 400, raw)
      t.equal(details.field, 'body', raw)
      t.ok(details.errors.some((e) => e.field === 'body' && e.constraint === 'type'), raw)
    }
    t.same(await dump(), before, 'nothing is written')
  })
}

t.test('a malformed id is 400 with its name and the location path', async (t) => {
  const person = await server.person()
  for (const id of ['prj_', 'prj_01JD6Y8M5QE8BTC4Y5W1R0N3FZ', 'usr_01jd6y8m5qe8btc4y5w1r0n3fz', 'prj_81jd6y8m5qe8btc4y5w1r0n3fz', "prj_01jd6y8m5qe8btc4y5w1r0n3f'", '%00', '..%2fusers', '%F0%9F%98%80']) {
    const reply = await person.client.get(`/projects/${id}`)
    t.equal(reply.status, 400, id)
    t.match(reply.body.error.details, { field: 'id', errors: [{ field: 'id', location: 'path' }] }, id)
  }
})
