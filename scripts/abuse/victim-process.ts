// The victim, in a process of its own, so that the work and the priority of the attacker do not count. It
// sends requests at fixed times, whether or not earlier ones have been answered: a stall of the server delays
// all of them. A latency is measured from the time at which the request was due.
import { Agent } from 'undici'
import type { Window, WindowResult } from './victim.ts'

const everyMs = 12
const url = process.argv[2]
const agent = new Agent({ connections: 64, pipelining: 1, headersTimeout: 60_000, bodyTimeout: 60_000 })

process.on('message', (window: Window) => {
  void run(window).then((result) => process.send!(result))
})
process.once('disconnect', () => process.exit())

async function run({ key, projectId, ms }: Window): Promise<WindowResult> {
  const latencies: number[] = []
  const statuses: Record<string, number> = {}
  const requests: Array<Promise<void>> = []
  const start = performance.now()
  for (let i = 0; i * everyMs < ms; i++) {
    const due = start + i * everyMs
    const wait = due - performance.now()
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
    requests.push(
      send(key, projectId, i).then((status) => {
        latencies.push(performance.now() - due)
        statuses[status] = (statuses[status] ?? 0) + 1
      }),
    )
  }
  await Promise.all(requests)
  return { latencies, statuses }
}

/** Of ten requests, six read a list, three a project, and one changes it. */
async function send(key: string, projectId: string, i: number): Promise<string> {
  const isWrite = i % 10 === 9
  try {
    const { statusCode, body } = await agent.request({
      origin: url,
      method: isWrite ? 'PATCH' : 'GET',
      path: i % 10 < 6 ? '/v1/projects' : `/v1/projects/${projectId}`,
      headers: { authorization: `Bearer ${key}`, ...(isWrite && { 'content-type': 'application/json' }) },
      body: isWrite ? JSON.stringify({ description: `Change ${i} at ${Date.now()}` }) : null,
    })
    await body.dump()
    return String(statusCode)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error)
  }
}
