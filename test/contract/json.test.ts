// Bodies that are not strictly JSON, or that another reader would understand differently, are 400 and leave nothing.
import t from 'tap'
import { askFor, send, withJson } from '../support/operation-fixtures.ts'
import { createDump } from '../support/db-fixtures.ts'
import { startServer } from '../support/server.ts'

const server = await startServer(t)
const dump = await createDump(t, server)
const bytes = (...parts: Array<string | number[]>): Uint8Array<ArrayBuffer> =>
  new Uint8Array(
    Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part)))),
  )
const nested = (depth: number, open = '[', close = ']') => open.repeat(depth) + close.repeat(depth)

/** Each takes the text of a right body and the same without its closing brace; the text is wrong in this one way. */
const corpus: Record<
  string,
  Array<[string, (right: string, open: string) => string | Uint8Array<ArrayBuffer>]>
> = {
  json: [
    ['nothing but a brace', () => '{'],
    ['blanks alone', () => ' \n\t '],
    ['cut short', (right) => right.slice(0, -1)],
    ['cut in half', (right) => right.slice(0, right.length / 2)],
    ['a byte order mark', (right) => `\ufeff${right}`],
    ['something behind it', (right) => `${right} x`],
    ['two of them', (right) => `${right}${right}`],
    ['a NUL behind it', (right) => bytes(right, [0])],
    ['a raw NUL in a string', (_, open) => bytes(open, ',"x":"a', [0], 'b"}')],
    ['a raw newline in a string', (_, open) => `${open},"x":"a\nb"}`],
    ['a comma too many', (_, open) => `${open},}`],
    ['a comment', (right) => `${right}/* */`],
    ['single quotes', (_, open) => `${open},'x':1}`],
    ['a bare key', (_, open) => `${open},x:1}`],
    ['NaN', (_, open) => `${open},"x":NaN}`],
    ['a leading zero', (_, open) => `${open},"x":01}`],
    ['a plus', (_, open) => `${open},"x":+1}`],
    ['half an escape', (_, open) => `${open},"x":"\\u12"}`],
    ['an unknown escape', (_, open) => `${open},"x":"\\x41"}`],
    ['brackets that cross', (_, open) => `${open},"x":[}]`],
  ],
  no_nul: [
    ['an escaped NUL in a value', (_, open) => `${open},"x":"a\\u0000b"}`],
    ['an escaped NUL in a key', (_, open) => `${open},"a\\u0000b":1}`],
    ['an escaped NUL deep down', (_, open) => `${open},"x":[{"y":["\\u0000"]}]}`],
  ],
  well_formed: [
    ['a high surrogate alone', (_, open) => `${open},"x":"\\ud83d"}`],
    ['a low surrogate alone', (_, open) => `${open},"x":"\\ude00"}`],
    ['a pair the wrong way round', (_, open) => `${open},"x":"\\ude00\\ud83d"}`],
    ['half a pair before a letter', (_, open) => `${open},"x":"\\ud83dx"}`],
    ['half a pair in a key', (_, open) => `${open},"\\ud83d":1}`],
  ],
  utf8: [
    ['a byte that is none', (_, open) => bytes(open, ',"x":"', [0xff], '"}')],
    ['Latin-1', (_, open) => bytes(open, ',"x":"', [0xe9], '"}')],
    ['an overlong NUL', (_, open) => bytes(open, ',"x":"', [0xc0, 0x80], '"}')],
    ['a surrogate in UTF-8', (_, open) => bytes(open, ',"x":"', [0xed, 0xa0, 0x80], '"}')],
    ['above the last character', (_, open) => bytes(open, ',"x":"', [0xf4, 0x90, 0x80, 0x80], '"}')],
    ['half a character', (_, open) => bytes(open, ',"x":"', [0xf0, 0x9f, 0x98], '"}')],
    ['UTF-16', (right) => new Uint8Array(Buffer.from(`\ufeff${right}`, 'utf16le'))],
  ],
  unique_keys: [
    ['a key twice', (_, open) => `${open},"x":1,"x":1}`],
    ['a key twice, once escaped', (_, open) => `${open},"x":1,"\\u0078":1}`],
    ['a key twice, deep down', (_, open) => `${open},"x":[{"y":{"z":1,"z":2}}]}`],
    ['the empty key twice', (_, open) => `${open},"":1,"":1}`],
    ['its own first key twice', (right, open) => `${open},${right.slice(1, -1)}}`],
  ],
  forbidden_key: [
    ['__proto__', (_, open) => `${open},"__proto__":{"role":"admin"}}`],
    ['__proto__ escaped', (_, open) => `${open},"\\u005f_proto__":1}`],
    ['__proto__ deep down', (_, open) => `${open},"x":[{"__proto__":null}]}`],
  ],
  max_depth: [
    ['33 deep', (_, open) => `${open},"x":${nested(32)}}`],
    ['33 deep in objects', (_, open) => `${open},"x":${'{"a":'.repeat(32)}1${'}'.repeat(32)}}`],
    ['100,000 deep', (_, open) => `${open},"x":${nested(100_000)}}`],
    ['100,000 deep and never closed', (_, open) => `${open},"x":${'['.repeat(100_000)}`],
  ],
}

for (const { id } of withJson) {
  t.test(`${id} takes strict JSON only`, async (t) => {
    const ask = await askFor(server, id)
    const right = JSON.stringify(ask.body)
    const before = await dump()
    for (const [constraint, cases] of Object.entries(corpus)) {
      for (const [name, make] of cases) {
        const reply = await send(ask, {
          raw: make(right, right.slice(0, -1)),
          headers: { 'content-type': 'application/json' },
        })
        t.equal(reply.status, 400, name)
        t.match(
          reply.body?.error,
          {
            code: 'INVALID_REQUEST',
            details: { field: 'body', constraint, errors: [{ field: 'body', constraint, location: 'body' }] },
          },
          name,
        )
      }
    }
    const deep = await send(ask, {
      raw: `${right.slice(0, -1)},"x":${nested(31)}}`,
      headers: { 'content-type': 'application/json' },
    })
    t.match(deep.body.error.details, { field: 'x', constraint: 'additionalProperties' }, '32 deep is read')
    t.same(await dump(), before, 'nothing is written')
    t.ok(
      (await send(ask, { raw: ` ${right}\n`, headers: { 'content-type': 'application/json' } })).status < 300,
      'and without the faults it is taken',
    )
  })
}
