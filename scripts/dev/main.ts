// `npm run dev`: serves the project and rebuilds it on every save. A rebuild lints the spec, generates code
// and starts a new server; the previous server keeps answering until the new one is ready.
//   --no-types   does not run the TypeScript compiler
import { mkdirSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { printLine as say, runUntilStopped } from '../../app/lifecycle.ts'
import { ConfigError, loadEnvFile, readConfig } from '../../infra/config/config.ts'
import { EmbeddedPostgresError, startEmbedded } from '../../infra/postgres/embedded.ts'
import { startGenerator } from './generator-process.ts'
import { explainExit, typeReport } from './report.ts'
import { createRebuilder } from './rebuild.ts'
import { createServers, ServerError } from './zero-downtime.ts'
import { checkTypes, type TypeCheck } from './types.ts'
import { watchFiles } from './watch.ts'
import { answerHelp, messageOf } from '../../infra/command-help.ts'

answerHelp(import.meta)

const folder = resolve(import.meta.dirname, '../..')
process.chdir(folder)

class UsageError extends Error {}

await runUntilStopped({
  script: 'dev',
  print: say,
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
    const generator = startGenerator(env)
    closers.unshift(() => generator.stop())
    const databaseUrl = config.databaseUrl ?? (await embedded())
    const servers = createServers({
      env: { ...env, DATABASE_URL: databaseUrl },
      onOutput: (text) => process.stdout.write(text),
      onEnd: (report) =>
        say(`✗ the server exited: ${explainExit(folder, report)}; the next save restarts it`),
    })
    closers.unshift(() => servers.stop())
    let check: TypeCheck | undefined
    const rebuilder = createRebuilder({
      folder,
      generator,
      servers,
      say,
      newDatabase:
        (config.databaseUrl === null ? '' : 'drop and create the database of DATABASE_URL, ') +
        `delete its data (\`rm -r ${relative(folder, config.dataDir) || config.dataDir}\`)`,
      onIdle: () => check?.report(),
    })
    const folders = ['spec', 'handlers', 'services', 'infra', 'app', 'prisma', 'packages']
    const watcher = watchFiles({
      root: folder,
      folders,
      onSave: rebuilder.save,
    })
    closers.unshift(() => watcher.close())
    await rebuilder.start()
    if (types) {
      const report = typeReport(folder, say)
      const begun = checkTypes(folder, {
        onBegin: report.begin,
        onSaved: (errors) => {
          if (!rebuilder.isBusy()) report.found(errors)
        },
        onChecked: (errors) => {
          // At its end the rebuild asks for the errors that are left.
          if (!rebuilder.isBusy()) report.end(errors)
        },
      })
      check = begun
      closers.unshift(async () => {
        report.close()
        await begun.stop()
      })
    }
    return {
      stop,
      deadline: config.shutdownTimeout * 1000 + 2_000,
      ready: () =>
        say(
          `· watching ${folders.map((name) => `${name}/`).join(', ')}` +
            `${types ? ', and the types of test/ and scripts/' : ''}; Ctrl-C stops`,
        ),
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

function readArguments(): boolean {
  try {
    return (
      parseArgs({ options: { 'no-types': { type: 'boolean', default: false } } }).values['no-types'] === false
    )
  } catch (error) {
    throw new UsageError(`${messageOf(error)} The only option is --no-types.`)
  }
}
