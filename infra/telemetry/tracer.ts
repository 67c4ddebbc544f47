// The tracer of OpenTelemetry's SDK: sends spans in batches to a collector, as OTLP over HTTP.
import {
  context,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Span as SdkSpan,
} from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { parseTraceParent } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import type { Resource } from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type Sampler,
} from '@opentelemetry/sdk-trace'
import { ConfigError } from '../config/setting.ts'
import { version } from '../version.ts'
import { numberOf, type Environment } from './environment.ts'
import type { Attributes, Span, SpanOptions, Tracer } from './spans.ts'

const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT, consumer: SpanKind.CONSUMER }

export function openTracer(
  env: Environment,
  resource: Resource,
): { tracer: Tracer; stop: () => Promise<void> } {
  const processor = new BatchSpanProcessor({
    exporter: new OTLPTraceExporter(),
    scheduledDelayMillis: numberOf(env, 'OTEL_BSP_SCHEDULE_DELAY'),
    exportTimeoutMillis: numberOf(env, 'OTEL_BSP_EXPORT_TIMEOUT'),
    maxQueueSize: numberOf(env, 'OTEL_BSP_MAX_QUEUE_SIZE'),
    maxExportBatchSize: numberOf(env, 'OTEL_BSP_MAX_EXPORT_BATCH_SIZE'),
  })
  const provider = new TracerProvider({ resource, sampler: samplerOf(env), spanProcessors: [processor] })
  const contexts = new AsyncLocalStorageContextManager().enable()
  context.setGlobalContextManager(contexts)
  const tracer = provider.getTracer('platform-api', version)
  return {
    tracer: {
      start: (name, { kind, attributes, parent }: SpanOptions) => {
        const within = parent === undefined ? context.active() : contextOf(parent)
        return new OpenSpan(tracer.startSpan(name, { kind: kinds[kind], attributes }, within))
      },
      current() {
        const span = trace.getSpan(context.active())
        return span === undefined ? undefined : traceparentOf(span)
      },
    },
    async stop() {
      await provider.shutdown()
      context.disable()
    },
  }
}

class OpenSpan implements Span {
  readonly #span: SdkSpan

  constructor(span: SdkSpan) {
    this.#span = span
  }

  get traceId(): string {
    return this.#span.spanContext().traceId
  }

  get traceparent(): string {
    return traceparentOf(this.#span)
  }

  set(attributes: Attributes): void {
    this.#span.setAttributes(attributes)
  }

  fail(type: string): void {
    this.#span.setAttribute('error.type', type)
    this.#span.setStatus({ code: SpanStatusCode.ERROR })
  }

  end(): void {
    this.#span.end()
  }

  run<T>(work: () => T): T {
    return context.with(trace.setSpan(context.active(), this.#span), work)
  }
}

/** A `traceparent` that is not valid starts a new trace. */
function contextOf(traceparent: string) {
  const parsed = parseTraceParent(traceparent)
  return parsed === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, { ...parsed, isRemote: true })
}

function traceparentOf(span: SdkSpan): string {
  const { traceId, spanId, traceFlags } = span.spanContext()
  return `00-${traceId}-${spanId}-${(traceFlags & TraceFlags.SAMPLED).toString(16).padStart(2, '0')}`
}

function samplerOf(env: Environment): Sampler {
  const name = env.OTEL_TRACES_SAMPLER || 'parentbased_always_on'
  const root = name.replace(/^parentbased_/, '')
  const samplers: Record<string, () => Sampler> = {
    always_on: () => new AlwaysOnSampler(),
    always_off: () => new AlwaysOffSampler(),
    traceidratio: () => new TraceIdRatioBasedSampler(numberOf(env, 'OTEL_TRACES_SAMPLER_ARG') ?? 1),
  }
  if (!Object.hasOwn(samplers, root))
    throw new ConfigError(
      'OTEL_TRACES_SAMPLER must be always_on, always_off or traceidratio, or one of them after ' +
        `parentbased_, not \`${name}\`.`,
    )
  const sampler = samplers[root]()
  return root === name ? sampler : new ParentBasedSampler({ root: sampler })
}
