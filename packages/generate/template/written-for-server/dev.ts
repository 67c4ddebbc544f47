// `npm run dev`: serves the project, and starts a new server at each save. The previous one answers until the
// new one listens. A saved document is generated again if the toolkit is installed. `tsc` checks the types
// beside the server.
//   node generated/dev.ts [FILE] [--allow-remote]   FILE is the document
import { spawn } from 'node:child_process'
import cluster, { type Worker } from 'node:cluster'
import { readdirSync, readFileSync, statSync, watch, type FSWatcher } from 'node:fs'
import { createRequire } from 'node:module'
import { setPriority } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'

type Generate = (
  file: string,
  out: string,
  options: { allowRemote: boolean },
) => Promise<{ wrote: string[]; notes: string[]; sources: string[] }>

const folder = resolve(import.meta.dirname, '..')
const [document = null] = process.argv.slice(2).filter((each) => !each.startsWith('--'))
const options = {
  ...JSON.parse(readFileSync(join(folder, 'generated/options.json'), 'utf8')),
  allowRemote: process.argv.includes('--allow-remote'),
}
const require = createRequire(join(folder, 'package.json'))
const say = (line: string): void => console.log(line)

// Servers.
let current: Worker | null = null
let starting: Worker | null = null
// Workers accept connections by themselves, also while this process generates.
cluster.schedulingPolicy = cluster.SCHED_NONE
cluster.setupPrimary({ exec: join(folder, 'main.ts'), args: [], silent: true })

/** @returns whether the server listens. */
async function startServer(): Promise<boolean> {
  const worker = cluster.fork({
    DEV_SERVER: '1',
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(folder, 'node_modules/.cache/dev'),
  })
  starting = worker
  const slow = setTimeout(() => {
    say('· the server is still starting; if a module waits at its import, the next save starts another')
  }, 5_000)
  let output = ''
  for (const stream of [worker.process.stdout!, worker.process.stderr!])
    stream.on('data', (chunk: Buffer) => {
      if (current === worker) process.stdout.write(chunk)
      else output += chunk
    })
  return await new Promise((done) => {
    worker.once('listening', () => {
      clearTimeout(slow)
      const previous = current
      current = worker
      starting = null
      if (previous === null) process.stdout.write(output)
      else retire(previous)
      done(true)
    })
    worker.process.once('close', () => {
      clearTimeout(slow)
      if (starting === worker) {
        starting = null
        say(
          `✗ ${reasonOf(output)}\n  ` +
            (current === null ? 'No server is running.' : 'The previous server keeps running.'),
        )
        done(false)
      } else if (current === worker) {
        current = null
        say('✗ the server exited; the next save starts another')
      } else done(false)
    })
  })
}

/** The server completes its requests. */
function retire(worker: Worker): void {
  worker.once('disconnect', () => worker.process.kill('SIGTERM'))
  worker.disconnect()
}

/** A server that is starting is older than the files that are saved now. */
function giveUpStart(): void {
  const worker = starting
  starting = null
  worker?.process.kill('SIGKILL')
}

