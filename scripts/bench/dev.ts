// Benchmark of `npm run dev`: CPU time of all its processes and of PostgreSQL from a save to the first
// response of the new server. Without TypeScript, which the server does not wait for.
import { spawn, type ChildProcess } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, readdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createDatabase } from './population.ts'
import { postgresCpu, type Stage } from './stage.ts'
import { table } from './table.ts'

const root = join(import.meta.dirname, '../..')

interface Save {
  what: string
  file: string
  change: (text: string, round: number) => string
}

const saves: Save[] = [
  {
    what: 'a description in the spec',
    file: 'spec/projects.yaml',
    change: (text, round) => text.replace(/^( +summary: List).*$/m, `$1 your projects (${round})`),
  },
  {
    what: 'a schema in the spec',
    file: 'spec/projects.yaml',
    change: (text, round) => text.replace(/(minLength: 1, maxLength: )2\d\d/, `$1${201 + round}`),
  },
  {
    what: 'a handler',
    file: 'handlers/projects.ts',
    change: (text, round) => `${text.replace(/\n\/\/ Saved .*\n$/, '\n')}// Saved ${round} times.\n`,
  },
]

interface Cost {
  cpu: number
  wall: number
  after: number
}

export async function benchDev(stage: Stage, { rounds }: { rounds: number }): Promise<string> {
  const { url: serverUrl, dataDir } = await stage.postgres()
  const url = await createDatabase(serverUrl, 'bench_dev')
  const folder = join(stage.folder, 'dev')
  copyProject(folder)
  const dev = run(folder, url)
  try {
    const [, address] = await dev.says(/serving at (http:\S+)/)
    const cpu = (): number => treeCpu(dev.child.pid!) + postgresCpu(dataDir)
    const costs = new Map<Save, Cost[]>(saves.map((save) => [save, []]))
    // The first one is slower, because V8 has not compiled the code yet.
    for (let round = 0; round <= rounds; round++) {
      for (const save of saves) {
        const before = await quiet(cpu)
        const started = performance.now()
        dev.forget()
        write(join(folder, save.file), (text) => save.change(text, round))
        await dev.says(/→.*serving after/)
        await fetch(`${address}/healthz`, { signal: AbortSignal.timeout(60_000) })
        const wall = (performance.now() - started) / 1000
        const answered = cpu()
        const after = await quiet(cpu)
        if (round > 0) costs.get(save)!.push({ cpu: answered - before, wall, after: after - answered })
      }
    }
    return report(costs, rounds)
  } finally {
    await dev.stop()
  }
}

function copyProject(folder: string): void {
  mkdirSync(folder)
  for (const name of [
    'app',
    'handlers',
    'services',
    'infra',
    'packages',
    'scripts',
    'spec',
    'prisma',
    'docs/database.md',
    'generated',
    'package.json',
    'tsconfig.json',
  ])
    cpSync(join(root, name), join(folder, name), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction')
}

/** Saves as editors do: writes a new file and renames it. */
function write(file: string, change: (text: string) => string): void {
  const before = readFileSync(file, 'utf8')
  const after = change(before)
  if (after === before) throw new Error(`Nothing to change in ${file}`)
  writeFileSync(`${file}.new`, after)
  renameSync(`${file}.new`, file)
}

interface Dev {
  child: ChildProcess
  says(pattern: RegExp): Promise<RegExpExecArray>
  forget(): void
  stop(): Promise<void>
}

function run(folder: string, url: string): Dev {
  const child = spawn(process.execPath, [join(folder, 'scripts/dev/main.ts'), '--no-types'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      ...process.env,
      PORT: '0',
      DATABASE_URL: url,
      DATA_DIR: join(folder, '.data'),
      NODE_COMPILE_CACHE: join(folder, '.cache'),
      LOG_LEVEL: 'warn',
    },
  })
  let text = ''
  let over = false
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  const ended = new Promise<void>((resolve) =>
    child.once('close', () => {
      over = true
      resolve()
    }),
  )
  return {
    child,
    async says(pattern) {
      for (const deadline = Date.now() + 120_000; ;) {
        const found = pattern.exec(text)
        if (found !== null) return found
        if (over || text.includes('✗') || Date.now() > deadline) throw new Error(`npm run dev:\n${text}`)
        await sleep(10)
      }
    },
    forget() {
      text = ''
    },
    async stop() {
      child.kill('SIGTERM')
      await ended
    },
  }
}

/** Waits until the processes are idle; returns their CPU seconds. */
async function quiet(cpu: () => number): Promise<number> {
  for (let last = cpu(), still = 0; ;) {
    await sleep(200)
    const now = cpu()
    still = now - last < 0.02 ? still + 1 : 0
    if (still === 5) return now
    last = now
  }
}

/** CPU seconds of a process and its descendants, including those that have exited. Needs /proc. */
function treeCpu(top: number): number {
  const stats = new Map<number, string[]>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      stats.set(
        Number(name),
        readFileSync(`/proc/${name}/stat`, 'utf8')
          .replace(/^.*\) /s, '')
          .split(' '),
      )
    } catch {
      // The process has exited.
    }
  }
  const sum = (pid: number): number => {
    const fields = stats.get(pid)
    if (fields === undefined) return 0
    // [11] and [12]: own time; [13] and [14]: time of exited children.
    const own = fields.slice(11, 15).reduce((total, field) => total + Number(field), 0)
    return [...stats]
      .filter(([, other]) => Number(other[1]) === pid)
      .reduce((total, [child]) => total + sum(child), own)
  }
  return sum(top) / 100
}

function report(costs: Map<Save, Cost[]>, rounds: number): string {
  const median = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]
  const s = (value: number): string => value.toFixed(2)
  return [
    `Seconds from a save to the first response of the new server, medians of ${rounds} saves: CPU of the`,
    'generator, the servers, the watcher and PostgreSQL. "Afterwards": CPU for the exit of the old server',
    'and the next standby.',
    '',
    table(
      ['saved', 'CPU', 'slowest', 'by the clock', 'afterwards'],
      [...costs].map(([{ what }, all]) => [
        what,
        s(median(all.map(({ cpu }) => cpu))),
        s(Math.max(...all.map(({ cpu }) => cpu))),
        s(median(all.map(({ wall }) => wall))),
        s(median(all.map(({ after }) => after))),
      ]),
    ),
  ].join('\n')
}
