// Benchmark of large contracts: CPU time to generate the code and to start the server. Larger contracts are
// the real one plus copies of its largest area, served by a copy of this project with empty handlers.
import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { operations as own } from '../../generated/operations.ts'
import { exportName } from '../generate/types.ts'
import { writeLargeSpec } from './large-spec.ts'
import { createDatabase } from './population.ts'
import type { Stage } from './stage.ts'
import { table } from './table.ts'

const root = join(import.meta.dirname, '../..')
const ownOperations = Object.keys(own).length
/** The generated code that the server loads for validation. */
const validation = ['validators.js', 'serializers.js']

interface Cost {
  operations: number
  generate: number
  /** null for a contract that lacks operations the server needs. */
  server: {
    boot: number
    parts: number[]
    use: number
  } | null
}

export async function benchContract(
  stage: Stage,
  { sizes, repeats }: { sizes: number[]; repeats: number },
): Promise<string> {
  const { url: serverUrl } = await stage.postgres()
  const url = await createDatabase(serverUrl, 'bench_boot')
  const costs: Cost[] = []
  for (const [i, size] of sizes.entries()) {
    const folder = join(stage.folder, `contract-${i}`)
    const spec = await writeLargeSpec(join(folder, 'spec'), size, { fewer: true })
    const out = join(folder, 'generated')
    const generate = await best(repeats, async () => {
      rmSync(out, { recursive: true, force: true })
      return await stage.run(join(root, 'scripts/generate/main.ts'), ['--spec', spec.root, '--out', out])
        .ended
    })
    if (spec.operations < ownOperations) {
      costs.push({ operations: spec.operations, generate, server: null })
      continue
    }
    await copyProject(folder)
    const boots: Array<{ boot: number; parts: number[] }> = []
    for (let j = 0; j < repeats + 1; j++) boots.push(await boot(stage, folder, url))
    const parts = validation.map((_, part) => Math.min(...boots.map((one) => one.parts[part])))
    const use = await best(repeats, async () => await usingAll(stage, folder))
    costs.push({
      operations: spec.operations,
      generate,
      server: { boot: Math.min(...boots.map((one) => one.boot)), parts, use },
    })
    rmSync(folder, { recursive: true, force: true })
  }
  return report(costs, repeats)
}

async function best(repeats: number, measure: () => Promise<number>): Promise<number> {
  let least = Infinity
  for (let i = 0; i < repeats; i++) least = Math.min(least, await measure())
  return least
}

/** Copies the project around the existing `generated/`. */
export async function copyProject(folder: string): Promise<void> {
  for (const name of ['app', 'services', 'infra', 'prisma', 'generated/prisma', 'package.json'])
    cpSync(join(root, name), join(folder, name), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction')
  const { operations } = (await import(pathToFileURL(join(folder, 'generated/operations.ts')).href)) as {
    operations: Record<string, { id: string; tag: string }>
  }
  const tags = new Map<string, string[]>()
  for (const { id, tag } of Object.values(operations)) tags.set(tag, [...(tags.get(tag) ?? []), id])
  mkdirSync(join(folder, 'handlers'))
  for (const [tag, ids] of tags) {
    const functions = ids.map((id) => {
      const answer = id === 'getHealth' ? "{ status: 200, body: { status: 'ok' } }" : '{ status: 204 }'
      return `  async ${id} () { return ${answer} }`
    })
    writeFileSync(
      join(folder, 'handlers', `${tag}.ts`),
      `export const ${exportName(tag)} = {\n${functions.join(',\n')}\n}\n`,
    )
  }
  writeFileSync(join(folder, 'boot.ts'), bootSource(folder))
}

/**
 * Loads the validation modules one by one and measures each, then starts the server as `npm start` does.
 */
function bootSource(folder: string): string {
  const load = (name: string): string =>
    `await loading(${JSON.stringify(pathToFileURL(join(folder, 'generated', name)).href)})`
  return `const used = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1e6 }
async function loading (url: string) {
  const before = used()
  await import(url)
  process.stderr.write(\`part \${used() - before}\\n\`)
}
await import('ajv/dist/runtime/equal.js')
await import('ajv-formats/dist/formats.js')
await import('fast-json-stringify')
${validation.map(load).join('\n')}
await import('./app/main.ts')
`
}

async function boot(stage: Stage, folder: string, url: string): Promise<{ boot: number; parts: number[] }> {
  const program = stage.run(join(folder, 'boot.ts'), [], { PORT: '0', DATABASE_URL: url })
  await program.says(/serving at/)
  const cpu = await program.cpu()
  const [, ...parts] = await program.says(new RegExp(validation.map(() => 'part ([\\d.e-]+)').join('\\s+')))
  await program.stop()
  return { boot: cpu, parts: parts.map(Number) }
}

/** V8 compiles functions lazily; this calls each once, as the first request to each operation would. */
async function usingAll(stage: Stage, folder: string): Promise<number> {
  writeFileSync(
    join(folder, 'use.ts'),
    `const used = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1e6 }
const modules = []
for (const name of ${JSON.stringify(validation)}) modules.push((await import('./generated/' + name)).default)
const before = used()
for (const functions of modules)
  for (const name of Object.keys(functions)) try { functions[name]({ data: [] }) } catch {}
process.stderr.write(\`used \${used() - before}\\n\`)
`,
  )
  const program = stage.run(join(folder, 'use.ts'))
  await program.ended
  const [, seconds] = await program.says(/used ([\d.e-]+)/)
  return Number(seconds)
}

function report(costs: Cost[], repeats: number): string {
  const s = (value: number): string => value.toFixed(2)
  return [
    `Seconds of CPU, the best of ${repeats} to ${repeats + 1}.`,
    `This project's contract has ${ownOperations} operations. The server cannot start with a smaller one.`,
    '"Ready": from the start of the process, with a migrated database, until it serves. Its parts are the',
    'generated modules: request validators, response validators and serializers. "First uses": the',
    'additional time until each of their functions has been called once.',
    '',
    table(
      [
        'operations',
        'generate',
        'ms a further one',
        'ready',
        'of it: requests',
        'answers',
        'writers',
        'other work',
        'first uses',
      ],
      costs.map(({ operations, generate, server }, i) => [
        String(operations),
        s(generate),
        i === 0 ? '' : s(((generate - costs[0].generate) / (operations - costs[0].operations)) * 1000),
        ...(server === null
          ? Array.from({ length: validation.length + 3 }, () => '')
          : [
              s(server.boot),
              ...server.parts.map(s),
              s(server.boot - server.parts.reduce((sum, part) => sum + part, 0)),
              s(server.use),
            ]),
      ]),
    ),
  ].join('\n')
}
