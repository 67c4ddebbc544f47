// `npm run dev` in a copy of this project: rebuilds on save while a client sends requests continuously.
import { spawn } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import {
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { get } from 'node:http'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { emit } from '../../scripts/generate/main.ts'
import { createTestDatabase } from '../support/database/database.ts'
import { inheritedEnvironment } from '../support/server/process.ts'
import { waitUntil } from '../support/server/wait.ts'

const root = resolve(import.meta.dirname, '../..')

interface Dev {
  folder: string
  url: string
  pid: number
  /** Saves as editors do: writes new files and renames them over the old ones. */
  save(...changes: Array<[file: string, change: (text: string) => string]>): Promise<void>
  read(file: string): Promise<string>
  /** Runs `after` and waits for a line that matches; returns the output since. */
  says(pattern: RegExp, after?: () => Promise<void>): Promise<string>
  end(signal: NodeJS.Signals): Promise<number | null>
}

async function startDev(t: Test): Promise<Dev> {
  const folder = t.testdir()
  const scripts = readdirSync(join(root, 'scripts')).filter((name) => name !== 'bench')
  for (const name of [
    'app',
    'handlers',
    'services',
    'infra',
    'packages',
    'spec',
    'prisma',
    'docs/database.md',
    'generated',
    'package.json',
    'tsconfig.json',
    ...scripts.map((script) => `scripts/${script}`),
  ])
    cpSync(join(root, name), join(folder, name), { recursive: true })
  // The operations of some areas, so that a rebuild costs less. The server needs those of events, and those
  // with x-crud.
  const spec = join(folder, 'spec/openapi.yaml')
  const crud = 'customRoles|pr\\w+s|customers|meters|features|budgets'
  const others = new RegExp(`^  /(?!.*(system|projects|events)\\.yaml|.*/(${crud})').*\\$ref: '.*\\n`, 'gm')
  writeFileSync(spec, readFileSync(spec, 'utf8').replace(others, ''))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  const { url: databaseUrl } = await createTestDatabase(t)
  const child = spawn(process.execPath, [join(folder, 'scripts/dev/main.ts'), '--no-types'], {
    cwd: folder,
    env: {
      ...inheritedEnvironment(),
      PORT: '0',
      DATABASE_URL: databaseUrl,
      DATA_DIR: join(folder, '.data'),
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
  if (!/serving at/.test(text)) throw new Error(`dev serves nothing:\n${text}`)
  return {
    folder,
    url: /serving at (http:\/\/\S+)/.exec(text)![1],
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

/** Sends one request after the other, each on a new connection. `stop` returns the failures. */
function sendContinuously(url: string): { count: () => number; stop: () => Promise<string[]> } {
  const failures: string[] = []
  let count = 0
  let stopped = false
  const loop = (async () => {
    while (!stopped) {
      const failure = await statusOf(`${url}/healthz`).then(
        (status) => (status === 200 ? null : String(status)),
        (error: Error) => String(error),
      )
      count++
      if (failure !== null) failures.push(failure)
      await new Promise((done) => setTimeout(done, 50))
    }
  })()
  return {
    count: () => count,
    async stop() {
      stopped = true
      await loop
      return failures
    },
  }
}

/** On a new connection. `fetch` would cost several times the CPU. */
function statusOf(url: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent: false }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode))
      response.on('error', reject)
    })
    request.on('error', reject)
  })
}

/** The ids of all descendant processes. */
function descendants(pid: number): number[] {
  const parents = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
        return [{ pid: Number(name), parent: Number(stat.replace(/^.*\) /s, '').split(' ')[1]) }]
      } catch {
        // The process has exited.
        return []
      }
    })
  const below = (above: number): number[] =>
    parents.filter(({ parent }) => parent === above).flatMap((each) => [each.pid, ...below(each.pid)])
  return below(pid)
}

