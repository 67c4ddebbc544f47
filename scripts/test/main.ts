// `npm test` runs the tests that a change since their last pass can break, in a fresh clone all;
// `npm test -- test/projects packages/mock` those of a folder or file. The last line counts the passed and
// failed tests.
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Pool, type FileResult } from './pool.ts'
import { Cache } from './cache.ts'
import { closingLine, Report } from './report.ts'
import { startTestServices, type TestServices } from './services.ts'
import { printTimes, Times } from './times.ts'
import { usedCpu } from './used-cpu.ts'
import { Yardstick } from './yardstick.ts'
import { answerHelp } from '../../infra/command-help.ts'

const usage = `Usage: npm test -- [options] [file or folder ...]
  --all              runs all tests, those too that passed with the same files
  --times            prints the time and CPU of each file, slowest first
  --write-times      runs all tests, and writes their times to test/times.json
  --jobs=N           files at a time (default: two more than there are cores)
  --timeout=SECONDS  time limit of one file (default: 600)`

answerHelp(import.meta, usage)

const root = fileURLToPath(new URL('../..', import.meta.url))
const ci = /^(1|true)$/i.test(process.env['CI'] ?? '')
const isLongForm = process.env['FAULTS'] === 'long'
const report = new Report({ print: (line) => console.log(line), skippedFails: ci })

/** The signal that interrupted the run. */
let interrupted: NodeJS.Signals | undefined
let stop = () => {}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    interrupted ??= signal
    stop()
  })
}

process.exitCode = await main(process.argv.slice(2))

async function main(args: string[]): Promise<number> {
  const problem = await runTests(args).catch((error: unknown) =>
    error instanceof Error ? error.message : String(error),
  )
  const { counts } = report
  if (problem !== null) {
    console.error(problem)
    counts.failed = Math.max(counts.failed, 1)
  }
  console.log(closingLine(counts))
  return counts.failed > 0 ? 1 : 0
}

/** @returns why the run is not complete, or null. */
async function runTests(args: string[]): Promise<string | null> {
  const { values: options, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      all: { type: 'boolean' },
      times: { type: 'boolean' },
      'write-times': { type: 'boolean' },
      jobs: { type: 'string' },
      timeout: { type: 'string' },
    },
  })
  const jobs = Number(options.jobs ?? availableParallelism() + 2)
  const seconds = Number(options.timeout ?? 600)
  if (!(jobs >= 1) || !(seconds >= 1) || (options['write-times'] && positionals.length > 0)) return usage
  const missing = positionals.find((path) => !existsSync(join(root, path)))
  if (missing !== undefined) return `Test file not found: ${missing}.`
  const found = (positionals.length > 0 ? positionals : ['test', 'packages']).flatMap(testFiles)
  if (found.length === 0) return 'No test files found.'
  const cache = new Cache(root)
  const all = positionals.length > 0 || options.all || options['write-times'] || ci
  const files = all ? found : found.filter((file) => !cache.isUnchanged(file))
  if (files.length < found.length)
    console.log(
      `${found.length - files.length} of ${found.length} files passed with all that they depend on: ` +
        'npm test -- --all runs them, too.',
    )
  if (files.length === 0) return null
  const whole = positionals.length === 0 && files.length === found.length

  const yardstick = new Yardstick()
  const times = new Times(root)
  let results: FileResult[] = []
  const services = await startTestServices()
  try {
    await buildTap()
    if (interrupted === undefined) {
      const pool = new Pool({ root, jobs, timeout: seconds * 1000, env: environment(services), report })
      stop = () => pool.stop()
      const wallOf = (file: string): number => cache.wallOf(file) ?? times.wallOf(file) ?? Infinity
      // The longest first, so that no core is idle at the end.
      results = await pool.run(files.toSorted((a, b) => wallOf(b) - wallOf(a) || a.localeCompare(b)))
      if (!isLongForm) cache.save(results, report.passed)
      if (options.times) printTimes(results)
    }
  } finally {
    const left = await services.stop()
    if (interrupted === undefined)
      for (const { pid, command } of left) report.fail(`the tests left process ${pid} behind: ${command}`)
  }
  const yardstickMs = yardstick.stop()
  if (interrupted !== undefined) return `The run was interrupted by ${interrupted}.`
  // The CPU of ended children is known on Linux only.
  if (process.platform === 'linux') {
    const total = usedCpu()
    const rest = results.reduce((left, { cpu }) => left - cpu, total)
    console.log(
      `CPU seconds: ${inSeconds(total)}, of which ${inSeconds(rest)} for the services and the runner; ` +
        `by the clock ${inSeconds(performance.now())}.`,
    )
    const used = { results, services: rest, yardstick: yardstickMs }
    if (options['write-times']) times.write(used)
    else if (whole && !isLongForm) {
      const excess = times.excess(used)
      if (excess !== null) report.fail('the CPU of the whole run', excess)
    }
  }
  return report.counts.passed + report.counts.failed === 0 ? 'No test ran.' : null
}

function inSeconds(milliseconds: number): string {
  return (milliseconds / 1000).toFixed(0)
}

// A template has tests of the project that is made from it.
function testFiles(path: string): string[] {
  const full = join(root, path)
  if (!statSync(full).isDirectory()) return [relative(root, full)]
  return readdirSync(full, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts') && !/(^|\/)(template|node_modules)\//.test(file))
    .map((file) => relative(root, join(full, file)))
    .sort()
}

/** Tests must not use the operator's database or Redis. All test files share one compile cache. */
function environment(services: TestServices): NodeJS.ProcessEnv {
  const { DATABASE_URL: _database, REDIS_URL: _redis, ...inherited } = process.env
  const cache = join(root, 'node_modules', '.cache', 'compiled')
  const options = [
    process.env['NODE_OPTIONS'],
    `--require="${join(import.meta.dirname, 'handlers-run.cjs')}"`,
  ]
  return {
    NODE_COMPILE_CACHE: cache,
    ...inherited,
    ...services.env,
    NODE_OPTIONS: options.filter(Boolean).join(' '),
  }
}

/**
 * Rebuilds tap without its TypeScript plugin, which Node does not need, and which costs seconds of CPU in
 * each process.
 */
async function buildTap(): Promise<void> {
  const built = join(root, 'node_modules', '@tapjs', 'test', 'test-built', 'dist', 'esm', 'index.js')
  if (existsSync(built) && !readFileSync(built, 'utf8').includes('@tapjs/typescript')) return
  const tap = dirname(createRequire(import.meta.url).resolve('tap/package.json'))
  const child = spawn(process.execPath, [join(tap, 'dist', 'esm', 'run.mjs'), 'build'], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  stop = () => child.kill('SIGTERM')
  await new Promise((resolve) => child.on('close', resolve))
}
