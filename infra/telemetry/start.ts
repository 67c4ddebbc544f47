// Starts OpenTelemetry if the environment asks for it, with the variables that its SDKs share (OTEL_*).
// Otherwise none of its packages is loaded.
import type { Registry } from 'prom-client'
import { isExported, type Environment } from './environment.ts'
import { setTracer } from './spans.ts'

export interface Telemetry {
  /** Exports the metrics from now on; null if they are not exported. */
  exportMetrics: ((registry: Registry) => void) | null
  /** Exports a line of the log, which is JSON; null if they are not exported. */
  exportLog: ((line: string) => void) | null
  /** Exports what is left. */
  stop(): Promise<void>
}

/** Milliseconds in which the last spans must reach the collector when the process stops. */
const stopTimeout = 2_000

/** @returns null if nothing is exported. @throws ConfigError */
export async function startTelemetry(env: Environment, serviceName: string): Promise<Telemetry | null> {
  const traces = isExported(env, 'TRACES')
  const metrics = isExported(env, 'METRICS')
  const logs = isExported(env, 'LOGS')
  if (!traces && !metrics && !logs) return null
  const { createResource } = await import('./resource.ts')
  const resource = createResource(serviceName)
  const opened = {
    tracer: traces ? (await import('./tracer.ts')).openTracer(env, resource) : null,
    metrics: metrics ? (await import('./metrics-export.ts')).openMetricsExport(env, resource) : null,
    logs: logs ? (await import('./log-export.ts')).openLogExport(env, resource) : null,
  }
  setTracer(opened.tracer?.tracer ?? null)
  return {
    exportMetrics: opened.metrics?.start ?? null,
    exportLog: opened.logs?.write ?? null,
    async stop() {
      setTracer(null)
      const timer = AbortSignal.timeout(stopTimeout)
      const late = new Promise<void>((resolve) => timer.addEventListener('abort', () => resolve()))
      const stops = Object.values(opened).map((each) => each?.stop().catch(() => {}))
      await Promise.race([Promise.all(stops), late])
    },
  }
}
