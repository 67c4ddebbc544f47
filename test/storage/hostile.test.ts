// Hostile uploads: file names, content types and malformed multipart bodies. The server stores them unchanged
// or rejects them with a 4xx error, never lets a browser execute them, and keeps nothing of a rejected
// upload.
import { randomBytes } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { parse } from 'content-disposition'
import t, { type Test } from 'tap'
import { countOpenFiles } from '../support/server/open-files.ts'
import { startServer } from '../support/server/server.ts'
import {
  download,
  fileCount,
  multipart,
  newBoundary,
  assertNothingLeft,
  openConnection,
  upload,
  uploadFile,
  uploadHead,
  type FormPart,
  type RawReply,
} from '../support/storage/storage.ts'
import { waitUntil } from '../support/server/wait.ts'

const longest = 'x'.repeat(251)

const goodNames = [
  'a.txt',
  '.hidden',
  '...',
  'a..b',
  '..a',
  'CON',
  'NUL.txt',
  'aux.h',
  'LPT1',
  'trailing.',
  'trailing ',
  ' leading',
  '-rf',
  '~',
  '$(id)',
  '`id`',
  "a'b",
  'a;b=c',
  'a, b',
  'a"b".txt',
  '"',
  "'; DROP TABLE files; --",
  'a%22b',
  '%2e%2e%2fpasswd',
  '%00',
  '100%',
  'a%0d%0aSet-Cookie: x=1',
  'a*b?.txt',
  'C:evil',
  'a|b<c>.txt',
  '<script>alert(1)<script>',
  'é.txt',
  'e\u0301.txt',
  '日本語.pdf',
  'عربي.txt',
  '🎉👩‍👩‍👧.png',
  '\u{1d54f}.txt',
  '\u00a0x',
  'ﬁle',
  '__proto__',
  'constructor',
  'null',
  'undefined',
  `${longest}.txt`,
  '😀'.repeat(255),
]
const badNames = [
  '',
  ' ',
  '.',
  '..',
  '../x',
  '../../etc/passwd',
  'a/b',
  '/etc/passwd',
  'a/',
  '..\\x',
  'C:\\x.txt',
  '\\\\host\\share',
  'a\0b',
  'a\x01b',
  'a\tb',
  'a\x1bb',
  'a\x7fb',
  'a\u0085b',
  'a\u009bb',
  'exe\u202etxt.bat',
  'a\u2066b',
  'a\u2069b',
  'a\u200eb',
  'a\u200fb',
  'a\u061cb',
  'a\u2028b',
  'a\u2029b',
  `${longest}.text`,
  '😀'.repeat(256),
  'x'.repeat(60_000),
  'a\rb',
  'a\nb',
  'a\r\nX-Evil: 1',
]

