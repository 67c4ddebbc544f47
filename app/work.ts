// The process of `npm run worker`, from the settings to the stop.
import { type Config, loadEnvFile, readConfig } from '../infra/config/config.ts'
import { startEmbedded } from '../infra/postgres/embedded.ts'
import { createServices } from '../services/services.ts'
import { startBackgroundWorkers } from '../services/background.ts'
import { claimAtStart } from '../services/storage/ownership.ts'
import { claimSecretKey } from '../services/webhooks/secrets.ts'
import { checkAndPrepare } from './database.ts'
import { createLog, standardOutput } from './logging.ts'
import { createRegistry } from './metrics/registry.ts'
import { serveMetrics } from './metrics/serve.ts'
import { startTelemetry, type Telemetry } from '../infra/telemetry/start.ts'
import { explainStartupError } from './startup-errors.ts'
import { runUntilStopped } from './lifecycle.ts'

export async function work(): Promise<void> {
  await runUntilStopped({
    script: 'worker',
    explain: explainStartupError,
    async start(progress) {
      loadEnvFile(progress)
      const config = readConfig()
      const telemetry = await startTelemetry(process.env, 'platform-worker')
      return {
        stop: await startWorker(config, { onProgress: progress, telemetry }),
        deadline: config.shutdownTimeout * 1000,
        ready: () => progress('working; press Ctrl-C to stop'),
      }
    },
  })
}

interface WorkerOptions {
  onProgress: (message: string) => void
  telemetry?: Telemetry | null
}

/** @returns the function that stops it. @throws errors whose message is one sentence for the operator. */
export async function startWorker(
  config: Readonly<Config>,
  { onProgress, telemetry = null }: WorkerOptions,
): Promise<() => Promise<void>> {
  const closers: Array<() => Promise<unknown>> = []
  const stop = async (): Promise<void> => {
    for (const close of closers.splice(0)) await close()
  }
  if (telemetry !== null) closers.push(() => telemetry.stop())
  try {
    const postgres =
      config.databaseUrl === null
        ? await startEmbedded({ dataDir: config.dataDir, whenRunning: 'attach' })
        : null
    if (postgres !== null) closers.unshift(() => postgres.stop())
    const databaseUrl = config.databaseUrl ?? postgres!.url
    await checkAndPrepare(config, databaseUrl, onProgress)
    const log = createLog(config.logLevel, await standardOutput(), telemetry)
    const onError = (error: Error): void => log.error({ err: error }, 'background work failed')
    const services = createServices({ config, databaseUrl, onError })
    closers.unshift(() => services.close())
    await claimAtStart(services.storage, (error) => {
      onProgress(error.message)
      onError(error)
    })
    await claimSecretKey(services.database, services.cipher)
    const workers = await startBackgroundWorkers(services, { runJobs: true, onError, log })
    closers.unshift(() => workers.stop())
    const exportMetrics = telemetry?.exportMetrics ?? null
    if (config.metricsPort !== null || exportMetrics !== null) {
      const registry = createRegistry(services)
      exportMetrics?.(registry)
      if (config.metricsPort !== null) closers.unshift(await serveMetrics(services, registry))
    }
    return stop
  } catch (error) {
    await stop()
    throw error
  }
}
