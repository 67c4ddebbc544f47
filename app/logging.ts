// The log: one JSON object per line, and lines for people on a terminal. It contains identifiers, never data
// that clients sent.
import type { Writable } from 'node:stream'
import { currentTraceparent, isTracing } from '../infra/telemetry/spans.ts'
import type { Telemetry } from '../infra/telemetry/start.ts'
import { pino, stdSerializers, stdTimeFunctions, type DestinationStream, type Logger } from 'pino'

/**
 * The fields of an error that are logged. A database error also carries rows (`detail`), statements (`where`)
 * and parameters, which must not be logged.
 */
const loggedFields = [
  'type',
  'message',
  'stack',
  'code',
  'severity',
  'schema',
  'table',
  'column',
  'constraint',
  'routine',
  'errno',
  'syscall',
  'address',
  'port',
  '$metadata',
]

export function createLog(
  level: string,
  destination: DestinationStream,
  telemetry: Pick<Telemetry, 'exportLog'> | null = null,
): Logger {
  const options = {
    level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    serializers: { err: toLogFields },
    ...(isTracing() && { mixin: () => traceIds(currentTraceparent()) }),
  }
  const exportLog = telemetry?.exportLog ?? null
  if (exportLog === null) return pino(options, destination)
  return pino(options, {
    write(line: string) {
      destination.write(line)
      exportLog(line)
    },
  })
}

/** The fields that join a line with its span. */
export function traceIds(traceparent: string | undefined): { trace_id?: string; span_id?: string } {
  if (traceparent === undefined) return {}
  const [, traceId, spanId] = traceparent.split('-')
  return { trace_id: traceId, span_id: spanId }
}

/** Standard output: for people if it is a terminal, else JSON. */
export async function standardOutput(): Promise<DestinationStream> {
  return process.stdout.isTTY ? await prettyOutput() : bufferedOutput()
}

/**
 * Lines for people, such as `[09:30:00.000] INFO: GET /v1/projects 200 in 4.1 ms {"user_id":"usr_…"}`.
 * @param destination default standard output.
 */
export async function prettyOutput(destination?: Writable): Promise<DestinationStream> {
  const { default: pretty } = await import('pino-pretty')
  return pretty({
    destination: destination ?? 1,
    colorize: destination === undefined,
    sync: true,
    singleLine: true,
    ignore: 'method,path,status,ms',
    messageFormat: ({ method, path, status, ms, ...line }, messageKey) => {
      if (method !== undefined) return `${method} ${path} ${status} in ${ms} ms`
      return `${line[messageKey]}${ms === undefined ? '' : ` (${ms} ms)`}`
    },
  })
}

/** Standard output, written in blocks at least once a second. */
function bufferedOutput(): DestinationStream {
  const destination = pino.destination({ dest: 1, minLength: 4096, sync: true, periodicFlush: 1000 })
  process.once('exit', () => destination.flushSync())
  return destination
}

function toLogFields(error: Error): Record<string, unknown> {
  const all = stdSerializers.err(error) as unknown as Record<string, unknown>
  return Object.fromEntries(
    loggedFields.filter((name) => all[name] !== undefined).map((name) => [name, all[name]]),
  )
}
