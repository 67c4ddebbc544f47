// The test runner: which processes run the files, what it makes of files that fail, crash or leave something
// open, and that an interrupted run leaves no process behind.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import t, { type Test } from 'tap'
import { Pool, type FileResult } from '../../scripts/test/pool.ts'
import { processesOf } from '../../scripts/test/left-processes.ts'
import { closingLine, Report } from '../../scripts/test/report.ts'
import { waitUntil } from '../support/server/wait.ts'

const root = join(import.meta.dirname, '../..')

interface Run {
  folder: string
  lines: string
  closing: string
  results: FileResult[]
}

/** Runs files with this content, one after another. */
async function run(t: Test, contents: Record<string, string>, timeout = 60_000): Promise<Run> {
  const folder = t.testdir(contents)
  const lines: string[] = []
  const report = new Report({ print: (line) => lines.push(line), skippedFails: false })
  const { NODE_OPTIONS: _, ...env } = process.env
  const pool = new Pool({ root: folder, jobs: 1, timeout, closing: 1_000, env, report })
  const results = await pool.run(Object.keys(contents))
  return { folder, lines: lines.join('\n'), closing: closingLine(report.counts), results }
}

const passes = `
  import { appendFileSync } from 'node:fs'
  import t from 'tap'
  t.test('adds', async (t) => { t.equal(1 + 1, 2) })
  appendFileSync('pids', process.pid + ' ')`

t.test('files share a process, except those that ask for their own', async (t) => {
  const ran = await run(t, { 'a.ts': passes, 'b.ts': `// own process: why not\n${passes}`, 'c.ts': passes })
  t.equal(ran.closing, '3 passed, 0 failed')
  const [a, b, c] = readFileSync(join(ran.folder, 'pids'), 'utf8').split(' ')
  t.equal(a, c)
  t.not(a, b)
  t.strictSame(
    ran.results.map(({ file }) => file),
    ['a.ts', 'b.ts', 'c.ts'],
  )
  t.ok(ran.results.every(({ wall, cpu }) => wall > 0 && cpu > 0))
})

t.test('an uncaught error fails the test that is running', async (t) => {
  const { lines, closing } = await run(t, {
    'late.ts': `
      import t from 'tap'
      t.test('waits', async () => {
        setTimeout(() => { throw new Error('too late') }, 10)
        await new Promise((resolve) => setTimeout(resolve, 200))
      })
      t.test('rejects', async () => {
        Promise.reject(new Error('not awaited'))
        await new Promise((resolve) => setTimeout(resolve, 200))
      })`,
    'next.ts': passes,
  })
  t.match(lines, 'not ok  late.ts > waits > too late')
  t.match(lines, 'not ok  late.ts > rejects > not awaited')
  t.match(lines, /ok +next\.ts/)
  t.equal(closing, '1 passed, 2 failed')
})

t.test('a file that cannot be loaded, exits or takes too long fails, and the next one runs', async (t) => {
  const broken = await run(t, { 'broken.ts': 'import "./missing.ts"', 'next.ts': passes })
  t.match(broken.lines, 'not ok  broken.ts')
  t.equal(broken.closing, '1 passed, 1 failed')

  const crashed = await run(t, { 'crash.ts': `${passes}\nprocess.exit(3)`, 'next.ts': passes })
  t.match(crashed.lines, /crash\.ts\nthe process ended with exit code/)
  t.match(crashed.lines, /ok +next\.ts/)

  const slow = await run(
    t,
    {
      'slow.ts': `import t from 'tap'\nt.test('hangs', () => new Promise(() => setInterval(() => {}, 1000)))`,
      'next.ts': passes,
    },
    5_000,
  )
  t.match(slow.lines, /slow\.ts > hangs[^]*timeout/)
  t.match(slow.lines, /ok +next\.ts/)
  t.match(slow.closing, /^1 passed, [1-9] failed/)
})

t.test('a file that leaves something open fails', async (t) => {
  const { lines } = await run(t, {
    'open.ts': `import { createServer } from 'node:http'\ncreateServer().listen(0)\n${passes}`,
    'next.ts': passes,
  })
  t.match(lines, 'not ok  open.ts leaves open: 1 TCPServerWrap')
  t.match(lines, /ok +next\.ts/)
})

t.test('an interrupted run leaves no process behind', async (t) => {
  const child = `setInterval(() => {}, 1000)`
  const folder = t.testdir({
    'hangs.test.ts': `
      import { spawn } from 'node:child_process'
      import t from 'tap'
      const { pid } = spawn(process.execPath, ['-e', ${JSON.stringify(child)}],
        { detached: true, env: { TMPDIR: process.env.TMPDIR }, stdio: 'ignore' })
      console.error('began in ' + process.env.TMPDIR)
      t.test('hangs', () => new Promise(() => setInterval(() => {}, 1000)))`,
  })
  const file = relative(root, join(folder, 'hangs.test.ts'))
  const runner = spawn(process.execPath, [join(root, 'scripts/test/main.ts'), file], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [runner.stdout, runner.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  t.teardown(() => runner.kill('SIGTERM'))
  const ended = new Promise((resolve) => runner.once('close', resolve))
  await waitUntil(() => /began in \S+\n/.test(output) || runner.exitCode !== null, 'the test to begin')
  const runFolder = join(/began in (\S+)\n/.exec(output)![1], '..')
  if (process.platform === 'linux') t.ok(processesOf(runFolder).length > 2)
  runner.kill('SIGTERM')
  t.equal(await ended, 1)
  t.match(output, /The run was interrupted by SIGTERM\.\n0 passed, 1 failed\n/)
  t.strictSame(processesOf(runFolder), [])
})
