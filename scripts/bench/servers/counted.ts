// This server, which counts what its requests cost: statements and round trips to PostgreSQL, bytes logged,
// timers, bytes allocated and bytes kept. It numbers no events and does no background work after the message
// "freeze".
import { createHook } from 'node:async_hooks'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import pg from 'pg'
import { addressOf, buildApp } from '../../../app/build.ts'
import { createRateLimits } from '../../../app/http/rate-limit.ts'
import { policiesOf } from '../../../app/server.ts'
import { readConfig } from '../../../infra/config/config.ts'
import { createServices } from '../../../services/services.ts'
import { claimAtStart } from '../../../services/storage/ownership.ts'
import { storeLimits } from '../../../services/users/quotas.ts'

export interface ServerCounts {
  statements: number
  round_trips: number
  bytes_logged: number
  timers: number
  bytes_allocated: number
  /** The bytes that survive a minor garbage collection, including those that the next full one will free. */
  bytes_kept: number
}

/** The part of pg's client that its types leave out. */
interface Wire {
  connection: {
    stream: { write(data: Buffer, ...rest: unknown[]): boolean }
    on(event: 'readyForQuery', listener: () => void): void
  }
}

// Optimized code allocates less, depending on when it is compiled: only unoptimized code repeats itself.
setFlagsFromString('--no-opt')
setFlagsFromString('--no-maglev')
setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as (options: { type: 'minor' }) => void

const none: ServerCounts = {
  statements: 0,
  round_trips: 0,
  bytes_logged: 0,
  timers: 0,
  bytes_allocated: 0,
  bytes_kept: 0,
}
let counts = { ...none }
let heap = 0
let lines = 0
/** Requests that are not over. */
let open = 0
/** Messages to PostgreSQL whose response is awaited, such as a notification that no request waits for. */
let unanswered = 0

// Of all pools: searches have one of their own.
const { emit } = pg.Pool.prototype
pg.Pool.prototype.emit = function (this: pg.Pool, event: string, ...rest: unknown[]) {
  if (event === 'connect') countMessages(rest[0] as pg.PoolClient)
  return (emit as (...args: unknown[]) => boolean).call(this, event, ...rest)
} as typeof emit

const config = readConfig()
const services = createServices({ config, databaseUrl: config.databaseUrl! })
createHook({
  init(_id, type) {
    if (type === 'Timeout') counts.timers++
  },
}).enable()
await storeLimits(services.database, config)
await claimAtStart(services.storage, () => {})
const limits = await createRateLimits({ policies: policiesOf(config), redisUrl: null })
const app = await buildApp({
  services,
  limits,
  logTo: {
    write(line: string) {
      lines++
      counts.bytes_logged += lengthOf(line)
    },
  },
})
app.server.prependListener('request', (_request, response) => {
  open++
  response.on('close', () => open--)
})
await app.listen({ host: '127.0.0.1', port: 0 })
process.on('message', (message) => void answer(message))
process.stderr.write(`serving at ${addressOf(app)}\n`)

async function answer(message: unknown): Promise<void> {
  if (message === 'freeze') {
    // Another process would be asked for numbers.
    while (!services.leadership.leading) await sleep(20)
    await services.eventStreams.close()
    process.send!({ frozen: true })
  }
  if (message === 'reset') {
    await untilIdle()
    counts = { ...none }
    lines = 0
    process.send!({ reset: true })
    heap = heapAfterCollection()
  }
  if (message === 'read') {
    const bytes_allocated = process.memoryUsage().heapUsed - heap
    // The line of a request is written after its response, and the timer of the idle connection is set then.
    while (lines === 0) await turn()
    await untilIdle()
    const bytes_kept = heapAfterCollection() - heap
    process.send!({ counts: { ...counts, bytes_allocated, bytes_kept } })
  }
}

/** Waits for the work that follows the end of a request or a statement: it begins in the next turn. */
async function untilIdle(): Promise<void> {
  do await turn()
  while (open > 0 || unanswered > 0)
}

/** The second collection moves what has survived the first one to where only a full one looks. */
function heapAfterCollection(): number {
  collect({ type: 'minor' })
  collect({ type: 'minor' })
  return process.memoryUsage().heapUsed
}

/**
 * Counts the messages of a connection: Execute and Query are statements. A round trip begins with a message
 * that is sent while no response is awaited, so statements that are sent together are one.
 */
function countMessages(client: pg.PoolClient): void {
  const { connection } = client as unknown as Wire
  const { stream } = connection
  const write = stream.write.bind(stream)
  let awaited = 0
  let begun = false
  connection.on('readyForQuery', () => {
    awaited--
    unanswered--
  })
  stream.write = (data, ...rest) => {
    for (let at = 0; at < data.length; at += 1 + data.readInt32BE(at + 1)) {
      const type = String.fromCharCode(data[at])
      if (awaited === 0 && !begun) {
        counts.round_trips++
        begun = true
      }
      if (type === 'E' || type === 'Q') counts.statements++
      if (type === 'S' || type === 'Q') {
        awaited++
        unanswered++
        begun = false
      }
    }
    return write(data, ...rest)
  }
}

/** Bytes of a line of the log, in which each number counts as one digit: times differ in their length. */
function lengthOf(line: string): number {
  const text = JSON.stringify(JSON.parse(line), (_key, value) => (typeof value === 'number' ? 0 : value))
  return Buffer.byteLength(text) + 1
}
