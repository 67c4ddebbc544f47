// Published OpenAPI documents of others, each without a hand: lint, a generated server that compiles and
// starts, and a mock that conforms to the document. `npm test` takes the copies in test/support/strangers.
// `npm run faults -- strangers` also takes large documents: those in .data/strangers, and those that it can
// download into it.
import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { tmpdir } from 'node:os'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { preparedDocument } from '../../scripts/contract/main.ts'
import { runContract, type Outcome } from '../../scripts/contract/run-all.ts'
import { lintOpenapi } from '../../scripts/lint/lint.ts'
import { createMock } from '../../scripts/mock/server.ts'
import { readOpenapi } from '../../scripts/openapi/read.ts'

interface Stranger {
  name: string
  file: string
  /** Where the long form downloads it, if the copy is not in .data/strangers. */
  url?: string
  /** The findings on the mock that the document itself causes, as `operation check`. */
  known?: string[]
}

const root = join(import.meta.dirname, '../..')
const kept = (name: string): Stranger => ({ name, file: join(root, 'test/support/strangers', name) })
const raw = 'https://raw.githubusercontent.com'
const large = (name: string, path: string, known: string[] = []): Stranger => ({
  name,
  file: join(root, '.data/strangers', name),
  url: `${raw}/${path}`,
  known,
})

const strangers: Stranger[] = [
  kept('petstore-3.0.yaml'),
  kept('petstore-3.1.yaml'),
  kept('museum.yaml'),
  large(
    'tictactoe.yaml',
    'OAI/learn.openapis.org/cff6533ce5444b144946ef6ae2722c34ef6769e0/examples/v3.1/tictactoe.yaml',
  ),
  large(
    'discord.json',
    'discord/discord-api-spec/74fda0fad044407ea280043a03ffc9bc64c4e49e/specs/openapi.json',
  ),
  // It declares a header that may be invalid, but no status for that.
  large('openai.yaml', 'openai/openai-openapi/f85dbe223d40e1a31cba812ab2d755c7e98a92a3/openapi.yaml', [
    'beta_deleteResponse undeclared-status',
    'beta_cancelResponse undeclared-status',
  ]),
  large(
    'twilio.json',
    'twilio/twilio-oai/d50069b44ea8cd23141385bdb6db48f16ff75bb5/spec/json/twilio_api_v2010.json',
  ),
  large('stripe.json', 'stripe/openapi/master/openapi/spec3.json'),
  large('github.json', 'github/rest-api-description/main/descriptions/api.github.com/api.github.com.json'),
]
const isLong = process.env.FAULTS === 'long'
const run = promisify(execFile)
const maxSize = { maxBuffer: 2 ** 26 }
const key = 'any:key'

for (const stranger of strangers) {
  if (!isLong && stranger.url !== undefined) continue
  const skip = !(await isHere(stranger)) && `${stranger.name} cannot be downloaded`
  t.test(stranger.name, { skip, timeout: 1_500_000 }, async (t) => {
    const { file } = stranger
    const problems = await lintOpenapi(file)
    const errors = problems.filter(({ severity }) => severity === 'error').length
    t.comment(`lint: ${errors} errors, ${problems.length - errors} of advice`)

    const folder = await mkdtemp(join(tmpdir(), 'stranger-'))
    t.teardown(() => rmSync(folder, { recursive: true }))
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
    const generated = await measured(['scripts/generate/main.ts', file, '--out', folder])
    t.comment(`generate: ${generated}`)
    t.comment(`compile: ${await measured(['node_modules/typescript/bin/tsc', '-p', folder])}`)
    await startStubs(t, folder, file)
    await checkMock(t, stranger)
  })
}

async function isHere({ file, url }: Stranger): Promise<boolean> {
  if (existsSync(file)) return true
  const response = await fetch(url!, { signal: AbortSignal.timeout(120_000) }).catch(() => null)
  if (response?.ok !== true) return false
  mkdirSync(join(root, '.data/strangers'), { recursive: true })
  writeFileSync(file, await response.text())
  return true
}

