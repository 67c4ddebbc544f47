// `npm run contract -- --url URL --key KEY`: the contract tests against any running server of this API, the deployed one included. Knows nothing but the
// contract: requests are made from its schemas, and every answer is held against it.
import { randomInt } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { UsageError } from './accounts.ts'
import { createProgress } from './progress.ts'
import { reportAsHtml } from './html.ts'
import { reportAsJUnit } from './junit.ts'
import { reportAsText } from './text.ts'
import { Unreachable } from './sender.ts'
import { runContract, type Outcome } from './run-all.ts'
import { operationsOf, type Json, type Operation } from './document.ts'

const usage = `npm run contract -- --url URL --key KEY [options]

  --url URL          where the server is, without /v1
  --key KEY          an API key; one that may make users makes its own, and touches nobody's account; without --key: $CONTRACT_KEY
  --second-key KEY   a key of another user, who must see nothing of the first
  --spec FILE        the contract as JSON; else the server's own /openapi.json
  --seed N           makes the same requests again
  --runs N           how many requests with made-up values each operation gets; default 10
  --operation ID     only this operation; may be repeated
  --path TEXT        only operations whose path begins with this
  --tag TAG          only operations with this tag; may be repeated
  --read-only        sends nothing that could change anything
  --time S           begins nothing new after so many seconds; default 1800
  --junit FILE       writes a JUnit report
  --html FILE        writes a page with every operation and status
  --help

Exit 0: the server keeps the contract. 1: it does not. 2: it was not asked.`

const parsed = (): ReturnType<typeof parseOptions> => parseOptions(process.argv.slice(2))

function parseOptions(args: string[]) {
  return parseArgs({
    args,
    options: {
      url: { type: 'string' },
      key: { type: 'string' },
      'second-key': { type: 'string' },
      spec: { type: 'string' },
      seed: { type: 'string' },
      runs: { type: 'string', default: '10' },
      operation: { type: 'string', multiple: true },
      path: { type: 'string' },
      tag: { type: 'string', multiple: true },
      'read-only': { type: 'boolean', default: false },
      time: { type: 'string', default: '1800' },
      junit: { type: 'string' },
      html: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  }).values
}

type Options = ReturnType<typeof parseOptions>

/** Throws UsageError where the server has no contract to read. */
async function readDocument({ spec, url }: Options): Promise<Json> {
  try {
    if (spec !== undefined) return JSON.parse(readFileSync(resolve(spec), 'utf8'))
    const response = await fetch(`${url}/openapi.json`, { signal: AbortSignal.timeout(30_000) })
    if (response.status !== 200)
      throw new UsageError(
        `${url}/openapi.json answers ${response.status}: say where the contract is with --spec FILE.`,
      )
    return await response.json()
  } catch (error) {
    if (error instanceof UsageError) throw error
    const { cause, message } = error as Error
    throw new UsageError(
      `The contract cannot be read from ${spec ?? `${url}/openapi.json`}: ${(cause as Error | undefined)?.message || message}`,
    )
  }
}

function wanted(
  { operation, path, tag }: Options,
  operations: Operation[],
): (operation: Operation) => boolean {
  for (const id of operation ?? [])
    if (!operations.some((each) => each.id === id))
      throw new UsageError(`The contract has no operation ${id}.`)
  for (const name of tag ?? [])
    if (!operations.some((each) => each.tag === name))
      throw new UsageError(`The contract has no operation with the tag ${name}.`)
  if (
    path !== undefined &&
    !operations.some((each) => each.path.startsWith(path) || each.path.startsWith(`/v1${path}`))
  )
    throw new UsageError(`The contract has no path that begins with ${path}.`)
  return (each) =>
    (operation === undefined || operation.includes(each.id)) &&
    (tag === undefined || tag.includes(each.tag)) &&
    (path === undefined || each.path.startsWith(path) || each.path.startsWith(`/v1${path}`))
}

function numberOf(name: string, text: string | undefined, least: number): number {
  const number = Number(text)
  if (text === undefined || !Number.isInteger(number) || number < least)
    throw new UsageError(`--${name} is a whole number from ${least}, not ${text}.`)
  return number
}

async function main(): Promise<number> {
  const options = parsed()
  if (options.help) {
    console.log(usage)
    return 0
  }
  const key = options.key ?? process.env.CONTRACT_KEY
  if (options.url === undefined || key === undefined)
    throw new UsageError(
      'Say which server, with --url, and with which key, with --key; --help says the rest.',
    )
  if (!/^https?:\/\//.test(options.url) || URL.parse(options.url) === null)
    throw new UsageError(`--url is an address such as http://127.0.0.1:3000, not ${options.url}.`)
  const url = options.url.replace(/\/+$/, '')
  const document = await readDocument({ ...options, url })
  const seed = options.seed === undefined ? randomInt(1, 2 ** 31 - 1) : numberOf('seed', options.seed, 0)
  const progress = createProgress(process.stderr)
  const outcome = await runContract({
    document,
    base: url,
    key,
    secondKey: options['second-key'] ?? null,
    seed,
    runs: numberOf('runs', options.runs, 1),
    readOnly: options['read-only'],
    time: numberOf('time', options.time, 1) * 1000,
    wanted: wanted(options, operationsOf(document)),
    onProgress: progress.show,
  }).finally(() => progress.end())
  report(outcome, url, options)
  return outcome.findings.all.length > 0 ? 1 : 0
}

function report(outcome: Outcome, url: string, { junit, html, ...options }: Options): void {
  console.log(reportAsText(outcome, url, options))
  for (const [file, text] of [
    [junit, () => reportAsJUnit(outcome)],
    [html, () => reportAsHtml(outcome, url)],
  ] as const)
    if (file !== undefined) writeFileSync(resolve(file), text())
}

if (import.meta.main) {
  try {
    process.exitCode = await main()
  } catch (error) {
    const known =
      error instanceof UsageError ||
      error instanceof Unreachable ||
      (error as { code?: string }).code?.startsWith('ERR_PARSE_ARGS') === true ||
      'syscall' in (error as object)
    if (!known) throw error
    console.error((error as Error).message)
    process.exitCode = 2
  }
}
