// `npm run check`: whether generated/, the migrations, the types, the rooms' imports and the code's habits hold.
// Every step runs, whatever the others find; one line each, and what is wrong below it.
import { spawn } from 'node:child_process'
import { dirname, join, resolve } from 'node:path'
import { createRequire } from 'node:module'

const root = resolve(import.meta.dirname, '../..')

interface Step {
  name: string
  holds: string
  command: string[]
}

const steps: Step[] = [
  {
    name: 'generated',
    holds: 'generated/ is what spec/ and schema.prisma say',
    command: ['scripts/generate/main.ts', '--check'],
  },
  {
    name: 'migrations',
    holds: 'the migrations make schema.prisma',
    command: ['scripts/migrate/main.ts', '--check'],
  },
  { name: 'types', holds: 'everything compiles and no promise floats', command: ['scripts/check/types.ts'] },
  { name: 'rooms', holds: 'imports go one way', command: ['scripts/check/layers.ts'] },
  {
    name: 'lint',
    holds: 'oxlint finds nothing',
    command: [
      packageFile('oxlint', 'bin/oxlint'),
      '--config=scripts/check/oxlint.json',
      '--ignore-pattern=generated/**',
      '--report-unused-disable-directives',
    ],
  },
  {
    name: 'format',
    holds: 'Prettier would change nothing',
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
// Together, because the slowest (the types) keeps one core busy and the others fit beside it.
const outcomes = steps.map(run)
for (const [i, step] of steps.entries()) {
  const { ok, output, seconds } = await outcomes[i]
  if (!ok) failed++
  console.log(
    `${ok ? 'ok    ' : 'FAILED'}  ${step.name.padEnd(10)}  ${ok ? step.holds : 'see below'} (${seconds.toFixed(1)} s)`,
  )
  if (!ok) console.log(`${output.replace(/^/gm, '    ')}\n`)
}
console.log(failed === 0 ? 'Everything holds.' : `${failed} of ${steps.length} checks failed.`)
process.exit(failed === 0 ? 0 : 1)
