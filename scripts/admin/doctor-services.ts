// The checks of `doctor` for what is beside the database: disks, NATS, Redis, models, Stripe, and the
// collector of traces.
import { accessSync, constants, existsSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname } from 'node:path'
import { RedisConnection } from '../../app/http/redis.ts'
import { checkBus } from '../../infra/bus/nats-connection.ts'
import type { Config } from '../../infra/config/config.ts'
import type { ProviderSettings } from '../../infra/config/ai-providers.ts'
import { createStripeClient } from '../../services/payments/stripe/client.ts'
import { explain, type Report } from './doctor-report.ts'

type Settings = Readonly<Config>

const timeout = 5_000
const MiB = 1024 ** 2
const minFree = 500 * MiB

/** Folders that are not there yet count with the folder in which they will be. */
export async function checkDisk({ dataDir, storageDir }: Settings, report: Report): Promise<void> {
  const folders = { DATA_DIR: dataDir, STORAGE_DIR: storageDir, TMPDIR: tmpdir() }
  for (const [variable, folder] of Object.entries(folders)) {
    const place = existingParent(folder)
    try {
      accessSync(place, constants.W_OK)
      const { bavail, bsize, blocks } = await statfs(place)
      const free = bavail * bsize
      const share = Math.round((100 * bavail) / blocks)
      const text = `${variable} (${folder}) has ${Math.round(free / MiB)} MiB free, ${share} %`
      if (free < minFree) report('problem', 'disk', `${text}: make room, writes will soon fail.`)
      else if (share < 5) report('warning', 'disk', `${text}: make room soon.`)
      else report('ok', 'disk', `${text}.`)
    } catch (error) {
      report(
        'problem',
        'disk',
        `${variable} cannot be written (${explain(error)}): let this user write there.`,
      )
    }
  }
}

function existingParent(folder: string): string {
  return existsSync(folder) || dirname(folder) === folder ? folder : existingParent(dirname(folder))
}

export async function checkMessageBus({ busUrl }: Settings, report: Report): Promise<void> {
  if (busUrl === null) return
  try {
    await checkBus(busUrl)
    report('ok', 'nats', 'NATS answers.')
  } catch (error) {
    report('problem', 'nats', (error as Error).message)
  }
}

export async function checkRedis({ redisUrl }: Settings, report: Report): Promise<void> {
  if (redisUrl === null) return
  const redis = new RedisConnection(redisUrl, () => {})
  try {
    await redis.connected()
    await redis.ping()
    report('ok', 'redis', 'Redis answers.')
  } catch (error) {
    report(
      'problem',
      'redis',
      `Redis does not answer (${explain(error)}): check REDIS_URL. Until then each server counts by itself.`,
    )
  } finally {
    redis.close()
  }
}

export async function checkModels({ aiProviders }: Settings, report: Report): Promise<void> {
  for (const provider of aiProviders) await checkProvider(provider, report)
}

async function checkProvider({ name, baseUrl, apiKey }: ProviderSettings, report: Report): Promise<void> {
  const check = `model ${name}`
  try {
    const { status } = await fetch(`${baseUrl}/models`, {
      headers: apiKey === null ? {} : { authorization: `Bearer ${apiKey}` },
      redirect: 'manual',
      signal: AbortSignal.timeout(timeout),
    })
    if (status === 401 || status === 403)
      report('problem', check, `${baseUrl} refuses the key (${status}): correct \`api_key\` in AI_UPSTREAMS.`)
    else if (status >= 500) report('problem', check, `${baseUrl} answers ${status}: look at that server.`)
    else report('ok', check, `${baseUrl} answers.`)
  } catch (error) {
    report('problem', check, `${baseUrl} does not answer (${explain(error)}): check AI_UPSTREAMS.`)
  }
}

export async function checkStripe({ stripe: settings }: Settings, report: Report): Promise<void> {
  if (settings === null) return
  const client = createStripeClient({ ...settings, retries: 0, timeoutMs: timeout })
  try {
    await client.request((stripe) => stripe.checkout.sessions.list({ limit: 1 }))
    await client.request((stripe) => stripe.customers.list({ limit: 1 }))
    await client.request((stripe) => stripe.paymentIntents.list({ limit: 1 }))
    report('ok', 'stripe', 'Stripe answers and takes the key.')
  } catch (error) {
    report('problem', 'stripe', `${(error as Error).message}: check STRIPE_SECRET_KEY and its rights.`)
  } finally {
    client.close()
  }
}

/** An empty export, which every collector accepts. */
export async function checkTelemetry(env: NodeJS.ProcessEnv, report: Report): Promise<void> {
  const { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own, OTEL_EXPORTER_OTLP_ENDPOINT: base } = env
  if (env.OTEL_SDK_DISABLED === 'true' || (!own && !base)) return
  const url = own || `${base!.replace(/\/$/, '')}/v1/traces`
  try {
    const { status } = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"resourceSpans":[]}',
      signal: AbortSignal.timeout(timeout),
    })
    // The check sends no OTEL_EXPORTER_OTLP_HEADERS, so that a collector may refuse it.
    if (status < 500 && status !== 404) report('ok', 'traces', `The collector at ${url} answers.`)
    else report('warning', 'traces', `The collector at ${url} answers ${status}: traces are lost.`)
  } catch (error) {
    report(
      'warning',
      'traces',
      `The collector at ${url} does not answer (${explain(error)}): traces are lost.`,
    )
  }
}
