// A process of its own for each document, which hands over bytes and is gone: ended by the time it takes, the memory it
// holds or what it says, and by the end of this process too.
import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ParsingError, type ParsingErrorCode } from './errors.ts'
import { startedByte } from './wire-format.ts'

export interface ProcessLimits {
  seconds: number
  /** Resident at once. */
  memoryBytes: number
  /** Of what it says. */
  answerBytes: number
}

const here = dirname(fileURLToPath(import.meta.url))
const program = join(here, 'sandbox-child.ts')
const pollMilliseconds = 50
const stderrBytes = 4096
const shell = '/bin/sh'
/** Of the memory: the rest is for the program itself and for bytes, which are not in the heap. */
const heapPart = 0.6

/**
 * What the process said, for a document that it gets as an open file.
 * Throws ParsingError, the signal's reason, and an error of this program if the process cannot be started.
 */
export async function runParser(
  document: number,
  args: string[],
  caps: ProcessLimits,
  signal?: AbortSignal,
): Promise<Buffer> {
  signal?.throwIfAborted()
  const child = start(document, args, caps)
  const run = new Run(child, caps)
  const abort = (): void => run.end(signal?.reason)
  signal?.addEventListener('abort', abort, { once: true })
  try {
    return await run.result
  } finally {
    signal?.removeEventListener('abort', abort)
  }
}

/** The command that runs Node with these arguments so that it may read the program, compute, and nothing else. */
export function sandboxCommand(
  { seconds, memoryBytes }: Omit<ProcessLimits, 'answerBytes'>,
  args: string[],
): { command: string; args: string[] } {
  const heap = Math.max(64, Math.floor((memoryBytes * heapPart) / 2 ** 20))
  const flags = [
    '--permission',
    ...readable().map((path) => `--allow-fs-read=${path}`),
    '--disallow-code-generation-from-strings',
    `--max-old-space-size=${heap}`,
    '--v8-pool-size=1',
    '--no-warnings',
  ]
  if (!existsSync(shell)) return { command: process.execPath, args: [...flags, ...args] }
  // The kernel's own caps: on time if nobody is left to count it, on files and core dumps. And nothing is loaded first.
  const limits = `ulimit -t ${Math.ceil(2 * seconds) + 5}; ulimit -f 0; ulimit -c 0; unset NODE_OPTIONS; exec "$0" "$@"`
  return { command: shell, args: ['-c', limits, process.execPath, ...flags, ...args] }
}

function start(document: number, options: string[], caps: ProcessLimits): ChildProcess {
  const { command, args } = sandboxCommand(caps, [program, ...options])
  const { SystemRoot } = process.env
  return spawn(command, args, {
    cwd: here,
    env: SystemRoot === undefined ? {} : { SystemRoot },
    stdio: [document, 'ignore', 'pipe', 'pipe'],
    windowsHide: true,
  })
}

/** The reader's own modules and the packages, which are no secrets. */
function readable(): string[] {
  const packaged = createRequire(import.meta.url).resolve('mammoth')
  const packages = packaged.slice(
    0,
    packaged.lastIndexOf(`${sep}node_modules${sep}`) + `${sep}node_modules${sep}`.length,
  )
  return [`${here}${sep}`, packages, join(here, '..', '..', '..', 'package.json')]
}

class Run {
  result: Promise<Buffer>
  #child: ChildProcess
  #parts: Buffer[] = []
  #length = 0
  #stderr = ''
  #reason: unknown
  #answerBytes: number

  constructor(child: ChildProcess, { seconds, memoryBytes, answerBytes }: ProcessLimits) {
    this.#child = child
    this.#answerBytes = answerBytes
    const clock = setTimeout(() => this.end(new ParsingError('too_slow')), seconds * 1000)
    const poll = setInterval(() => void this.#checkMemory(memoryBytes), pollMilliseconds)
    const answers = child.stdio[3] as NodeJS.ReadableStream
    answers.on('data', (part: Buffer) => this.#take(part))
    answers.on('error', () => {})
    child.stderr!.on('data', (part: Buffer) => {
      this.#stderr = (this.#stderr + part.toString('latin1')).slice(-stderrBytes)
    })
    this.result = new Promise((resolve, reject) => {
      child.on('error', (error) => {
        this.#reason ??= error
        if (child.pid === undefined) {
          stop()
          reject(error)
        }
      })
      child.on('close', (code, signal) => {
        stop()
        const failure = this.#reason ?? this.#failure(code, signal)
        if (failure === null) resolve(Buffer.concat(this.#parts).subarray(1))
        else reject(failure)
      })
    })
    function stop(): void {
      clearTimeout(clock)
      clearInterval(poll)
    }
  }

  /** Now; the reason is the first that was given. */
  end(reason: unknown): void {
    this.#reason ??= reason
    this.#parts = []
    this.#child.kill('SIGKILL')
  }

  #take(part: Buffer): void {
    if (this.#reason !== undefined) return
    this.#length += part.length
    if (this.#length > this.#answerBytes) this.end(new ParsingError('too_large'))
    else this.#parts.push(part)
  }

  /** Where the system does not tell it, the cap on the heap is what holds. */
  async #checkMemory(memoryBytes: number): Promise<void> {
    const status = await readFile(`/proc/${this.#child.pid}/status`, 'latin1').catch(() => '')
    const kilobytes = Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0)
    if (kilobytes * 1024 > memoryBytes) this.end(new ParsingError('too_much_memory'))
  }

  /** Why it ended without an answer, if it did. */
  #failure(code: number | null, signal: NodeJS.Signals | null): unknown {
    const started = this.#parts[0]?.[0] === startedByte
    if (started && code === 0) return null
    if (!started && code !== null && !/heap|memory/i.test(this.#stderr))
      return new Error(`The reading process did not start (${code}): ${this.#stderr}`)
    return new ParsingError(codeOf(signal ?? '', code, this.#stderr))
  }
}

function codeOf(signal: string, code: number | null, stderr: string): ParsingErrorCode {
  if (signal === 'SIGXCPU') return 'too_slow'
  // Killed by somebody else: that is what a system does that has no memory left.
  if (
    signal === 'SIGKILL' ||
    code === 137 ||
    /heap out of memory|heap limit|allocation failed|out of memory/i.test(stderr)
  )
    return 'too_much_memory'
  return 'damaged'
}
