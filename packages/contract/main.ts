// `npm run contract -- --url URL --key KEY`: runs the contract tests against any running server, a deployed
// one included. Requests are generated from the OpenAPI document, and every response is checked.
import { randomInt } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { UsageError } from './accounts.ts'
import { createProgress } from './progress.ts'
import { reportAsHtml } from './html.ts'
import { reportAsJUnit } from './junit.ts'
import { reportAsText } from './text.ts'
import { ServerUnreachable } from './sender.ts'
import { runContract, type Outcome } from './run-all.ts'
import { ConfigError, configOption, loadConfig, requireKnown } from '@platform-api/openapi/config.ts'
import { noticesOf } from '@platform-api/openapi/faults.ts'
import { operationsOf, type Json, type Operation } from '@platform-api/openapi/document.ts'
import { asOpenapi31, readOpenapi } from '@platform-api/openapi/read.ts'
import { remoteOption } from '@platform-api/openapi/resolver.ts'
import { loadProfile, ProfileError } from '@platform-api/openapi/profile.ts'
import { serverPath } from '@platform-api/openapi/servers.ts'
import { checkNames, type CheckName } from './checks.ts'
import { openapi } from './profile.ts'
import { answerHelp, isMain, messageOf } from '@platform-api/openapi/command-help.ts'

const usage = `npm run contract -- --url URL --key KEY [options]

  --url URL          the server's base URL, without the path that the document's servers have
  --key KEY          an API key; default $CONTRACT_KEY. If the profile says how, and the key may
                     create users, the run creates its own and changes no existing account
  --second-key KEY   an API key of another user, for the tenant isolation checks
  --spec FILE        the OpenAPI document, JSON or YAML; default: the server's /openapi.json
  --profile FILE     a module that exports a ContractProfile; default openapi, for any API
  --config FILE      the configuration; default: toolkit.config.ts, .mts, .js or .json here
  --seed N           repeats the requests of an earlier run
  --runs N           generated valid requests per operation; default 10
  --operation ID     only this operation; may be repeated
  --path TEXT        only operations whose path starts with this text
  --tag TAG          only operations with this tag; may be repeated
  --read-only        sends only GET and OPTIONS requests
  --may-fail ID      this operation need not succeed in a run; may be repeated
  --time S           starts no new check after this many seconds; default 1800
  --junit FILE       writes a JUnit report
  --html FILE        writes an HTML report with every operation and status
  --allow-remote     opens references of FILE to URLs
  --help

Exit code 0: the server conforms to the contract. 1: it does not. 2: the run could not start or failed, or it
found nothing but did not check everything. After Ctrl-C the run ends with a report.`

answerHelp(import.meta, usage)

const signals = ['SIGINT', 'SIGTERM'] as const

function parseOptions(args: string[]) {
  return parseArgs({
    args,
    options: {
      url: { type: 'string' },
      key: { type: 'string' },
      'second-key': { type: 'string' },
      spec: { type: 'string' },
      profile: { type: 'string' },
      seed: { type: 'string' },
      runs: { type: 'string', default: '10' },
      operation: { type: 'string', multiple: true },
      path: { type: 'string' },
      tag: { type: 'string', multiple: true },
      'read-only': { type: 'boolean', default: false },
      'may-fail': { type: 'string', multiple: true },
      time: { type: 'string', default: '1800' },
      junit: { type: 'string' },
      html: { type: 'string' },
      help: { type: 'boolean', default: false },
      ...remoteOption,
      ...configOption,
    },
  }).values
}

type Options = ReturnType<typeof parseOptions>

/** Throws UsageError if the document cannot be read. */
async function readDocument({ spec, url, 'allow-remote': allowRemote }: Options): Promise<Json> {
  try {
    if (spec !== undefined) return await readOpenapi(resolve(spec), { allowRemote })
    const response = await fetch(`${url}/openapi.json`, { signal: AbortSignal.timeout(30_000) })
    if (response.status !== 200)
      throw new UsageError(
        `${url}/openapi.json returned ${response.status}. Pass the OpenAPI document with --spec FILE.`,
      )
    return asOpenapi31(await response.json())
  } catch (error) {
    if (error instanceof UsageError) throw error
    const { cause, message } = error as Error
    throw new UsageError(
      `Cannot read the OpenAPI document from ${spec ?? `${url}/openapi.json`}: ` +
        ((cause as Error | undefined)?.message || message),
    )
  }
}

