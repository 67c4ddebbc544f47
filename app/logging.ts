// The log: JSON lines with what identifies, and never with what clients send.
import { pino, stdSerializers, stdTimeFunctions, type DestinationStream, type Logger } from 'pino'

/**
 * What is logged of an error. A database's own has beside its message whole rows (`detail`), statements (`where`) and
 * parameters, and what wraps it has them again.
 */
const known = [
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
    { level, base: null, timestamp: stdTimeFunctions.isoTime, serializers: { err: shown } },
    destination as DestinationStream,
  )
}

/** Standard output, written in blocks; a second at most stands between an event and its line. */
export function bufferedOutput(): DestinationStream {
  const destination = pino.destination({ dest: 1, minLength: 4096, sync: true, periodicFlush: 1000 })
  process.once('exit', () => destination.flushSync())
  return destination
}

function shown(error: Error): Record<string, unknown> {
  const all = stdSerializers.err(error) as unknown as Record<string, unknown>
  return Object.fromEntries(known.filter((name) => all[name] !== undefined).map((name) => [name, all[name]]))
}
