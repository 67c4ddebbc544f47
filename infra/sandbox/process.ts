// Runs the parser in a sandboxed process, one per document. The process is killed when it exceeds its limits
// of time, memory or answer size, and exits when this process does.
import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ParsingError, type ParsingErrorCode } from './errors.ts'
import { isWholeAnswer, startedByte } from './wire-format.ts'

export interface ProcessLimits {
  /** Wall-clock time. */
  seconds: number
  /** Resident memory. */
  memoryBytes: number
  /** Size of the answer. */
  answerBytes: number
}

const here = dirname(fileURLToPath(import.meta.url))
const program = join(here, 'sandbox-child.ts')
const memoryPollMs = 50
const maxStderr = 4096
const shell = '/bin/sh'
/**
 * Share of the memory limit for the V8 heap. The remaining memory is for the program and for buffers outside
 * the heap.
 */
const heapShare = 0.6

/**
 * The answer of the parser process, without the started byte. `document` is a file descriptor.
 * Throws ParsingError, the signal's reason after an abort, and an Error if the process cannot start.
 */
export async function runParser(
  document: number,
  args: string[],
  limits: ProcessLimits,
  signal?: AbortSignal,
): Promise<Buffer> {
  signal?.throwIfAborted()
  const parser = new ParserProcess(spawnParser(document, args, limits), limits)
  const abort = (): void => parser.kill(signal?.reason)
  signal?.addEventListener('abort', abort, { once: true })
  try {
    return await parser.answer
  } finally {
    signal?.removeEventListener('abort', abort)
  }
}

/** The command that runs Node with these arguments, allowed to read the program's files and to compute. */
export function sandboxCommand(
  { seconds, memoryBytes }: Omit<ProcessLimits, 'answerBytes'>,
  args: string[],
): { command: string; args: string[] } {
  const heapMegabytes = Math.max(64, Math.floor((memoryBytes * heapShare) / 2 ** 20))
  const flags = [
    '--permission',
    ...readablePaths().map((path) => `--allow-fs-read=${path}`),
    '--disallow-code-generation-from-strings',
    `--max-old-space-size=${heapMegabytes}`,
    '--v8-pool-size=1',
    '--no-warnings',
  ]
  if (!existsSync(shell)) return { command: process.execPath, args: [...flags, ...args] }
  // Kernel limits: CPU time, in case this process dies and cannot stop the parser; no file writes, no core
  // dumps. Without NODE_OPTIONS no other module is preloaded.
  const cpuSeconds = Math.ceil(2 * seconds) + 5
  const script = `ulimit -t ${cpuSeconds}; ulimit -f 0; ulimit -c 0; unset NODE_OPTIONS; exec "$0" "$@"`
  return { command: shell, args: ['-c', script, process.execPath, ...flags, ...args] }
}

function spawnParser(document: number, options: string[], limits: ProcessLimits): ChildProcess {
  const { command, args } = sandboxCommand(limits, [program, ...options])
  const { SystemRoot } = process.env
  return spawn(command, args, {
    cwd: here,
    env: SystemRoot === undefined ? {} : { SystemRoot },
    stdio: [document, 'ignore', 'pipe', 'pipe'],
    windowsHide: true,
  })
}

/** The modules of this folder, `infra/text.ts`, the npm packages and package.json. None of them is secret. */
function readablePaths(): string[] {
  const resolved = createRequire(import.meta.url).resolve('mammoth')
  const nodeModules = `${sep}node_modules${sep}`
  const packages = resolved.slice(0, resolved.lastIndexOf(nodeModules) + nodeModules.length)
  const root = join(here, '..', '..', '..')
  return [`${here}${sep}`, packages, join(root, 'package.json'), join(root, 'infra', 'text.ts')]
}

class ParserProcess {
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
    const timeout = setTimeout(() => this.kill(new ParsingError('too_slow')), seconds * 1000)
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
    if (this.#length > this.#answerBytes) this.kill(new ParsingError('too_large'))
    else this.#parts.push(part)
  }

  /** Systems without /proc rely on the heap limit alone. */
  async #checkMemory(memoryBytes: number): Promise<void> {
    const status = await readFile(`/proc/${this.#child.pid}/status`, 'latin1').catch(() => '')
    const kilobytes = Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0)
    if (kilobytes * 1024 > memoryBytes) this.kill(new ParsingError('too_much_memory'))
  }

  /** Why the process ended without a complete answer, or null. */
  #failure(code: number | null, signal: NodeJS.Signals | null): unknown {
    if (this.#isComplete) return null
    const hasStarted = this.#parts[0]?.[0] === startedByte
    if (hasStarted && code === 0) return null
    if (!hasStarted && code !== null && !/heap|memory/i.test(this.#stderr))
      return new Error(`The parser process did not start (exit code ${code}): ${this.#stderr}`)
    return new ParsingError(errorCodeOf(signal ?? '', code, this.#stderr))
  }
}

function errorCodeOf(signal: string, code: number | null, stderr: string): ParsingErrorCode {
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
