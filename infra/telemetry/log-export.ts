// Exports the lines of the log by OTLP.
import { ROOT_CONTEXT, trace, TraceFlags, type AnyValue } from '@opentelemetry/api'
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-http'
import type { Resource } from '@opentelemetry/resources'
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs'
import { version } from '../version.ts'
import { numberOf, type Environment } from './environment.ts'

interface Line extends Record<string, AnyValue> {
  /** The number of pino: 10 for trace, 60 for fatal. */
  level: number
  time: string
  msg: string
  err?: { type?: string; message?: string; stack?: string }
  trace_id?: string
  span_id?: string
}

const levels: Record<number, string> = {
  10: 'TRACE',
  20: 'DEBUG',
  30: 'INFO',
  40: 'WARN',
  50: 'ERROR',
  60: 'FATAL',
}

export function openLogExport(env: Environment, resource: Resource) {
  const processor = new BatchLogRecordProcessor({
    exporter: new OTLPLogExporter(),
    scheduledDelayMillis: numberOf(env, 'OTEL_BLRP_SCHEDULE_DELAY'),
    exportTimeoutMillis: numberOf(env, 'OTEL_BLRP_EXPORT_TIMEOUT'),
    maxQueueSize: numberOf(env, 'OTEL_BLRP_MAX_QUEUE_SIZE'),
    maxExportBatchSize: numberOf(env, 'OTEL_BLRP_MAX_EXPORT_BATCH_SIZE'),
  })
  const provider = new LoggerProvider({ resource, processors: [processor] })
  const logger = provider.getLogger('platform-api', version)
  return {
    write(text: string): void {
      const {
        level,
        time,
        msg,
        err,
        trace_id: traceId,
        span_id: spanId,
        ...attributes
      } = JSON.parse(text) as Line
      const span = { traceId: traceId ?? '', spanId: spanId ?? '', traceFlags: TraceFlags.SAMPLED }
      logger.emit({
        timestamp: new Date(time),
        severityNumber: (level / 10) * 4 - 3,
        severityText: levels[level],
        body: msg,
        attributes: { ...attributes, ...exceptionOf(err) },
        context: traceId === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, span),
      })
    },
    stop: () => provider.shutdown(),
  }
}

function exceptionOf(err: Line['err']): Record<string, AnyValue> {
  if (err === undefined) return {}
  return {
    'exception.type': err.type,
    'exception.message': err.message,
    'exception.stacktrace': err.stack,
  }
}
