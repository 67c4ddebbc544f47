// Avatars: accepted formats, sanitization of pictures, limits, caching and events.
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { crc32, deflateSync } from 'node:zlib'
import sharp from 'sharp'
import t, { type Test } from 'tap'
import { renderSquares } from '../../services/storage/avatar-image.ts'
import { launchBrowser, skipWithoutBrowser } from '../support/browser/browser.ts'
import type { Client, Reply } from '../support/http/client.ts'
import { startServer, type Person } from '../support/server/server.ts'
import {
  download,
  uploadForm,
  multipart,
  newBoundary,
  assertNothingLeft,
  type Upload,
} from '../support/storage/storage.ts'
import { listen } from '../support/http/listen.ts'

const red = { r: 220, g: 20, b: 20 }
const blue = { r: 20, g: 20, b: 220 }
const server = await startServer(t)

t.test('every accepted format is rendered as a square in three sizes', async (t) => {
  const { client } = await server.person()
  const picture = halves()
  const formats: Record<string, Buffer> = {
    PNG: await picture.clone().png().toBuffer(),
    'PNG, interlaced': await picture.clone().png({ progressive: true }).toBuffer(),
    'PNG with a palette': await picture.clone().png({ palette: true }).toBuffer(),
    'PNG with 16 bits': await picture.clone().toColourspace('rgb16').png().toBuffer(),
    'animated PNG': apng(await picture.clone().png().toBuffer()),
    JPEG: await picture.clone().jpeg().toBuffer(),
    'JPEG, progressive': await picture.clone().jpeg({ progressive: true }).toBuffer(),
    'JPEG in CMYK': await picture.clone().toColourspace('cmyk').jpeg().toBuffer(),
    WebP: await picture.clone().webp().toBuffer(),
    'WebP, lossless': await picture.clone().webp({ lossless: true }).toBuffer(),
    GIF: await picture.clone().gif().toBuffer(),
    AVIF: await picture.clone().avif({ effort: 0 }).toBuffer(),
  }
  for (const [kind, bytes] of Object.entries(formats)) {
    // The file name and the declared type do not matter.
    const { status, body } = await post(client, { bytes, name: 'page.html', type: 'text/html' })
    t.equal(status, 200, kind)
    t.match(body, {
      content_type: 'image/webp',
      width: 256,
      height: 256,
      url: `${server.url}/v1/avatars/${body.id}/256`,
    })
    t.same(
      body.variants.map((variant: any) => [variant.size, variant.url]),
      [64, 128, 256].map((size) => [size, `${server.url}/v1/avatars/${body.id}/${size}`]),
    )
    for (const variant of body.variants) {
      const image = await imageAt(variant.url)
      t.equal(image.headers.get('content-type'), 'image/webp')
      t.equal(image.bytes.length, variant.bytes)
      t.equal(createHash('sha256').update(image.bytes).digest('hex'), variant.sha256)
      const { format, width, height, pages = 1 } = await sharp(image.bytes).metadata()
      t.same(
        { format, width, height, pages },
        { format: 'webp', width: variant.size, height: variant.size, pages: 1 },
      )
      await looksLike(t, image.bytes, [
        [0.1, 0.5, red],
        [0.9, 0.5, blue],
      ])
    }
    t.same(
      { bytes: body.bytes, sha256: body.sha256 },
      { bytes: body.variants[2].bytes, sha256: body.variants[2].sha256 },
    )
  }
})

t.test(
  'small and narrow pictures fill the square, transparency stays, and the first frame counts',
  async (t) => {
    const { client } = await server.person()
    const plain = (width: number, height: number, background: object = red) =>
      sharp({ create: { width, height, channels: 4, background: { alpha: 1, ...background } as never } })
    for (const [width, height] of [
      [1, 1],
      [1, 16_384],
      [16_384, 1],
      [300, 20],
    ]) {
      const { status, body } = await post(client, { bytes: await plain(width, height).png().toBuffer() })
      t.equal(status, 200, `${width} × ${height}`)
      await looksLike(t, (await imageAt(body.url)).bytes, [
        [0.02, 0.02, red],
        [0.98, 0.98, red],
      ])
    }
    const clear = await post(client, {
      bytes: await plain(90, 90, { ...red, alpha: 0 })
        .png()
        .toBuffer(),
    })
    const { data } = await sharp((await imageAt(clear.body.url)).bytes)
      .ensureAlpha()
      .raw()
      .toBuffer({ resolveWithObject: true })
    t.equal(data[3], 0)

    const frames = [await plain(80, 80, red).png().toBuffer(), await plain(80, 80, blue).png().toBuffer()]
    for (const moving of [
      await sharp(frames, { join: { animated: true } })
        .gif()
        .toBuffer(),
      await sharp(frames, { join: { animated: true } })
        .webp()
        .toBuffer(),
    ]) {
      t.equal((await sharp(moving).metadata()).pages, 2)
      const { status, body } = await post(client, { bytes: moving })
      t.equal(status, 200)
      await looksLike(t, (await imageAt(body.url)).bytes, [[0.5, 0.5, red]])
    }
  },
)

