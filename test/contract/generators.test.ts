// Public code generators make clients from the published document. The clients compile strictly, and their
// upload, download, stream and errors work against this server. `npm test` takes two of them, `npm run
// faults` all.
import { spawn } from 'node:child_process'
import { copyFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import ts from 'typescript'
import { typeProblem } from '../../scripts/check/types.ts'
import { compilerHost } from '../support/generator/compiler-host.ts'
import { readGuide } from '../support/generator/guides.ts'
import { isLongForm } from '../support/long-form.ts'
import { startServer } from '../support/server/server.ts'
import { content, fields, type Result, type Server } from './generators/result.ts'

const root = resolve(import.meta.dirname, '../..')
const document = join(root, 'generated/openapi.json')

interface Generator {
  name: string
  /** The command, as in docs/guides/generated-clients.md: a file of a package, and its arguments. */
  command: [packageName: string, file: string, ...args: string[]]
  config?: (server: Server) => string
  /** Whether its own runtime compiles with exactOptionalPropertyTypes. */
  exact: boolean
}

const all: Generator[] = [
  {
    name: 'hey-api',
    command: ['@hey-api/openapi-ts', 'bin/run.js', '-i', document, '-o', 'api', '--no-log-file'],
    exact: false,
  },
  {
    name: 'orval',
    command: ['orval', 'dist/bin/orval.mjs', '--config', 'orval.config.mjs'],
    config: ({ url }) => `export default { api: {
      input: ${JSON.stringify(document)},
      output: { target: 'api.ts', client: 'fetch', mode: 'single', baseUrl: '${url}/v1' },
    } }`,
    exact: false,
  },
  {
    name: 'openapi-fetch',
    command: ['openapi-typescript', 'bin/cli.js', document, '-o', 'api.d.ts'],
    exact: true,
  },
  {
    name: 'oazapfts',
    command: ['oazapfts', 'dist/cli.js', document, 'api.ts'],
    exact: false,
  },
]

/** In the short form, one that generates code, and one that generates types alone. */
const generators = isLongForm ? all : all.filter(({ name }) => ['hey-api', 'openapi-fetch'].includes(name))

const server = await startServer(t)
const { key } = await server.person()

const guide = readGuide('generated-clients')

for (const generator of generators) {
  t.test(`a client made by ${generator.name}`, async (t) => {
    const [packageName, , ...args] = generator.command
    t.match(
      guide,
      `npx ${packageName} ${args.join(' ').replace(document, 'openapi.json')}`,
      'is in the guide',
    )
    const folder = t.testdir()
    await generate(generator, folder)
    t.same(compile(folder, generator), [], 'compiles')
    const result = await runClient(t, folder, generator)
    t.match(result.uploaded, fields)
    t.equal(result.downloaded, content)
    const events = [result.streamed].flat().join('\n')
    for (const event of ['message.created', 'message.delta', 'message.completed']) t.match(events, event)
    t.same(result.error, { status: 404, code: 'NOT_FOUND' })
  })
}

async function generate({ name, command, config }: Generator, folder: string): Promise<void> {
  for (const file of ['result.ts', `${name}.ts`])
    await copyFile(join(import.meta.dirname, 'generators', file), join(folder, file))
  if (config !== undefined)
    await writeFile(join(folder, 'orval.config.mjs'), config({ url: server.url, key }))
  const [packageName, file, ...args] = command
  await run(join(root, 'node_modules', packageName, file), args, folder)
}

function run(script: string, args: string[], cwd: string): Promise<void> {
  return new Promise((done, fail) => {
    const child = spawn(process.execPath, [script, ...args], { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
    child.on('error', fail)
    child.on('close', (code) => (code === 0 ? done() : fail(new Error(`${script} failed:\n${output}`))))
  })
}

/** Writes JavaScript to the folder's `out`. @returns the errors. */
function compile(folder: string, { name, exact }: Generator): string[] {
  const options: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2023,
    lib: ['lib.es2023.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    types: [],
    strict: true,
    exactOptionalPropertyTypes: exact,
    skipLibCheck: true,
    rootDir: folder,
    outDir: join(folder, 'out'),
  }
  const program = ts.createProgram([join(folder, `${name}.ts`)], options, compilerHost(options))
  const problems = ts.getPreEmitDiagnostics(program).map((problem) => typeProblem(folder, problem))
  // To emit all files at once, the compiler would check the libraries.
  const own = program.getSourceFiles().filter(({ isDeclarationFile }) => !isDeclarationFile)
  for (const file of own) program.emit(file)
  return problems
}

async function runClient(t: Test, folder: string, { name }: Generator): Promise<Result> {
  const file = pathToFileURL(join(folder, 'out', `${name}.js`)).href
  const { use } = (await import(file)) as { use: (server: Server) => Promise<Result> }
  return await use({ url: server.url, key })
}
