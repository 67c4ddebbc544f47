// Content-Type and Accept: only the Content-Type decides how a body is parsed. JSON must be UTF-8. The types
// are compared before the handler: `npm test` asks one operation of each kind of body, `npm run faults` all.
import t from 'tap'
import { operations } from '../../generated/operations.ts'
import { fieldsType } from '../support/http/form-body.ts'
import {
  requestFor,
  encodedBody,
  pathOf,
  send,
  successStatus,
  withBody,
  withFields,
  withForm,
  withJson,
} from '../support/operations/operation-fixtures.ts'
import { recordChanges } from '../support/server/changes.ts'
import { sendRaw } from '../support/http/raw-http.ts'
import { oneOfEachKind } from '../support/operations/kinds.ts'
import { isLongForm } from '../support/long-form.ts'
import { startServer } from '../support/server/server.ts'

const server = await startServer(t)
const changes = await recordChanges(t, server)

const right = [
  'application/json',
  'APPLICATION/JSON',
  'Application/Json',
  'application/json; charset=utf-8',
  'application/json;charset=UTF-8',
  'application/json ; charset=utf-8',
  'application/json; charset="utf-8"',
  'application/json;  CHARSET=Utf-8',
  '  application/json  ',
  '\tapplication/json\t',
  'application/json; version=1',
  'application/json;',
]
const wrong = [
  'text/plain',
  'text/json',
  'application/jsonx',
  'xapplication/json',
  'application/json/x',
  'application/*',
  '*/*',
  'application',
  'json',
  'application /json',
  'application/ json',
  'application/x-www-form-urlencoded',
  'multipart/form-data',
  'multipart/form-data; boundary=x',
  'application/merge-patch+json',
  'application/json+x',
  'application/octet-stream',
  'application/json, text/plain',
  'text/plain, application/json',
  'application/json,application/json',
  'text/plain; application/json',
  ';application/json',
  'application/json charset=utf-8',
  'application/json; charset=latin1',
  'application/json; charset=utf-16',
  'application/json; charset=ISO-8859-1',
  'application/json; charset="utf-16"',
  'application/json;charset=us-ascii',
  '',
]

const wrongForFields = [
  ...right,
  ...wrong.filter((type) => type !== fieldsType),
  'application/x-www-form-urlencodedx',
  `${fieldsType}, text/plain`,
  `${fieldsType}; charset=latin1`,
  `${fieldsType};charset="utf-16"`,
]
const wrongForForms = [
  ...right,
  ...wrong.filter((type) => !type.startsWith('multipart/form-data')),
  'multipart/mixed; boundary=x',
  'multipart/form-datax; boundary=x',
  'multipart/form-data, text/plain',
  'multipart',
]

const bodyKind = ({ body, form }: (typeof withBody)[number]) => [
  body!.contentTypes,
  body!.streamed,
  body!.raw,
  form,
]

for (const { id, method, body: declared, form } of isLongForm
  ? withBody
  : oneOfEachKind(withBody, bodyKind)) {
  const fields = declared!.contentTypes.includes(fieldsType)
  t.test(
    `${id} accepts ${form ? 'a form' : fields ? 'fields' : 'JSON'} only with a matching Content-Type`,
    async (t) => {
      const request = await requestFor(server, id, { form })
      const acceptedTypes = declared!.contentTypes
        .map((type) => (type === 'application/json' ? right : 'multipart/form-data'))
        .flat()
      const { raw, type: ownType } = encodedBody(request)!
      const post = (headers: string[]) =>
        sendRaw(
          server,
          `${method} ${pathOf(request)} HTTP/1.1`,
          [`authorization: Bearer ${request.caller.key}`, ...headers],
          raw,
        )
      const before = await changes()
      for (const type of (form ? wrongForForms : fields ? wrongForFields : wrong).filter(
        (type) => !acceptedTypes.includes(type.split('; boundary')[0]),
      )) {
        const { status, body } = await post([`content-type: ${type}`])
        t.equal(status, 415, type)
        t.match(
          body?.error,
          { code: 'UNSUPPORTED_MEDIA_TYPE', details: { field: 'Content-Type', constraint: 'media_type' } },
          type,
        )
      }
      for (const lines of [
        [ownType, 'text/plain'],
        ['text/plain', ownType],
        [ownType, ownType],
      ]) {
        const { status } = await post(lines.map((type) => `content-type: ${type}`))
        t.equal(status, 415, `two Content-Type headers: ${lines}`)
      }
      const { status } = await post([])
      t.equal(status, 415, 'no Content-Type at all')
      t.same(await changes(), before, 'nothing is written to the database')
    },
  )
}