t.test('the EXIF orientation is applied, and all metadata is removed', async (t) => {
  const { client } = await server.person()
  // Orientation 6: the left side becomes the top.
  const rotated = await halves()
    .withExif({
      IFD0: { Copyright: 'canary-copyright', Orientation: '6' },
      IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '51/1 30/1 0/1' },
    })
    .withMetadata({ orientation: 6 })
    .withXmp('<x>canary-xmp</x>')
    .withIccProfile('p3')
    .jpeg()
    .toBuffer()
  const before = await sharp(rotated).metadata()
  t.equal(before.orientation, 6)
  t.ok(before.exif !== undefined && before.icc !== undefined)
  const { body } = await post(client, { bytes: rotated })
  for (const { url } of body.variants) {
    const { bytes } = await imageAt(url)
    const { exif, icc, xmp, iptc, orientation } = await sharp(bytes).metadata()
    t.same(
      { exif, icc, xmp, iptc, orientation },
      { exif: undefined, icc: undefined, xmp: undefined, iptc: undefined, orientation: undefined },
    )
    t.notMatch(bytes.toString('latin1'), /canary|EXIF|ICCP|XMP|GPS/)
    await looksLike(t, bytes, [
      [0.5, 0.1, red],
      [0.5, 0.9, blue],
    ])
  }
})

t.test('data hidden in or appended to a picture is removed', async (t) => {
  const { client } = await server.person()
  const payload = '*/=1;alert("canary")//<script>canary</script>'
  const zip = Buffer.concat([
    Buffer.from('PK\x03\x04', 'latin1'),
    Buffer.alloc(26),
    Buffer.from('canary.html'),
    Buffer.from(payload),
    Buffer.from('PK\x05\x06', 'latin1'),
    Buffer.alloc(18),
  ])
  const png = await halves().png().toBuffer()
  const jpeg = await halves().jpeg().toBuffer()
  const gif = await halves().gif().toBuffer()
  const webp = await halves().webp().toBuffer()
  const avif = await halves().avif({ effort: 0 }).toBuffer()
  const comment = Buffer.from(payload)
  const polyglots: Record<string, Buffer> = {
    'GIF with a script as a comment and appended': Buffer.concat([
      gif.subarray(0, endOfGifHead(gif)),
      Buffer.from([0x21, 0xfe, comment.length]),
      comment,
      Buffer.from([0]),
      gif.subarray(endOfGifHead(gif)),
      comment,
    ]),
    'PNG with HTML in a text chunk': withChunks(png, [
      chunk('tEXt', Buffer.from(`Comment\0${payload}`)),
      chunk('prVt', comment),
    ]),
    'PNG with an appended archive': Buffer.concat([png, zip]),
    'JPEG with HTML as a comment and an appended archive': Buffer.concat([
      jpeg.subarray(0, 2),
      Buffer.from([0xff, 0xfe, 0, comment.length + 2]),
      comment,
      jpeg.subarray(2),
      zip,
    ]),
    'WebP with appended HTML': Buffer.concat([webp, comment]),
    'AVIF with appended HTML': Buffer.concat([avif, box('free', comment)]),
  }
  for (const [name, bytes] of Object.entries(polyglots)) {
    const { status, body } = await post(client, { bytes, name: 'evil.html', type: 'text/html' })
    t.equal(status, 200, name)
    for (const { url } of body?.variants ?? []) {
      const image = (await imageAt(url)).bytes
      t.notMatch(image.toString('latin1'), /canary|script|PK/)
      // The length in the WebP header is the length of the file: nothing is appended.
      t.equal(image.readUInt32LE(4) + 8, image.length)
    }
  }
})

