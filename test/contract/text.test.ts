// Unicode text: every free-text field returns exactly the characters that were sent, in any script.
// `npm run faults` sends every text to every field; in `npm test` each operation gets a fifth of the texts,
// and all operations together get each text several times.
import t from 'tap'
import type { OperationId } from '../../generated/operations.ts'
import { isObject } from '../../infra/validation/strict-json.ts'
import { acquaint, createApiKey } from '../support/database/db-fixtures.ts'
import {
  pathOf,
  send,
  withBody,
  requestFor,
  successStatus,
} from '../support/operations/operation-fixtures.ts'
import type { OperationRequest } from '../support/operations/operation-fixture.ts'
import { allows, bodyOf, isFreeText, replyOf, type Schema } from '../support/contract/contract-schema.ts'
import type { Attachment } from '../support/http/form-body.ts'
import { insertedOrder } from '../support/database/db-fixtures-payments.ts'
import { newCredential, newDevice } from '../support/operations/operation-fixtures-auth.ts'
import { isLongForm } from '../support/long-form.ts'
import { startServer, type Person } from '../support/server/server.ts'

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

let turn = 0
/** The indices of the texts for one operation: in the short form another fifth for each. */
function textsOfNext(): number[] {
  const start = turn++
  return [...texts.keys()].filter((i) => isLongForm || (i + start) % 5 === 0)
}

interface Place {
  name: string
  max: number
  /** The pattern of the field. */
  pattern?: RegExp
  put: (text: string) => Record<string, unknown>
  get: (body: any) => unknown
}

