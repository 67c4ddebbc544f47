// Spans: the steps of a request or a job, with their times, for OpenTelemetry. Without a tracer (start.ts)
// nothing is measured and no package is loaded.

export type Attributes = Record<string, string | number | boolean | undefined>

export interface SpanOptions {
  kind: 'server' | 'client' | 'consumer'
  attributes?: Attributes
  /** The `traceparent` that the span continues. Default: the span in which it starts. */
  parent?: string
}

export interface Span {
  readonly traceId: string
  /** The header field that passes the trace on. */
  readonly traceparent: string
  set(attributes: Attributes): void
  /** @param type a name of the error without data, such as a status or an error code. */
  fail(type: string): void
  end(): void
  /** Spans that start in `work`, also later, are children of this one. */
  run<T>(work: () => T): T
}

export interface Tracer {
  start(name: string, options: SpanOptions): Span
  /** The `traceparent` of the span in which the caller runs. */
  current(): string | undefined
}

let tracer: Tracer | null = null

/** Called once, when the process starts. */
export function setTracer(active: Tracer | null): void {
  tracer = active
}

/** The caller ends the span. Null without a tracer. */
export function startSpan(name: string, options: SpanOptions): Span | null {
  return tracer === null ? null : tracer.start(name, options)
}

export function isTracing(): boolean {
  return tracer !== null
}

/** The `traceparent` of the span in which the caller runs. */
export function currentTraceparent(): string | undefined {
  return tracer?.current()
}

/** Runs `work` in a span, which fails when `work` fails. */
export async function inSpan<T>(
  name: string,
  options: SpanOptions,
  work: (span: Span | null) => Promise<T>,
): Promise<T> {
  const span = startSpan(name, options)
  if (span === null) return await work(null)
  try {
    return await span.run(() => work(span))
  } catch (error) {
    span.fail(errorType(error))
    throw error
  } finally {
    span.end()
  }
}

/** A call of another server. `work` sends the header fields, which continue the trace there. */
export async function inCallSpan<Response extends { status: number }>(
  method: string,
  url: string,
  work: (headers: Record<string, string>) => Promise<Response>,
): Promise<Response> {
  if (tracer === null) return await work({})
  const { hostname, port, protocol } = new URL(url)
  // Neither path nor query: those of webhooks contain secrets.
  const attributes = {
    'http.request.method': method,
    'server.address': hostname,
    'server.port': Number(port || (protocol === 'https:' ? 443 : 80)),
    'url.scheme': protocol.slice(0, -1),
  }
  return await inSpan(`${method} ${hostname}`, { kind: 'client', attributes }, async (span) => {
    const response = await work({ traceparent: span!.traceparent })
    span!.set({ 'http.response.status_code': response.status })
    if (response.status >= 400) span!.fail(String(response.status))
    return response
  })
}

/** The code or class of an error; its message may contain data. */
export function errorType(error: unknown): string {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: string }
  return typeof code === 'string' ? code : (name ?? 'Error')
}