t.test('other types are rejected, regardless of the file name', async (t) => {
  const { client } = await server.person()
  const others: Record<string, Buffer | string> = {
    SVG: '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>alert(1)</script></svg>',
    'SVG as XML': '<?xml version="1.0"?>\n<!-- x --><svg xmlns="http://www.w3.org/2000/svg"/>',
    HTML: '<!doctype html><script>alert(1)</script>',
    'HTML that contains a GIF signature': '<html>GIF89a',
    text: 'just text',
    nothing: '',
    TIFF: await halves().tiff().toBuffer(),
    HEIC: Buffer.concat([box('ftyp', Buffer.from('heic\0\0\0\0mif1heic')), Buffer.alloc(99)]),
    'JPEG XL': Buffer.concat([Buffer.from('0000000c4a584c200d0a870a', 'hex'), Buffer.alloc(99)]),
    'JPEG 2000': Buffer.concat([
      Buffer.from('0000000c6a5020200d0a870a00000014667479706a703220', 'hex'),
      Buffer.alloc(99),
    ]),
    BMP: Buffer.concat([Buffer.from('BM'), Buffer.alloc(99)]),
    ICO: Buffer.concat([Buffer.from('00000100010010100000', 'hex'), Buffer.alloc(99)]),
    PSD: Buffer.concat([Buffer.from('8BPS\0\x01'), Buffer.alloc(99)]),
    PDF: '%PDF-1.7\n%âãÏÓ\n1 0 obj\n<<>>\nendobj',
    PostScript: '%!PS-Adobe-3.0\n',
    archive: Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), Buffer.alloc(99)]),
    program: Buffer.concat([Buffer.from('\x7fELF', 'latin1'), Buffer.alloc(99)]),
    film: Buffer.concat([box('ftyp', Buffer.from('isom\0\0\0\0isom')), Buffer.alloc(99)]),
  }
  for (const [kind, bytes] of Object.entries(others)) {
    const { status, body } = await post(client, { bytes, name: 'me.png', type: 'image/png' })
    t.equal(status, 415, kind)
    t.match(body.error, {
      code: 'UNSUPPORTED_MEDIA_TYPE',
      details: { field: 'file', constraint: 'media_type' },
    })
  }
  // Only the signature of an accepted format.
  const signatures = {
    PNG: '89504e470d0a1a0a',
    JPEG: 'ffd8ffe0',
    GIF: '474946383961',
    WebP: '524946461000000057454250565038',
    AVIF: '0000001c66747970617669660000000061766966',
  }
  for (const [kind, hex] of Object.entries(signatures)) {
    for (const rest of [Buffer.alloc(0), Buffer.alloc(500), Buffer.from('<script>alert(1)</script>')]) {
      const { status, body } = await post(client, { bytes: Buffer.concat([Buffer.from(hex, 'hex'), rest]) })
      t.ok(status === 415 || status === 400, `${kind} and ${rest.length} bytes: ${status}`)
      t.equal(body.error.details.field, 'file')
    }
  }
  t.equal((await client.get('/user/avatar')).status, 404)
  await assertNothingLeft(t, server)
})

t.test('a truncated or damaged picture is rejected', async (t) => {
  const { client } = await server.person()
  const noise = sharp({
    create: {
      width: 200,
      height: 150,
      channels: 3,
      background: red,
      noise: { type: 'gaussian', mean: 128, sigma: 60 },
    },
  })
  const kinds: Record<string, Buffer> = {
    PNG: await noise.clone().png().toBuffer(),
    JPEG: await noise.clone().jpeg().toBuffer(),
    'JPEG, progressive': await noise.clone().jpeg({ progressive: true }).toBuffer(),
    WebP: await noise.clone().webp().toBuffer(),
    GIF: await noise.clone().gif().toBuffer(),
    AVIF: await noise.clone().avif({ effort: 0 }).toBuffer(),
  }
  for (const [kind, whole] of Object.entries(kinds)) {
    t.equal((await post(client, { bytes: whole })).status, 200, kind)
    for (const part of [0.2, 0.5, 0.9]) {
      const { status, body } = await post(client, { bytes: whole.subarray(0, whole.length * part) })
      t.equal(status, 400, `${part} of a ${kind}`)
      t.match(body.error, {
        code: 'INVALID_REQUEST',
        details: { field: 'file', constraint: 'picture', errors: [{ location: 'body' }] },
      })
      t.notMatch(JSON.stringify(body), /vips|libpng|heif|seek|\/tmp/i, 'the message contains no internals')
    }
  }
  const damaged = Buffer.from(kinds.PNG)
  damaged.fill(0, damaged.length - 5_000, damaged.length - 4_900)
  t.equal((await post(client, { bytes: damaged })).status, 400)
  await assertNothingLeft(t, server)
})

