// A collector of OpenTelemetry: receives spans, metrics and logs as OTLP over HTTP, in JSON.
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import type { Test } from 'tap'
import { waitUntil } from './wait.ts'
import { listen } from '../http/listen.ts'

export interface CollectedSpan {
  service: string
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  /** 2 is a server, 3 a client, 5 a consumer. */
  kind: number
  attributes: Record<string, string | number | boolean>
  /** 2 is an error. */
  status: number
  ms: number
}

export interface CollectedMetric {
  service: string
  name: string
  /** As in OTLP: `sum`, `gauge` or `histogram`. */
  data: any
}

export interface CollectedLog {
  service: string
  body: string
  severity: string
  traceId: string
  spanId: string
  attributes: Record<string, string | number | boolean>
}

export interface Collector {
  url: string
  spans: CollectedSpan[]
  metrics: CollectedMetric[]
  logs: CollectedLog[]
  /** The text of all requests. */
  received(): string
  /** Waits for a span with this name. */
  span(matches: (span: CollectedSpan) => boolean, what: string): Promise<CollectedSpan>
}

export async function openCollector(t: Pick<Test, 'teardown'>): Promise<Collector> {
  const spans: CollectedSpan[] = []
  const metrics: CollectedMetric[] = []
  const logs: CollectedLog[] = []
  const bodies: string[] = []
  const server = createServer((request, response) => {
    void json(request).then((body: any) => {
      bodies.push(JSON.stringify(body))
      if (request.headers['content-type'] !== 'application/json') return response.writeHead(415).end()
      if (request.url === '/v1/traces') spans.push(...body.resourceSpans.flatMap(spansOf))
      if (request.url === '/v1/metrics') metrics.push(...body.resourceMetrics.flatMap(metricsOf))
      if (request.url === '/v1/logs') logs.push(...body.resourceLogs.flatMap(logsOf))
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
  })
  const port = await listen(t, server)
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    metrics,
    logs,
    received: () => bodies.join('\n'),
    async span(matches, what) {
      await waitUntil(() => spans.some(matches), what)
      return spans.find(matches)!
    },
  }
}

const serviceOf = (resource: any): string => attributesOf(resource.attributes)['service.name'] as string

function metricsOf({ resource, scopeMetrics }: any): CollectedMetric[] {
  return scopeMetrics.flatMap(({ metrics }: any) =>
    metrics.map((metric: any) => ({ service: serviceOf(resource), name: metric.name, data: metric })),
  )
}

function logsOf({ resource, scopeLogs }: any): CollectedLog[] {
  return scopeLogs.flatMap(({ logRecords }: any) =>
    logRecords.map((record: any) => ({
      service: serviceOf(resource),
      body: record.body.stringValue,
      severity: record.severityText,
      traceId: record.traceId ?? '',
      spanId: record.spanId ?? '',
      attributes: attributesOf(record.attributes),
    })),
  )
}

function spansOf({ resource, scopeSpans }: any): CollectedSpan[] {
  const service = serviceOf(resource)
  return scopeSpans.flatMap(({ spans }: any) =>
    spans.map((span: any) => ({
      service,
      traceId: span.traceId,
      spanId: span.spanId,
      ...(span.parentSpanId && { parentSpanId: span.parentSpanId }),
      name: span.name,
      kind: span.kind,
      attributes: attributesOf(span.attributes),
      status: span.status?.code ?? 0,
      ms: Number(BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano)) / 1e6,
    })),
  )
}

function attributesOf(list: Array<{ key: string; value: Record<string, any> }>): CollectedSpan['attributes'] {
  return Object.fromEntries(
    list.map(({ key, value }) => {
      const [type, content] = Object.entries(value)[0]
      return [key, type === 'intValue' ? Number(content) : content]
    }),
  )
}
