// Strict JSON: an invalid or ambiguous body is answered with 400 and has no effect. All operations have the
// same parser: `npm test` asks one of each kind, `npm run faults` all.
import t from 'tap'
import { requestFor, send, withJson } from '../support/operations/operation-fixtures.ts'
import { recordChanges } from '../support/server/changes.ts'
import { oneOfEachKind, pipelineKind } from '../support/operations/kinds.ts'
import { isLongForm } from '../support/long-form.ts'
import { startServer } from '../support/server/server.ts'

const server = await startServer(t)
const changes = await recordChanges(t, server)
const bytes = (...parts: Array<string | number[]>): Uint8Array<ArrayBuffer> =>
  new Uint8Array(
    Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part)))),
  )
const nested = (depth: number, open = '[', close = ']') => open.repeat(depth) + close.repeat(depth)

/** Each case builds an invalid body from a valid one and from the same text without its closing brace. */
const corpus: Record<
  string,
  Array<[string, (right: string, open: string) => string | Uint8Array<ArrayBuffer>]>
> = {
  json: [
    ['a brace alone', () => '{'],
    ['whitespace alone', () => ' \n\t '],
    ['truncated at the last character', (right) => right.slice(0, -1)],
    ['truncated in the middle', (right) => right.slice(0, right.length / 2)],
    ['a byte order mark', (right) => `\ufeff${right}`],
    ['trailing text', (right) => `${right} x`],
    ['two values', (right) => `${right}${right}`],
    ['a trailing NUL', (right) => bytes(right, [0])],
    ['a raw NUL in a string', (_, open) => bytes(open, ',"x":"a', [0], 'b"}')],
    ['a raw newline in a string', (_, open) => `${open},"x":"a\nb"}`],
    ['a trailing comma', (_, open) => `${open},}`],
    ['a comment', (right) => `${right}/* */`],
    ['single quotes', (_, open) => `${open},'x':1}`],
    ['an unquoted key', (_, open) => `${open},x:1}`],
    ['NaN', (_, open) => `${open},"x":NaN}`],
    ['a leading zero', (_, open) => `${open},"x":01}`],
    ['a plus', (_, open) => `${open},"x":+1}`],
    ['an incomplete escape', (_, open) => `${open},"x":"\\u12"}`],
    ['an unknown escape', (_, open) => `${open},"x":"\\x41"}`],
    ['mismatched brackets', (_, open) => `${open},"x":[}]`],
  ],
  no_nul: [
    ['an escaped NUL in a value', (_, open) => `${open},"x":"a\\u0000b"}`],
    ['an escaped NUL in a key', (_, open) => `${open},"a\\u0000b":1}`],
    ['an escaped NUL in a nested value', (_, open) => `${open},"x":[{"y":["\\u0000"]}]}`],
  ],
  well_formed: [
    ['a lone high surrogate', (_, open) => `${open},"x":"\\ud83d"}`],
    ['a lone low surrogate', (_, open) => `${open},"x":"\\ude00"}`],
    ['a reversed surrogate pair', (_, open) => `${open},"x":"\\ude00\\ud83d"}`],
    ['a high surrogate before a letter', (_, open) => `${open},"x":"\\ud83dx"}`],
    ['a lone surrogate in a key', (_, open) => `${open},"\\ud83d":1}`],
  ],
  utf8: [
    ['an invalid byte', (_, open) => bytes(open, ',"x":"', [0xff], '"}')],
    ['Latin-1', (_, open) => bytes(open, ',"x":"', [0xe9], '"}')],
    ['an overlong NUL', (_, open) => bytes(open, ',"x":"', [0xc0, 0x80], '"}')],
    ['a surrogate in UTF-8', (_, open) => bytes(open, ',"x":"', [0xed, 0xa0, 0x80], '"}')],
    ['a code point above U+10FFFF', (_, open) => bytes(open, ',"x":"', [0xf4, 0x90, 0x80, 0x80], '"}')],
    ['an incomplete character', (_, open) => bytes(open, ',"x":"', [0xf0, 0x9f, 0x98], '"}')],
    ['UTF-16', (right) => new Uint8Array(Buffer.from(`\ufeff${right}`, 'utf16le'))],
  ],
  unique_keys: [
    ['a duplicate key', (_, open) => `${open},"x":1,"x":1}`],
    ['a duplicate key, once escaped', (_, open) => `${open},"x":1,"\\u0078":1}`],
    ['a duplicate key in a nested object', (_, open) => `${open},"x":[{"y":{"z":1,"z":2}}]}`],
    ['a duplicate empty key', (_, open) => `${open},"":1,"":1}`],
    ['all keys of the body twice', (right, open) => `${open},${right.slice(1, -1)}}`],
  ],
  forbidden_key: [
    ['__proto__', (_, open) => `${open},"__proto__":{"role":"admin"}}`],
    ['__proto__ escaped', (_, open) => `${open},"\\u005f_proto__":1}`],
    ['__proto__ in a nested object', (_, open) => `${open},"x":[{"__proto__":null}]}`],
  ],
  max_depth: [
    ['33 deep', (_, open) => `${open},"x":${nested(32)}}`],
    ['33 nested objects', (_, open) => `${open},"x":${'{"a":'.repeat(32)}1${'}'.repeat(32)}}`],
    ['20,000 deep', (_, open) => `${open},"x":${nested(20_000)}}`],
    ['20,000 deep and unclosed', (_, open) => `${open},"x":${'['.repeat(20_000)}`],
  ],
}

for (const { id } of isLongForm ? withJson : oneOfEachKind(withJson, pipelineKind)) {
  t.test(`${id} accepts strict JSON only`, async (t) => {
    const request = await requestFor(server, id)
    const right = JSON.stringify(request.body)
    const before = await changes()
    for (const [constraint, cases] of Object.entries(corpus)) {
      for (const [name, make] of cases) {
        const reply = await send(request, {
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
    const deep = await send(request, {
      raw: `${right.slice(0, -1)},"x":${nested(31)}}`,
      headers: { 'content-type': 'application/json' },
    })
    t.match(
      deep.body.error.details,
      { field: 'x', constraint: 'additionalProperties' },
      '32 levels are parsed',
    )
    t.same(await changes(), before, 'nothing is written to the database')
    t.ok(
      (await send(request, { raw: ` ${right}\n`, headers: { 'content-type': 'application/json' } })).status <
        300,
      'the valid body with surrounding whitespace is accepted',
    )
  })
}
