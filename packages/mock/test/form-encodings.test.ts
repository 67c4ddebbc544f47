// Forms as the contract tests send them and as the mock reads them: lists, objects and files by the Encoding
// Object of OpenAPI.
import t, { type Test } from 'tap'
import { curlOf } from '@platform-api/contract/findings.ts'
import { encodeBody, picture } from '@platform-api/contract/forms.ts'
import { openapi } from '@platform-api/contract/profile.ts'
import { runContract } from '@platform-api/contract/run-all.ts'
import { readForm } from '../forms.ts'
import { createMock } from '../server.ts'
import { operationsOf, type Encoding, type Json } from '@platform-api/openapi/document.ts'

const fields = 'application/x-www-form-urlencoded'
const parts = 'multipart/form-data'
const text = { type: 'string', pattern: '^[a-z]{1,8}$' }
const number = { type: 'integer', minimum: 0, maximum: 99 }
const address = {
  type: 'object',
  additionalProperties: false,
  required: ['city', 'zip'],
  properties: { city: text, zip: number },
}
const list = (items: Json): Json => ({ type: 'array', items, minItems: 2, maxItems: 3 })

interface Case {
  schema: Json
  encoding?: Encoding
  value: Json
  /** The fields as they are sent. */
  sent: string
}

const cases: Record<string, Case> = {
  'an object is JSON': { schema: address, value: { city: 'x', zip: 5 }, sent: 'v={"city":"x","zip":5}' },
  'a list is repeated': { schema: list(text), value: ['a', 'b'], sent: 'v=a&v=b' },
  'a list of objects is repeated JSON': {
    schema: list(address),
    value: [
      { city: 'x', zip: 5 },
      { city: 'y', zip: 6 },
    ],
    sent: 'v={"city":"x","zip":5}&v={"city":"y","zip":6}',
  },
  deepObject: {
    schema: { ...address, properties: { ...address.properties, geo: address } },
    encoding: { style: 'deepObject', explode: true },
    value: { city: 'x', zip: 5, geo: { city: 'y', zip: 6 } },
    sent: 'v[city]=x&v[zip]=5&v[geo][city]=y&v[geo][zip]=6',
  },
  'deepObject without explode': {
    schema: address,
    encoding: { style: 'deepObject' },
    value: { city: 'x', zip: 5 },
    sent: 'v[city]=x&v[zip]=5',
  },
  'explode: true': {
    schema: address,
    encoding: { explode: true },
    value: { city: 'x', zip: 5 },
    sent: 'city=x&zip=5',
  },
  'explode: false of an object': {
    schema: address,
    encoding: { explode: false },
    value: { city: 'x', zip: 5 },
    sent: 'v=city,x,zip,5',
  },
  'explode: false of a list': {
    schema: list(number),
    encoding: { style: 'form', explode: false },
    value: [1, 2],
    sent: 'v=1,2',
  },
  spaceDelimited: {
    schema: list(text),
    encoding: { style: 'spaceDelimited' },
    value: ['a', 'b'],
    sent: 'v=a b',
  },
  pipeDelimited: {
    schema: list(text),
    encoding: { style: 'pipeDelimited' },
    value: ['a', 'b'],
    sent: 'v=a|b',
  },
  'a text as JSON': {
    schema: text,
    encoding: { contentType: 'application/json' },
    value: 'a',
    sent: 'v="a"',
  },
  'a list of texts as JSON': {
    schema: list(text),
    encoding: { contentType: 'application/json; charset=utf-8' },
    value: ['a', 'b'],
    sent: 'v="a"&v="b"',
  },
  'a style replaces the content type': {
    schema: list(text),
    encoding: { contentType: 'application/json', style: 'form' },
    value: ['a', 'b'],
    sent: 'v=a&v=b',
  },
}

const bodyOf = ({ schema }: Case): Json => ({
  type: 'object',
  additionalProperties: false,
  required: ['v'],
  properties: { v: schema },
})

const documentOf = (type: string): Json => ({
  openapi: '3.1.0',
  info: { title: 'Forms', version: '1' },
  paths: Object.fromEntries(
    Object.entries(cases).map(([name, each], i) => [
      `/form${i}`,
      {
        post: {
          operationId: `form${i}`,
          summary: name,
          tags: ['forms'],
          requestBody: {
            required: true,
            content: { [type]: { schema: bodyOf(each), encoding: { v: each.encoding ?? {} } } },
          },
          responses: { 204: { description: 'Taken.' }, 400: { description: 'Refused.' } },
        },
      },
    ]),
  ),
})

