// Reports when the main thread stalls: while it computes, no request is served. The operations that ran at
// that time are named, so that a log shows which one to mend.
import type { FastifyInstance, FastifyRequest } from 'fastify'

export interface Stall {
  /** Milliseconds without a turn of the event loop. */
  ms: number
  /** Milliseconds of CPU of the process in this time. Much less than `ms` if the machine is overloaded. */
  cpuMs: number
  /** The operations that ran, without event streams; empty for background work. */
  operations: string[]
}

export interface StallOptions {
  onStall?: (stall: Stall) => void
  logsIdle?: () => boolean
}

const intervalMs = 50
/** Milliseconds that count as a stall. */
const thresholdMs = 100

/**
 * Logs each stall and passes it to `onStall`.
 * @param logsIdle whether a stall without an operation is logged now; default yes
 */
export function watchStalls(
  app: FastifyInstance,
  { onStall = () => {}, logsIdle = () => true }: StallOptions,
): void {
  /** The operations of the running requests. A request that an earlier hook refuses is none of them. */
  const running = new Map<FastifyRequest, string>()
  /** The operations that ran since the last turn. */
  const seen = new Set<string>()
  app.addHook('onRequest', (request, _reply, done) => {
    const { operation } = request.routeOptions.config
    if (operation !== undefined && operation.replies[200]?.events === undefined) {
      seen.add(operation.id)
      running.set(request, operation.id)
    }
    done()
  })
  app.endHooks.push((request) => running.delete(request))
  let lastTurn = performance.now()
  let lastCpu = process.cpuUsage()
  const timer = setInterval(() => {
    const now = performance.now()
    const cpu = process.cpuUsage()
    const ms = Math.round(now - lastTurn - intervalMs)
    if (ms > thresholdMs) {
      const cpuMs = Math.round((cpu.user - lastCpu.user + cpu.system - lastCpu.system) / 1_000)
      const stall = { ms, cpuMs, operations: [...seen] }
      if (seen.size > 0 || logsIdle())
        app.log.warn({ ms, cpu_ms: cpuMs, operations: stall.operations }, 'the main thread stalled')
      onStall(stall)
    }
    seen.clear()
    for (const id of running.values()) seen.add(id)
    ;[lastTurn, lastCpu] = [now, cpu]
  }, intervalMs)
  timer.unref()
  app.addHook('onClose', async () => clearInterval(timer))
}