function operationFilter(
  { operation, path, tag }: Options,
  operations: Operation[],
  prefix: string,
): (operation: Operation) => boolean {
  for (const id of operation ?? [])
    if (!operations.some((each) => each.id === id)) throw new UsageError(`Unknown operation: ${id}.`)
  for (const name of tag ?? [])
    if (!operations.some((each) => each.tag === name)) throw new UsageError(`Unknown tag: ${name}.`)
  const isBelow = (each: Operation): boolean =>
    path === undefined || each.path.startsWith(path) || each.path.startsWith(`${prefix}${path}`)
  if (!operations.some(isBelow)) throw new UsageError(`No path of the contract starts with ${path}.`)
  return (each) =>
    (operation === undefined || operation.includes(each.id)) &&
    (tag === undefined || tag.includes(each.tag)) &&
    isBelow(each)
}

function numberOf(name: string, text: string | undefined, minimum: number): number {
  const number = Number(text)
  if (text === undefined || !Number.isInteger(number) || number < minimum)
    throw new UsageError(`--${name} must be an integer of at least ${minimum}, not ${text}.`)
  return number
}

/**
 * Runs the command. @returns its exit code. @throws UsageError and others, see `isKnown`.
 * @param print writes the report.
 * @param errors gets the progress.
 */
export async function runCommand(
  args: string[],
  print: (text: string) => void = console.log,
  errors: Parameters<typeof createProgress>[0] = process.stderr,
): Promise<number> {
  const options = parseOptions(args)
  if (options.help) {
    print(usage)
    return 0
  }
  const { profile: configured, mayFail = [], checks = {} } = (await loadConfig(options.config)).contract ?? {}
  requireKnown(Object.keys(checks), checkNames, 'a check of the contract tests')
  const loaded = await loadProfile(options.profile ?? configured ?? 'openapi', { openapi })
  const allowed = [...mayFail, ...(options['may-fail'] ?? [])]
  const profile = { ...loaded, mayFail: new Set([...loaded.mayFail, ...allowed]) }
  const key = options.key ?? process.env.CONTRACT_KEY ?? null
  if (options.url === undefined || (key === null && profile.accounts !== null))
    throw new UsageError('--url and --key are required. See --help.')
  if (!/^https?:\/\//.test(options.url) || !URL.canParse(options.url))
    throw new UsageError(`--url must be a URL such as http://127.0.0.1:3000, not ${options.url}.`)
  const url = options.url.replace(/\/+$/, '')
  const read = await readDocument({ ...options, url })
  for (const notice of noticesOf(read)) errors.write(`${notice}\n`)
  const document = profile.prepare(read)
  const operations = operationsOf(document)
  if (key === null && operations.some(({ scopes }) => scopes !== null))
    throw new UsageError('The contract has operations that need a key. Pass one with --key.')
  const seed = options.seed === undefined ? randomInt(1, 2 ** 31 - 1) : numberOf('seed', options.seed, 0)
  const ids = operations.map(({ id }) => id)
  requireKnown(allowed, ids, 'an operation of the document')
  const runs = numberOf('runs', options.runs, 1)
  const time = numberOf('time', options.time, 1) * 1000
  const selected = operationFilter(options, operations, serverPath(document.servers))
  const progress = createProgress(errors)
  const interrupted = new AbortController()
  const interrupt = (): void => interrupted.abort()
  // The second signal ends the process.
  for (const name of signals) process.once(name, interrupt)
  const outcome = await runContract({
    profile,
    document,
    base: url,
    key,
    secondKey: options['second-key'] ?? null,
    seed,
    runs,
    readOnly: options['read-only'],
    checksOff: new Map(Object.entries(checks) as Array<[CheckName, string]>),
    time,
    selected,
    signal: interrupted.signal,
    onProgress: progress.show,
  }).finally(() => {
    progress.end()
    for (const name of signals) process.off(name, interrupt)
  })
  print(reportAsText(outcome, url, options))
  writeReports(outcome, url, options)
  return outcome.findings.all.length > 0 ? 1 : outcome.unfinished.length > 0 ? 2 : 0
}

function writeReports(outcome: Outcome, url: string, { junit, html }: Options): void {
  for (const [file, text] of [
    [junit, () => reportAsJUnit(outcome)],
    [html, () => reportAsHtml(outcome, url)],
  ] as const)
    if (file !== undefined) writeFileSync(resolve(file), text())
}

/** Whether the message alone says what is wrong. */
export function isKnown(error: unknown): boolean {
  return (
    error instanceof UsageError ||
    error instanceof ServerUnreachable ||
    error instanceof ProfileError ||
    error instanceof ConfigError ||
    (error as { code?: string }).code?.startsWith('ERR_PARSE_ARGS') === true ||
    'syscall' in (error as object)
  )
}

if (isMain(import.meta)) {
  try {
    process.exitCode = await runCommand(process.argv.slice(2))
  } catch (error) {
    console.error(isKnown(error) ? messageOf(error) : error)
    process.exitCode = 2
  }
}
