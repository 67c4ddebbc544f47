// The log: one JSON object per line. It contains identifiers, never data that clients sent.
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

export function createLog(level: string, destination?: DestinationStream): Logger {
  return pino(
    { level, base: null, timestamp: stdTimeFunctions.isoTime, serializers: { err: toLogFields } },
    destination as DestinationStream,
  )
}

/** Standard output, written in blocks at least once a second. */
export function bufferedOutput(): DestinationStream {
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
