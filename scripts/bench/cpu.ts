// Preloaded into every measured process. Reports the CPU time and the heap on request, records a CPU profile
// between two messages, and ends the process when the benchmark ends.
import type { Session } from 'node:inspector/promises'
import { timesByPackage } from './packages.ts'

const used = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

let session: Session | undefined

async function startProfile(): Promise<void> {
  const inspector = await import('node:inspector/promises')
  session = new inspector.Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.setSamplingInterval', { interval: 250 })
  await session.post('Profiler.start')
  process.send?.({ profiling: true })
}

async function endProfile(): Promise<void> {
  const { profile } = await session!.post('Profiler.stop')
  session!.disconnect()
  process.send?.({ profile: timesByPackage(profile) })
}

process.on('message', (message) => {
  if (message === 'cpu') process.send?.({ cpu: used() })
  if (message === 'heap') process.send?.({ heap: process.memoryUsage().heapTotal })
  if (message === 'start profile') void startProfile()
  if (message === 'end profile') void endProfile()
})
process.on('disconnect', () => process.exit())
process.on('exit', () => {
  if (process.connected) process.send?.({ ended: used() })
})
// The listener must not keep the process alive.
process.channel?.unref()
