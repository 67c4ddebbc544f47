// Third-party clients: curl uploads and resumes downloads; a browser saves and plays files and executes none.
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { connect, createServer as createProxy } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { launchBrowser, skipWithoutBrowser } from '../support/browser/browser.ts'
import { listen } from '../support/http/listen.ts'
import { startServer } from '../support/server/server.ts'
import { download, assertNothingLeft, uploadFile } from '../support/storage/storage.ts'
import { waitUntil } from '../support/server/wait.ts'

const curl = (process.env['PATH'] ?? '')
  .split(delimiter)
  .map((folder) => join(folder, 'curl'))
  .find((path) => existsSync(path))

const server = await startServer(t)
const { client, key } = await server.person()

t.test('curl', { skip: curl === undefined && 'no curl' }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'curl-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const bytes = randomBytes(5_000_000)
  const source = join(folder, 'source é.bin')
  writeFileSync(source, bytes)
  const authorization = ['-H', `Authorization: Bearer ${key}`]
  let id = ''

  t.test('uploads a file with its fields', async (t) => {
    const { code, text } = await run([
      '-F',
      'path=from/curl',
      '-F',
      'metadata={"by": "curl"};type=application/json',
      '-F',
      'tags=a',
      '-F',
      'tags=b',
      '-F',
      `file=@${source};type=application/x-thing`,
      ...authorization,
      `${server.url}/v1/storage/upload`,
    ])
    t.equal(code, 0)
    const file = JSON.parse(text)
    t.match(file, {
      name: 'source é.bin',
      path: 'from/curl',
      bytes: bytes.length,
      declared_content_type: 'application/x-thing',
      metadata: { by: 'curl' },
      tags: ['a', 'b'],
    })
    id = file.id
    t.ok((await download(server.url, `/storage/files/${id}/download`, { key })).bytes.equals(bytes))
    await assertNothingLeft(t, server)
  })

  t.test('uploads from a pipe with chunked encoding', async (t) => {
    const { code, text } = await run(
      [
        '-H',
        'Transfer-Encoding: chunked',
        '-H',
        'Expect:',
        '-F',
        'file=@-;filename=piped.bin',
        ...authorization,
        `${server.url}/v1/storage/upload`,
      ],
      bytes,
    )
    t.equal(code, 0)
    t.match(JSON.parse(text), { name: 'piped.bin', bytes: bytes.length })
  })

  t.test('sends Expect: 100-continue and reads the error', async (t) => {
    const { code, text } = await run([
      '-H',
      'Expect: 100-continue',
      '-F',
      `file=@${source}`,
      `${server.url}/v1/storage/upload`,
    ])
    t.equal(code, 0)
    t.equal(JSON.parse(text).error.code, 'UNAUTHORIZED')
  })

  t.test('resumes an interrupted download', async (t) => {
    const target = join(folder, 'resumed')
    const path = `/v1/storage/files/${id}/download`
    const sizes: number[] = []
    for (const maxBytes of [1_000_000, 700_000, 1]) {
      const cut = await cuttingProxy(t, server.url, maxBytes)
      const { code } = await run(['-C', '-', '-o', target, ...authorization, cut + path])
      t.ok([18, 52, 56].includes(code), `curl reports an interrupted transfer: ${code}`)
      sizes.push(existsSync(target) ? statSync(target).size : 0)
    }
    t.ok(
      sizes[0] > 0 && sizes[1] > sizes[0] && sizes[2] === sizes[1] && sizes[2] < bytes.length,
      sizes.join(),
    )
    const { code, text } = await run([
      '-C',
      '-',
      '-o',
      target,
      '-w',
      '%{http_code} %{size_download}',
      ...authorization,
      server.url + path,
    ])
    t.equal(code, 0)
    t.equal(text, `206 ${bytes.length - sizes[2]}`)
    t.ok(readFileSync(target).equals(bytes))
    await run(['-C', '-', '-o', target, ...authorization, server.url + path])
    t.ok(readFileSync(target).equals(bytes), 'a complete file is not changed')
  })

  t.test('uses the suggested file name and conditional requests', async (t) => {
    const { body: link } = await client.post(`/storage/files/${id}/links`, {})
    const saved = await run(['-OJ', '-w', '%{filename_effective}', `${link.url}?filename=saved.bin`])
    t.equal(saved.code, 0)
    t.equal(saved.text, 'saved.bin')
    t.ok(readFileSync(join(folder, 'saved.bin')).equals(bytes))
    const tags = join(folder, 'tags')
    const conditional = [
      '--etag-save',
      tags,
      '--etag-compare',
      tags,
      '-o',
      join(folder, 'kept'),
      '-w',
      '%{http_code}',
      link.url,
    ]
    t.equal((await run(conditional)).text, '200')
    t.equal((await run(conditional)).text, '304')
    t.equal(
      (
        await run([
          '-z',
          join(folder, 'saved.bin'),
          '-o',
          join(folder, 'newer'),
          '-w',
          '%{http_code}',
          link.url,
        ])
      ).text,
      '304',
    )
    const head = await run(['-I', link.url])
    t.equal(head.code, 0)
    t.match(head.text, /^HTTP\/1\.1 200 OK\r\n[^]*content-length: 5000000\r\n/i)
    t.equal(
      (
        await run([
          '-r',
          '100-199,-1',
          '-o',
          join(folder, 'many'),
          '-w',
          '%{http_code} %{size_download}',
          link.url,
        ])
      ).text,
      '200 5000000',
    )
  })

  function run(args: string[], input?: Buffer): Promise<{ code: number; text: string }> {
    return new Promise((resolve) => {
      const child = execFile(
        curl!,
        ['-sS', ...args],
        { cwd: folder, env: { LC_ALL: 'C.UTF-8' } },
        (error, stdout) => resolve({ code: Number(error?.code ?? 0), text: stdout }),
      )
      child.stdin!.on('error', () => {})
      child.stdin!.end(input)
    })
  }
})