/** The fields of a body that accept free text, with functions that set and read one of them. */
function places({ properties = {} }: Schema): Place[] {
  return Object.entries(properties).flatMap(([name, schema]): Place[] => {
    if (name === 'metadata') {
      // An update merges the keys: null removes those of earlier calls.
      const merges = JSON.stringify(schema).includes('"null"')
      const earlier: Record<string, null> = {}
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
          put: (text: string) => {
            const metadata = { ...(merges && { note: null, ...earlier }), [text]: 'x' }
            earlier[text] = null
            return { metadata }
          },
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
    if (isPatternedText(schema))
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

/** Whether the pattern of the schema allows text in any script, though not every character. */
function isPatternedText(schema: Schema): boolean {
  return (
    allows(schema, 'string') &&
    schema.format === undefined &&
    schema.maxLength !== undefined &&
    schema.pattern !== undefined &&
    new RegExp(schema.pattern, 'u').test('漢字 😀')
  )
}

/** Merges bodies, including nested objects. */
function merged(bodies: Array<Record<string, unknown>>): Record<string, unknown> {
  const whole: Record<string, any> = {}
  for (const [name, value] of bodies.flatMap((body) => Object.entries<any>(body))) {
    const both = isObject(value) && isObject(whole[name])
    whole[name] = both ? merged([whole[name], value]) : value
  }
  return whole
}

/** A user whom the caller may add to a project. */
async function newColleague(caller: { id: string }): Promise<string> {
  const { id } = await server.person()
  await acquaint(server, caller, { id })
  return id
}

/** A credential of a new device. Deletes the caller's earlier passkeys. */
async function anotherCredential(caller: Person) {
  await server.services.database.prisma.passkey.deleteMany({ where: { userId: caller.id } })
  return await newCredential({ server, caller, role: 'owner' }, newDevice(server))
}

let count = 0
/** The valid body with new values for fields that must be unique. */
async function uniqueBody({
  id,
  caller,
  project,
  body = {},
}: OperationRequest): Promise<Record<string, unknown>> {
  count++
  return {
    ...body,
    ...(id === 'addPasskey' && { credential: await anotherCredential(caller) }),
    // A key has at most ten budgets.
    ...(id === 'createBudget' && { subject_id: (await createApiKey(server, caller.id)).id }),
    ...(id === 'addMember' && { user_id: await newColleague(caller) }),
    ...(id === 'createFolder' && { name: `text ${count}` }),
    ...('email' in body && { email: `${count}@text.example` }),
    ...(id === 'createMeter' && { key: `text_${count}` }),
    ...(id === 'createFeature' && { key: `text_${count}` }),
    ...('text' in body && { text: `${body.text} ${count}` }),
    ...(id === 'createCheckout' && {
      order_id: await insertedOrder(server, caller.id, { projectId: project }),
    }),
    ...(id === 'createDocument' &&
      'file' in body && { file: { ...(body.file as Attachment), bytes: Buffer.from(`Text ${count}`) } }),
  }
}

/** Folders have one name for all ways to write it. */
function stored(id: OperationId, name: string, text: string): string {
  return name === 'path' || id.endsWith('Folder') ? text.normalize('NFC') : text
}

/** Operations that answer with something other than the text they received. */
const operationsWithOtherAnswers = [
  'createChat',
  'streamChat',
  'createChatCompletion',
  'createResponse',
  'createEmbeddings',
  'regenerateMessage',
  'sendToolResults',
  'searchKnowledgeBase',
  'searchKnowledgeBases',
  'uploadByLink',
]

for (const { id, ifMatch, method, form } of withBody.filter(
  ({ id }) => !operationsWithOtherAnswers.includes(id),
)) {
  // Fields that the answer does not contain have tests of their own below.
  const textFields = places(bodyOf(id, { form })).filter(
    ({ name }) =>
      name.split(/[ .]/)[0] in (replyOf(id, successStatus(id))?.properties ?? {}) &&
      // Each is unique.
      !(id === 'createCustomer' && name === 'external_id') &&
      !(id === 'createFolder' && name === 'name'),
  )
  if (textFields.length === 0) continue
  t.test(
    `${id} stores ${textFields.map(({ name }) => name).join(', ')} as sent${form ? ' in a form' : ''}`,
    async (t) => {
      const request = await requestFor(server, id, { form })
      const sent = async (change: Record<string, unknown>) => {
        const others = method === 'PUT' ? {} : await uniqueBody(request)
        return await send({ ...request, body: { ...others, ...change } })
      }
      /** Sends one text in each of these fields and asserts that it is returned and stored. */
      const assertStored = async (withTexts: Array<Place & { text: string }>) => {
        const reply = await sent(merged(withTexts.map(({ put, text }) => put(text))))
        t.ok(reply.status < 300, withTexts.map(({ name }) => name).join(', '), { text: reply.text })
        for (const { name, get, text } of withTexts)
          t.equal(get(reply.body), stored(id, name, text), `${name} is returned`)
        const again =
          method === 'PUT'
            ? await send({ ...request, id: ifMatch as OperationId, body: undefined })
            : await request.caller.client.get(
                reply.headers.get('location') ?? `/v1/storage/files/${reply.body.id}`,
              )
        t.equal(again.status, 200, pathOf(request))
        for (const { name, get, text } of withTexts)
          t.equal(get(again.body), stored(id, name, text), `${name} is read back`)
      }
      // In a form, U+FFFD stands for bytes that are not valid UTF-8.
      const isRejected = ({ pattern, text }: { pattern?: RegExp; text: string }): boolean =>
        pattern?.test(text) === false || (form && text.includes('\ufffd'))
      for (const i of textsOfNext()) {
        // A different text in each field. After all rounds of the long form, every field had every text.
        const withTexts = textFields.map((place, k) => ({ ...place, text: texts[(i + k) % texts.length] }))
        for (const { name, put, text } of withTexts.filter(isRejected))
          t.equal((await sent(put(text))).status, 400, `${name} rejects text ${texts.indexOf(text)}`)
        const accepted = withTexts.filter((place) => !isRejected(place))
        const metadata = accepted.filter(({ name }) => name.startsWith('metadata '))
        const others = accepted.filter((place) => !metadata.includes(place))
        if (metadata.length === 0) await assertStored(others)
        // The key and the value of the metadata cannot be set together here.
        for (const place of metadata) await assertStored([...others, place])
      }
      for (const { name, max, put, get } of isLongForm ? textFields : textFields.slice(0, 1)) {
        const longest = '😀'.repeat(max)
        const reply = await sent(put(longest))
        t.ok(reply.status < 300, `${name} accepts ${max} four-byte characters`)
        t.equal(get(reply.body), longest, name)
        const over = await sent(put(`${longest}x`))
        t.equal(over.status, 400, `${name} rejects more than ${max}`)
        t.equal(over.body.error.details.constraint, 'maxLength', name)
      }
    },
  )
}

for (const id of ['createChat', 'streamChat'] as const) {
  t.test(`${id} stores the question in its session as sent`, async (t) => {
    const request = await requestFor(server, id)
    const { body: session } = await request.caller.client.get(`/ai/sessions/${request.body!.session_id}`)
    const sent = textsOfNext().map((i) => texts[i])
    for (const text of [...sent.filter((text) => /\S/u.test(text)), '😀'.repeat(20_000)]) {
      const reply = await send({
        ...request,
        body: { ...request.body, message: text, metadata: { note: text.slice(0, 100) } },
      })
      t.equal(reply.status, 200, reply.text)
      const {
        body: { data },
      } = await request.caller.client.get(`/ai/sessions/${session.id}/messages?limit=2`)
      t.match(data[1], { role: 'user', content: text, metadata: { note: text.slice(0, 100) } })
    }
    const over = await send({ ...request, body: { ...request.body, message: 'x'.repeat(200_001) } })
    t.match(over, {
      status: 400,
      body: { error: { details: { field: 'message', constraint: 'maxLength' } } },
    })
  })
}

for (const id of ['createDocument', 'updateDocument'] as const) {
  t.test(`${id} stores its text as sent`, async (t) => {
    const request = await requestFor(server, id)
    for (const i of textsOfNext()) {
      const text = texts[i]
      const { status, body } = await send({ ...request, body: { ...request.body, text: `${i} ${text}` } })
      t.ok(status < 300, `text ${i}`)
      const { source } = await server.services.database.prisma.document.findUniqueOrThrow({
        where: { id: body.id },
      })
      t.equal(source, `${i} ${text}`, `text ${i} is read back`)
    }
  })
}
