// `npm run dev`: serves the project and follows its files. A save is linted, generated from and served, with one line of
// result; the server that answered goes on until the next one is ready, or for good where that does not come up.
//   --no-types   leaves TypeScript to the editor
import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { printLine as say, runUntilStopped } from '../../app/lifecycle.ts'
import { ConfigError, loadEnvFile, readConfig } from '../../infra/config/config.ts'
import { EmbeddedPostgresError, startEmbedded } from '../../infra/postgres/embedded.ts'
import { createGeneration } from './generation.ts'
import { placed, whyItEnded } from './report.ts'
import { createRounds } from './rebuild.ts'
import { createServers, ServerError } from './zero-downtime.ts'
import { checkTypes, type Place } from './types.ts'
import { watchFiles } from './watch.ts'

const folder = resolve(import.meta.dirname, '../..')
process.chdir(folder)

class UsageError extends Error {}

await runUntilStopped({
  script: 'dev',
  start,
  explain: (error) =>
    [UsageError, ConfigError, EmbeddedPostgresError, ServerError].some((type) => error instanceof type)
      ? (error as Error).message
      : null,
})

async function start(
  progress: (message: string) => void,
): Promise<{ stop: () => Promise<void>; deadline: number; ready: () => void }> {
  const types = readArguments()
  loadEnvFile()
  const config = readConfig()
  const closers: Array<() => unknown> = []
  const stop = async (): Promise<void> => {
    for (const close of closers.splice(0)) await close()
  }
  try {
    const compiled = join(folder, 'node_modules/.cache/dev')
    mkdirSync(compiled, { recursive: true })
    const env = { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? compiled }
    const generation = createGeneration(env)
    closers.unshift(() => generation.stop())
    const databaseUrl = config.databaseUrl ?? (await embedded())
    const servers = createServers({
      env: { ...env, DATABASE_URL: databaseUrl },
      onOutput: (text) => process.stdout.write(text),
      onEnd: (report) =>
        say(`✗ the server has ended: ${whyItEnded(folder, report)}; the next save starts it again`),
    })
    closers.unshift(() => servers.stop())
    const rounds = createRounds({ folder, generation, servers, say })
    const watching = watchFiles({
      folder,
      below: ['spec', 'handlers', 'services', 'infra', 'app', 'prisma'],
      onSave: rounds.save,
    })
    closers.unshift(() => watching.close())
    await rounds.begin()
    if (types) {
      const check = checkTypes(folder, sayTypes())
      closers.unshift(() => check.stop())
    }
    return {
      stop,
      deadline: config.shutdownTimeout * 1000 + 2_000,
      ready: () => say('· watching spec/, handlers/, services/, app/ and prisma/; Ctrl-C stops'),
    }
  } catch (error) {
    await stop()
    throw error
  }

  async function embedded(): Promise<string> {
    const postgres = await startEmbedded({
      dataDir: config.dataDir,
      whenRunning: 'refuse',
      onProgress: progress,
    })
    closers.unshift(() => postgres.stop())
    return postgres.url
  }
}

/** What follows from a mistake elsewhere comes later: generated code is never mended, and tests come last. */
const distance = ({ file }: Place): number =>
  file.startsWith('test/') ? 2 : file.startsWith('generated/') ? 1 : 0

/** Says what is new among the errors, and that there are none any more. */
function sayTypes(): (errors: Place[]) => void {
  let before: Set<string> | null = null
  return (errors) => {
    const now = new Set(
      errors.toSorted((a, b) => distance(a) - distance(b)).map((error) => placed(folder, error)),
    )
    const fresh = [...now].filter((line) => before?.has(line) !== true)
    for (const line of fresh.slice(0, 5)) say(`✗ types: ${line}`)
    if (fresh.length > 5) say(`✗ types: and ${fresh.length - 5} more`)
    if (now.size === 0 && before?.size !== 0) say('✓ types hold')
    before = now
  }
}

function readArguments(): boolean {
  try {
    return (
      parseArgs({ options: { 'no-types': { type: 'boolean', default: false } } }).values['no-types'] === false
    )
  } catch (error) {
    throw new UsageError(`${(error as Error).message.split('\n')[0]} It takes --no-types.`)
  }
}
