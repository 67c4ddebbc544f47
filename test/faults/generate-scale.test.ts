// Generating a large spec takes linear time, and its server starts quickly. `npm run faults` generates
// copies of the real spec with up to 1000 operations, `npm test` copies of the mini spec with up to 96.
// Measured in seconds of CPU, the best of some rounds, so that a busy machine has little effect.
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { writeLargeSpec } from '../../scripts/bench/large-spec.ts'
import { miniProject, type MiniProject } from '../support/generator/mini-project.ts'
import { isLongForm } from '../support/long-form.ts'

const start = `
const { operations } = await import('./generated/operations.ts')
const before = process.cpuUsage()
await import('./generated/validators.js')
await import('./generated/serializers.js')
const { user, system } = process.cpuUsage(before)
const { buildApp } = await import('./app/build.ts')
const { readConfig } = await import('./infra/config/config.ts')
const services = {
  config: readConfig({ DATABASE_URL: 'postgresql://none', LOG_LEVEL: 'silent' }),
  database: {},
  eventStreams: { close: async () => {} },
  generations: { close: async () => {} },
  readiness: { stopping: false },
}
const app = await buildApp({ services: services as never, limits: { ping: null } as never })
await app.ready()
const all = process.cpuUsage()
console.log(
  JSON.stringify({
    operations: Object.keys(operations).length,
    validators: (user + system) / 1e6,
    all: (all.user + all.system) / 1e6,
  }),
)
await app.close()
process.exit()
`

const sizes = isLongForm ? [130, 500, 1000] : [12, 36, 96]
const ROUNDS = 6

interface Measured {
  operations: number
  seconds: number
}

/** Generates a spec of this size, or slightly more. */
async function measure(project: MiniProject, size: number): Promise<Measured> {
  const spec = join(project.folder, 'spec')
  const operations = isLongForm
    ? (await writeLargeSpec(spec, size)).operations
    : await writeCopies(spec, size)
  // Every round writes all stubs.
  for (const written of ['handlers', 'test']) {
    await rm(join(project.folder, written), { recursive: true, force: true })
    await mkdir(join(project.folder, written))
  }
  const before = process.cpuUsage()
  const printed = await project.generate({ stubs: true })
  const { user, system } = process.cpuUsage(before)
  t.match(printed, `${operations} operations in spec/openapi.yaml: `)
  return { operations, seconds: (user + system) / 1e6 }
}

const root = join(import.meta.dirname, '../..')
const miniSpec = join(root, 'test/support/generator/mini-spec')

/** Writes the mini spec with copies of its things, each with other operations, schemas and parameters. */
async function writeCopies(folder: string, wanted: number): Promise<number> {
  const things = await readFile(join(miniSpec, 'things.yaml'), 'utf8')
  let root = await readFile(join(miniSpec, 'openapi.yaml'), 'utf8')
  const paths = [...root.matchAll(/^  (\/.*: \{ \$ref: ')things(\.yaml#\/paths\/\w+' \})$/gm)]
  let operations = 12
  for (let copy = 1; operations < wanted; copy++, operations += 6) {
    const [before, components] = things
      .replace(/operationId: \w+/g, `$&Copy${copy}`)
      .replaceAll('tags: [things]', `tags: [things-${copy}]`)
      .replace(/#\/components\/\w+\/\w+/g, `$&Copy${copy}`)
      .replace('minLength: 1', `minLength: 1\n      maxLength: ${100 + copy}`)
      .split('\ncomponents:\n')
    // The response to an invalid request belongs to the root document.
    const own = components.replace(/^  responses:\n[^]*?(?=^  \w)/m, '').replace(/^    Error:\n[^]*$/m, '')
    await writeFile(
      join(folder, `copy${copy}.yaml`),
      `${before}\ncomponents:\n${own.replace(/^ {4}\w+(?=:)/gm, `$&Copy${copy}`)}`,
    )
    root = root
      .replace('tags:\n', `tags:\n  - { name: things-${copy}, description: Copy ${copy}. }\n`)
      .replace(
        'paths:\n',
        `paths:\n${paths.map(([, path, rest]) => `  /copy${copy}${path}copy${copy}${rest}\n`).join('')}`,
      )
  }
  await writeFile(join(folder, 'openapi.yaml'), root)
  return operations
}

t.test('a large spec is generated in linear time, and its server starts quickly', async (t) => {
  const project = await miniProject(t.testdir())
  // The real spec has resources, whose columns the generator reads.
  if (isLongForm) await cp(join(root, 'prisma'), join(project.folder, 'prisma'), { recursive: true })
  // The first run is slower, because V8 has not compiled the code yet.
  await measure(project, sizes[0])
  let best: Measured[] = []
  // Other processes can only slow a round down, so the best of some rounds is the cost of the generator.
  const isLinear = (): boolean => {
    const [few, some, many] = best
    const perOperation = (a: Measured, b: Measured): number =>
      (b.seconds - a.seconds) / (b.operations - a.operations)
    // Quadratic growth would be a factor of 2.75, (36 + 96) / (12 + 36), or 2.4, (500 + 1000) / (130 + 500).
    return perOperation(some, many) < 2 * perOperation(few, some)
  }
  for (let round = 0; round < ROUNDS && (round === 0 || !isLinear()); round++) {
    const measured: Measured[] = []
    for (const size of sizes) measured.push(await measure(project, size))
    best = measured.map((each, i) => (best[i]?.seconds < each.seconds ? best[i] : each))
    t.comment(JSON.stringify(measured))
  }
  t.ok(isLinear(), 'the time per operation is constant')
  t.ok(best[0].seconds < 10, `${best[0].operations} operations in ${best[0].seconds} s`)

  await project.write('start.ts', start)
  const { stdout, stderr } = await project.run(['start.ts'])
  t.equal(stderr, '')
  const started = JSON.parse(stdout)
  t.comment(stdout)
  t.equal(started.operations, best[2].operations)
  t.ok(started.all < 6, `starts in ${started.all} s`)
  t.ok(started.validators < 2, `of which validation ${started.validators} s`)
})