t.test('a Content-Type may vary in case, whitespace and parameters', async (t) => {
  for (const id of ['updateProfile', 'createProject'] as const) {
    for (const type of right) {
      const request = await requestFor(server, id, { caller: server.admin })
      const { status, text } = await sendRaw(
        server,
        `${operations[id].method} ${pathOf(request)} HTTP/1.1`,
        [`authorization: Bearer ${request.caller.key}`, `content-type: ${type}`],
        JSON.stringify(request.body),
      )
      t.equal(status, successStatus(id), `${id} ${type} ${text.slice(0, 100)}`)
    }
  }
})

t.test('the Content-Type of a form may vary in case and parameters', async (t) => {
  for (const { id, method } of withForm) {
    for (const type of [
      'MULTIPART/FORM-DATA; boundary=',
      'Multipart/Form-Data;boundary=',
      'multipart/form-data ; boundary=',
      'multipart/form-data; charset=utf-8; boundary=',
    ]) {
      const request = await requestFor(server, id, { form: true })
      const { raw, type: ownType } = encodedBody(request)!
      const { status, text } = await sendRaw(
        server,
        `${method} ${pathOf(request)} HTTP/1.1`,
        [
          `authorization: Bearer ${request.caller.key}`,
          `content-type: ${type}${ownType.split('boundary=')[1]}`,
        ],
        raw,
      )
      t.equal(status, successStatus(id), `${id} ${type} ${text.slice(0, 300)}`)
    }
  }
})

t.test('the Content-Type of URL-encoded fields may vary in case and parameters', async (t) => {
  for (const { id, method } of withFields) {
    for (const type of [
      fieldsType.toUpperCase(),
      `${fieldsType}; charset=UTF-8`,
      ` ${fieldsType} ;charset="utf-8"`,
    ]) {
      const request = await requestFor(server, id)
      const { status, text } = await sendRaw(
        server,
        `${method} ${pathOf(request)} HTTP/1.1`,
        [`authorization: Bearer ${request.caller.key}`, `content-type: ${type}`],
        encodedBody(request)!.raw,
      )
      t.equal(status, successStatus(id), `${id} ${type} ${text.slice(0, 300)}`)
    }
  }
})

t.test('a request without an optional body needs no Content-Type', async (t) => {
  for (const { id } of withJson.filter((info) => !info.body!.required)) {
    for (const headers of [{}, { 'content-type': 'application/json' }]) {
      const request = await requestFor(server, id)
      t.equal(
        (await send({ ...request, body: undefined }, { headers: headers as Record<string, string> })).status,
        successStatus(id),
        id,
      )
    }
  }
})

t.test('Accept is matched by media range and quality', async (t) => {
  const request = await requestFor(server, 'getProject')
  for (const accept of [
    'application/json',
    '*/*',
    'application/*',
    'text/html, application/json;q=0.1',
    'APPLICATION/JSON',
    'image/png, */*;q=0.01',
    'application/json; charset=utf-8',
  ]) {
    t.equal((await send(request, { headers: { accept } })).status, 200, accept)
  }
  for (const accept of [
    'text/html',
    'image/*',
    'application/json;q=0',
    '*/*;q=0',
    'application/xml, text/*',
    'application/json;q=0, */*',
    'application/*;q=0, */*',
  ]) {
    t.equal((await send(request, { headers: { accept } })).status, 406, accept)
  }
})
