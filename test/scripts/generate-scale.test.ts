// Generating a spec of a thousand operations takes linear time, and its server starts quickly.
// Measured in seconds of CPU, so that a busy machine has little effect.
import t from 'tap'
import { writeLargeSpec } from '../../scripts/bench/large-spec.ts'
import { miniProject, type MiniProject } from '../support/mini-project.ts'

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
}
const app = await buildApp({ services: services as never, limits: {} as never })
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

async function secondsFor(
  project: MiniProject,
  wanted: number,
): Promise<{ operations: number; seconds: number }> {
  const { operations } = await writeLargeSpec(`${project.folder}/spec`, wanted)
  const printed = await project.generate({ stubs: true })
  return { operations, seconds: Number(/\(([\d.]+) s of CPU\)/.exec(printed)![1]) }
}

t.test('a thousand operations are generated in linear time, and the server starts quickly', async (t) => {
  const project = await miniProject(t.testdir())
  // The first run is slower, because V8 has not compiled the code yet.
  await secondsFor(project, 0)
  const few = await secondsFor(project, 0)
  const some = await secondsFor(project, 500)
  const many = await secondsFor(project, 1000)
  t.comment(JSON.stringify({ few, some, many }))
  t.ok(few.seconds < 10, `${few.operations} operations in ${few.seconds} s`)
  const perOperation = (a: typeof few, b: typeof few): number =>
    (b.seconds - a.seconds) / (b.operations - a.operations)
  // Quadratic growth would be a factor of 2.4: (500 + 1000) / (130 + 500).
  t.ok(perOperation(some, many) < 2 * perOperation(few, some), 'the time per operation is constant')

  await project.write('start.ts', start)
  const { stdout, stderr } = await project.run(['start.ts'])
  t.equal(stderr, '')
  const started = JSON.parse(stdout)
  t.comment(stdout)
  t.equal(started.operations, many.operations)
  t.ok(started.all < 6, `starts in ${started.all} s`)
  t.ok(started.validators < 2, `of which validation ${started.validators} s`)
})