/** Runs a program of Node.js. @returns its seconds and megabytes. @throws Error if it fails. */
async function measured(args: string[]): Promise<string> {
  const report = "process.on('exit', () => console.log('MAXRSS', process.resourceUsage().maxRSS))"
  const started = process.hrtime.bigint()
  const { stdout } = await run(
    process.execPath,
    ['--max-old-space-size=8192', '--import', `data:text/javascript,${encodeURIComponent(report)}`, ...args],
    { cwd: root, ...maxSize },
  ).catch((error: Error & { stdout: string; stderr: string }) => {
    throw new Error(`${args.join(' ')}: ${error.stdout.slice(0, 2000)} ${error.stderr.slice(0, 2000)}`)
  })
  const seconds = Number(process.hrtime.bigint() - started) / 1e9
  const kilobytes = Number(/MAXRSS (\d+)/.exec(stdout)![1])
  return `${seconds.toFixed(1)} s, ${Math.round(kilobytes / 1024)} MB`
}

async function contractOf(file: string, base: string): Promise<Outcome> {
  return await runContract({
    profile: 'openapi',
    document: preparedDocument(await readOpenapi(file), 'openapi'),
    base,
    key,
    secondKey: null,
    seed: 3,
    runs: 2,
    readOnly: false,
    selected: () => true,
    time: 900_000,
    onProgress: () => {},
  })
}

/** Starts the generated server, calls its stubs, and stops it. */
async function startStubs(t: Test, folder: string, file: string): Promise<void> {
  const server = spawn(process.execPath, ['main.ts'], {
    cwd: folder,
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let failures = ''
  server.stderr.on('data', (chunk: Buffer) => (failures += chunk.toString().slice(0, 2000)))
  try {
    let base = ''
    for await (const line of createInterface({ input: server.stdout })) {
      base = /^Serving at (\S+)/.exec(line)?.[1] ?? ''
      if (base !== '') break
    }
    if (base === '') throw new Error(`The server did not start: ${failures}`)
    const answer = await fetch(`${base}/openapi.json`)
    t.equal(answer.status, 200)
    const { operations, requests, unfinished } = await contractOf(file, base)
    t.comment(`stubs: ${requests} requests`)
    t.same(unfinished, [])
    // A stub succeeds never, so nothing can be created: the run must not try again and again.
    t.ok(requests < 150 * operations.length, `${requests} requests to ${operations.length} operations`)
  } finally {
    server.kill()
    if (server.exitCode === null && server.signalCode === null) await once(server, 'exit')
  }
}

async function checkMock(t: Test, { file, known = [] }: Stranger): Promise<void> {
  const mock = await createMock({ document: await readOpenapi(file), key })
  t.teardown(() => mock.close())
  const base = await mock.listen({ host: '127.0.0.1', port: 0 })
  const started = process.hrtime.bigint()
  const { findings, operations, unfinished, requests } = await contractOf(file, base)
  const seconds = Number(process.hrtime.bigint() - started) / 1e9
  // An operation that declares no success: the mock answers 200.
  const declared = new Set(
    operations
      .filter(({ responses, otherResponses }) =>
        [...responses.keys(), ...otherResponses.keys()].some((status) =>
          /^([123]|DEFAULT)/.test(String(status)),
        ),
      )
      .map(({ id }) => id),
  )
  const all = findings.all.filter(
    ({ operation, check }) => check !== 'undeclared-status' || declared.has(operation),
  )
  const found = all.map(({ operation, check }) => `${operation} ${check}`)
  t.comment(`mock: ${requests} requests in ${seconds.toFixed(1)} s, ${findings.all.length} findings`)
  t.same([...new Set(found.filter((each) => !known.includes(each)))], [])
  t.same(unfinished, [])
}
