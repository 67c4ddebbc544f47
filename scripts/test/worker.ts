// A process that runs test files one after another, each as a subtest of tap's root test. The modules of the
// server are loaded and compiled once for all of them. The pool sends the paths of the files; stdout is TAP.
import { existsSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Base } from 'tap'
import { nextFile } from './hooks.ts'
import { setFileTest } from './current-file.ts'
import type { FileResult, FileToRun } from './pool.ts'
import { usedCpu } from './used-cpu.ts'

// After the hooks, which static imports would come before.
const { default: tap } = await import('tap')

/** Resources that a test file must close, because open ones slow down later files. */
const closedAtTheEnd = ['TCPServerWrap', 'PipeServerWrap', 'ProcessWrap', 'FSEventWrap', 'Timeout']
/** A process that holds more runs no further file. */
const MEMORY_LIMIT_BYTES = 1024 ** 3

let failed = false
let started = 0

for (const event of ['uncaughtException', 'unhandledRejection'] as const)
  process.on(event, (error: unknown) => runningTest().hookDomain.onerror(error as Error, event))

// Each file has a time limit of its own.
tap.setTimeout(0)
process.on('message', (message: FileToRun | { file?: never }) => {
  if (message.file === undefined) return
  void runFile(message).then((result) => process.send!(result))
})
process.on('disconnect', () => {
  tap.end()
  // Resources that a failed file left open must not keep the process alive.
  if (failed) setTimeout(() => process.exit(), 1_000).unref()
})

async function runFile({ file, path, timeout, closing }: FileToRun): Promise<FileResult> {
  const start = performance.now()
  const cpuStart = usedCpu()
  const openAtStart = openResources()
  const url = pathToFileURL(path).href
  nextFile(url)
  const ran = join(tmpdir(), `handlers-of-${process.pid}-${++started}`)
  process.env['TEST_HANDLERS'] = ran
  const results = await tap.test(file, { timeout }, async (t) => {
    setFileTest(t)
    await import(url)
  })
  // With its first result, tap lets the process end when nothing but the channel to the pool is open.
  process.channel!.ref()
  const left = await resourcesLeft(openAtStart, closing)
  if (left.length > 0) tap.fail(`${file} leaves open: ${left.join(', ')}`)
  failed = results?.ok !== true || left.length > 0
  const reusable = !failed && process.memoryUsage.rss() < MEMORY_LIMIT_BYTES
  const handlers = existsSync(ran) ? [...new Set(readFileSync(ran, 'utf8').trim().split('\n'))] : []
  return { file, wall: performance.now() - start, cpu: usedCpu() - cpuStart, handlers, reusable }
}

/** The innermost test that is running; between two files, tap's root test. */
function runningTest(): Base {
  let test: Base = tap
  while ('activeSubtests' in test) {
    const inner = [...(test.activeSubtests as Set<Base>)].at(-1)
    if (inner === undefined) break
    test = inner
  }
  return test
}

/** Waits until the file's resources are closed. @returns the types of those that are not. */
async function resourcesLeft(before: Map<string, number>, closing: number): Promise<string[]> {
  const deadline = Date.now() + closing
  for (;;) {
    const now = openResources()
    const left = closedAtTheEnd.filter((type) => (now.get(type) ?? 0) > (before.get(type) ?? 0))
    if (left.length === 0 || Date.now() > deadline)
      return left.map((type) => `${now.get(type)! - (before.get(type) ?? 0)} ${type}`)
    await sleep(20, undefined, { ref: false })
  }
}

function openResources(): Map<string, number> {
  const counts = new Map<string, number>()
  for (const type of process.getActiveResourcesInfo()) counts.set(type, (counts.get(type) ?? 0) + 1)
  return counts
}