t.test('a decompression bomb is rejected before it is decoded', async (t) => {
  const { client } = await server.person()
  const peak = (): number => process.resourceUsage().maxRSS / 1024
  const header = (width: number, height: number, bits: number): Buffer => {
    // RGBA, interlaced.
    const data = Buffer.from('00000000000000000006000001', 'hex')
    data[8] = bits
    data.writeUInt32BE(width, 0)
    data.writeUInt32BE(height, 4)
    return chunk('IHDR', data)
  }
  const png = (width: number, height: number, bits = 16): Buffer =>
    Buffer.concat([
      pngSignature,
      header(width, height, bits),
      chunk('IDAT', deflateSync(Buffer.alloc(1_000_000))),
      chunk('IEND', Buffer.alloc(0)),
    ])
  const gif = await halves().gif().toBuffer()
  const image = gif.indexOf(Buffer.from([0x2c, 0, 0, 0, 0]))
  for (const at of [6, 8, image + 5, image + 7]) gif.writeUInt16LE(65_535, at)
  const avif = await halves().avif({ effort: 0 }).toBuffer()
  const size = avif.indexOf('ispe') + 8
  avif.writeUInt32BE(30_000, size)
  avif.writeUInt32BE(30_000, size + 4)
  const jpeg = await halves().jpeg().toBuffer()
  const frame = jpeg.indexOf(Buffer.from([0xff, 0xc0]))
  jpeg.writeUInt16BE(30_000, frame + 5)
  jpeg.writeUInt16BE(30_000, frame + 7)
  const bombs: Record<string, Buffer> = {
    'PNG of 30,000 × 30,000': png(30_000, 30_000),
    'PNG with 2³¹ − 1 pixels in a row': png(2 ** 31 - 1, 1),
    'PNG above 25 megapixels with 16 bits': png(5_001, 5_000),
    'PNG above 50 megapixels': png(10_001, 5_000, 8),
    'PNG wider than 16,384 pixels': png(16_385, 1),
    'JPEG of 30,000 × 30,000': jpeg,
    'GIF of 65,535 × 65,535': gif,
    'AVIF of 30,000 × 30,000': avif,
  }
  await post(client, { bytes: await halves().avif({ effort: 0 }).toBuffer() })
  const before = peak()
  for (const [kind, bytes] of Object.entries(bombs)) {
    const { status, body } = await post(client, { bytes })
    t.equal(status, 400, kind)
    t.equal(body.error.details.field, 'file')
    if (!kind.includes('2³¹')) t.equal(body.error.details.constraint, 'max_pixels', kind)
  }
  // Text chunks that expand to 8 MB each. They are not part of the pixels and are removed.
  const text = Buffer.concat([Buffer.from('Comment\0\0'), deflateSync(Buffer.alloc(7_900_000, 'x'))])
  const international = Buffer.concat([
    Buffer.from('Comment\0\x01\0\0\0'),
    deflateSync(Buffer.alloc(7_900_000, 'x')),
  ])
  const small = await halves().png().toBuffer()
  const texts = withChunks(
    small,
    Array.from({ length: 200 }, (_, i) => (i % 2 === 0 ? chunk('zTXt', text) : chunk('iTXt', international))),
  )
  t.ok(texts.length < 2_000_000)
  t.equal((await post(client, { bytes: texts })).status, 200)
  t.ok(peak() - before < 100, `memory grew by ${Math.round(peak() - before)} MB`)
  await assertNothingLeft(t, server)
})

t.test('one picture is rendered at a time, and at most 30 are queued', async (t) => {
  const path = join(server.services.config.storageDir, 'one.png')
  await halves().png().toFile(path)
  const all = await Promise.allSettled(
    Array.from({ length: 50 }, async () => await renderSquares(path, 'image/png', [64])),
  )
  const refused = all.filter((one) => one.status === 'rejected')
  t.ok(refused.length >= 15 && refused.length <= 20, `${refused.length} of 50 are rejected`)
  for (const { reason } of refused) t.match(reason, { status: 503, headers: { 'retry-after': /\d/ } })
  t.equal((await renderSquares(path, 'image/png', [64])).length, 1, 'rendering continues afterwards')
})

