// The time of a CPU profile by package.
import type { Profiler } from 'node:inspector'

/** Milliseconds that each package ran itself, without what it called. Parts of Node.js are packages, too. */
export function timesByPackage({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile): Times {
  const packages = new Map(nodes.map(({ id, callFrame }) => [id, packageOf(callFrame)]))
  const times: Times = {}
  samples.forEach((id, i) => {
    const name = packages.get(id)
    if (name !== undefined && name !== null) times[name] = (times[name] ?? 0) + timeDeltas[i] / 1_000
  })
  return times
}

export type Times = Record<string, number>

/** Null for the time in which nothing ran. */
function packageOf({
  functionName: name,
  url,
}: Profiler.Profile['nodes'][number]['callFrame']): string | null {
  if (name === '(idle)' || name === '(root)') return null
  if (name === '(garbage collector)') return 'garbage collection'
  if (url === '')
    return /^(write[A-Z]|writev|sendmsg)/.test(name) ? 'writes to sockets' : 'Node.js, native code'
  // `node:_http_server` and `node:internal/streams/readable` are parts of Node's `http` and `streams`.
  const ofNode = /^node:(?:internal\/)?_?([a-z0-9]+)/.exec(url)
  if (ofNode !== null) return `node:${ofNode[1]}`
  const installed = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)
  if (installed !== null) return installed[1]
  return /\/((?:app|services|infra|handlers|generated|scripts)(?:\/[a-z-]+(?=\/))?)/.exec(url)?.[1] ?? 'other'
}
