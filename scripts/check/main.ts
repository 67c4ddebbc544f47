// `npm run check`: checks generated/, the migrations, the settings, the types, the layers and the style of
// the code.
// Every step runs even if another fails. Each prints one line, followed by its problems.
import { spawn } from 'node:child_process'
import { dirname, join, resolve } from 'node:path'
import { createRequire } from 'node:module'
import { answerHelp } from '../../infra/command-help.ts'

answerHelp(import.meta)

const root = resolve(import.meta.dirname, '../..')

interface Step {
  name: string
  /** Printed when the step succeeds. */
  summary: string
  command: string[]
}

const steps: Step[] = [
  {
    name: 'generated',
    summary: 'generated/ and docs/database.md match their sources',
    command: ['scripts/generate/main.ts', '--check'],
  },
  {
    name: 'migrations',
    summary: 'the migrations result in schema.prisma',
    command: ['scripts/migrate/main.ts', '--check'],
  },
  {
    name: 'types',
    summary: 'everything compiles, promises are awaited, and handlers do what the spec declares',
    command: ['scripts/check/types.ts'],
  },
  {
    name: 'openapi',
    summary: 'Redocly, Spectral and the OWASP rules accept the published document',
    command: ['scripts/check/openapi.ts'],
  },
  {
    name: 'contract',
    summary: 'descriptions, limits, cursors, filters and idempotency of the contract agree',
    command: ['scripts/check/contract.ts'],
  },
  {
    name: 'settings',
    summary: '.env.example and docs/configuration.md match the settings table',
    command: ['scripts/settings/main.ts', '--check'],
  },
  { name: 'layers', summary: 'no layer imports a higher one', command: ['scripts/check/layers.ts'] },
  {
    name: 'sql',
    summary: 'SQL is in prisma/sql, and every file of it is used',
    command: ['scripts/check/sql.ts'],
  },
  {
    name: 'benchmarks',
    summary: 'docs/benchmarks.md is at most one minor version old',
    command: ['scripts/check/benchmarks.ts'],
  },
  { name: 'lines', summary: 'no line is longer than 110 columns', command: ['scripts/check/lines.ts'] },
  {
    name: 'lint',
    summary: 'oxlint reports nothing',
    command: [
      packageFile('oxlint', 'bin/oxlint'),
      '--config=scripts/check/oxlint.json',
      '--ignore-pattern=generated/**',
      '--report-unused-disable-directives',
    ],
  },
  {
    name: 'format',
    summary: 'Prettier would change nothing',
    command: [packageFile('prettier', 'bin/prettier.cjs'), '--check', '--log-level=warn', '.'],
  },
]

/** The path of a file inside an installed package. */
function packageFile(name: string, file: string): string {
  return join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), file)
}

interface Outcome {
  ok: boolean
  output: string
  seconds: number
}

function run({ command }: Step): Promise<Outcome> {
  const started = performance.now()
  return new Promise((done) => {
    const chunks: Buffer[] = []
    const child = spawn(process.execPath, command, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
    child.stdout.on('data', (chunk) => chunks.push(chunk))
    child.stderr.on('data', (chunk) => chunks.push(chunk))
    child.on('error', (error) => chunks.push(Buffer.from(String(error))))
    child.on('close', (code) =>
      done({
        ok: code === 0,
        output: Buffer.concat(chunks).toString().trim(),
        seconds: (performance.now() - started) / 1000,
      }),
    )
  })
}

let failed = 0
// In parallel: the slowest step (types) keeps one core busy while the others run beside it.
const outcomes = steps.map(run)
for (const [i, step] of steps.entries()) {
  const { ok, output, seconds } = await outcomes[i]
  if (!ok) failed++
  const text = `${ok ? step.summary : 'see below'} (${seconds.toFixed(1)} s)`
  console.log(`${ok ? 'ok    ' : 'FAILED'}  ${step.name.padEnd(10)}  ${text}`)
  if (!ok) console.log(`${output.replace(/^/gm, '    ')}\n`)
}
console.log(failed === 0 ? 'All checks passed.' : `${failed} of ${steps.length} checks failed.`)
process.exit(failed === 0 ? 0 : 1)