t.test('dev rebuilds on save, reports errors with their place, and answers every request', async (t) => {
  const dev = await startDev(t)
  const health = async (): Promise<any> => await (await fetch(`${dev.url}/healthz`)).json()
  const version = async (): Promise<string> =>
    ((await (await fetch(`${dev.url}/openapi.json`)).json()) as any).info.version
  t.same(await health(), { status: 'ok' })
  const client = sendContinuously(dev.url)

  await t.test('two files saved at once print one line and start one new server', async (t) => {
    const said = await dev.says(/→/, () =>
      dev.save(
        ['spec/openapi.yaml', (text) => text.replace(/^( +version: ).*$/m, '$19.9.9')],
        ['handlers/system.ts', (text) => `${text}// Saved.\n`],
      ),
    )
    t.match(
      said,
      /✓ handlers\/system\.ts, spec\/openapi\.yaml → wrote openapi\.json.*; serving after \d+\.\d s\n/,
    )
    t.notMatch(said, /validators\.js|schemas\.json|serializers\.js/, 'no other file is written')
    // A connection that is still open leads to the server that stops.
    await waitUntil(async () => (await version()) === '9.9.9', 'the new server')
  })

  await t.test('an error in the spec prints its place and source line and writes nothing', async (t) => {
    const before = await dev.read('generated/openapi.json')
    const said = await dev.says(/nothing was written/, () =>
      dev.save(['spec/projects.yaml', (text) => text.replace('maxLength: 200', 'maxLenght: 200')]),
    )
    t.match(said, /✗ spec\/projects\.yaml:\d+:\d+ .*`?maxLenght`?.*\n {4}.*maxLenght: 200.*\n/)
    t.notMatch(said, /\n\s+at |serving/)
    t.equal(await dev.read('generated/openapi.json'), before)
    t.equal(await version(), '9.9.9', 'the server keeps running')
  })

  await t.test('a syntax error in a handler prints its place, and the previous server answers', async (t) => {
    const said = await dev.says(/keeps running/, () =>
      dev.save(['handlers/system.ts', (text) => `${text}const broken = ;\n`]),
    )
    t.match(said, /✗ handlers\/system\.ts:\d+:\d+ .*Expression expected\n {4}const broken = ;/)
    t.notMatch(said, /\n\s+at |serving after/)
    t.same(await health(), { status: 'ok' })
  })

  await t.test('a saved handler does not run the generator', async (t) => {
    const said = await dev.says(/→/, () =>
      dev.save(['handlers/system.ts', (text) => text.replace('const broken = ;\n', '')]),
    )
    t.match(said, /✓ handlers\/system\.ts → serving after \d+\.\d s\n/)
    t.notMatch(said, /wrote|unchanged/)
  })

  await t.test('a module that never ends its import is given up at the next save', async (t) => {
    const wait = 'await new Promise(() => {})\n'
    await dev.says(/still starting/, () => dev.save(['handlers/system.ts', (text) => text + wait]))
    t.same(await health(), { status: 'ok' }, 'the previous server answers')
    const said = await dev.says(/→/, () => dev.save(['handlers/system.ts', (text) => text.replace(wait, '')]))
    const started =
      /✗ the start was given up\n {2}The previous server keeps running\.\n(· .*\n)?✓ handlers.*serving/
    t.match(said, started)
  })

  const notes = join(dev.folder, 'spec/notes.yaml')
  const statement = 'prisma/sql/projects/find-member.sql'
  await t.test('a mistake in SQL prints its place and line, and the server keeps running', async (t) => {
    const said = await dev.says(/\^\n/, () =>
      dev.save(
        ['spec/projects.yaml', (text) => text.replace('maxLenght: 200', 'maxLength: 190')],
        [statement, (text) => text.replace('m.id = :id', 'm.idd = :id')],
      ),
    )
    t.match(
      said,
      /✗ prisma\/sql\/projects\/find-member\.sql:5:7: column m\.idd .*\n {4}WHERE m\.idd .*\n {10}\^/,
    )
    t.notMatch(said, /\n\s+at |serving|wrote/)
    t.same(await health(), { status: 'ok' })
  })

  await t.test('a corrected statement starts a new server; one that nothing calls is noted', async (t) => {
    const uncalled = join(dev.folder, 'prisma/sql/projects/count-members.sql')
    const said = await dev.says(/→[^]*refers to this file/, async () => {
      await writeFile(uncalled, '-- Counts members.\n-- @one\nSELECT count(*) AS n FROM members\n')
      await writeFile(notes, 'paths:\n  notes: {}\n')
      await dev.save([statement, (text) => text.replace('m.idd = :id', ':id = m.id')])
    })
    t.match(said, /· prisma\/sql\/projects\/count-members\.sql:1:1: nothing uses this file.*\n {4}-- Counts/)
    t.match(said, /· spec\/notes\.yaml:1:1 nothing refers to this file/)
    t.match(said, /✓ prisma.* → wrote sql\/projects\.ts, .*validators\.js.*; serving after/)
    t.equal((await dev.read('generated/validators.js')).includes('190'), true)
    t.same(await health(), { status: 'ok' })
  })

  await t.test('a new file of the spec that nothing refers to is named again when it is saved', async (t) => {
    const said = await dev.says(/refers to this file/, () =>
      writeFile(notes, '# Notes.\npaths:\n  notes: {}\n'),
    )
    t.match(said, /· spec\/notes\.yaml:2:1 nothing refers to this file: add its paths to `paths` of /)
    t.match(said, "`/notes: { $ref: 'notes.yaml#/paths/notes' }`")
    t.notMatch(said, /count-members/, 'a note about another file is not')
  })

  await t.test('the running generator writes the same files as a new one', async (t) => {
    const spec = join(dev.folder, 'spec/openapi.yaml')
    const files = (await emit(spec, { root: dev.folder, matched: false })).served()
    for (const name of ['validators.js', 'schemas.json', 'serializers.js', 'operations.ts', 'openapi.json'])
      t.equal(files.get(name) === (await dev.read(`generated/${name}`)), true, name)
  })

  await t.test('a saved page of the console is served without a new server', async (t) => {
    const page = async (): Promise<string> => await (await fetch(`${dev.url}/console`)).text()
    const before = await page()
    const overview = 'packages/console/pages/overview.tsx'
    await dev.says(/packages\/console does not compile/, () =>
      dev.save([overview, (text) => `${text}const broken = ;\n`]),
    )
    const said = await dev.says(/wrote console/, () =>
      dev.save([overview, (text) => text.replace('const broken = ;\n', '').replace('>Home<', '>Start<')]),
    )
    t.notMatch(said, /serving/)
    await waitUntil(async () => (await page()) !== before, 'the new script')
  })

  await t.test('an operation without a handler prints its name and how to create a stub', async (t) => {
    const said = await dev.says(/keeps running/, () =>
      dev.save([
        'spec/system.yaml',
        (text) => text.replace('operationId: getHealth', 'operationId: getLiveness'),
      ]),
    )
    t.match(
      said,
      /✗ operation getLiveness has no handler in handlers\/system\.ts; `npm run generate -- --stubs` writes/,
    )
  })

  t.ok(client.count() > 20, 'requests were sent during the rebuilds')
  t.strictSame(await client.stop(), [], 'every response was 200')

  const below = descendants(dev.pid)
  t.ok(below.length >= 2, 'dev runs child processes')
  t.equal(await dev.end('SIGTERM'), 0)
  const left = (): number[] => below.filter((pid) => existsSync(`/proc/${pid}`))
  await waitUntil(() => left().length === 0, 'the end of the child processes').catch(() => {})
  t.strictSame(left(), [], 'no child process is left')
  await t.rejects(fetch(`${dev.url}/healthz`), 'the port is closed')
})
