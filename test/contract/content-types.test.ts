// A body counts as JSON, or as a form, by its Content-Type alone, however it is written, and JSON only in UTF-8.
import t from 'tap'
import { operations } from '../../generated/operations.ts'
import { fieldsType } from '../support/contract-form.ts'
import {
  askFor,
  contentOf,
  pathOf,
  send,
  successOf,
  withBody,
  withFields,
  withForm,
  withJson,
} from '../support/operation-fixtures.ts'
import { createDump } from '../support/db-fixtures.ts'
import { sendLines } from '../support/contract-wire.ts'
import { startServer } from '../support/server.ts'

const server = await startServer(t)
const dump = await createDump(t, server)

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

for (const { id, method, body: declared, form } of withBody) {
  const fields = declared!.contentTypes.includes(fieldsType)
  t.test(`${id} takes ${form ? 'a form' : fields ? 'fields' : 'JSON'} only when it says so`, async (t) => {
    const ask = await askFor(server, id, { form })
    const taken = declared!.contentTypes
      .map((type) => (type === 'application/json' ? right : 'multipart/form-data'))
      .flat()
    const { raw, type: ownType } = contentOf(ask)!
    const post = (headers: string[]) =>
      sendLines(
        server,
        `${method} ${pathOf(ask)} HTTP/1.1`,
        [`authorization: Bearer ${ask.caller.key}`, ...headers],
        raw,
      )
    const before = await dump()
    for (const type of (form ? wrongForForms : fields ? wrongForFields : wrong).filter(
      (type) => !taken.includes(type.split('; boundary')[0]),
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
      t.equal(status, 415, `two lines: ${lines}`)
    }
    const { status } = await post([])
    t.equal(status, 415, 'no Content-Type at all')
    t.same(await dump(), before, 'nothing is written')
  })
}

t.test('case, blanks, tabs and parameters of the right type change nothing', async (t) => {
  for (const id of ['updateProfile', 'createProject'] as const) {
    for (const type of right) {
      const ask = await askFor(server, id, { caller: server.admin })
      const { status, text } = await sendLines(
        server,
        `${operations[id].method} ${pathOf(ask)} HTTP/1.1`,
        [`authorization: Bearer ${ask.caller.key}`, `content-type: ${type}`],
        JSON.stringify(ask.body),
      )
      t.equal(status, successOf(id), `${id} ${type} ${text.slice(0, 100)}`)
    }
  }
})

t.test('a form is one whatever the case of its type', async (t) => {
  for (const { id, method } of withForm) {
    for (const type of [
      'MULTIPART/FORM-DATA; boundary=',
      'Multipart/Form-Data;boundary=',
      'multipart/form-data ; boundary=',
      'multipart/form-data; charset=utf-8; boundary=',
    ]) {
      const ask = await askFor(server, id, { form: true })
      const { raw, type: ownType } = contentOf(ask)!
      const { status, text } = await sendLines(
        server,
        `${method} ${pathOf(ask)} HTTP/1.1`,
        [`authorization: Bearer ${ask.caller.key}`, `content-type: ${type}${ownType.split('boundary=')[1]}`],
        raw,
      )
      t.equal(status, successOf(id), `${id} ${type} ${text.slice(0, 300)}`)
    }
  }
})

t.test('fields are fields whatever the case of their type', async (t) => {
  for (const { id, method } of withFields) {
    for (const type of [
      fieldsType.toUpperCase(),
      `${fieldsType}; charset=UTF-8`,
      ` ${fieldsType} ;charset="utf-8"`,
    ]) {
      const ask = await askFor(server, id)
      const { status, text } = await sendLines(
        server,
        `${method} ${pathOf(ask)} HTTP/1.1`,
        [`content-type: ${type}`],
        contentOf(ask)!.raw,
      )
      t.equal(status, successOf(id), `${id} ${type} ${text.slice(0, 300)}`)
    }
  }
})

t.test('where a body may be left out, a request with none needs no type', async (t) => {
  for (const { id } of withJson.filter((info) => !info.body!.required)) {
    for (const headers of [{}, { 'content-type': 'application/json' }]) {
      const ask = await askFor(server, id)
      t.equal(
        (await send({ ...ask, body: undefined }, { headers: headers as Record<string, string> })).status,
        successOf(id),
        id,
      )
    }
  }
})

t.test('Accept is honoured by its ranges and qualities', async (t) => {
  const ask = await askFor(server, 'getProject')
  for (const accept of [
    'application/json',
    '*/*',
    'application/*',
    'text/html, application/json;q=0.1',
    'APPLICATION/JSON',
    'image/png, */*;q=0.01',
    'application/json; charset=utf-8',
  ]) {
    t.equal((await send(ask, { headers: { accept } })).status, 200, accept)
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
    t.equal((await send(ask, { headers: { accept } })).status, 406, accept)
  }
})