t.test('a browser', { skip: skipWithoutBrowser }, async (t) => {
  const browser = await launchBrowser(t)
  const wav = sound(180)
  const song = await uploadFile(client, { bytes: wav, name: 'song.wav', type: 'audio/wav' })
  const songLink = async (): Promise<string> =>
    `${(await client.post(`/storage/files/${song.id}/links`, {})).body.url}?disposition=inline`

  t.test('saves a linked file from a page of another origin', async (t) => {
    const bytes = randomBytes(200_000)
    const file = await uploadFile(client, { bytes, fields: { name: '日本語 "x".bin' } })
    const { body: link } = await client.post(`/storage/files/${file.id}/links`, { max_downloads: 1 })
    const page = await open(t, browser, `<a href="${link.url}">save</a>`)
    const [saved] = await Promise.all([page.waitForEvent('download'), page.click('a')])
    t.ok(readFileSync(await saved.path()).equals(bytes))
    t.match(saved.suggestedFilename(), /^日本語 .x.\.bin$/)
    t.equal(await saved.failure(), null)
    t.match(
      (await client.get(`/storage/files/${file.id}/links/${link.id}`)).body,
      { status: 'used_up', download_count: 1 },
      'the file is requested once',
    )
  })

  t.test('plays audio of another origin and seeks in it', async (t) => {
    const page = await open(t, browser, '')
    const elsewhere = await pageOf(t, `<audio preload="metadata" src="${await songLink()}"></audio>`)
    await assertPlays(t, page, 'audio', elsewhere)
  })

  t.test('opens audio directly', async (t) => {
    const page = await open(t, browser, '')
    const warnings: string[] = []
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) warnings.push(message.text())
    })
    await assertPlays(t, page, 'video, audio', await songLink())
    t.same(warnings, [])
  })

  t.test('displays an image and a text inline', async (t) => {
    const picture = await uploadFile(client, {
      bytes: Buffer.from(
        'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
        'base64',
      ),
      name: 'a.png',
      fields: { visibility: 'public' },
    })
    const text = await uploadFile(client, {
      bytes: 'one <b>line</b> é',
      name: 'a.txt',
      fields: { visibility: 'public' },
    })
    const page = await open(t, browser, `<img src="${inlineUrl(picture)}">`)
    t.equal(await page.evaluate('document.images[0].decode().then(() => document.images[0].naturalWidth)'), 1)
    await page.goto(inlineUrl(picture))
    t.same(await page.evaluate('[document.contentType, document.images[0].naturalWidth]'), ['image/png', 1])
    await page.goto(inlineUrl(text))
    t.same(await page.evaluate('[document.contentType, document.body.innerText]'), [
      'text/plain',
      'one <b>line</b> é',
    ])
  })

  t.test('executes no script in a file', async (t) => {
    const script =
      'document.title = "ran"; fetch("/ran"); opener && opener.postMessage("ran", "*"); ' +
      'parent.postMessage("ran", "*")'
    const escaped = script.replaceAll('&', '&amp;')
    const xhtml = 'http://www.w3.org/1999/xhtml'
    const kinds: Record<string, string> = {
      'page.html': `<!doctype html><title>a</title><script>${script}</script>`,
      'page.txt': `<!doctype html><title>a</title><script>${script}</script>`,
      'page.xhtml': `<?xml version="1.0"?><html xmlns="${xhtml}"><script>${script}</script></html>`,
      'drawing.svg': `<svg xmlns="http://www.w3.org/2000/svg"><script>${escaped}</script></svg>`,
      'page.xml': `<?xml version="1.0"?><x:script xmlns:x="${xhtml}">${escaped}</x:script>`,
    }
    const requests: string[] = []
    const frame = await open(
      t,
      browser,
      '<iframe></iframe>' +
        '<script>addEventListener("message", ({ data }) => { document.title = data })</script>',
    )
    frame.on('request', (request) => requests.push(request.url()))
    for (const [name, content] of Object.entries(kinds)) {
      const file = await uploadFile(client, {
        bytes: content,
        name,
        type: 'text/html',
        fields: { visibility: 'public' },
      })
      const { body: link } = await client.post(`/storage/files/${file.id}/links`, {})
      const [saved] = await Promise.all([
        frame.waitForEvent('download'),
        frame.goto(inlineUrl(file)).catch(() => {}),
      ])
      t.equal(readFileSync(await saved.path(), 'utf8'), content, `${name} is saved`)
      const address = `${link.url}?disposition=inline`
      await Promise.all([
        frame.waitForEvent('download'),
        frame.evaluate(`document.querySelector('iframe').src = ${JSON.stringify(address)}`),
      ])
      t.equal(await frame.title(), 'elsewhere', `${name} in an iframe does not run`)
    }
    const code = await uploadFile(client, {
      bytes: 'document.title = "ran"',
      name: 'code.js',
      type: 'text/javascript',
      fields: { visibility: 'public' },
    })
    const text = await uploadFile(client, {
      bytes: 'document.title = "ran"',
      name: 'code.txt',
      type: 'text/plain',
      fields: { visibility: 'public' },
    })
    const page = await open(
      t,
      browser,
      `<script src="${inlineUrl(text)}" onerror="window.refused = true"
        onload="window.refused = false"></script>`,
    )
    t.equal(await page.evaluate('window.refused'), true, 'text/plain is not loaded as a script')
    t.not(await page.title(), 'ran')
    await Promise.all([page.waitForEvent('download'), page.goto(inlineUrl(code)).catch(() => {})])
    t.not(await page.title(), 'ran')
    t.same(
      requests.filter((url) => url.endsWith('/ran')),
      [],
    )
  })

  /** The media element requests ranges, knows the duration, and seeks in both directions. */
  async function assertPlays(t: Test, page: Page, selector: string, address: string): Promise<void> {
    const media = `document.querySelector(${JSON.stringify(selector)})`
    // Evaluated by the debugger, because the sandboxed page cannot run scripts.
    const until = (condition: string): Promise<true> =>
      waitUntil(async () => (await page.evaluate(condition)) === true, condition)
    const responses: Array<{ range: string | undefined; status: number }> = []
    page.on('response', (response) => {
      if (response.url().includes('/links/'))
        responses.push({ range: response.request().headers()['range'], status: response.status() })
    })
    await page.goto(address)
    await until(`${media}.readyState >= 1`)
    t.equal(await page.evaluate(`Math.round(${media}.duration)`), 180)
    await page.evaluate(`${media}.muted = true, ${media}.currentTime = 170`)
    await until(`${media}.readyState >= 2 && !${media}.seeking`)
    await page.evaluate(`${media}.play()`)
    await until(`${media}.currentTime > 170.2`)
    await page.evaluate(`${media}.pause(), ${media}.currentTime = 20`)
    await until(`!${media}.seeking && Math.abs(${media}.currentTime - 20) < 1`)
    t.equal(await page.evaluate(`${media}.error`), null)
    t.ok(
      responses.some(({ range }) => Number(/^bytes=(\d+)-/.exec(range ?? '')?.[1]) > 10_000_000),
      `a range from the middle is requested: ${JSON.stringify(responses)}`,
    )
    t.ok(
      responses.every(({ range, status }) => status === (range === undefined ? 200 : 206)),
      'every range is answered with 206',
    )
  }
})