const read = (type: string, { schema, encoding }: Case, contentType: string, bytes: Buffer): Promise<Json> =>
  readForm(
    {},
    {
      type,
      node: {},
      schema: bodyOf({ schema } as Case),
      isItem: false,
      pointer: '',
      encoding: { v: encoding ?? {} },
    },
    contentType,
    bytes,
  )

/** Texts become numbers, as the validator makes them. */
const withNumbers = (value: Json): Json => JSON.parse(JSON.stringify(value).replace(/"(\d+)"/g, '$1'))

for (const [name, each] of Object.entries(cases))
  t.test(name, async (t: Test) => {
    const encoding = { v: each.encoding ?? {} }
    const plain = encodeBody(fields, { v: each.value }, encoding)
    t.equal(decodeURIComponent(plain.bytes.toString().replaceAll('+', ' ')), each.sent)
    const form = encodeBody(parts, { v: each.value }, encoding)
    const received = await new Response(new Uint8Array(form.bytes), {
      headers: { 'content-type': form.contentType },
    }).formData()
    t.equal([...received].map(([key, value]) => `${key}=${value}`).join('&'), each.sent)
    for (const { contentType, bytes } of [plain, form]) {
      t.notMatch(bytes.toString(), /object Object|object%20Object|object\+Object/)
      t.same(withNumbers(await read(contentType.split(';')[0], each, contentType, bytes)), { v: each.value })
    }
  })

t.test('the parts of a form have their media types, and files come last', async (t: Test) => {
  const file = { filename: 'a.png', type: 'image/png', bytes: picture }
  const body = { files: [file, file], note: 'a', meta: { a: [1] }, doc: 'b' }
  const { bytes } = encodeBody(parts, body, { doc: { contentType: 'text/markdown' } })
  t.same(
    [
      ...bytes
        .toString('latin1')
        .matchAll(/name="(\w+)"(?:; filename="([^"]+)")?\r\n(?:content-type: (.*)\r\n)?/g),
    ].map(([, name, filename, type]) => [name, filename, type]),
    [
      ['note', undefined, undefined],
      ['meta', undefined, 'application/json'],
      ['doc', undefined, 'text/markdown'],
      ['files', 'a.png', 'image/png'],
      ['files', 'a.png', 'image/png'],
    ],
  )
})

t.test('the curl command of a finding sends the same', (t: Test) => {
  const [operation] = operationsOf(documentOf(parts)).filter(({ id }) => id === 'form0')
  const sent = { path: {}, query: {}, headers: {}, type: parts, body: { v: { city: 'a "b" \\', zip: 5 } } }
  const command = curlOf({ operation, method: 'POST', url: 'http://a', parts: sent, key: null })
  t.match(command, `-F 'v="{\\"city\\":\\"a \\\\\\"b\\\\\\" \\\\\\\\\\",\\"zip\\":5}";type=application/json'`)
  t.end()
})

for (const type of [fields, parts])
  t.test(`the contract tests find nothing on the mock of ${type}`, async (t: Test) => {
    const mock = await createMock({ document: documentOf(type) })
    t.teardown(() => mock.close())
    const { findings, unfinished, notes } = await runContract({
      profile: openapi,
      document: openapi.prepare(documentOf(type)),
      base: await mock.listen({ host: '127.0.0.1', port: 0 }),
      key: null,
      secondKey: null,
      seed: 2,
      runs: 5,
      readOnly: false,
      selected: () => true,
      time: 60_000,
      onProgress: () => {},
    })
    t.same(findings.all, [])
    t.same(unfinished, [])
    t.same(notes, [], 'every operation succeeds')
  })

t.test('hostile names of fields are refused, and change nothing else', async (t: Test) => {
  const mock = await createMock({ document: documentOf(fields) })
  t.teardown(() => mock.close())
  for (const payload of [
    '__proto__[polluted]=1',
    'constructor[prototype][polluted]=1',
    'v[0]=a&v[__proto__][polluted]=1',
    'v[4294967294]=a',
    `v${'[a]'.repeat(100_000)}=a`,
    'v[0]=a&v[b]=c',
  ]) {
    const headers = { 'content-type': fields }
    const answer = await mock.inject({ method: 'POST', url: '/form0', headers, payload })
    t.equal(answer.statusCode, 400, payload.slice(0, 50))
    t.notOk('polluted' in {} || 'polluted' in [], payload.slice(0, 50))
  }
})
