// Text comes back as it was sent, character by character, whatever the script.
import t from 'tap'
import type { OperationId } from '../../generated/operations.ts'
import { askFor, pathOf, send, successOf, withBody } from '../support/operation-fixtures.ts'
import type { Ask } from '../support/operation-fixture.ts'
import { allows, bodyOf, isFreeText, replyOf, type Schema } from '../support/contract-schema.ts'
import type { Attachment } from '../support/contract-form.ts'
import { insertedOrder } from '../support/db-fixtures-payments.ts'
import { startServer } from '../support/server.ts'

const server = await startServer(t)
const texts = [
  '👩‍👩‍👧‍👦 🏴󠁧󠁢󠁷󠁬󠁳󠁿 ❤️',
  'שלום \u202egnp.exe \u2067عربى\u2069',
  'e\u0301 is not \u00e9',
  'Z\u0351\u036b\u0343\u036a\u0302\u036balgo',
  '𝒳𠜎😀',
  '漢字かな交じり文',
  ' kept blanks ',
  'a\tb\nc\r\nd',
  'a\u2028b\u2029c',
  '\u200b\u200d\ufeffx',
  '\u0001\u001f\u007f',
  '\ufffd\uffff\u{10ffff}',
  '\\u0000 \\ud800 \\',
  `'; DROP TABLE users; --`,
  '"<script>alert(1)</script>&amp;',
  '%00 %s %n {{7*7}} ${7*7} $1',
  'İıßſK',
  '{a,"b"}',
  'NULL',
  'null',
  '-0',
  '__proto__ constructor',
]

interface Place {
  name: string
  max: number
  /** What a text must be like. */ pattern?: RegExp
  put: (text: string) => Record<string, unknown>
  get: (body: any) => unknown
}

/** How one text stands in a body at each place that takes any text. */
function places({ properties = {} }: Schema): Place[] {
  return Object.entries(properties).flatMap(([name, schema]): Place[] => {
    if (name === 'metadata') {
      return [
        {
          name: 'metadata value',
          max: 512,
          put: (text: string) => ({ metadata: { note: text } }),
          get: (body: any) => body.metadata.note,
        },
        {
          name: 'metadata key',
          max: 64,
          put: (text: string) => ({ metadata: { [text]: 'x' } }),
          get: (body: any) => Object.keys(body.metadata)[0],
        },
      ]
    }
    if (isFreeText(schema))
      return [
        {
          name,
          max: schema.maxLength!,
          put: (text: string) => ({ [name]: text }),
          get: (body: any) => body[name],
        },
      ]
    if (isText(schema))
      return [
        {
          name,
          max: schema.maxLength!,
          pattern: new RegExp(schema.pattern!, 'u'),
          put: (text: string) => ({ [name]: text }),
          get: (body: any) => body[name],
        },
      ]
    if (schema.items !== undefined && isFreeText(schema.items))
      return [
        {
          name: `${name} item`,
          max: schema.items.maxLength!,
          put: (text: string) => ({ [name]: [text] }),
          get: (body: any) => body[name][0],
        },
      ]
    if (schema.properties === undefined) return []
    return places(schema).map((inner) => ({
      ...inner,
      name: `${name}.${inner.name}`,
      put: (text: string) => ({ [name]: inner.put(text) }),
      get: (body: any) => inner.get(body[name]),
    }))
  })
}

/** Whether it takes any script, though not any character. */
function isText(schema: Schema): boolean {
  return (
    allows(schema, 'string') &&
    schema.format === undefined &&
    schema.maxLength !== undefined &&
    schema.pattern !== undefined &&
    new RegExp(schema.pattern, 'u').test('漢字 😀')
  )
}