function inlineUrl({ id }: { id: string }): string {
  return `${server.url}/v1/storage/files/${id}/download?disposition=inline`
}

/** Serves a page from another origin. @returns its URL. */
async function pageOf(t: Test, html: string): Promise<string> {
  const elsewhere = createServer((_request, response) => {
    response
      .writeHead(200, { 'content-type': 'text/html; charset=utf-8' })
      .end(`<!doctype html><title>elsewhere</title><link rel="icon" href="data:,">${html}`)
  })
  return `http://127.0.0.1:${await listen(t, elsewhere)}`
}

async function open(t: Test, browser: Browser, html: string): Promise<Page> {
  const page = await browser.newPage()
  await page.goto(await pageOf(t, html))
  return page
}

/**
 * A proxy to the server that breaks each connection after `bytes` bytes of the response.
 * @returns its URL.
 */
async function cuttingProxy(t: Test, target: string, bytes: number): Promise<string> {
  const proxy = createProxy((socket) => {
    const upstream = connect(Number(new URL(target).port), '127.0.0.1')
    let left = bytes
    for (const end of [socket, upstream]) end.on('error', () => {})
    socket.pipe(upstream)
    upstream.on('data', (chunk) => {
      if (left <= 0) return
      socket.write(chunk.subarray(0, left))
      left -= chunk.length
      if (left > 0) return
      upstream.destroy()
      socket.end()
    })
    socket.on('close', () => upstream.destroy())
  })
  return `http://127.0.0.1:${await listen(t, proxy)}`
}

/** An uncompressed WAV file of this duration. */
function sound(seconds: number): Buffer {
  const rate = 44_100
  const wav = Buffer.alloc(44 + seconds * rate * 4)
  wav.write('RIFF', 0)
  wav.writeUInt32LE(wav.length - 8, 4)
  wav.write('WAVEfmt ', 8)
  wav.writeUInt32LE(16, 16)
  wav.writeUInt16LE(1, 20)
  wav.writeUInt16LE(2, 22)
  wav.writeUInt32LE(rate, 24)
  wav.writeUInt32LE(rate * 4, 28)
  wav.writeUInt16LE(4, 32)
  wav.writeUInt16LE(16, 34)
  wav.write('data', 36)
  wav.writeUInt32LE(wav.length - 44, 40)
  return wav
}
