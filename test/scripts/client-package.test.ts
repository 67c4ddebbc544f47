// The client as an npm package: installed from a running server into an empty project, compiled there, and
// run in Node and a browser.
import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import ts from 'typescript'
import { clientPackage } from '../../services/docs/client-package.ts'
import { launchBrowser, skipWithoutBrowser } from '../support/browser.ts'
import { startServer } from '../support/server.ts'

const root = resolve(import.meta.dirname, '../..')
const run = promisify(execFile)

const server = await startServer(t)
const folder = await mkdtemp(join(tmpdir(), 'consumer-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))
await writeFile(join(folder, 'package.json'), '{ "private": true, "type": "module" }')
// No registry: the package has no dependencies.
await run(
  'npm',
  ['install', `${server.url}/docs/client.tgz`, '--registry=http://127.0.0.1:9', '--no-audit', '--no-fund'],
  { cwd: folder },
)
const installed = join(folder, 'node_modules/@platform-api/client')

t.test("the package has the contract's version and contains only the client", async (t) => {
  const contract = JSON.parse(await readFile(join(root, 'generated/openapi.json'), 'utf8'))
  const manifest = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'))
  t.equal(manifest.version, contract.info.version)
  t.match(manifest, { name: '@platform-api/client', license: 'MIT', engines: { node: '>=20' } })
  t.equal(manifest.dependencies, undefined)
  t.same(await readdir(installed), await readdir(join(root, 'generated/client')))
  for (const name of (await readdir(installed)).filter((file) => file.endsWith('.js'))) {
    const text = await readFile(join(installed, name), 'utf8')
    t.notMatch(text, /from 'node:|\bBuffer\b|\brequire\(/, `${name} runs in a browser`)
    for (const [, imported] of text.matchAll(/^(?:import|export) .* from '([^']+)'/gm))
      t.ok(imported.startsWith('./') && existsSync(join(installed, imported)), `${name} imports ${imported}`)
  }
})

t.test('npm installs the same bytes again, and a cache revalidates them', async (t) => {
  const url = `${server.url}/docs/client.tgz`
  const response = await fetch(url)
  t.equal(response.headers.get('content-type'), 'application/gzip')
  t.match(response.headers.get('content-disposition'), /filename="platform-api-client-\d[\w.-]*\.tgz"/)
  const bytes = Buffer.from(await response.arrayBuffer())
  t.ok(bytes.equals(await clientPackage()), 'reproducible')
  t.ok(bytes.length < 150_000, `${bytes.length} bytes`)
  const etag = response.headers.get('etag')!
  const again = await fetch(url, { headers: { 'if-none-match': etag } })
  t.equal(again.status, 304)
  t.equal(again.headers.get('etag'), etag)
  const docs = (await (await fetch(`${server.url}/docs/openapi.json`)).json()) as {
    info: { description: string }
  }
  t.match(docs.info.description, '(/docs/client.tgz)', 'the reference page links to it')
})

t.test('correct use compiles in strict mode with checked libraries, and misuse does not', async (t) => {
  await cp(join(root, 'test/support/client-consumer'), folder, { recursive: true })
  const [, example] = /```ts\n([^]*?)```/.exec(await readFile(join(installed, 'README.md'), 'utf8'))!
  await writeFile(join(folder, 'readme.ts'), example)
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    lib: ['lib.es2022.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
    types: [],
  }
  const program = ts.createProgram([join(folder, 'use.ts'), join(folder, 'readme.ts')], options)
  const problems = ts.getPreEmitDiagnostics(program).map(({ file, start, messageText }) => {
    const line = file === undefined ? '' : file.getLineAndCharacterOfPosition(start!).line + 1
    const message = ts.flattenDiagnosticMessageText(messageText, '\n')
    return `${file?.fileName.slice(folder.length)}:${line} ${message}`
  })
  t.strictSame(problems, [])
})

const script = (url: string, key: string) => `
  const client = createPlatformClient({ baseUrl: '${url}', apiKey: '${key}', dangerouslyAllowBrowser: true })
  const project = await client.createProject({ body: { name: 'From outside' } })
  const names = []
  for await (const { name } of client.listProjects.all()) names.push(name)
  const code = await client
    .getProject({ path: { id: 'prj_01jd6y8m5qe8btc4y5w1r0n3fz' } })
    .catch((error) => error instanceof PlatformError && error.code)
  const progress = []
  const file = await client.uploadFile({
    body: { file: new File([new Uint8Array(2_000_000)], 'zeros.bin') },
    onProgress: (now) => progress.push(now.sent),
  })
  const more = new File([new Uint8Array(3_000_000)], 'more.bin')
  const upload = await client.resumableUpload(more, { pieceSize: 2_000_000 })
  let event
  for await (event of client.streamEvents({ query: { cursor: 'start', type: 'project.created' } })) break
  const result = {
    names,
    code,
    bytes: file.bytes,
    monotone: progress.every((sent, i) => i === 0 || sent > progress[i - 1]),
    last: progress.at(-1),
    uploaded: upload.file_id !== null,
    event: event.data.type,
  }
`
const expected = {
  names: ['From outside'],
  code: 'NOT_FOUND',
  bytes: 2_000_000,
  monotone: true,
  last: 2_000_000,
  uploaded: true,
  event: 'project.created',
}

t.test('the client runs in Node', async (t) => {
  const { key } = await server.person()
  await writeFile(
    join(folder, 'use.js'),
    `import { createPlatformClient, PlatformError } from '@platform-api/client'
${script(server.url, key)}
console.log(JSON.stringify(result))`,
  )
  const { stdout, stderr } = await run(process.execPath, ['use.js'], { cwd: folder })
  t.strictSame(JSON.parse(stdout), expected)
  t.equal(stderr, '')
})

t.test(
  'the client runs in a browser without a build, on a page of another origin',
  { skip: skipWithoutBrowser },
  async (t) => {
    const imports = { '@platform-api/client': '/@platform-api/client/index.js' }
    const site = createServer(async ({ url }, response) => {
      if (url === '/')
        return response
          .setHeader('content-type', 'text/html')
          .end(`<!doctype html><script type="importmap">${JSON.stringify({ imports })}</script>`)
      const file = join(folder, 'node_modules', url!)
      if (!existsSync(file)) return response.writeHead(404).end()
      response.setHeader('content-type', 'text/javascript').end(await readFile(file))
    })
    site.listen(0, '127.0.0.1')
    await once(site, 'listening')
    t.teardown(() => {
      site.close()
      site.closeAllConnections()
    })
    const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
    const server = await startServer(t, { env: { CORS_ORIGINS: origin } })
    const { key } = await server.person()
    const browser = await launchBrowser(t)
    const page = await browser.newPage()
    const problems: string[] = []
    page.on('pageerror', (error) => problems.push(String(error)))
    await page.goto(origin)
    const result = await page.evaluate(
      `(async () => {
        const { createPlatformClient, PlatformError } = await import('@platform-api/client')
        ${script(server.url, key)}
        return result
      })()`,
    )
    t.strictSame(result, expected)
    t.strictSame(problems, [])
  },
)
