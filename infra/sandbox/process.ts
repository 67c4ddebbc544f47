// Runs a program in a sandboxed process, one per document. The process is killed when it exceeds its limits
// of time, memory or answer size, and exits when this process does.
import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isWholeAnswer, startedByte } from './answer.ts'
import { SandboxError, type SandboxErrorCode } from './errors.ts'

export interface Program {
  /** The file that calls `runProgram`. */
  path: string
  /** The files and folders that it reads besides the npm packages. None of them is secret. */
  readable: string[]
}

export interface ProcessLimits {
  /** Wall-clock time. */
  seconds: number
  /** Resident memory. */
  memoryBytes: number
  /** Size of the answer. */
  answerBytes: number
}

const here = dirname(fileURLToPath(import.meta.url))
const memoryPollMs = 50
const maxStderr = 4096
const shell = '/bin/sh'
/**
 * Share of the memory limit for the V8 heap. The remaining memory is for the program and for buffers outside
 * the heap.
 */
const heapShare = 0.6

/**
 * The answer of the process, without the started byte. `document` is its bytes or a file descriptor.
 * Throws SandboxError, the signal's reason after an abort, and an Error if the process cannot start.
 */
export async function runSandboxed(
  program: Program,
  document: number | Buffer,
  args: string[],
  limits: ProcessLimits,
  signal?: AbortSignal,
): Promise<Buffer> {
  signal?.throwIfAborted()
  const child = spawnSandboxed(program, document, args, limits)
  const sandboxed = new SandboxedProcess(child, limits)
  if (typeof document !== 'number') {
    // The process may end before it has read everything.
    child.stdin?.on('error', () => {})
    child.stdin?.end(document)
  }
  const abort = (): void => sandboxed.kill(signal?.reason)
  signal?.addEventListener('abort', abort, { once: true })
  try {
    return await sandboxed.answer
  } finally {
    signal?.removeEventListener('abort', abort)
  }
}

/** The command that runs Node with these arguments, allowed to read the program's files and to compute. */
export function sandboxCommand(
  { readable }: Pick<Program, 'readable'>,
  { seconds, memoryBytes }: Omit<ProcessLimits, 'answerBytes'>,
  args: string[],
): { command: string; args: string[] } {
  const heapMegabytes = Math.max(64, Math.floor((memoryBytes * heapShare) / 2 ** 20))
  const flags = [
    '--permission',
    ...[...ownPaths(), ...readable].map((path) => `--allow-fs-read=${path}`),
    '--disallow-code-generation-from-strings',
    `--max-old-space-size=${heapMegabytes}`,
    '--v8-pool-size=1',
    '--no-warnings',
  ]
  if (!existsSync(shell)) return { command: process.execPath, args: [...flags, ...args] }
  // Kernel limits: CPU time, in case this process dies and cannot stop the program; no file writes, no core
  // dumps. Without NODE_OPTIONS no other module is preloaded.
  const cpuSeconds = Math.ceil(2 * seconds) + 5
  const script = `ulimit -t ${cpuSeconds}; ulimit -f 0; ulimit -c 0; unset NODE_OPTIONS; exec "$0" "$@"`
  return { command: shell, args: ['-c', script, process.execPath, ...flags, ...args] }
}

function spawnSandboxed(
  program: Program,
  document: number | Buffer,
  options: string[],
  limits: ProcessLimits,
): ChildProcess {
  const { command, args } = sandboxCommand(program, limits, [program.path, ...options])
  const { SystemRoot } = process.env
  return spawn(command, args, {
    cwd: here,
    env: SystemRoot === undefined ? {} : { SystemRoot },
    stdio: [typeof document === 'number' ? document : 'pipe', 'ignore', 'pipe', 'pipe'],
    windowsHide: true,
  })
}

/** The modules of this folder, the npm packages and package.json. */
function ownPaths(): string[] {
  const resolved = createRequire(import.meta.url).resolve('fastify')
  const nodeModules = `${sep}node_modules${sep}`
  const packages = resolved.slice(0, resolved.lastIndexOf(nodeModules) + nodeModules.length)
  return [`${here}${sep}`, packages, join(here, '..', '..', 'package.json')]
}

