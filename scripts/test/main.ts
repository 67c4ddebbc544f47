// `npm test` runs all tests, `npm test -- test/app/health.test.ts` some; options are passed to tap.
// The last line counts the passed and failed tests.
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { closingLine, reportTests, type TestReport } from './report.ts'
import { startTestServices, type TestServices } from './services.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const tap = join(
  dirname(createRequire(import.meta.url).resolve('tap/package.json')),
  'dist',
  'esm',
  'run.mjs',
)
const ci = /^(1|true)$/i.test(process.env['CI'] ?? '')

/** The signal that interrupted the run. */
let interrupted: NodeJS.Signals | undefined
let stopTap = () => {}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    interrupted ??= signal
    stopTap()
  })
}

process.exitCode = await main(process.argv.slice(2))

async function main(args: string[]): Promise<number> {
  const options = args.filter((arg) => arg.startsWith('-'))
  const named = args.filter((arg) => !arg.startsWith('-'))
  const missing = named.find((file) => !existsSync(join(root, file)))
  if (missing !== undefined)
    return end({ passed: 0, failed: 1, skipped: 0 }, `Test file not found: ${missing}.`)

  const files = named.length > 0 ? named : testFiles()
  if (files.length === 0) return end({ passed: 0, failed: 1, skipped: 0 }, 'No test files found.')

  let services: TestServices
  try {
    services = await startTestServices()
  } catch (error) {
    return end({ passed: 0, failed: 1, skipped: 0 }, error instanceof Error ? error.message : String(error))
  }
  try {
    if (interrupted !== undefined) return 130
    await buildTap()
    const { report, code } = await runTap([...options, ...files], services.env)
    if (interrupted !== undefined)
      return end(
        { ...report, failed: Math.max(report.failed, 1) },
        `The run was interrupted by ${interrupted}.`,
      )
    if (report.passed + report.failed === 0) return end({ ...report, failed: 1 }, 'No test ran.')
    if (code !== 0 && report.failed === 0)
      return end({ ...report, failed: 1 }, `tap exited with ${code}, although no test failed.`)
    return end(report)
  } finally {
    await services.stop()
  }
}

function testFiles(): string[] {
  return readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => join('test', file))
    .sort()
}

/**
 * Rebuilds tap without its TypeScript plugin, which costs ten seconds of CPU per file and which Node does
 * not need. tap itself would rebuild only for the next run.
 */
async function buildTap(): Promise<void> {
  const built = join(root, 'node_modules', '@tapjs', 'test', 'test-built', 'dist', 'esm', 'index.js')
  if (existsSync(built) && !readFileSync(built, 'utf8').includes('@tapjs/typescript')) return
  const child = spawn(process.execPath, [tap, 'build'], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] })
  stopTap = () => child.kill('SIGTERM')
  await new Promise((resolve) => child.on('close', resolve))
}

async function runTap(
  args: string[],
  services: Record<string, string>,
): Promise<{ report: TestReport; code: number | string }> {
  // Tests must not use the operator's database or Redis.
  const { DATABASE_URL: _database, REDIS_URL: _redis, ...inherited } = process.env
  const child = spawn(process.execPath, [tap, 'run', '--reporter=tap', ...args], {
    cwd: root,
    // All test files and their servers share one compile cache.
    env: { NODE_COMPILE_CACHE: join(root, 'node_modules', '.cache', 'compiled'), ...inherited, ...services },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  stopTap = () => child.kill('SIGTERM')
  const exited = new Promise<number | string>((resolve) =>
    child.on('close', (code, signal) => resolve(code ?? signal ?? 1)),
  )
  const report = await reportTests(child.stdout, { print: (line) => console.log(line), skippedFails: ci })
  return { report, code: await exited }
}

function end(report: TestReport, problem?: string): number {
  if (problem !== undefined) console.error(problem)
  console.log(closingLine(report))
  return report.failed > 0 ? 1 : 0
}
