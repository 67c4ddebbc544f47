// `npm run dev` in a copy of this project: what follows from a save, while somebody asks the server all the time.
import { spawn } from 'node:child_process'
import { cp, readFile, symlink, writeFile } from 'node:fs/promises'
import { readdirSync, readFileSync, renameSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { createTestDatabase } from '../support/database.ts'
import { waitUntil } from '../support/wait.ts'

const root = resolve(import.meta.dirname, '../..')

interface Dev {
  folder: string
  url: string
  pid: number
  /** As editors write: beside the files, and then in their places. */
  save(...changes: Array<[file: string, change: (text: string) => string]>): Promise<void>
  read(file: string): Promise<string>
  /** Does it, and waits for a line; answers what was said since. */
  says(pattern: RegExp, after?: () => Promise<void>): Promise<string>
  end(signal: NodeJS.Signals): Promise<number | null>
}

async function startDev(t: Test): Promise<Dev> {
  const folder = t.testdir()
  for (const name of [
    'app',
    'handlers',
    'services',
    'infra',
    'packages',
    'scripts',
    'spec',
    'prisma',
    'generated',
    'package.json',
    'tsconfig.json',
  ]) {
    await cp(join(root, name), join(folder, name), {
      recursive: true,
      filter: (from) => !from.includes('/bench'),
    })
  }
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  const { url: databaseUrl } = await createTestDatabase(t)
  const child = spawn(process.execPath, [join(folder, 'scripts/dev/main.ts'), '--no-types'], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      PORT: '0',
      DATABASE_URL: databaseUrl,
      DATA_DIR: join(folder, '.data'),
      NODE_COMPILE_CACHE: join(folder, '.cache'),
      LOG_LEVEL: 'warn',
      RATE_LIMIT_ADDRESS: '1000000',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  for (const output of [child.stdout, child.stderr])
    output.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
    })
  const ended = new Promise<number | null>((done) => child.once('close', done))
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal)
    return await ended
  }
  t.teardown(() => end('SIGTERM'))
  const says: Dev['says'] = async (pattern, after = async () => {}) => {
    const before = text.length
    await after()
    await waitUntil(
      () => pattern.test(text.slice(before)) || child.exitCode !== null,
      `${pattern}, but it says:\n${text}`,
      180_000,
    )
    return text.slice(before)
  }
  await waitUntil(() => /watching/.test(text) || child.exitCode !== null, 'the start', 180_000)
  return {
    folder,
    url: /serving at (http:\/\/\S+)/.exec(text)?.[1] ?? '',
    pid: child.pid!,
    async save(...changes) {
      for (const [file, change] of changes)
        await writeFile(join(folder, `${file}~`), change(await readFile(join(folder, file), 'utf8')))
      for (const [file] of changes) renameSync(join(folder, `${file}~`), join(folder, file))
    },
    read: (file) => readFile(join(folder, file), 'utf8'),
    says,
    end,
  }
}

/** Asks one request after the other, each on a connection of its own, until told to stop. */
function askAllTheTime(url: string): { asked: () => number; stop: () => Promise<string[]> } {
  const failures: string[] = []
  let asked = 0
  let over = false
  const asking = (async () => {
    while (!over) {
      const failure = await fetch(`${url}/healthz`, { headers: { connection: 'close' } }).then(
        async (response) => {
          await response.text()
          return response.status === 200 ? null : String(response.status)
        },
        (error: Error) => String(error.cause ?? error),
      )
      asked++
      if (failure !== null) failures.push(failure)
      await new Promise((done) => setTimeout(done, 25))
    }
  })()
  return {
    asked: () => asked,
    async stop() {
      over = true
      await asking
      return failures
    },
  }
}

/** The processes below one. */
function descendants(pid: number): number[] {
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        return (
          Number(
            readFileSync(`/proc/${name}/stat`, 'utf8')
              .replace(/^.*\) /s, '')
              .split(' ')[1],
          ) === pid
        )
      } catch {
        // It has ended since.
        return false
      }
    })
    .map(Number)
  return children.flatMap((child) => [child, ...descendants(child)])
}