t.test('5 MiB are accepted, and one more byte is not', async (t) => {
  const { client } = await server.person()
  const picture = await halves().png().toBuffer()
  const limit = 5 * 1024 * 1024
  t.equal(
    (await post(client, { bytes: Buffer.concat([picture, Buffer.alloc(limit - picture.length)]) })).status,
    200,
  )
  const { status, body } = await post(client, {
    bytes: Buffer.concat([picture, Buffer.alloc(limit - picture.length + 1)]),
  })
  t.equal(status, 413)
  t.match(body.error, { code: 'PAYLOAD_TOO_LARGE', details: { constraint: 'max_bytes' } })
  await assertNothingLeft(t, server)
})

t.test('the form consists of exactly one file', async (t) => {
  const { client } = await server.person()
  const picture = await halves().png().toBuffer()
  const file = {
    head: ['Content-Disposition: form-data; name="file"; filename="me.png"', 'Content-Type: image/png'],
    body: picture,
  }
  const send = async (...parts: Parameters<typeof multipart>[0]): Promise<Reply> => {
    const boundary = newBoundary()
    return await client.call('POST', '/user/avatar', {
      raw: multipart(parts, boundary),
      headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
    })
  }
  const refused = async (name: string, reply: Reply, field: string): Promise<void> => {
    t.equal(reply.status, 400, name)
    t.equal(reply.body.error.details.field, field, name)
  }
  await refused('no part', await send(), 'file')
  await refused(
    'a field instead of a file',
    await send({ head: 'Content-Disposition: form-data; name="file"', body: 'x' }),
    'file',
  )
  await refused('two files', await send(file, file), 'file')
  await refused(
    'a file in another field',
    await send({ ...file, head: 'Content-Disposition: form-data; name="avatar"; filename="me.png"' }),
    'avatar',
  )
  await refused(
    'an unknown field',
    await send({ head: 'Content-Disposition: form-data; name="user_id"', body: server.admin.id }, file),
    'user_id',
  )
  t.equal((await client.post('/user/avatar', { file: 'x' })).status, 415)
  t.equal((await client.get('/user/avatar')).status, 404)
  t.equal((await send(file)).status, 200)

  const reader = await server.person({ scopes: ['user:read'] })
  t.equal((await post(reader.client, { bytes: picture })).status, 403)
  t.equal((await reader.client.delete('/user/avatar')).status, 403)
  await assertNothingLeft(t, server)
})

t.test(
  'the profile and the member list contain the avatar URL, and each change emits one event',
  async (t) => {
    const person = await server.person()
    const project = (await person.client.post('/projects', { name: 'With a picture' })).body
    const start = await events(person)
    const profile = await person.client.get('/user/profile')
    t.equal(profile.body.avatar_url, null)

    const first = await post(person.client, { bytes: await halves().png().toBuffer() })
    t.equal(first.headers.get('etag'), (await person.client.get('/user/avatar')).headers.get('etag'))
    t.same((await person.client.get('/user/avatar')).body, first.body)
    const updated = await person.client.get('/user/profile')
    t.equal(updated.body.avatar_url, first.body.url)
    t.equal(updated.body.updated_at, first.body.updated_at)
    t.not(updated.headers.get('etag'), profile.headers.get('etag'))
    t.ok(updated.body.updated_at > profile.body.updated_at)
    t.equal(
      (
        await person.client.put(
          '/user/profile',
          { bio: 'x' },
          { headers: { 'if-match': profile.headers.get('etag')! } },
        )
      ).status,
      412,
    )
    t.equal(
      (await person.client.get(`/projects/${project.id}/members`)).body.data[0].user.avatar_url,
      first.body.url,
    )
    t.equal((await server.admin.client.get(`/users/${person.id}`)).body.avatar_url, first.body.url)

    const second = await post(person.client, { bytes: await halves().jpeg().toBuffer() })
    t.not(second.body.id, first.body.id)
    t.same(await queuedBlobs(first.body.id), keysOf(first.body.id))
    t.equal((await download(server.url, `/avatars/${first.body.id}/256`)).status, 404)
    t.equal((await person.client.get('/user/profile')).body.avatar_url, second.body.url)

    t.equal(
      (await person.client.delete('/user/avatar', { headers: { 'if-match': first.headers.get('etag')! } }))
        .status,
      412,
    )
    t.equal(
      (await person.client.delete('/user/avatar', { headers: { 'if-match': second.headers.get('etag')! } }))
        .status,
      204,
    )
    t.equal((await person.client.delete('/user/avatar')).status, 404)
    t.equal((await person.client.get('/user/avatar')).status, 404)
    t.same(await queuedBlobs(second.body.id), keysOf(second.body.id))
    t.equal((await download(server.url, `/avatars/${second.body.id}/64`)).status, 404)
    const last = await person.client.get('/user/profile')
    t.equal(last.body.avatar_url, null)
    t.ok(last.body.updated_at > second.body.updated_at)

    const emitted = (await events(person)).slice(start.length)
    t.same(
      emitted.map((event) => event.type),
      ['avatar.updated', 'avatar.updated', 'avatar.deleted'],
    )
    t.same(emitted[0].data, { object: first.body, previous_attributes: {} })
    t.same(emitted[1].data.object, second.body)
    t.match(emitted[1].data.previous_attributes, { id: first.body.id, url: first.body.url })
    t.same(emitted[2].data, { object: second.body, previous_attributes: {} })
    for (const event of emitted) t.equal(event.project_id, null)
    t.equal(
      (await events(await server.person())).filter((event) => event.type.startsWith('avatar')).length,
      0,
      'other users get no event',
    )
  },
)

