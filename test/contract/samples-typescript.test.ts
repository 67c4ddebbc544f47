// TypeScript samples of the reference page: each compiles against the published client and succeeds.
import { execFile } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import ts from 'typescript'
import t from 'tap'
import { operations, type OperationId } from '../../generated/operations.ts'
import { prepareSample, sampleOf, samplesInOrder } from '../support/generator/code-samples.ts'
import { isEndless } from '../support/contract/contract-schema.ts'
import { startServer } from '../support/server/server.ts'

const run = promisify(execFile)
const root = resolve(import.meta.dirname, '../..')
const ids = Object.keys(operations) as OperationId[]

/** Operations that redirect from a form to a page: the client does not follow them. */
const pages = (id: OperationId): boolean =>
  ['payments-page', 'sign-in-pages', 'account-pages'].includes(operations[id].tag)

t.test('the TypeScript sample of every operation compiles against the client and succeeds', async (t) => {
  const folder = t.testdir()
  mkdirSync(join(folder, 'node_modules/@platform-api'), { recursive: true })
  symlinkSync(join(root, 'generated/client'), join(folder, 'node_modules/@platform-api/client'))
  symlinkSync(join(root, 'node_modules/@types'), join(folder, 'node_modules/@types'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  const files = ids.map((id) => join(folder, `${id}.ts`))
  for (const id of ids) writeFileSync(join(folder, `${id}.ts`), `${sampleOf(id, 'TypeScript')}\nexport {}\n`)
  const program = ts.createProgram(files, {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    target: ts.ScriptTarget.ES2024,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    types: ['node'],
    typeRoots: [join(root, 'node_modules/@types')],
  })
  const diagnostics = ts
    .getPreEmitDiagnostics(program)
    .map(
      ({ file, messageText }) =>
        `${file?.fileName.split('/').at(-1)}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`,
    )
  t.same(diagnostics, [])

  const server = await startServer(t)
  // The pages for browsers redirect to the shop, so their URLs are answered here.
  const chosen = samplesInOrder().filter((id) => !isEndless(id) && !pages(id))
  const lines: string[] = []
  for (const id of chosen) {
    const { folder: own, source, env } = await prepareSample(server, folder, id, 'TypeScript')
    writeFileSync(join(own, 'sample.ts'), source)
    lines.push(`await attempt('${id}', ${JSON.stringify(own)}, ${JSON.stringify(env.PLATFORM_API_KEY)})`)
  }
  const all = [
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
  writeFileSync(join(folder, 'all.ts'), all)
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