t.test('a save is served, a mistake is told with its place, and no request is ever refused', async (t) => {
  const dev = await startDev(t)
  const health = async (): Promise<any> => await (await fetch(`${dev.url}/healthz`)).json()
  const version = async (): Promise<string> =>
    ((await (await fetch(`${dev.url}/openapi.json`)).json()) as any).info.version
  t.same(await health(), { status: 'ok' })
  const asking = askAllTheTime(dev.url)

  await t.test('a description in the spec: one line, and another server', async (t) => {
    const said = await dev.says(/→/, () =>
      dev.save(['spec/openapi.yaml', (text) => text.replace(/^( +version: ).*$/m, '$19.9.9')]),
    )
    t.match(said, /✓ spec\/openapi\.yaml → wrote openapi\.json, openapi\.yaml.*; serving after \d+\.\d s\n/)
    t.notMatch(said, /validators\.js|replies\.js|serializers\.js/, 'nothing else is written')
    t.equal(await version(), '9.9.9')
  })

  await t.test('a mistake in the spec: the place and the line, and what was generated stays', async (t) => {
    const before = await dev.read('generated/openapi.json')
    const said = await dev.says(/nothing was written/, () =>
      dev.save(['spec/projects.yaml', (text) => text.replace('maxLength: 200', 'maxLenght: 200')]),
    )
    t.match(said, /✗ spec\/projects\.yaml:\d+:\d+ .*`?maxLenght`?.*\n {4}maxLenght: 200\n/)
    t.notMatch(said, /\n\s+at |serving/)
    t.equal(await dev.read('generated/openapi.json'), before)
    t.equal(await version(), '9.9.9', 'the server goes on')
  })

  await t.test('the mistake is mended and a handler is saved at once: one round', async (t) => {
    const said = await dev.says(/→/, async () => {
      await dev.save(
        ['spec/projects.yaml', (text) => text.replace('maxLenght: 200', 'maxLength: 190')],
        ['handlers/system.ts', (text) => `${text}// Saved.\n`],
      )
    })
    t.match(said, /✓ handlers\/system\.ts, spec\/projects\.yaml → wrote .*validators\.js.*; serving after/)
    t.equal((await dev.read('generated/validators.js')).includes('190'), true)
  })

  await t.test('what a warm generator wrote is what a cold one writes', async (t) => {
    const check = spawn(process.execPath, ['scripts/generate/main.ts', '--out', join(dev.folder, 'cold')], {
      cwd: dev.folder,
      stdio: 'ignore',
    })
    t.equal(await new Promise((done) => check.once('close', done)), 0)
    for (const name of ['validators.js', 'replies.js', 'serializers.js', 'operations.ts', 'openapi.json'])
      t.equal((await dev.read(`cold/${name}`)) === (await dev.read(`generated/${name}`)), true, name)
  })

  await t.test('a handler that does not load: its place, and the server before it answers', async (t) => {
    const said = await dev.says(/goes on answering/, () =>
      dev.save(['handlers/system.ts', (text) => `${text}const broken = ;\n`]),
    )
    t.match(said, /✗ handlers\/system\.ts:\d+:\d+ .*Expression expected\n {4}const broken = ;/)
    t.notMatch(said, /\n\s+at |serving after/)
    t.same(await health(), { status: 'ok' })
  })

  await t.test('a handler alone: the generator does not run', async (t) => {
    const said = await dev.says(/→/, () =>
      dev.save(['handlers/system.ts', (text) => text.replace('const broken = ;\n', '')]),
    )
    t.match(said, /✓ handlers\/system\.ts → serving after \d+\.\d s\n/)
    t.notMatch(said, /wrote|nothing changed/)
  })

  await t.test('an operation without a handler: which, and what writes it', async (t) => {
    const said = await dev.says(/goes on answering/, () =>
      dev.save([
        'spec/system.yaml',
        (text) => text.replace('operationId: getHealth', 'operationId: getLiveness'),
      ]),
    )
    t.match(
      said,
      /✗ operation getLiveness has no handler in handlers\/system\.ts; `npm run generate -- --stubs` writes a stub/,
    )
  })

  t.ok(asking.asked() > 20, 'somebody asked all the while')
  t.strictSame(await asking.stop(), [], 'and every request was answered 200')

  const below = descendants(dev.pid)
  t.ok(below.length >= 2, 'it has processes of its own')
  t.equal(await dev.end('SIGTERM'), 0)
  t.strictSame(
    below.filter((pid) => descendants(1).includes(pid)),
    [],
    'none is left',
  )
  await t.rejects(fetch(`${dev.url}/healthz`), 'and nothing listens')
})