/** Bodies as one: objects within them, too. */
function merged(bodies: Array<Record<string, unknown>>): Record<string, unknown> {
  const whole: Record<string, any> = {}
  for (const [name, value] of bodies.flatMap((body) => Object.entries<any>(body))) {
    const both = isRecord(value) && isRecord(whole[name])
    whole[name] = both ? merged([whole[name], value]) : value
  }
  return whole
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

let count = 0
/** What there is once only is made anew. */
async function anew({ id, caller, project, body = {} }: Ask): Promise<Record<string, unknown>> {
  count++
  return {
    ...body,
    ...('email' in body && { email: `${count}@text.example` }),
    ...('text' in body && { text: `${body.text} ${count}` }),
    ...(id === 'createCheckout' && {
      order_id: await insertedOrder(server, caller.id, { projectId: project }),
    }),
    ...(id === 'createDocument' &&
      'file' in body && { file: { ...(body.file as Attachment), bytes: Buffer.from(`Text ${count}`) } }),
  }
}

/** What answers something else: of a question its answer. */
const answering = ['createChat', 'streamChat', 'regenerateMessage', 'searchKnowledgeBase']

for (const { id, ifMatch, method, form } of withBody.filter(({ id }) => !answering.includes(id))) {
  // What is in no answer is read back by a test of its own.
  const taking = places(bodyOf(id, { form })).filter(
    ({ name }) => name.split(/[ .]/)[0] in (replyOf(id, successOf(id))?.properties ?? {}),
  )
  if (taking.length === 0) continue
  t.test(
    `${id} keeps ${taking.map(({ name }) => name).join(', ')} as sent${form ? ' in a form' : ''}`,
    async (t) => {
      const ask = await askFor(server, id, { form })
      const sent = async (change: Record<string, unknown>) => {
        const others = method === 'PUT' ? {} : await anew(ask)
        return await send({ ...ask, body: { ...others, ...change } })
      }
      /** One text at each of these places, which takes it. */
      const keeps = async (there: Array<Place & { text: string }>) => {
        const reply = await sent(merged(there.map(({ put, text }) => put(text))))
        t.equal(reply.status < 300 ? '' : reply.text, '', there.map(({ name }) => name).join(', '))
        for (const { name, get, text } of there) t.equal(get(reply.body), text, `${name} is answered`)
        const again =
          method === 'PUT'
            ? await send({ ...ask, id: ifMatch as OperationId, body: undefined })
            : await ask.caller.client.get(reply.headers.get('location')!)
        t.equal(again.status, 200, pathOf(ask))
        for (const { name, get, text } of there) t.equal(get(again.body), text, `${name} is read back`)
      }
      for (const i of texts.keys()) {
        // Another text at each place, so that every place has every text in the end.
        const there = taking.map((place, k) => ({ ...place, text: texts[(i + k) % texts.length] }))
        // In a form that character stands for bytes that were no text.
        const refused = ({ pattern, text }: { pattern?: RegExp; text: string }): boolean =>
          pattern?.test(text) === false || (form && text.includes('\ufffd'))
        for (const { name, put, text } of there.filter(refused))
          t.equal((await sent(put(text))).status, 400, `${name} does not take text ${texts.indexOf(text)}`)
        const taken = there.filter((place) => !refused(place))
        // The metadata have one key here, or one value.
        for (const without of ['metadata key', 'metadata value']) {
          const some = taken.filter(({ name }) => name !== without)
          if (without === 'metadata key' || some.length < taken.length) await keeps(some)
        }
      }
      for (const { name, max, put, get } of taking) {
        const longest = '😀'.repeat(max)
        const reply = await sent(put(longest))
        t.ok(reply.status < 300, `${name} takes ${max} characters of four bytes`)
        t.equal(get(reply.body), longest, name)
        const over = await sent(put(`${longest}x`))
        t.equal(over.status, 400, `${name} takes no more than ${max}`)
        t.equal(over.body.error.details.constraint, 'maxLength', name)
      }
    },
  )
}

for (const id of ['createChat', 'streamChat'] as const) {
  t.test(`${id} keeps the question in its session as sent`, async (t) => {
    const ask = await askFor(server, id)
    const { body: session } = await ask.caller.client.get(`/ai/sessions/${ask.body!.session_id}`)
    for (const text of [...texts.filter((text) => /\S/u.test(text)), '😀'.repeat(20_000)]) {
      const reply = await send({
        ...ask,
        body: { ...ask.body, message: text, metadata: { note: text.slice(0, 100) } },
      })
      t.equal(reply.status, 200, reply.text)
      const {
        body: { data },
      } = await ask.caller.client.get(`/ai/sessions/${session.id}/messages?limit=2`)
      t.match(data[1], { role: 'user', content: text, metadata: { note: text.slice(0, 100) } })
    }
    const over = await send({ ...ask, body: { ...ask.body, message: 'x'.repeat(200_001) } })
    t.match(over, {
      status: 400,
      body: { error: { details: { field: 'message', constraint: 'maxLength' } } },
    })
  })
}

for (const id of ['createDocument', 'updateDocument'] as const) {
  t.test(`${id} keeps its text as sent`, async (t) => {
    const ask = await askFor(server, id)
    for (const [i, text] of texts.entries()) {
      const { status, body } = await send({ ...ask, body: { ...ask.body, text: `${i} ${text}` } })
      t.ok(status < 300, `text ${i}`)
      const { source } = await server.services.database.prisma.document.findUniqueOrThrow({
        where: { id: body.id },
      })
      t.equal(source, `${i} ${text}`, `text ${i} is read back`)
    }
  })
}