class SandboxedProcess {
  /** Settles when the process has ended. */
  answer: Promise<Buffer>
  #child: ChildProcess
  #parts: Buffer[] = []
  #length = 0
  #isComplete = false
  #stderr = ''
  #killReason: unknown
  #answerBytes: number

  constructor(child: ChildProcess, { seconds, memoryBytes, answerBytes }: ProcessLimits) {
    this.#child = child
    this.#answerBytes = answerBytes
    // Without a free file descriptor, Node returns a child without streams and emits the error later.
    if ((child.stdio as unknown) === undefined) {
      this.answer = new Promise((_resolve, reject) => child.once('error', reject))
      return
    }
    const timeout = setTimeout(() => this.kill(new SandboxError('too_slow')), seconds * 1000)
    const memoryPoll = setInterval(() => void this.#checkMemory(memoryBytes), memoryPollMs)
    const output = child.stdio[3] as NodeJS.ReadableStream
    output.on('data', (part: Buffer) => this.#receive(part))
    output.on('error', () => {})
    output.on('end', () => {
      const answer = Buffer.concat(this.#parts)
      this.#isComplete = answer[0] === startedByte && isWholeAnswer(answer.subarray(1))
      // The exit is not awaited: on a busy machine, one process in some hundred hung in it, joining a thread.
      if (this.#isComplete) child.kill('SIGKILL')
    })
    child.stderr!.on('data', (part: Buffer) => {
      this.#stderr = (this.#stderr + part.toString('latin1')).slice(-maxStderr)
    })
    this.answer = new Promise((resolve, reject) => {
      child.on('error', (error) => {
        this.#killReason ??= error
        if (child.pid === undefined) {
          stopTimers()
          reject(error)
        }
      })
      child.on('close', (code, signal) => {
        stopTimers()
        const failure = this.#killReason ?? this.#failure(code, signal)
        if (failure === null) resolve(Buffer.concat(this.#parts).subarray(1))
        else reject(failure)
      })
    })
    function stopTimers(): void {
      clearTimeout(timeout)
      clearInterval(memoryPoll)
    }
  }

  /** Kills the process at once. `answer` rejects with the reason of the first call. */
  kill(reason: unknown): void {
    this.#killReason ??= reason
    this.#parts = []
    this.#child.kill('SIGKILL')
  }

  #receive(part: Buffer): void {
    if (this.#killReason !== undefined) return
    this.#length += part.length
    if (this.#length > this.#answerBytes) this.kill(new SandboxError('too_large'))
    else this.#parts.push(part)
  }

  /** Systems without /proc rely on the heap limit alone. */
  async #checkMemory(memoryBytes: number): Promise<void> {
    const status = await readFile(`/proc/${this.#child.pid}/status`, 'latin1').catch(() => '')
    const kilobytes = Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0)
    if (kilobytes * 1024 > memoryBytes) this.kill(new SandboxError('too_much_memory'))
  }

  /** Why the process ended without a complete answer, or null. */
  #failure(code: number | null, signal: NodeJS.Signals | null): unknown {
    if (this.#isComplete) return null
    const hasStarted = this.#parts[0]?.[0] === startedByte
    if (hasStarted && code === 0) return null
    if (!hasStarted && code !== null && !/heap|memory/i.test(this.#stderr))
      return new Error(`The sandboxed process did not start (exit code ${code}): ${this.#stderr}`)
    return new SandboxError(errorCodeOf(signal ?? '', code, this.#stderr))
  }
}

function errorCodeOf(signal: string, code: number | null, stderr: string): SandboxErrorCode {
  if (signal === 'SIGXCPU') return 'too_slow'
  // A SIGKILL that this process did not send comes from the kernel when the system is out of memory.
  if (
    signal === 'SIGKILL' ||
    code === 137 ||
    /heap out of memory|heap limit|allocation failed|out of memory/i.test(stderr)
  )
    return 'too_much_memory'
  return 'damaged'
}
