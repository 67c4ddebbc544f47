// Programs of Node.js, with the seconds that they ran and the memory that they took at most.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'

export interface Measured {
  seconds: number
  /** The most that was resident. */
  megabytes: number
}

export interface Finished extends Measured {
  stdout: string
  code: number
}

const report = `
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => process.exit(0))
process.on('exit', () => console.error('MAXRSS', process.resourceUsage().maxRSS))`
const flags = ['--max-old-space-size=8192', '--import', `data:text/javascript,${encodeURIComponent(report)}`]

function start(args: string[], cwd: string): ChildProcess {
  return spawn(process.execPath, [...flags, ...args], {
    cwd,
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

const megabytesIn = (stderr: string): number => Math.round(Number(/MAXRSS (\d+)/.exec(stderr)?.[1]) / 1024)

/** @throws Error if the program ends with another code than 0 and `allowed`. */
export async function runMeasured(args: string[], cwd: string, allowed = 0): Promise<Finished> {
  const started = performance.now()
  const child = start(args, cwd)
  const [stdout, stderr] = await Promise.all([
    text(child.stdout!),
    text(child.stderr!),
    child.exitCode === null && once(child, 'exit'),
  ])
  const code = child.exitCode ?? 1
  if (code !== 0 && code !== allowed)
    throw new Error(`${args.join(' ')}: ${stdout.slice(0, 2000)} ${stderr.slice(0, 2000)}`)
  return {
    stdout,
    code,
    seconds: (performance.now() - started) / 1000,
    megabytes: megabytesIn(stderr),
  }
}

export interface StartedServer {
  base: string
  /** Until the server listened. */
  seconds: number
  /** @returns the megabytes that it took at most. */
  stop(): Promise<number>
  /** The output so far. */
  output(): string
}

/** Starts a server that prints its address. @throws Error if it does not. */
export async function startMeasured(args: string[], cwd: string): Promise<StartedServer> {
  const started = performance.now()
  const child = start(args, cwd)
  const closed = once(child, 'close')
  let [stdout, stderr] = ['', '']
  child.stderr!.on('data', (chunk: Buffer) => (stderr += chunk))
  const base = await new Promise<string>((resolve, reject) => {
    child.stdout!.on('data', (chunk: Buffer) => {
      stdout += chunk
      const [, address] = /(http:\/\/[\d.]+:\d+)/.exec(stdout) ?? []
      if (address !== undefined) resolve(address)
    })
    child.on('exit', () => {
      reject(new Error(`${args.join(' ')} did not start: ${stdout.slice(0, 2000)} ${stderr.slice(0, 2000)}`))
    })
  })
  return {
    base,
    seconds: (performance.now() - started) / 1000,
    output: () => stdout,
    async stop() {
      child.kill()
      await closed
      return megabytesIn(stderr)
    },
  }
}
