// Images of files: sizes and formats, hostile pictures, the cache, links, and many sizes at once.
import { randomBytes } from 'node:crypto'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import sharp from 'sharp'
import t from 'tap'
import { ImageCache } from '../../services/storage/image-cache.ts'
import { packedStream, pdfOf, stream } from '../support/ai/documents.ts'
import { startServer } from '../support/server/server.ts'
import { download, uploadFile } from '../support/storage/storage.ts'

const server = await startServer(t, { env: { RATE_LIMIT_DEFAULT: '100000' } })
const owner = await server.person()
const folder = join(server.services.config.storageDir, 'images')

const picture = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 4, background: { r: 200, g: 10, b: 10, alpha: 0.5 } } })

const store = async (bytes: Buffer, fields: Record<string, string> = {}): Promise<any> =>
  await uploadFile(owner.client, { bytes, name: 'picture.png', fields })

const imageOf = async (path: string, headers: Record<string, string> = {}) =>
  await download(server.url, path, { key: owner.key, headers })

t.test('a picture has the size, the fit and the format that are asked for', async (t) => {
  const file = await store(
    await picture(800, 400)
      .withExif({ IFD0: { Copyright: 'canary' } })
      .png()
      .toBuffer(),
  )
  for (const [query, size, format] of [
    ['', [800, 400], 'webp'],
    ['?width=100', [128, 64], 'webp'],
    ['?height=100', [256, 128], 'webp'],
    ['?width=200&height=200', [256, 128], 'webp'],
    ['?width=200&height=200&fit=cover', [256, 256], 'webp'],
    ['?width=200&height=200&fit=contain&format=png', [256, 256], 'png'],
    ['?width=64&format=jpeg', [64, 32], 'jpeg'],
    ['?width=2048', [800, 400], 'webp'],
  ] as const) {
    const reply = await imageOf(`/storage/files/${file.id}/image${query}`)
    t.equal(reply.status, 200, query)
    t.equal(reply.headers.get('content-type'), `image/${format}`)
    const found = await sharp(reply.bytes).metadata()
    t.same([found.width, found.height, found.format], [...size, format], query)
    t.equal(found.exif, undefined, 'no metadata')
  }
  const path = `/storage/files/${file.id}/image?width=100`
  const whole = await imageOf(path)
  t.equal((await imageOf(path, { 'if-none-match': whole.headers.get('etag')! })).status, 304)
  const part = await imageOf(path, { range: 'bytes=5-9' })
  t.equal(part.status, 206)
  t.ok(part.bytes.equals(whole.bytes.subarray(5, 10)))
  t.equal((await imageOf(`/storage/files/${file.id}/image?width=2049`)).status, 400)
  t.equal(
    (await imageOf(`/storage/files/${file.id}/image?width=120`)).headers.get('etag'),
    whole.headers.get('etag'),
  )
})

t.test('strangers see only public pictures, and those of links, which count', async (t) => {
  const bytes = await picture(50, 50).png().toBuffer()
  const file = await store(bytes)
  const path = `/storage/files/${file.id}/image`
  t.equal((await download(server.url, path)).status, 401)
  const stranger = await server.person()
  t.equal((await download(server.url, path, { key: stranger.key })).status, 403)
  const shared = await store(bytes, { visibility: 'public' })
  t.equal((await download(server.url, `/storage/files/${shared.id}/image`)).status, 200)
  const link = (await owner.client.post(`/storage/files/${file.id}/links`, { max_downloads: 2 })).body
  const at = `${new URL(link.url).pathname.slice('/v1'.length)}/image?width=30`
  const first = await download(server.url, at)
  t.equal(first.status, 200)
  t.equal(first.headers.get('cache-control'), 'no-store')
  t.equal((await download(server.url, at)).status, 200)
  t.equal((await download(server.url, at)).status, 410)
  await owner.client.delete(`/storage/files/${shared.id}`)
  t.equal((await download(server.url, `/storage/files/${shared.id}/image`)).status, 404, 'also if cached')
})

t.test('hostile files are refused, and the server goes on', async (t) => {
  const good = await picture(40, 40).png().toBuffer()
  const bomb = Buffer.from(good)
  // 60,000 × 60,000 pixels, with a wrong checksum.
  bomb.writeUInt32BE(60_000, 16)
  bomb.writeUInt32BE(60_000, 20)
  // The chunk is its length, type and checksum; it follows the header, which ends at 33.
  const withEmptyChunks = (count: number): Buffer => {
    const chunk = Buffer.from('000000004944415435af061e', 'hex')
    return Buffer.concat([good.subarray(0, 33), ...Array(count).fill(chunk), good.subarray(33)])
  }
  const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>')
  for (const [what, bytes] of [
    ['a text', Buffer.from('text')],
    ['an SVG', svg],
    ['half a picture', good.subarray(0, good.length / 2)],
    ['too many pixels', bomb],
    ['100,000 chunks of pixels without data', withEmptyChunks(100_000)],
    ['noise after a signature', Buffer.concat([good.subarray(0, 8), randomBytes(5000)])],
  ] as const) {
    const file = await store(bytes)
    const reply = await imageOf(`/storage/files/${file.id}/image`)
    t.equal(reply.status, 409, what)
    t.match(reply.body.error.details, { constraint: 'picture' }, what)
  }
  for (const bytes of [good, withEmptyChunks(1_000)]) {
    const file = await store(bytes)
    t.equal((await imageOf(`/storage/files/${file.id}/image`)).status, 200)
  }
})

