// Exports the metrics of the Prometheus registry by OTLP, under the same names.
import { ValueType, type Attributes, type HrTime } from '@opentelemetry/api'
import { millisToHrTime } from '@opentelemetry/core'
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http'
import type { Resource } from '@opentelemetry/resources'
import {
  AggregationTemporality,
  DataPointType,
  MeterProvider,
  PeriodicExportingMetricReader,
  type DataPoint,
  type Histogram,
  type MetricData,
} from '@opentelemetry/sdk-metrics'
import type { Registry } from 'prom-client'
import { version } from '../version.ts'
import { numberOf, type Environment } from './environment.ts'

interface Value {
  value: number
  labels: Record<string, string | number>
  /** For a histogram: with `_bucket`, `_sum` or `_count`. */
  metricName?: string
}

interface Metric {
  name: string
  help: string
  type: string
  values: Value[]
}

const defaultInterval = 60_000
const defaultTimeout = 30_000

export function openMetricsExport(env: Environment, resource: Resource) {
  const interval = numberOf(env, 'OTEL_METRIC_EXPORT_INTERVAL') ?? defaultInterval
  const timeout = Math.min(interval, numberOf(env, 'OTEL_METRIC_EXPORT_TIMEOUT') ?? defaultTimeout)
  let provider: MeterProvider | undefined
  return {
    start(registry: Registry): void {
      const reader = new PeriodicExportingMetricReader({
        exporter: new OTLPMetricExporter(),
        exportIntervalMillis: interval,
        exportTimeoutMillis: timeout,
        metricProducers: [{ collect: () => collect(registry, resource) }],
      })
      provider = new MeterProvider({ resource, readers: [reader] })
    },
    async stop() {
      await provider?.shutdown()
    },
  }
}

async function collect(registry: Registry, resource: Resource) {
  const times = {
    startTime: millisToHrTime(Date.now() - process.uptime() * 1_000),
    endTime: millisToHrTime(Date.now()),
  }
  const found = (await registry.getMetricsAsJSON()) as unknown as Metric[]
  const metrics = found.flatMap((metric) => toData(metric, times) ?? [])
  const scopeMetrics = [{ scope: { name: 'platform-api', version }, metrics }]
  return { resourceMetrics: { resource, scopeMetrics }, errors: [] }
}

interface Times {
  startTime: HrTime
  endTime: HrTime
}

/** null for a summary, which OpenTelemetry has not. */
function toData({ name, help, type, values }: Metric, times: Times): MetricData | null {
  const base = {
    descriptor: {
      name,
      description: help,
      unit: name.includes('seconds') ? 's' : '',
      valueType: ValueType.DOUBLE,
    },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  }
  if (type === 'histogram')
    return { ...base, dataPointType: DataPointType.HISTOGRAM, dataPoints: toHistograms(values, times) }
  const dataPoints = values
    .filter(({ value }) => Number.isFinite(value))
    .map(({ value, labels }) => ({ ...times, attributes: labels, value }))
  if (type === 'counter') return { ...base, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints }
  return type === 'gauge' ? { ...base, dataPointType: DataPointType.GAUGE, dataPoints } : null
}

/** Prometheus counts each bucket with those below it; OpenTelemetry counts it alone. */
function toHistograms(values: Value[], times: Times): Array<DataPoint<Histogram>> {
  const points = new Map<string, { attributes: Attributes; below: number; value: Histogram }>()
  for (const { value, labels, metricName = '' } of values) {
    const { le, ...attributes } = labels
    const key = JSON.stringify(attributes)
    const point = points.get(key) ?? { attributes, below: 0, value: emptyHistogram() }
    points.set(key, point)
    if (metricName.endsWith('_sum')) point.value.sum = value
    else if (metricName.endsWith('_count')) point.value.count = value
    else {
      if (le !== '+Inf') point.value.buckets.boundaries.push(Number(le))
      point.value.buckets.counts.push(value - point.below)
      point.below = value
    }
  }
  return [...points.values()].map(({ attributes, value }) => ({ ...times, attributes, value }))
}

function emptyHistogram(): Histogram {
  return { buckets: { boundaries: [], counts: [] }, sum: 0, count: 0 }
}
