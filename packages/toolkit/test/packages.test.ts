// The packages as npm tarballs: taken from a running server, installed into an empty folder outside the
// repository, compiled against there, and run on Node.js 20, 22 and this one.
import { execFile, spawn } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import ts from 'typescript'
import { packageNames } from '../../../scripts/pack/main.ts'
import { startServer } from '../../../test/support/server/server.ts'
import { compilerHost } from '../../../test/support/generator/compiler-host.ts'
import { isLongForm } from '../../../test/support/long-form.ts'
import { node20, node22, skipWithoutNode20 } from '../../../test/support/server/other-nodes.ts'

const run = promisify(execFile)
const library = resolve(import.meta.dirname, '../../../test/support/contract/foreign-servers/library.yaml')
const folder = await mkdtemp(join(tmpdir(), 'toolkit-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))
const server = await startServer(t)
const files = packageNames.map((name) => `${name}.tgz`)
for (const file of files) {
  const response = await fetch(`${server.url}/docs/packages/${file}`)
  t.match([response.status, response.headers.get('content-type')], [200, 'application/gzip'], file)
  t.match(response.headers.get('content-disposition'), `filename="${file}"`)
  writeFileSync(join(folder, file), Buffer.from(await response.arrayBuffer()))
}
writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }')
const options = ['--prefer-offline', '--no-audit', '--no-fund']
const isInstalled = await run('npm', ['install', ...options, ...files.map((file) => join(folder, file))], {
  cwd: folder,
}).then(
  () => true,
  (error: { stderr: string }) => {
    if (!/ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENOTCACHED/.test(error.stderr)) throw error
    return false
  },
)
const skipped = !isInstalled && 'no npm registry'
const installed = join(folder, 'node_modules/@platform-api')

t.test(
  'every package contains JavaScript, types and the other packages it needs',
  { skip: skipped },
  async (t) => {
    t.same(readdirSync(installed), [...packageNames].sort())
    for (const name of packageNames) {
      const { version } = JSON.parse(
        readFileSync(join(import.meta.dirname, '../..', name, 'package.json'), 'utf8'),
      )
      const manifest = await readFile(join(installed, name, 'package.json'), 'utf8')
      t.notMatch(manifest, /file:|"private"/)
      t.match(JSON.parse(manifest), { version, license: 'MIT', engines: { node: '>=20.19' } })
      const modules = readdirSync(join(installed, name))
      t.same(
        modules.filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts')),
        [],
      )
      t.ok(modules.includes('CHANGELOG.md') && modules.includes('README.md'))
      const own = JSON.parse(manifest).bundleDependencies as string[]
      for (const each of own) t.ok(readdirSync(join(installed, name, 'node_modules', each)).length > 3, each)
    }
  },
)

t.test('a program compiles against the types', { skip: skipped }, async (t) => {
  const file = join(folder, 'program.ts')
  writeFileSync(
    file,
    `import { readOpenapi } from '@platform-api/openapi/read.ts'
import { operationsOf, type Operation } from '@platform-api/openapi/document.ts'
import { runContract, type Outcome } from '@platform-api/contract/run-all.ts'
import { serveMock } from '@platform-api/mock/serve.ts'
import { generateProject } from '@platform-api/generate/project.ts'
import { defineConfig, type ToolkitConfig } from '@platform-api/toolkit'
const operations: Operation[] = operationsOf(await readOpenapi('openapi.yaml'))
export const ids: string[] = operations.map(({ id }) => id)
export const outcome: typeof runContract extends (...all: any[]) => Promise<Outcome> ? true : false = true
export { serveMock, generateProject }
export const config: ToolkitConfig = defineConfig({ contract: { checks: { leak: 'A reason.' } } })
// @ts-expect-error There is no such check.
defineConfig({ contract: { checks: { leek: 'A reason.' } } })
// @ts-expect-error The file is a text.
await readOpenapi(7)
`,
  )
  const compiler: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.NodeNext,
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    types: ['node'],
    typeRoots: [resolve(import.meta.dirname, '../../../node_modules/@types')],
  }
  const program = ts.createProgram([file], compiler, compilerHost(compiler))
  const problems = ts.getPreEmitDiagnostics(program)
  t.same(
    problems.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')),
    [],
  )
})

for (const [name, node, skip] of [
  ['Node.js 20', node20, skipWithoutNode20],
  ...(isLongForm ? [['Node.js 22', node22, node22 === undefined && 'no Node.js 22'] as const] : []),
  ['this Node.js', process.execPath, false],
] as const)
  t.test(`all commands run on ${name}`, { skip: skipped || skip }, async (t) => {
    const main = join(installed, 'toolkit/main.js')
    const toolkit = async (...args: string[]): Promise<string> =>
      (await run(node!, [main, ...args], { cwd: folder })).stdout
    t.match(await toolkit('--help'), /toolkit COMMAND/)
    t.match(await toolkit('--version'), /^\d+\.\d+\.\d+$/m)
    t.match(await toolkit('lint', library), /0 errors/)
    t.match(await toolkit('changes', library, library), /no changes/i)
    const config = `import { defineConfig } from '@platform-api/toolkit'
export default defineConfig({ lint: { rules: { 'operation-summary': ['off', 'The names say it.'] } } })
`
    for (const extension of ['js', 'ts']) {
      writeFileSync(join(folder, `own.${extension}`), config)
      const linted = toolkit('lint', library, '--config', `own.${extension}`)
      const isRefused = extension === 'ts' && node === node20
      if (isRefused) await t.rejects(linted, { code: 2, stderr: /^own\.ts needs Node\.js 22\.18 or newer/ })
      else t.match(await linted, /operation-summary is off: The names say it\./)
    }
    const out = join(folder, `server-${name.replaceAll(/\W/g, '')}`)
    await toolkit('generate', library, '--out', out)
    t.match(JSON.parse(await readFile(join(out, 'package.json'), 'utf8')), {
      dependencies: { fastify: /^\^\d/, ajv: /^\^\d/ },
      devDependencies: { typescript: /^\^\d/ },
    })
    t.ok(readdirSync(join(out, 'generated/openapi')).includes('parameters.ts'))
    await toolkit('generate', library, '--client', '--out', `${out}-client`)
    const client = `import(${JSON.stringify(join(`${out}-client`, 'index.js'))})`
    const loaded = await run(node!, [
      '-e',
      `${client}.then(({ createClient }) => createClient({ baseUrl: 'http://x' }))`,
    ])
    t.equal(loaded.stderr, '')
    const mock = spawn(node!, [join(installed, 'mock/main.js'), library, '--port', '0', '--key', 'secret'], {
      cwd: folder,
    })
    t.teardown(() => mock.kill())
    const address = await new Promise<string>((found, failed) => {
      let output = ''
      mock.stdout.on('data', (chunk) => {
        output += chunk
        const url = /http:\/\/127\.0\.0\.1:\d+/.exec(output)
        if (url !== null) found(url[0])
      })
      mock.once('exit', () => failed(new Error(output)))
    })
    t.match(
      await toolkit('contract', '--spec', library, '--url', address, '--key', 'secret', '--runs', '2'),
      /conforms to the contract/,
    )
  })