t.test('the avatar of a deleted user is deleted', async (t) => {
  const person = await server.person()
  const { body } = await post(person.client, { bytes: await halves().png().toBuffer() })
  t.equal((await server.admin.client.delete(`/users/${person.id}`)).status, 204)
  t.equal(await server.services.database.prisma.avatar.count({ where: { userId: person.id } }), 0)
  t.same(await queuedBlobs(body.id), keysOf(body.id))
  t.equal((await download(server.url, pathOf(body.url))).status, 404)
})

t.test('an upload repeated with its Idempotency-Key counts once', async (t) => {
  const person = await server.person()
  const bytes = await halves().png().toBuffer()
  const headers = { 'idempotency-key': 'a-picture' }
  const first = await post(person.client, { bytes, headers })
  const again = await post(person.client, { bytes, headers })
  t.equal(again.status, 200)
  t.equal(again.headers.get('idempotent-replayed'), 'true')
  t.same(again.body, first.body)
  t.equal((await post(person.client, { bytes: await halves().jpeg().toBuffer(), headers })).status, 422)
  t.equal((await events(person)).filter((event) => event.type === 'avatar.updated').length, 1)
  t.same((await person.client.get('/user/avatar')).body, first.body)
  const replies = await Promise.all(
    Array.from(
      { length: 5 },
      async () => await post(person.client, { bytes, headers: { 'idempotency-key': 'concurrent' } }),
    ),
  )
  t.ok(replies.some(({ status }) => status === 200))
  for (const { status } of replies) t.ok(status === 200 || status === 409, `${status}`)
  t.equal((await events(person)).filter((event) => event.type === 'avatar.updated').length, 2)
  await assertNothingLeft(t, server)
})

t.test(
  'one of several concurrent uploads becomes the avatar, and the blobs of the others are deleted',
  async (t) => {
    const person = await server.person()
    const bytes = [await halves().png().toBuffer(), await halves().jpeg().toBuffer()]
    const replies = await Promise.all(
      Array.from({ length: 8 }, async (_, i) => await post(person.client, { bytes: bytes[i % 2] })),
    )
    t.same(
      replies.map(({ status }) => status),
      Array(8).fill(200),
    )
    const { body: avatar } = await person.client.get('/user/avatar')
    t.equal((await person.client.get('/user/profile')).body.avatar_url, avatar.url)
    for (const { body } of replies) {
      t.equal((await download(server.url, pathOf(body.url))).status, body.id === avatar.id ? 200 : 404)
      t.same(await queuedBlobs(body.id), body.id === avatar.id ? [] : keysOf(body.id))
    }
    t.equal((await events(person)).filter((event) => event.type === 'avatar.updated').length, 8)
    await assertNothingLeft(t, server)
  },
)