/** Escapes a name for a quoted parameter (RFC 7578). */
const quoted = (name: string): string => name.replace(/["\\]/g, '\\$&')

/** A name as printable ASCII for test output. */
const printable = (name: string): string =>
  JSON.stringify(name.slice(0, 40)).replace(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

t.test('a file name is stored and returned exactly, or rejected', async (t) => {
  const server = await startServer(t)
  const { client, key } = await server.person()

  for (const name of goodNames) {
    const what = printable(name)
    for (const [way, content] of Object.entries({
      filename: { name: quoted(name) },
      field: { name: 'other', fields: { name } },
    })) {
      const reply = await upload(client, content)
      t.equal(reply.status, 201, `${what} as a ${way}`)
      t.equal(reply.body.name, name, `${what} as a ${way}`)
      t.equal((await client.get(`/storage/files/${reply.body.id}`)).body.name, name)
      const connection = await openConnection(t, server.url)
      await connection.write(
        getRequest(`/v1/storage/files/${reply.body.id}/download?disposition=inline`, key),
      )
      assertFilename(t, await connection.reply(), name, what)
    }
    const { id } = await uploadFile(client)
    const connection = await openConnection(t, server.url)
    await connection.write(
      getRequest(`/v1/storage/files/${id}/download?filename=${encodeURIComponent(name)}`, key),
    )
    assertFilename(t, await connection.reply(), name, `${what} as a parameter`)
    t.equal((await client.put(`/storage/files/${id}`, { name })).body.name, name)
  }

  const { id } = await uploadFile(client)
  const before = await fileCount(server)
  for (const name of badNames) {
    const what = printable(name)
    // CRLF ends the header line, so it cannot be part of the name.
    if (!name.includes('\r\n')) {
      const reply = await upload(client, { name: quoted(name) })
      t.equal(reply.status, 400, `${what} as a filename`)
      t.match(reply.body.error.details, { field: /^(name|file)$/, errors: [{ location: 'body' }] }, what)
      t.ok(reply.text.length < 2000, 'the error does not repeat a long name')
    }
    t.equal((await upload(client, { fields: { name } })).status, 400, `${what} as a field`)
    t.equal((await client.put(`/storage/files/${id}`, { name })).status, 400, `${what} as a new name`)
    if (name.length < 2000)
      t.equal(
        (
          await download(server.url, `/storage/files/${id}/download?filename=${encodeURIComponent(name)}`, {
            key,
          })
        ).status,
        400,
        `${what} as a parameter`,
      )
  }
  for (const [what, bytes] of Object.entries({
    latin1: [0xe9],
    overlong: [0xc0, 0xaf],
    surrogate: [0xed, 0xa0, 0x80],
    cut: [0xf0, 0x9f, 0x98],
  })) {
    const boundary = newBoundary()
    const head = `Content-Disposition: form-data; name="file"; filename="a\u0001b"`
    const body = Buffer.concat([multipart([{ head, body: 'x' }], boundary)])
    const at = body.indexOf(1)
    const raw = Buffer.concat([body.subarray(0, at), Buffer.from(bytes), body.subarray(at + 1)])
    const reply = await client.call('POST', '/storage/upload', {
      raw,
      headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
    })
    t.equal(reply.status, 400, `invalid UTF-8: ${what}`)
  }
  t.equal(await fileCount(server), before)
  await assertNothingLeft(t, server)
})

function getRequest(path: string, key: string): string {
  return `GET ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\nconnection: close\r\n\r\n`
}

/** Asserts one Content-Disposition in ASCII with this name, and no injected header. */
function assertFilename(t: Test, { status, head }: RawReply, name: string, what: string): void {
  t.equal(status, 200, what)
  const lines = head.split('\r\n').filter((line) => /^content-disposition:/i.test(line))
  t.equal(lines.length, 1, what)
  t.match(lines[0], /^[\x20-\x7e]+$/, what)
  t.notMatch(head, /[\r\n](x-evil|set-cookie)/i, what)
  t.equal(parse(lines[0].replace(/^[^:]+:\s*/, '')).parameters.filename, name, `${what}: ${lines[0]}`)
}

t.test('other encodings of the filename parameter', async (t) => {
  const server = await startServer(t)
  const { client } = await server.person()
  const send = async (disposition: string) => {
    const boundary = newBoundary()
    const raw = multipart([{ head: `Content-Disposition: ${disposition}`, body: 'x' }], boundary)
    return await client.call('POST', '/storage/upload', {
      raw,
      headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
    })
  }
  t.match(
    (await send('form-data; filename="a.txt"; name="file"')).body,
    { name: 'a.txt' },
    'the parameters in another order',
  )
  t.match((await send('form-data; name=file; filename=a.txt')).body, { name: 'a.txt' }, 'without quotes')
  t.match(
    (await send('Form-Data; Name="file"; FileName="a.txt"')).body,
    { name: 'a.txt' },
    'the parameters in another case',
  )
  t.match(
    (await send("form-data; name=file; filename*=UTF-8''na%C3%AFve%20%E2%82%AC.txt")).body,
    { name: 'naïve €.txt' },
    'extended',
  )
  t.equal((await send("form-data; name=file; filename*=UTF-8''..%2Fx")).status, 400)
  t.equal((await send("form-data; name=file; filename*=UTF-8''a%0D%0Ab")).status, 400)
  t.equal((await send("form-data; name=file; filename*=UTF-8''a%FFb")).status, 400)
  t.equal((await send('form-data; name="file"')).status, 400, 'none')
  t.equal((await send('form-data; name="file"; filename=""')).status, 400, 'empty')
  await assertNothingLeft(t, server)
})

const utf16 = (text: string): Buffer => Buffer.from(`\ufeff${text}`, 'utf16le')
/** An uncompressed entry of a zip archive. */
const zipEntry = (name: string, content = ''): Buffer => {
  const header = Buffer.alloc(30)
  header.write('PK\x03\x04', 'latin1')
  header.writeUInt32LE(content.length, 18)
  header.writeUInt32LE(content.length, 22)
  header.writeUInt16LE(name.length, 26)
  return Buffer.concat([header, Buffer.from(name), Buffer.from(content)])
}
const wordType = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'
const png = Buffer.concat([
  Buffer.from('89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489', 'hex'),
  Buffer.from('0000000a49444154789c6360000000020001e221bc330000000049454e44ae426082', 'hex'),
])
const jpeg = Buffer.from('ffd8ffe000104a46494600010100000100010000ffd9', 'hex')

interface Sample {
  bytes: Buffer | string
  type: string
  inline: boolean
  name?: string
  declared?: string
}

const samples: Record<string, Sample> = {
  png: { bytes: png, type: 'image/png', inline: true },
  jpeg: { bytes: jpeg, type: 'image/jpeg', inline: true, name: 'x.html', declared: 'text/html' },
  gif: { bytes: 'GIF89a\x01\x00\x01\x00\x00\x00\x00;', type: 'image/gif', inline: true },
  webp: {
    bytes: Buffer.concat([Buffer.from('RIFF\x1a\0\0\0WEBPVP8L', 'latin1'), Buffer.alloc(14)]),
    type: 'image/webp',
    inline: true,
  },
  pdf: { bytes: '%PDF-1.4\n%\xe2\xe3', type: 'application/pdf', inline: true },
  zip: {
    bytes: Buffer.concat([zipEntry('a.txt'), Buffer.from('PK\x05\x06'), Buffer.alloc(18)]),
    type: 'application/zip',
    inline: false,
  },
  docx: {
    bytes: Buffer.concat([
      zipEntry(
        '[Content_Types].xml',
        `<Types><Override PartName="/word/document.xml" ContentType="${wordType}.main+xml"/></Types>`,
      ),
      zipEntry('word/document.xml'),
      Buffer.from('PK\x05\x06'),
      Buffer.alloc(18),
    ]),
    type: wordType,
    inline: false,
  },
  mp4: {
    bytes: Buffer.concat([Buffer.from('00000018', 'hex'), Buffer.from('ftypisom\0\0\x02\0isomiso2')]),
    type: 'video/mp4',
    inline: true,
  },
  mp3: {
    bytes: Buffer.concat([
      Buffer.from('ID3\x03\0\0\0\0\0\0', 'latin1'),
      Buffer.from('fffb9064', 'hex'),
      Buffer.alloc(413),
    ]),
    type: 'audio/mpeg',
    inline: true,
  },
  wav: { bytes: Buffer.from('RIFF\x24\0\0\0WAVEfmt ', 'latin1'), type: 'audio/wav', inline: true },
  gzip: { bytes: gzipSync('x'), type: 'application/gzip', inline: false },
  exe: { bytes: 'MZ\x90\0', type: 'application/x-msdownload', inline: false },
  HTML: { bytes: '<!DOCTYPE html><script>alert(1)</script>', type: 'text/html', inline: false },
  'HTML declared as an image': {
    bytes: '<html><script>alert(1)</script>',
    type: 'text/html',
    inline: false,
    name: 'x.png',
    declared: 'image/png',
  },
  'HTML declared as text': {
    bytes: '\ufeff \n<!-- x --><ScRiPt>alert(1)</script>',
    type: 'text/html',
    inline: false,
    name: 'x.txt',
    declared: 'text/plain',
  },
  'HTML after a long comment': {
    bytes: `<!--${'x'.repeat(6000)}--><script>alert(1)</script>`,
    type: 'text/plain',
    inline: true,
    name: 'x.txt',
  },
  XHTML: {
    bytes: '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><script>alert(1)</script></html>',
    type: 'text/html',
    inline: false,
  },
  SVG: {
    bytes: '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>',
    type: 'image/svg+xml',
    inline: false,
    name: 'x.svg',
    declared: 'image/svg+xml',
  },
  'SVG declared as an image': {
    bytes: '<?xml version="1.0"?><!DOCTYPE svg><svg onload="alert(1)"/>',
    type: 'image/svg+xml',
    inline: false,
    name: 'x.png',
    declared: 'image/png',
  },
  'XML with a stylesheet': {
    bytes: '<?xml version="1.0"?><?xml-stylesheet type="text/xsl" href="#x"?><x/>',
    type: 'application/xml',
    inline: false,
  },
  JavaScript: { bytes: 'alert(1)', type: 'text/javascript', inline: false, name: 'x.js' },
  'declared JavaScript': {
    bytes: 'alert(1)',
    type: 'text/javascript',
    inline: false,
    name: 'x',
    declared: 'text/javascript',
  },
  'text declared as HTML': {
    bytes: 'hello <script>alert(1)</script>',
    type: 'text/html',
    inline: false,
    name: 'x',
    declared: 'text/html',
  },
  JSON: { bytes: '{"a": 1}', type: 'application/json', inline: false, name: 'x.json' },
  CSV: { bytes: 'a,b\n1,2\n', type: 'text/csv', inline: false, name: 'x.CSV' },
  Markdown: { bytes: '# x', type: 'text/markdown', inline: false, name: 'x.md' },
  text: { bytes: 'hello, wörld 🎉', type: 'text/plain', inline: true, name: 'x' },
  'text declared as an image': {
    bytes: 'hello',
    type: 'text/plain',
    inline: true,
    name: 'x.png',
    declared: 'image/png',
  },
  'text whose sample ends within a character': {
    bytes: 'é'.repeat(20_000).slice(1),
    type: 'text/plain',
    inline: true,
  },
  nothing: { bytes: '', type: 'text/plain', inline: true, name: 'x.png', declared: 'image/png' },
  'UTF-16': {
    bytes: utf16('hello'),
    type: 'application/octet-stream',
    inline: false,
    name: 'x.txt',
    declared: 'text/plain',
  },
  'HTML in UTF-16': {
    bytes: utf16('<script>alert(1)</script>'),
    type: 'application/octet-stream',
    inline: false,
    name: 'x.html',
    declared: 'text/html',
  },
  bytes: {
    bytes: Buffer.from([0, 1, 2, 0xff]),
    type: 'application/octet-stream',
    inline: false,
    name: 'x.html',
    declared: 'text/html',
  },
  'a GIF that is JavaScript': {
    bytes: 'GIF89a/*\x00\x00*/=1;alert(1)',
    type: 'image/gif',
    inline: true,
    name: 'x.js',
    declared: 'text/javascript',
  },
  'a PDF that is HTML': {
    bytes: '%PDF-1.4\n<html><script>alert(1)</script>',
    type: 'application/pdf',
    inline: true,
    name: 'x.html',
    declared: 'text/html',
  },
  'HTML that is a PDF': {
    bytes: '<html><!--\n%PDF-1.4\n--><script>alert(1)</script>',
    type: 'text/html',
    inline: false,
    name: 'x.pdf',
    declared: 'application/pdf',
  },
  'an invalid declared type': {
    bytes: 'x',
    type: 'text/plain',
    inline: true,
    declared: 'text/html\u0000; x',
  },
}

t.test('the type is detected from the bytes, and executable types are never inline', async (t) => {
  const server = await startServer(t)
  const { client, key } = await server.person()
  for (const [
    what,
    { bytes, type, inline, name = 'x', declared = 'application/octet-stream' },
  ] of Object.entries(samples)) {
    const file = await uploadFile(client, { bytes, name, type: declared, fields: { visibility: 'public' } })
    t.equal(file.content_type, type, what)
    for (const query of ['', '?disposition=attachment', '?disposition=inline']) {
      const { headers } = await download(server.url, `/storage/files/${file.id}/download${query}`, { key })
      t.equal(headers.get('content-type'), type.startsWith('text/') ? `${type}; charset=utf-8` : type, what)
      t.match(
        headers.get('content-disposition'),
        query === '?disposition=inline' && inline ? /^inline;/ : /^attachment;/,
        `${what}${query}`,
      )
      t.equal(headers.get('x-content-type-options'), 'nosniff')
      t.equal(
        headers.get('content-security-policy'),
        /^(audio|video)\//.test(type)
          ? "default-src 'none'; media-src 'self'"
          : "default-src 'none'; sandbox",
      )
    }
  }
})

t.test('malformed forms and requests are rejected', async (t) => {
  const server = await startServer(t)
  const { client, key } = await server.person()
  await uploadFile(client)
  const sockets = countOpenFiles('socket:')
  const b = 'boundary'
  const file: FormPart = {
    head: 'Content-Disposition: form-data; name="file"; filename="a.txt"',
    body: 'content',
  }
  const field = (name: string, value: string | Buffer = 'x', more: string[] = []): FormPart => ({
    head: [`Content-Disposition: form-data; name="${name}"`, ...more],
    body: value,
  })
  const form = (...parts: FormPart[]): Buffer => multipart(parts, b)
  const whole = form(file)
  const crlf = (text: string): string => text.replaceAll('\n', '\r\n')
  const nested = multipart([{ head: 'Content-Disposition: file; filename="x"', body: 'x' }], 'inner')

  /** The body and its media type, with the accepted statuses. */
  const forms: Array<
    [what: string, statuses: number[], body: Buffer | string, type?: string, more?: string[]]
  > = [
    ['no boundary', [400], whole, 'multipart/form-data'],
    ['an empty boundary', [400], whole, 'multipart/form-data; boundary='],
    ['another boundary', [400], whole, 'multipart/form-data; boundary=other'],
    ['a longer boundary', [400], whole, 'multipart/form-data; boundary=bound'],
    ['a boundary in quotes', [201], whole, 'multipart/form-data; boundary="boundary"'],
    ['a type in mixed case', [201], whole, 'Multipart/Form-Data; Boundary=boundary'],
    ['two boundaries', [201, 400], whole, 'multipart/form-data; boundary=boundary; boundary=other'],
    ['a boundary of 10,000 characters', [400], whole, `multipart/form-data; boundary=${'x'.repeat(10_000)}`],
    ['another type', [415], whole, 'multipart/mixed; boundary=boundary'],
    ['no type', [415], whole, ''],
    ['JSON', [415], '{"file": "x"}', 'application/json'],
    ['URL-encoded', [415], 'file=x', 'application/x-www-form-urlencoded'],
    [
      'a JSON field nested 30,000 levels deep',
      [400],
      form(
        field('metadata', '['.repeat(30_000) + ']'.repeat(30_000), ['Content-Type: application/json']),
        file,
      ),
    ],
    ['an empty body', [400], ''],
    ['only a preamble', [400], 'this is not a form'],
    ['garbage', [400], randomBytes(50_000)],
    ['only the closing boundary', [400], `--${b}--\r\n`],
    [
      'a preamble and an epilogue',
      [201],
      Buffer.concat([Buffer.from('preamble\r\n'), whole, Buffer.from('epilogue\r\n')]),
    ],
    ['an epilogue that looks like a part', [201], Buffer.concat([whole, whole])],
    ['no closing boundary', [400], multipart([file], b, '')],
    ['half a closing boundary', [400], multipart([file], b, `--${b}-`)],
    ['a closing boundary of another form', [400], multipart([file], b, '--other--\r\n')],
    ['line feeds only', [400], whole.toString().replaceAll('\r\n', '\n')],
    ['carriage returns only', [400], whole.toString().replaceAll('\r\n', '\r')],
    ['no Content-Disposition', [400], form({ head: 'Content-Type: text/plain', body: 'x' })],
    ['an empty Content-Disposition', [400], form({ head: 'Content-Disposition: ', body: 'x' })],
    [
      'another disposition',
      [400],
      form({ head: 'Content-Disposition: attachment; name="file"; filename="a"', body: 'x' }),
    ],
    ['no name', [400], form({ head: 'Content-Disposition: form-data; filename="a.txt"', body: 'x' })],
    ['a field without a name', [400], form({ head: 'Content-Disposition: form-data', body: 'x' }, file)],
    ['an empty name', [400], form(field(''), file)],
    ['a field name of 1 MB', [400], form(field('x'.repeat(1_000_000)), file)],
    ['a field name of 101 characters', [400], form(field('x'.repeat(101)), file)],
    [
      'a filename of 1 MB',
      [400],
      form({
        head: `Content-Disposition: form-data; name="file"; filename="${'x'.repeat(1_000_000)}"`,
        body: 'x',
      }),
    ],
    ['no header', [400], crlf(`--${b}\n\nx\n--${b}--\n`)],
    [
      'a header without a colon',
      [400],
      form({ head: ['nonsense', 'Content-Disposition: form-data; name="file"; filename="a"'], body: 'x' }),
    ],
    [
      'a header without an end',
      [400],
      crlf(`--${b}\nContent-Disposition: form-data; name="file"; filename="a"\n--${b}--\n`),
    ],
    [
      'a header of 1 MB',
      [400, 201],
      form({
        head: [
          `X-Junk: ${'x'.repeat(1_000_000)}`,
          'Content-Disposition: form-data; name="file"; filename="a"',
        ],
        body: 'x',
      }),
    ],
    [
      '10,000 headers',
      [400, 201],
      form({
        head: [
          ...Array.from({ length: 10_000 }, (_, i) => `X-${i}: 1`),
          'Content-Disposition: form-data; name="file"; filename="a"',
        ],
        body: 'x',
      }),
    ],
    [
      'two Content-Disposition headers',
      [400, 201],
      form({
        head: [
          'Content-Disposition: form-data; name="file"; filename="a"',
          'Content-Disposition: form-data; name="other"; filename="b"',
        ],
        body: 'x',
      }),
    ],
    ['1,200 files', [400], form(...Array.from({ length: 1200 }, () => file))],
    ['1,200 fields', [400], form(...Array.from({ length: 1200 }, (_, i) => field(`f${i}`)), file)],
    ['1,200 tags', [400], form(...Array.from({ length: 1200 }, (_, i) => field('tags', `t${i}`)), file)],
    ['60 nameless parts', [400, 201], form(...Array.from({ length: 59 }, () => ({ head: 'X: y' })), file)],
    ['two files', [400], form(file, file)],
    ['a field after the file', [201], form(file, field('path'))],
    ['an unknown field after the file', [400], form(file, field('nothing'))],
    ['a field __proto__ after the file', [400], form(file, field('__proto__'))],
    ['a field after two files', [400], form(file, file, field('path'))],
    [
      'a file in another field',
      [400],
      form({ head: 'Content-Disposition: form-data; name="upload"; filename="a"', body: 'x' }),
    ],
    [
      'a file in a text field',
      [400],
      form({ head: 'Content-Disposition: form-data; name="path"; filename="a"', body: 'x' }, file),
    ],
    ['the file as a text field', [400], form(field('file'))],
    ['a field twice', [400], form(field('path'), field('path'), file)],
    ['an unknown field', [400], form(field('owner_id'), file)],
    ['a field of 100 kB', [400], form(field('path', 'x'.repeat(100_000)), file)],
    ['a field of 10 MB', [400], form(field('path', Buffer.alloc(10_000_000, 'x')), file)],
    ['a field that is not UTF-8', [400], form(field('path', Buffer.from([0xff, 0xfe])), file)],
    ['a field with NUL', [400], form(field('path', 'a\0b'), file)],
    [
      'a field in another charset',
      [400, 201],
      form(field('path', Buffer.from([0xe9]), ['Content-Type: text/plain; charset=iso-8859-1']), file),
    ],
    [
      'a field in an unknown charset',
      [400, 201],
      form(field('path', 'x', ['Content-Type: text/plain; charset=nonsense']), file),
    ],
    [
      'a nested multipart field',
      [400],
      form({
        head: [
          'Content-Disposition: form-data; name="files"',
          'Content-Type: multipart/mixed; boundary=inner',
        ],
        body: nested,
      }),
    ],
    [
      'multipart content of the file',
      [201],
      form({
        head: [
          'Content-Disposition: form-data; name="file"; filename="a"',
          'Content-Type: multipart/mixed; boundary=inner',
        ],
        body: nested,
      }),
    ],
    [
      'a base64 transfer encoding',
      [400],
      form({ head: [file.head as string, 'Content-Transfer-Encoding: base64'], body: 'Y29udGVudA==' }),
    ],
    [
      'a quoted-printable transfer encoding',
      [400],
      form(field('path', '=41', ['Content-Transfer-Encoding: quoted-printable']), file),
    ],
    [
      'a binary transfer encoding',
      [201],
      form({ head: [file.head as string, 'Content-Transfer-Encoding: BINARY'], body: 'content' }),
    ],
    ['a compressed body', [415], gzipSync(whole), undefined, ['content-encoding: gzip']],
    ['an uncompressed body declared as gzip', [415], whole, undefined, ['content-encoding: gzip']],
    ...['__proto__', 'constructor', 'hasOwnProperty', 'toString', 'prototype'].flatMap(
      (name): typeof forms => [
        [`a field ${name}`, [400], form(field(name), file)],
        [
          `a file ${name}`,
          [400],
          form({ head: `Content-Disposition: form-data; name="${name}"; filename="a"`, body: 'x' }),
        ],
      ],
    ),
    ...Object.entries({
      'invalid JSON': '{',
      'an array': '[]',
      'a string': '"x"',
      null: 'null',
      nothing: '',
      'too many keys': JSON.stringify(
        Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`k${i}`, 'v'])),
      ),
      nested: '{"a": {"b": "c"}}',
      'a number': '{"a": 1}',
      'an array inside': '{"a": ["b"]}',
      'a key twice': '{"a": "1", "a": "2"}',
      'a long key': JSON.stringify({ ['k'.repeat(65)]: 'v' }),
      'a long value': JSON.stringify({ k: 'v'.repeat(513) }),
      __proto__: '{"__proto__": "x"}',
      NUL: '{"a": "\\u0000"}',
      'a lone surrogate': '{"a": "\\ud800"}',
      deep: '['.repeat(30_000),
    }).flatMap(([what, value]): typeof forms => [
      [`metadata: ${what}`, [400], form(field('metadata', value), file)],
      [
        `metadata declared as JSON: ${what}`,
        [400],
        form(field('metadata', value, ['Content-Type: application/json']), file),
      ],
    ]),
  ]

  let files = await fileCount(server)
  for (const [what, statuses, body, type = `multipart/form-data; boundary=${b}`, more = []] of forms) {
    const bytes = Buffer.from(body as Buffer)
    const connection = await openConnection(t, server.url)
    const head = uploadHead(key, b, bytes.length, ['connection: close', ...more]).replace(
      /content-type: .*\r\n/,
      type === '' ? '' : `content-type: ${type}\r\n`,
    )
    await connection.write(head)
    await connection.write(bytes)
    const { status, text, body: answer } = await connection.reply()
    t.ok(statuses.includes(status), `${what}: ${status} ${text.slice(0, 300)}`)
    if (status === 201) files++
    else assertError(t, answer, what)
  }
  t.equal(await fileCount(server), files)

  // A form truncated at every byte, in a complete request with Content-Length or chunks.
  const cut = form(field('path', 'a'), file)
  const end = cut.lastIndexOf('--') + 2
  for (let at = 0; at < cut.length; at++) {
    const connection = await openConnection(t, server.url)
    const chunked = at % 2 === 0
    await connection.write(uploadHead(key, b, chunked ? 'chunked' : at, ['connection: close']))
    await connection.write(
      chunked
        ? Buffer.concat([
            Buffer.from(at === 0 ? '' : `${at.toString(16)}\r\n`),
            cut.subarray(0, at),
            Buffer.from(`${at === 0 ? '' : '\r\n'}0\r\n\r\n`),
          ])
        : cut.subarray(0, at),
    )
    const { status, body } = await connection.reply()
    if (status !== (at < end ? 400 : 201)) t.fail(`truncated at ${at}: ${status}`)
    assertError(t, body, `truncated at ${at}`, status)
    connection.socket.destroy()
  }
  files += cut.length - end
  t.equal(await fileCount(server), files)

  // Incomplete requests and invalid HTTP.
  const broken: Array<[what: string, head: string, body: Buffer | string]> = [
    ['a Content-Length that is too long', uploadHead(key, b, whole.length + 10), whole],
    ['a Content-Length of 1e15', uploadHead(key, b, 1e15), whole],
    ['a Content-Length that is too short', uploadHead(key, b, whole.length - 10), whole],
    [
      'an invalid Content-Length',
      uploadHead(key, b, 0).replace('content-length: 0', 'content-length: x'),
      whole,
    ],
    ['a negative Content-Length', uploadHead(key, b, -5), whole],
    ['two Content-Length headers', uploadHead(key, b, whole.length, ['content-length: 5']), whole],
    ['Content-Length and chunks', uploadHead(key, b, 'chunked', ['content-length: 5']), whole],
    ['an invalid chunked body', uploadHead(key, b, 'chunked'), whole],
    ['a chunk without its end', uploadHead(key, b, 'chunked'), `${whole.length.toString(16)}\r\n${whole}`],
    ['no last chunk', uploadHead(key, b, 'chunked'), `${whole.length.toString(16)}\r\n${whole}\r\n`],
    ['a chunk longer than its size', uploadHead(key, b, 'chunked'), `5\r\n${whole}\r\n0\r\n\r\n`],
    ['an invalid chunk size', uploadHead(key, b, 'chunked'), `zz\r\n${whole}\r\n0\r\n\r\n`],
    [
      'an overflowing chunk size',
      uploadHead(key, b, 'chunked'),
      `${'f'.repeat(20)}\r\n${whole}\r\n0\r\n\r\n`,
    ],
  ]
  for (const [what, head, body] of broken) {
    const connection = await openConnection(t, server.url)
    await connection.write(head)
    await connection.write(body)
    connection.socket.end()
    await connection.waitUntilClosed()
    const responses = connection.received()
    t.notMatch(responses, /HTTP\/1\.1 (5\d\d|201)/, `${what}: ${responses.slice(0, 200)}`)
    if (responses !== '') t.match(responses, /^HTTP\/1\.1 4\d\d [^]*"error":\{"code":/, what)
  }

  t.equal(await fileCount(server), files)
  t.match(await upload(client), { status: 201 }, 'a valid upload still succeeds')
  await assertNothingLeft(t, server)
  t.same(
    server.logs.filter((line) => /"level":(50|60)/.test(line)),
    [],
    'there is no error in the log',
  )
  await waitUntil(
    () => countOpenFiles(realpathSync(server.services.config.storageDir)) === 0,
    'the files to be closed',
  )
  await waitUntil(() => countOpenFiles('socket:') <= sockets + 20, 'the connections to close')
})

/** Asserts the error format of the API. */
function assertError(t: Test, answer: any, what: string, status = 400): void {
  if (status < 400) return
  const { code, message, details } = answer?.error ?? {}
  if (
    typeof code !== 'string' ||
    typeof message !== 'string' ||
    typeof details?.request_id !== 'string' ||
    Object.keys(answer).length !== 1
  )
    t.fail(`${what}: unexpected error format: ${JSON.stringify(answer)}`)
  if (JSON.stringify(answer).length > 20_000) t.fail(`${what}: the error is too long`)
}
