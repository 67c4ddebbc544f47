// TypeScript samples of the reference page: each compiles against the published client and succeeds. The
// examples in them are those of examples.test.ts, which sends all: `npm test` runs one operation of each kind
// in TypeScript, `npm run faults` all.
import { execFile } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import ts from 'typescript'
import t from 'tap'
import { operations, type OperationId } from '../../generated/operations.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { docsData } from '../../services/docs/openapi-samples.ts'
import { oneOfEachKind } from '../support/operations/kinds.ts'
import { isLongForm } from '../support/long-form.ts'
import { prepareSample, sampleOf, samplesInOrder } from '../support/generator/code-samples.ts'
import { compilerHost } from '../support/generator/compiler-host.ts'
import { isEndless } from '../support/contract/contract-schema.ts'
import { startServer } from '../support/server/server.ts'

const run = promisify(execFile)
const root = resolve(import.meta.dirname, '../..')
const ids = Object.keys(operations) as OperationId[]

/** Operations that redirect from a form to a page: the client does not follow them. */
const pages = (id: OperationId): boolean =>
  ['payments-page', 'portal-pages', 'upload-pages', 'sign-in-pages', 'account-pages'].includes(
    operations[id].tag,
  )

/** What the client does in a call. */
function callKind(id: OperationId): unknown {
  const { method, body, scopes, paged, replies, idempotent, queryObjects } = operations[id] as OperationInfo
  return [
    [method, body?.contentTypes, body?.required, scopes !== null, paged, idempotent, queryObjects],
    replies[200]?.binary,
    replies[200]?.events !== undefined,
  ]
}

t.test('the TypeScript sample of every operation compiles against the client and succeeds', async (t) => {
  const folder = t.testdir()
  mkdirSync(join(folder, 'node_modules/@platform-api'), { recursive: true })
  symlinkSync(join(root, 'generated/client'), join(folder, 'node_modules/@platform-api/client'))
  symlinkSync(join(root, 'node_modules/@types'), join(folder, 'node_modules/@types'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  const sources = [
    ...ids.map((id): [string, string] => [id, sampleOf(id, 'TypeScript')]),
    ...Object.entries(docsData().guides).map(([name, samples]): [string, string] => [
      `guide-${name}`,
      samples.map((sample) => sample?.typescript ?? '').join('\n'),
    ]),
  ]
  const files = sources.map(([name]) => join(folder, `${name}.ts`))
  for (const [name, source] of sources) writeFileSync(join(folder, `${name}.ts`), `${source}\nexport {}\n`)
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    target: ts.ScriptTarget.ES2024,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    types: ['node'],
    typeRoots: [join(root, 'node_modules/@types')],
  }
  const program = ts.createProgram(files, options, compilerHost(options))
  const diagnostics = ts
    .getPreEmitDiagnostics(program)
    .map(
      ({ file, messageText }) =>
        `${file?.fileName.split('/').at(-1)}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`,
    )
  const mistakes = diagnostics.filter((line) => /^guide-(quickstart|errors)\.ts: /.test(line))
  t.same(
    diagnostics.filter((line) => !mistakes.includes(line)),
    [],
  )
  t.equal(mistakes.length, 2, 'two guides show the error of a request with mistakes')

  const server = await startServer(t)
  // The pages for browsers redirect to the shop, so their URLs are answered here.
  const all = samplesInOrder().filter((id) => !isEndless(id) && !pages(id))
  const chosen = isLongForm ? all : oneOfEachKind(all, callKind)
  const lines: string[] = []
  for (const id of chosen) {
    const { folder: own, source, env } = await prepareSample(server, folder, id, 'TypeScript')
    writeFileSync(join(own, 'sample.ts'), source)
    lines.push(`await attempt('${id}', ${JSON.stringify(own)}, ${JSON.stringify(env.PLATFORM_API_KEY)})`)
  }
  const main = [
    'const log = console.log',
    'console.log = () => {}',
    'async function attempt (id: string, folder: string, key: string) {',
    '  process.chdir(folder)',
    '  process.env.PLATFORM_API_KEY = key',
    "  try { await import(folder + '/sample.ts'); log(id, 'done') } catch (error) { log(id, String(error)) }",
    '}',
    ...lines,
    '',
  ].join('\n')
  writeFileSync(join(folder, 'all.ts'), main)
  const { stdout } = await run(process.execPath, [join(folder, 'all.ts')], {
    cwd: folder,
    env: { ...process.env, PLATFORM_BASE_URL: server.url },
    maxBuffer: 1e7,
  })
  t.same(
    stdout.trim().split('\n'),
    chosen.map((id) => `${id} done`),
  )
})