t.test('an image is public, immutable and supports ranges', async (t) => {
  const person = await server.person()
  const { body: avatar } = await post(person.client, { bytes: await halves().png().toBuffer() })
  const path = `/avatars/${avatar.id}/128`
  const etag = `"${avatar.variants[1].sha256}"`
  const whole = await download(server.url, path)
  const headers = {
    'content-type': 'image/webp',
    'content-length': String(avatar.variants[1].bytes),
    etag,
    'cache-control': 'public, max-age=31536000, immutable',
    'accept-ranges': 'bytes',
    'content-disposition': 'inline; filename="avatar.webp"',
    'x-content-type-options': 'nosniff',
    'cross-origin-resource-policy': 'cross-origin',
    'content-security-policy': "default-src 'none'; sandbox",
  }
  for (const [name, value] of Object.entries(headers)) t.equal(whole.headers.get(name), value, name)
  t.equal(whole.headers.get('set-cookie'), null)

  const known = await download(server.url, path, { headers: { 'if-none-match': etag } })
  t.equal(known.status, 304)
  t.equal(known.bytes.length, 0)
  for (const name of ['etag', 'cache-control', 'cross-origin-resource-policy'])
    t.equal(known.headers.get(name), headers[name as 'etag'], name)
  t.equal(
    (
      await download(server.url, path, {
        headers: { 'if-modified-since': whole.headers.get('last-modified')! },
      })
    ).status,
    304,
  )
  t.equal(
    (await download(server.url, path, { headers: { 'if-none-match': `"${avatar.sha256}"` } })).status,
    200,
  )

  const part = await download(server.url, path, { headers: { range: 'bytes=4-99' } })
  t.equal(part.status, 206)
  t.equal(part.headers.get('content-range'), `bytes 4-99/${whole.bytes.length}`)
  t.ok(part.bytes.equals(whole.bytes.subarray(4, 100)))
  const beyond = await download(server.url, path, { headers: { range: 'bytes=9999999-' } })
  t.equal(beyond.status, 416)
  t.equal(beyond.headers.get('cache-control'), 'no-store')
  const head = await download(server.url, path, { method: 'HEAD' })
  t.equal(head.status, 200)
  t.equal(head.headers.get('content-length'), String(whole.bytes.length))

  for (const accept of [
    'image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8',
    'image/webp',
    'image/*',
  ])
    t.equal((await download(server.url, path, { headers: { accept } })).status, 200, accept)
  const unknown = await download(server.url, `/avatars/${avatar.id.slice(0, -4)}0000/128`)
  t.equal(unknown.status, 404)
  t.equal(unknown.headers.get('cache-control'), 'no-store')
  for (const wrong of [
    `/avatars/${avatar.id}/129`,
    `/avatars/${avatar.id}/0`,
    `/avatars/${avatar.id}/64.5`,
    `/avatars/${avatar.id}-128/128`,
    '/avatars/..%2f..%2fetc/64',
    `/avatars/${person.id}/64`,
  ]) {
    t.equal((await download(server.url, wrong)).status, 404, wrong)
  }
})

t.test('a storage error keeps the previous avatar', async (t) => {
  const server = await startServer(t)
  const { client } = await server.person()
  const bytes = await halves().png().toBuffer()
  const { body: previous } = await post(client, { bytes })
  const folder = join(server.services.config.storageDir, 'blobs')
  rmSync(folder, { recursive: true })
  writeFileSync(folder, '')
  t.equal((await post(client, { bytes })).status, 503)
  t.same((await client.get('/user/avatar')).body, previous, 'the previous avatar stays')
  t.same(await server.services.database.prisma.quarantinedBlob.count(), 0)
  const image = await download(server.url, pathOf(previous.url))
  t.equal(image.status, 503)
  t.equal(image.headers.get('cache-control'), 'no-store')
})

