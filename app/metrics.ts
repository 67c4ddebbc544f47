// GET /metrics in the Prometheus text format, enabled by METRICS. It needs no API key: expose it to internal
// scrapers only.
import type { FastifyInstance } from 'fastify'
import { collectDefaultMetrics, Histogram, Registry } from 'prom-client'
import type { Stall } from './stalls.ts'

/** @returns what the rest of the application counts. */
export function serveMetrics(app: FastifyInstance): { countStall: (stall: Stall) => void } {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const seconds = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Response time by operation and status.',
    labelNames: ['operation', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  })
  const stalls = new Histogram({
    name: 'main_thread_stall_seconds',
    help: 'Stalls of the main thread over 100 ms, by the operation that ran.',
    labelNames: ['operation'],
    buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  })
  app.addHook('onResponse', async (request, reply) => {
    seconds.observe(
      { operation: request.routeOptions.config.operation?.id ?? 'none', status: reply.statusCode },
      reply.elapsedTime / 1000,
    )
  })
  app.addHook('onClose', async () => registry.clear())
  app.get('/metrics', async (_request, reply) =>
    reply.type(registry.contentType).send(await registry.metrics()),
  )
  return {
    countStall({ ms, operations }) {
      const operation = operations.length > 1 ? 'several' : (operations[0] ?? 'none')
      stalls.observe({ operation }, ms / 1000)
    },
  }
}