t.test('1,000 sizes at once are few variants, memory is bounded, and others are served', async (t) => {
  // Noise is hard to compress: 24 megabytes of pixels.
  const noise = sharp(randomBytes(2000 * 1000 * 3), { raw: { width: 2000, height: 1000, channels: 3 } })
  const file = await store(await noise.jpeg({ quality: 90 }).toBuffer())
  const other = await server.person()
  const small = await uploadFile(other.client, { bytes: await picture(30, 30).png().toBuffer() })
  const before = (await readdir(folder).catch(() => [])).length
  const rss = process.memoryUsage.rss()
  let peak = rss
  const timer = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss())
  }, 20)
  const all = Promise.all(
    Array.from({ length: 1000 }, (_, i) => imageOf(`/storage/files/${file.id}/image?width=${i + 1}`)),
  )
  const theirs = await download(server.url, `/storage/files/${small.id}/image`, { key: other.key })
  t.equal(theirs.status, 200, 'another user gets a turn')
  const statuses = (await all).map(({ status }) => status)
  clearInterval(timer)
  t.same(new Set(statuses), new Set([200]))
  t.equal((await readdir(folder)).length - before, 12 + 1, 'as many variants as steps')
  t.ok(peak - rss < 600e6, `${Math.round((peak - rss) / 1e6)} MB more`)
})

t.test('a damaged image of the cache is rendered again', async (t) => {
  const file = await store(await picture(70, 70).png().toBuffer())
  const before = new Set(await readdir(folder))
  const path = `/storage/files/${file.id}/image`
  const first = await imageOf(path)
  const [name] = (await readdir(folder)).filter((each) => !before.has(each))
  const bytes = await readFile(join(folder, name))
  for (const damaged of [bytes.subarray(0, -5), Buffer.alloc(bytes.length), Buffer.alloc(0)]) {
    await writeFile(join(folder, name), damaged)
    const again = await imageOf(path)
    t.ok(again.bytes.equals(first.bytes))
  }
})

t.test('the cache deletes the least recently used images', async (t) => {
  const directory = t.testdir({})
  const cache = new ImageCache(directory, 10_000)
  for (let i = 0; i < 40; i++) await cache.put(`image${i}`, randomBytes(1000))
  let size = 0
  for (const name of await readdir(directory)) size += (await stat(join(directory, name))).size
  t.ok(size <= 11_300, `${size} bytes`)
  t.ok((await cache.get('image39')) !== null)
  t.equal(await cache.get('image0'), null)
  const nowhere = new ImageCache(join(directory, 'image39'), 1000)
  await nowhere.put('x', randomBytes(10))
  t.equal(await nowhere.get('x'), null, 'an error of the disk is no failure')
})

/** A PDF with these page contents. */
const pdfWith = (contents: Buffer[], page = '/MediaBox [0 0 400 200]'): Buffer =>
  pdfOf([
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Count ${contents.length} ` +
      `/Kids [${contents.map((_, i) => `${3 + 2 * i} 0 R`).join(' ')}] >>`,
    ...contents.flatMap((content, i) => [
      `<< /Type /Page /Parent 2 0 R ${page} /Contents ${4 + 2 * i} 0 R >>`,
      content,
    ]),
  ])

t.test('the image of a PDF is its first page', async (t) => {
  const pages = [stream('1 0 0 rg 0 0 200 200 re f'), stream('0 0 1 rg 0 0 400 200 re f')]
  const file = await store(pdfWith(pages), { name: 'pages.pdf' })
  t.equal(file.content_type, 'application/pdf')
  const reply = await imageOf(`/storage/files/${file.id}/image?width=256&format=png`)
  t.equal(reply.status, 200)
  const { data, info } = await sharp(reply.bytes).removeAlpha().raw().toBuffer({ resolveWithObject: true })
  t.same([info.width, info.height], [256, 128])
  const pixel = (x: number, y: number): number[] => [...data.subarray(3 * (256 * y + x)).subarray(0, 3)]
  t.same(pixel(50, 64), [255, 0, 0], 'red at the left')
  t.same(pixel(200, 64), [255, 255, 255], 'paper at the right')
  const large = await sharp((await imageOf(`/storage/files/${file.id}/image?width=2048`)).bytes).metadata()
  t.same([large.width, large.height], [2048, 1024])
})

t.test('a hostile PDF is refused within its limits, and the server goes on', async (t) => {
  const good = pdfWith([stream('1 0 0 rg 0 0 9 9 re f')])
  for (const [what, bytes, statuses] of [
    ['noise', Buffer.concat([Buffer.from('%PDF-1.7\n'), randomBytes(5000)]), [409]],
    ['no page', pdfOf(['<< /Type /Catalog /Pages 2 0 R >>', '<< /Type /Pages /Kids [] /Count 0 >>']), [409]],
    [
      'a cycle of pages',
      pdfOf(['<< /Type /Catalog /Pages 2 0 R >>', '<< /Type /Pages /Kids [2 0 R] /Count 1 >>']),
      [409],
    ],
    ['a page of no size', pdfWith([stream('')], '/MediaBox [0 0 0 0]'), [200, 409]],
    ['a page as thin as a hair', pdfWith([stream('')], '/MediaBox [0 0 0.001 14400]'), [200, 409]],
    [
      'a stream that grows to 1 GB',
      pdfWith([packedStream(deflateSync(Buffer.alloc(1e9)), '/Filter [/FlateDecode /FlateDecode]')]),
      [200, 409],
    ],
    ['endless drawing', pdfWith([packedStream('0 0 400 200 re f\n'.repeat(300_000))]), [200, 409]],
  ] as const) {
    const file = await store(bytes, { name: 'a.pdf' })
    const reply = await imageOf(`/storage/files/${file.id}/image`)
    t.ok((statuses as readonly number[]).includes(reply.status), `${what}: ${reply.status}`)
  }
  const file = await store(good, { name: 'good.pdf' })
  t.equal((await imageOf(`/storage/files/${file.id}/image`)).status, 200)
})