t.test('sharp is loaded on first use only', async (t) => {
  const script = `
    await import('./generated/routes.ts')
    const { sharedObjects } = process.report.getReport()
    console.log(JSON.stringify(sharedObjects.filter((path) => /sharp|vips/.test(path))))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    cwd: join(import.meta.dirname, '../..'),
  })
  t.same(JSON.parse(stdout), [])
})

t.test('a page of another origin can embed the image', { skip: skipWithoutBrowser }, async (t) => {
  const person = await server.person()
  const { body: avatar } = await post(person.client, { bytes: await halves().png().toBuffer() })
  // With require-corp the page embeds only resources that allow it.
  const elsewhere = createServer((_request, response) => {
    response.writeHead(200, {
      'content-type': 'text/html',
      'cross-origin-embedder-policy': 'require-corp',
      'cross-origin-opener-policy': 'same-origin',
    })
    response.end(avatar.variants.map(({ size, url }: any) => `<img id="a${size}" src="${url}">`).join(''))
  })
  const port = await listen(t, elsewhere)
  const browser = await launchBrowser(t)
  const page = await browser.newPage()
  const warnings: string[] = []
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type()) && !message.text().includes('favicon'))
      warnings.push(message.text())
  })
  await page.goto(`http://127.0.0.1:${port}/`)
  for (const size of [64, 128, 256]) {
    const natural = await page.evaluate(
      `(async () => {
          const image = document.getElementById('a${size}')
          await image.decode()
          return [image.naturalWidth, image.naturalHeight]
        })()`,
    )
    t.same(natural, [size, size])
  }
  t.same(warnings, [])
  await page.goto(avatar.url)
  t.equal(await page.evaluate('document.contentType'), 'image/webp', 'opened directly it is an image')
})

async function post(client: Client, { headers, ...content }: Upload): Promise<Reply> {
  const form = uploadForm({ name: 'me.png', type: 'image/png', ...content })
  return await client.call('POST', '/user/avatar', {
    raw: form.body,
    headers: { ...form.headers, ...headers },
  })
}

async function imageAt(url: string): Promise<{ headers: Headers; bytes: Buffer }> {
  const image = await download(server.url, pathOf(url))
  if (image.status !== 200) throw new Error(`the download of the image failed: ${image.status}`)
  return image
}

/** A picture of 160 × 100 pixels, with a red left half and a blue right half. */
function halves(): ReturnType<typeof sharp> {
  const left = sharp({ create: { width: 80, height: 100, channels: 3, background: red } })
  return left.extend({ right: 80, background: blue })
}

/** Compares colors at relative positions (0-1) of the picture. */
async function looksLike(
  t: Test,
  picture: Buffer,
  points: Array<[number, number, { r: number; g: number; b: number }]>,
): Promise<void> {
  const { data, info } = await sharp(picture).raw().toBuffer({ resolveWithObject: true })
  for (const [x, y, { r, g, b }] of points) {
    const at = (Math.floor(y * info.height) * info.width + Math.floor(x * info.width)) * info.channels
    const seen = [...data.subarray(at, at + 3)]
    // With a tolerance, because of lossy formats and the conversion from CMYK.
    t.ok(
      [r, g, b].every((value, i) => Math.abs(value - seen[i]) < 90),
      `the color at ${x}, ${y} is ${seen}`,
    )
  }
}

async function events(person: Person): Promise<any[]> {
  return (await person.client.get('/events?limit=100')).body.data
}

function keysOf(id: string): string[] {
  return [128, 256, 64].map((size) => `${id}-${size}`)
}

async function queuedBlobs(id: string): Promise<string[]> {
  return (
    await server.services.database.prisma.quarantinedBlob.findMany({
      where: { key: { startsWith: id } },
      orderBy: { key: 'asc' },
    })
  ).map(({ key }) => key)
}

const pngSignature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')

function chunk(kind: string, data: Buffer): Buffer {
  const whole = Buffer.concat([Buffer.alloc(4), Buffer.from(kind), data, Buffer.alloc(4)])
  whole.writeUInt32BE(data.length, 0)
  whole.writeUInt32BE(crc32(whole.subarray(4, -4)), whole.length - 4)
  return whole
}

/** Inserts chunks after the PNG header. */
function withChunks(png: Buffer, chunks: Buffer[]): Buffer {
  const afterHeader = pngSignature.length + 25
  return Buffer.concat([png.subarray(0, afterHeader), ...chunks, png.subarray(afterHeader)])
}

/** Turns a PNG into an animated one by an acTL chunk. */
function apng(png: Buffer): Buffer {
  return withChunks(png, [chunk('acTL', Buffer.from('0000000100000000', 'hex'))])
}

function box(kind: string, data: Buffer): Buffer {
  const whole = Buffer.concat([Buffer.alloc(4), Buffer.from(kind), data])
  whole.writeUInt32BE(whole.length, 0)
  return whole
}

function endOfGifHead(gif: Buffer): number {
  return 13 + ((gif[10] & 0x80) === 0 ? 0 : 3 * 2 ** ((gif[10] & 7) + 1))
}

/** The path of a URL of this server, below /v1. */
function pathOf(url: string): string {
  return url.slice(`${server.url}/v1`.length)
}
