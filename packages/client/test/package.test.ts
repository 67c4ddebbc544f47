// The client as an npm package: installed from a running server into an empty project, compiled there, and
// run in Node and a browser.
import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import ts from 'typescript'
import { clientPackage } from '../../../services/docs/client-package.ts'
import { compilerHost } from '../../../test/support/generator/compiler-host.ts'
import { launchBrowser, skipWithoutBrowser } from '../../../test/support/browser/browser.ts'
import { node20, skipWithoutNode20 } from '../../../test/support/server/other-nodes.ts'
import { startWorkingServer } from '../../../test/support/server/working-server.ts'
import { listen } from '../../../test/support/http/listen.ts'

const root = resolve(import.meta.dirname, '../../..')
const run = promisify(execFile)

// Webhooks go to this machine, and the page of another origin is allowed.
const site = await startSite(t)
const server = await startWorkingServer(t, {
  env: { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8', CORS_ORIGINS: site.origin },
})
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
  const isProgram = (file: string): boolean => /^(bin|cli(-\w+)?)\.js$/.test(file)
  for (const name of (await readdir(installed)).filter((file) => file.endsWith('.js') && !isProgram(file))) {
    const text = await readFile(join(installed, name), 'utf8')
    t.notMatch(text, /from 'node:|\bBuffer\b|\brequire\(/, `${name} runs in a browser`)
    for (const [, imported] of text.matchAll(/^(?:import|export) .* from '([^']+)'/gm))
      t.ok(
        imported.startsWith('./') && !isProgram(imported.slice(2)) && existsSync(join(installed, imported)),
        `${name} imports ${imported}`,
      )
  }
})

t.test('npx runs the command line', async (t) => {
  const env = { ...process.env, PLATFORM_URL: server.url, PLATFORM_API_KEY: server.key }
  const { stdout } = await run('npx', ['--offline', 'platform', 'projects', 'create', 'From npx'], {
    cwd: folder,
    env,
  })
  t.match(stdout, /^prj_\w+  active  From npx\n$/)
})

t.test('npm installs the same bytes again, and a cache revalidates them', async (t) => {
  const url = `${server.url}/docs/client.tgz`
  const response = await fetch(url)
  t.equal(response.headers.get('content-type'), 'application/gzip')
  t.match(response.headers.get('content-disposition'), /filename="platform-api-client-\d[\w.-]*\.tgz"/)
  const bytes = Buffer.from(await response.arrayBuffer())
  t.ok(bytes.equals(await clientPackage()), 'reproducible')
  t.ok(bytes.length < 320_000, `${bytes.length} bytes`)
  const etag = response.headers.get('etag')!
  const again = await fetch(url, { headers: { 'if-none-match': etag } })
  t.equal(again.status, 304)
  t.equal(again.headers.get('etag'), etag)
  const reference = await (await fetch(`${server.url}/docs`)).text()
  t.match(reference, 'href="/docs/client.tgz"', 'the reference links to it')
})

const libraries = join(root, 'node_modules')
const strict: ts.CompilerOptions = {
  strict: true,
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
}
await cp(join(root, 'test/support/http/client-consumer'), folder, { recursive: true })
await writeFile(join(folder, 'report.bin'), new Uint8Array(3_000_000))

/** Compiles files of the project; returns the errors in them and in the package. */
function compile(names: string[], more: ts.CompilerOptions): string[] {
  const options = { ...strict, ...more }
  const files = names.map((name) => join(folder, name))
  const program = ts.createProgram(files, options, compilerHost(options))
  // The libraries of TypeScript and Node.js are correct, and take longer than all else.
  const own = program.getSourceFiles().filter(({ fileName }) => !fileName.startsWith(libraries))
  const problems = own.flatMap((file) => ts.getPreEmitDiagnostics(program, file))
  const emitted = options.noEmit ? [] : own.flatMap((file) => program.emit(file).diagnostics)
  return [...problems, ...emitted].map(({ file, start, messageText }) => {
    const line = file === undefined ? '' : file.getLineAndCharacterOfPosition(start!).line + 1
    const message = ts.flattenDiagnosticMessageText(messageText, '\n')
    return `${file?.fileName.slice(folder.length)}:${line} ${message}`
  })
}