/** The place and the message of the error that has ended a process. */
function reasonOf(output: string): string {
  const error = /^\s*\[?\w*Error\b.*$/m.exec(output)?.[0].trim()
  const [, thrown] = /^(.*)\n\(Use `node --trace-uncaught/m.exec(output) ?? []
  const message = error ?? (thrown === undefined ? output.trim().split('\n')[0] : `throws ${thrown}`)
  const place = [...output.matchAll(/(?:file:\/\/)?(\/[^\s():]+):(\d+)(?::(\d+))?/g)].find(
    ([, path]) => path.startsWith(folder) && !path.includes('/node_modules/'),
  )
  const at =
    place && [relative(folder, place[1]), place[2], place[3]].filter((each) => each !== undefined).join(':')
  return at === undefined ? message : `${at} ${message}`
}

// The document.
let sources: string[] = document === null ? [] : [resolve(folder, document)]

/** The generator of the toolkit; null if it is not installed. */
async function generator(): Promise<Generate | null> {
  const module = '@platform-api/generate/project.ts'
  const find = (from: NodeJS.Require, name: string): string | null => {
    try {
      return from.resolve(name)
    } catch {
      return null
    }
  }
  const toolkit = find(require, '@platform-api/toolkit/main.ts')
  const path = find(require, module) ?? (toolkit === null ? null : find(createRequire(toolkit), module))
  if (path === null) return null
  return ((await import(pathToFileURL(path).href)) as { generateProject: Generate }).generateProject
}

/** @returns whether files have changed. */
async function generate(run: Generate): Promise<boolean> {
  try {
    const { wrote, notes, sources: read } = await run(sources[0], folder, options)
    sources = [sources[0], ...read.filter((each) => each !== sources[0])]
    for (const line of [...notes, ...(wrote.length === 0 ? [] : [`wrote ${wrote.join(', ')}`])])
      say(`· ${line}`)
    return wrote.length > 0
  } catch (error) {
    say(`✗ ${(error as Error).message}`)
    return false
  }
}

// Saves.
const watchers = new Map<string, FSWatcher>()
let states = new Map<string, string>()

/** The files whose content may have changed since the last call. */
function changedFiles(): string[] {
  const now = new Map<string, string>()
  const folders = new Set(sources.map(dirname))
  for (const file of sources) addState(now, file)
  visit(folder)
  for (const each of folders)
    if (!watchers.has(each))
      watchers.set(
        each,
        watch(each, schedule).on('error', () => watchers.delete(each)),
      )
  const all = new Set([...states.keys(), ...now.keys()])
  const changed = [...all].filter((file) => states.get(file) !== now.get(file))
  states = now
  return changed

  function visit(at: string): void {
    folders.add(at)
    for (const entry of readdirSync(at, { withFileTypes: true })) {
      const path = join(at, entry.name)
      if (entry.isDirectory() && !/^(\..*|node_modules|generated|test)$/.test(entry.name)) visit(path)
      else if (entry.isFile() && /\.(ts|js|mjs)$/.test(entry.name)) addState(now, path)
    }
  }
}

function addState(states: Map<string, string>, file: string): void {
  const found = statSync(file, { throwIfNoEntry: false })
  if (found !== undefined) states.set(file, `${found.mtimeMs} ${found.size}`)
}

let timer: NodeJS.Timeout | undefined
function schedule(): void {
  clearTimeout(timer)
  timer = setTimeout(() => void rebuild(), 50)
}

let isBusy = true
let isOutdated = false
const saved = new Set<string>()

/** One at a time: what is saved in the meantime goes into the next one. */
async function rebuild(): Promise<void> {
  for (const file of changedFiles()) saved.add(file)
  if (saved.size > 0) giveUpStart()
  if (isBusy) return
  isBusy = true
  while (saved.size > 0) {
    const started = performance.now()
    const files = [...saved]
    saved.clear()
    const isGenerated = run !== null && files.some((file) => sources.includes(file)) && (await generate(run))
    // The stubs that it wrote are no saves.
    if (isGenerated) for (const file of changedFiles()) if (sources.includes(file)) saved.add(file)
    if (!isGenerated && !isOutdated && files.every((file) => sources.includes(file))) continue
    isOutdated = !(await startServer())
    const seconds = ((performance.now() - started) / 1000).toFixed(1)
    const names = files.map((file) => relative(folder, file)).join(', ')
    if (!isOutdated) say(`✓ ${names} → serving after ${seconds} s`)
  }
  isBusy = false
}

/** Names type errors beside the server. */
function checkTypes(): () => void {
  const args = ['--watch', '--preserveWatchOutput', '--pretty', 'false']
  const child = spawn(process.execPath, [require.resolve('typescript/bin/tsc'), ...args], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (child.pid !== undefined) setPriority(child.pid, 10)
  let isWrong = false
  createInterface(child.stdout).on('line', (line) => {
    const [, file, row, column, code, message] = /^(.+)\((\d+),(\d+)\): error (TS\d+): (.*)$/.exec(line) ?? []
    if (file !== undefined) say(`✗ types: ${file}:${row}:${column} ${message} (${code})`)
    else if (/Found 0 errors/.test(line) && isWrong) say('✓ no type errors')
    if (/Found \d+ error/.test(line)) isWrong = !/Found 0 errors/.test(line)
  })
  return () => child.kill()
}

let stopTypes = (): void => {}
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    stopTypes()
    for (const watcher of watchers.values()) watcher.close()
    for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill('SIGTERM')
    clearTimeout(timer)
    cluster.disconnect(() => process.exit(0))
  })

const run = document === null ? null : await generator()
if (document !== null && run === null)
  say('· the document is not watched: @platform-api/toolkit is not installed')
changedFiles()
if (run !== null) await generate(run)
changedFiles()
isOutdated = !(await startServer())
stopTypes = checkTypes()
isBusy = false
void rebuild()
