// GET /metrics: on the public port with METRICS, and on a port of its own with METRICS_PORT. It needs no API
// key: expose it to internal scrapers only.
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { FastifyInstance } from 'fastify'
import type { Registry } from 'prom-client'
import { ConfigError } from '../../infra/config/config.ts'
import type { ApiError } from '../../infra/errors.ts'
import type { Telemetry } from '../../infra/telemetry/start.ts'
import type { Services } from '../../services/services.ts'
import { quotaNames } from '../../services/users/quotas.ts'
import { endStatus } from '../http/response-end.ts'
import type { Stall } from '../stalls.ts'
import { addHttp, createRegistry } from './registry.ts'

export interface Metrics {
  countStall: (stall: Stall) => void
}

/** @returns the metrics that other modules count; null if metrics are off. */
export function addMetrics(
  app: FastifyInstance,
  services: Services,
  telemetry: Telemetry | null = null,
): Metrics | null {
  const { metrics, metricsPort } = services.config
  const exportMetrics = telemetry?.exportMetrics ?? null
  if (!metrics && metricsPort === null && exportMetrics === null) return null
  const registry = createRegistry(services)
  const { seconds, stalls, refusals } = addHttp(registry)
  exportMetrics?.(registry)
  app.endHooks.push((request, reply) => {
    const { operation } = request.routeOptions.config
    seconds.observe(
      { operation: operation?.id ?? 'none', status: endStatus(reply) },
      reply.elapsedTime / 1000,
    )
    const limit = limitOf(request.answeredError)
    if (limit !== null) refusals.inc({ limit })
  })
  app.addHook('onClose', async () => registry.clear())
  if (metrics)
    app.get('/metrics', async (_request, reply) =>
      reply.type(registry.contentType).send(await registry.metrics()),
    )
  if (metricsPort !== null) {
    let close = async (): Promise<void> => {}
    app.addHook('onReady', async () => {
      close = await serveMetrics(services, registry)
    })
    app.addHook('onClose', async () => await close())
  }
  return {
    countStall({ ms, operations }) {
      const operation = operations.length > 1 ? 'several' : (operations[0] ?? 'none')
      stalls.observe({ operation }, ms / 1000)
    },
  }
}

/** The limit that an error is about, such as `rate_limit`, `max_open` or the name of a quota. */
function limitOf(error: ApiError | null): string | null {
  const limit = error?.details.constraint
  if (error === null || limit === undefined) return null
  const isQuota = limit === 'quota' || (quotaNames as string[]).includes(limit)
  return error.status === 429 || isQuota ? limit : null
}

/** Metrics and health of a process, on METRICS_PORT. @returns how to stop. */
export async function serveMetrics(
  { readiness, config: { metricsHost, metricsPort } }: Services,
  registry: Registry,
): Promise<() => Promise<void>> {
  const server = createServer((request, response) => {
    const send = (status: number, type: string, body: string): void => {
      response.writeHead(status, { 'content-type': type }).end(body)
    }
    const answer = async (): Promise<void> => {
      if (request.url === '/metrics') return send(200, registry.contentType, await registry.metrics())
      if (request.url === '/healthz') return send(200, 'application/json', '{"status":"ok"}')
      if (request.url !== '/readyz')
        return send(404, 'text/plain', 'This port has /metrics, /healthz, /readyz.\n')
      const report = await readiness.report()
      send(report.status === 'unavailable' ? 503 : 200, 'application/json', JSON.stringify(report))
    }
    answer().catch((error: Error) => send(500, 'text/plain', `${error.message}\n`))
  })
  server.listen(metricsPort!, metricsHost)
  await once(server, 'listening').catch((error: Error) => {
    throw new ConfigError(`METRICS_PORT ${metricsPort} cannot be used: ${error.message}.`)
  })
  return async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
}