t.test('correct use compiles in strict mode, the package is checked, misuse does not compile', async (t) => {
  const readme = await readFile(join(installed, 'README.md'), 'utf8')
  const examples = [...readme.matchAll(/```ts\n([^]*?)```/g)].map(([, example]) => example)
  // The examples after the first one use its client and its project.
  const setup = `const client = createPlatformClient()
const project = await client.projects.get('prj_1')
`
  for (const [i, example] of examples.entries()) {
    const text =
      i === 0 ? example : `import { createPlatformClient } from '@platform-api/client'\n${example}${setup}`
    const [imports, rest] = [text.match(/^import .*$/gm)!.join('\n'), text.replace(/^import .*$/gm, '')]
    const code = i === 0 ? rest : rest.replace(setup, '')
    await writeFile(join(folder, `readme-${i}.ts`), `${imports}\n${i === 0 ? '' : setup}${code}\nexport {}\n`)
  }
  const lib = ['lib.es2022.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts', 'lib.dom.asynciterable.d.ts']
  const names = ['use.ts', 'story.ts', ...examples.map((_, i) => `readme-${i}.ts`)]
  t.strictSame(compile(names, { noEmit: true, lib, types: [] }), [])
  t.ok(examples.length > 4, `${examples.length} examples`)
})

t.test('a program compiles for Node.js in strict mode', async (t) => {
  const options = {
    lib: ['lib.es2022.d.ts'],
    types: ['node'],
    typeRoots: [join(root, 'node_modules/@types')],
  }
  t.strictSame(compile(['receiver.ts'], options), [])
})

const expected = {
  names: ['From outside'],
  roles: ['owner'],
  notFound: 'NOT_FOUND',
  type: 'project.created From outside',
  name: 'report.bin',
  bytes: 3_000_000,
  interrupted: true,
  resumed: true,
  monotone: true,
  uploaded: true,
  status: 'completed',
  complete: true,
  logged: true,
}
let webhook: { payload: string; headers: object; secret: string } | undefined

for (const [name, node, skip] of [
  ['this version of Node.js', process.execPath, false],
  ['Node.js 20', node20, skipWithoutNode20],
] as const) {
  t.test(
    `the quickstart, a resumed upload, a streamed chat and a webhook receiver on ${name}`,
    { skip },
    async (t) => {
      const { key } = await server.person()
      const env = { PATH: process.env.PATH, PLATFORM_BASE_URL: server.url, PLATFORM_API_KEY: key }
      const { stdout, stderr } = await run(node!, ['receiver.js'], { cwd: folder, env, timeout: 120_000 })
      const { result, webhook: uploaded, forged, secret, first } = JSON.parse(stdout)
      t.strictSame(result, expected)
      t.equal(uploaded, 'report.bin')
      t.equal(forged, 400)
      t.equal(stderr, '')
      webhook = { ...first, secret }
    },
  )
}

t.test(
  'the same in a browser without a build, on a page of another origin',
  { skip: skipWithoutBrowser },
  async (t) => {
    const { key } = await server.person()
    const browser = await launchBrowser(t)
    const page = await browser.newPage()
    const problems: string[] = []
    page.on('pageerror', (error) => problems.push(String(error)))
    await page.goto(site.origin)
    const options = { baseUrl: server.url, apiKey: key }
    const refused = await page.evaluate(
      `import('/story.js').then(({ story }) => story(${JSON.stringify(options)})).catch(String)`,
    )
    t.match(refused, /ConfigurationError: This is a web page, where every visitor can read the API key/)
    const result = await page.evaluate(
      `(async () => {
      const { story } = await import('/story.js')
      const file = new File([new Uint8Array(3_000_000)], 'report.bin')
      return await story(${JSON.stringify({ ...options, dangerouslyAllowBrowser: true })}, file)
    })()`,
    )
    t.strictSame(result, expected)
    const type = await page.evaluate(
      `import('@platform-api/client')
      .then(({ verifyWebhook }) => verifyWebhook(${JSON.stringify(webhook)}))
      .then(({ type }) => type)`,
    )
    t.equal(type, 'file.created', 'a webhook is verified')
    t.strictSame(problems, [])
  },
)

/** A page of another origin, with the installed package and the compiled program. */
async function startSite(t: Test): Promise<{ origin: string }> {
  const imports = { '@platform-api/client': '/node_modules/@platform-api/client/index.js' }
  const server = createServer(async ({ url }, response) => {
    if (url === '/')
      return response
        .setHeader('content-type', 'text/html')
        .end(`<!doctype html><script type="importmap">${JSON.stringify({ imports })}</script>`)
    const file = join(folder, url!)
    if (!existsSync(file)) return response.writeHead(404).end()
    response.setHeader('content-type', 'text/javascript').end(await readFile(file))
  })
  const port = await listen(t, server)
  return { origin: `http://127.0.0.1:${port}` }
}
