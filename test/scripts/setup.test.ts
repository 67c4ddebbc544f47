// The installer and the runner of the npm scripts, in a project whose packages are local folders, so that no
// registry is needed.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'

const SETUP = fileURLToPath(new URL('../../scripts/setup', import.meta.url))
const RUN = fileURLToPath(new URL('../../scripts/run.mjs', import.meta.url))

function project(t: Test): string {
  const folder = t.testdir({
    'package.json': JSON.stringify({
      name: 'project',
      version: '1.0.0',
      dependencies: { served: 'file:served' },
      devDependencies: { tested: 'file:tested' },
    }),
    'package-lock.json': JSON.stringify({
      name: 'project',
      version: '1.0.0',
      lockfileVersion: 3,
      requires: true,
      packages: {
        '': {
          name: 'project',
          version: '1.0.0',
          dependencies: { served: 'file:served' },
          devDependencies: { tested: 'file:tested' },
        },
        'node_modules/served': { resolved: 'served', link: true },
        'node_modules/tested': { resolved: 'tested', link: true },
        served: { version: '1.0.0' },
        tested: { version: '1.0.0', dev: true },
      },
    }),
    served: { 'package.json': JSON.stringify({ name: 'served', version: '1.0.0' }) },
    tested: { 'package.json': JSON.stringify({ name: 'tested', version: '1.0.0' }) },
  })
  mkdirSync(join(folder, 'scripts', 'setup'), { recursive: true })
  for (const name of ['main.mjs', 'git-config.mjs', 'generated.mjs', 'node.json'])
    cpSync(join(SETUP, name), join(folder, 'scripts', 'setup', name))
  cpSync(RUN, join(folder, 'scripts', 'run.mjs'))
  return folder
}

let template: string | undefined

/** A project with the dependencies of the server and the tests, which are installed once. */
async function installed(t: Test): Promise<string> {
  const folder = project(t)
  if (template === undefined) {
    t.equal((await setup(folder, ['--dev'])).code, 0)
    template = mkdtempSync(join(tmpdir(), 'installed-'))
    cpSync(join(folder, 'node_modules'), template, { recursive: true, verbatimSymlinks: true })
  } else cpSync(template, join(folder, 'node_modules'), { recursive: true, verbatimSymlinks: true })
  return folder
}

interface Ended {
  code: number | null
  signal: NodeJS.Signals | null
  out: string
  err: string
}

async function setup(
  folder: string,
  args: string[] = [],
  env: Record<string, string> = {},
): Promise<Omit<Ended, 'signal'>> {
  const { signal: _, ...ended } = await ending(start(folder, ['scripts/setup/main.mjs', ...args], env))
  return ended
}

function start(folder: string, args: string[], env: Record<string, string> = {}): ChildProcess {
  const inherited = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith('npm_')),
  )
  // No server listens on this port, so requests to the registry fail at once.
  const offline = { npm_config_registry: 'http://127.0.0.1:9/', npm_config_fetch_retries: '0' }
  return spawn(process.execPath, args, {
    cwd: folder,
    env: { ...inherited, ...offline, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
}

async function ending(child: ChildProcess): Promise<Ended> {
  const output = { out: '', err: '' }
  child.stdout!.setEncoding('utf8').on('data', (text: string) => {
    output.out += text
  })
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    output.err += text
  })
  return await new Promise((resolve) =>
    child.on('close', (code, signal) => resolve({ code, signal, ...output })),
  )
}

const has = (folder: string, name: string) => existsSync(join(folder, 'node_modules', name, 'package.json'))

t.test('setup installs the dependencies of the server, and --dev adds those of the tests', async (t) => {
  const folder = project(t)
  const lock = readFileSync(join(folder, 'package-lock.json'), 'utf8')
  const first = await setup(folder)
  t.equal(first.code, 0, first.err)
  t.match(first.out, /^Installing the dependencies \.\.\./)
  t.ok(has(folder, 'served'))
  t.notOk(has(folder, 'tested'))
  t.strictSame(
    await setup(folder),
    { code: 0, out: '', err: '' },
    'a second run does nothing and prints nothing',
  )

  t.equal((await setup(folder, ['--dev'])).code, 0)
  t.ok(has(folder, 'served'))
  t.ok(has(folder, 'tested'))
  t.strictSame(
    await setup(folder),
    { code: 0, out: '', err: '' },
    'a run without --dev keeps the dependencies of the tests',
  )
  t.equal(readFileSync(join(folder, 'package-lock.json'), 'utf8'), lock)
})

t.test('an interrupted installation is completed', async (t) => {
  const folder = await installed(t)
  writeFileSync(join(folder, 'node_modules', '.setup-unfinished'), '')
  rmSync(join(folder, 'node_modules', 'tested'), { recursive: true })
  t.match(await setup(folder, ['--dev']), { code: 0, out: /^Installing/ })
  t.ok(has(folder, 'tested'))
  t.notOk(existsSync(join(folder, 'node_modules', '.setup-unfinished')))
})

t.test('packages installed by hand are accepted, and missing ones are installed', async (t) => {
  const folder = await installed(t)
  rmSync(join(folder, 'node_modules', '.setup.json'))
  t.strictSame(await setup(folder, ['--dev']), { code: 0, out: '', err: '' })
  rmSync(join(folder, 'node_modules', 'served'), { recursive: true })
  rmSync(join(folder, 'node_modules', '.setup.json'))
  await setup(folder, ['--dev'])
  t.ok(has(folder, 'served'), 'the removed package is installed again')
})

/** A project whose compiler and generator write one letter. */
async function generatingProject(t: Test): Promise<string> {
  const folder = await installed(t)
  const write = (name: string, text: string): void => {
    mkdirSync(join(folder, dirname(name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  write('generated/schemas.json', '{}')
  write('generated/openapi.json', '{}')
  const writing = (...names: string[]): string =>
    `import { writeFileSync } from 'node:fs'\n` +
    `for (const name of ${JSON.stringify(names)}) writeFileSync(\`generated/\${name}\`, 'a')\n`
  write('scripts/compile/main.ts', writing('validators.js', 'serializers.js'))
  write('scripts/generate/main.ts', writing('types.ts'))
  return folder
}

t.test('setup writes what is not in git, and again when its sources are newer', async (t) => {
  const folder = await generatingProject(t)
  const written = (): string[] =>
    readdirSync(join(folder, 'generated')).filter((name) => !name.endsWith('.json'))
  t.match(await setup(folder), { code: 0, out: /^Compiling the validators and serializers/m })
  t.strictSame(written(), ['serializers.js', 'validators.js'], 'a server needs no types')
  t.match(await setup(folder, ['--dev']), { code: 0, out: /^Writing the types of generated/m })
  t.strictSame(written(), ['serializers.js', 'types.ts', 'validators.js'])
  t.strictSame(await setup(folder, ['--dev']), { code: 0, out: '', err: '' }, 'all is there')

  const later = new Date(Date.now() + 1000)
  utimesSync(join(folder, 'generated/schemas.json'), later, later)
  t.match(await setup(folder, ['--dev']), { code: 0, out: /^Compiling .*\n$/ }, 'git has changed a source')
  utimesSync(join(folder, 'scripts/generate/main.ts'), later, later)
  t.match(await setup(folder, ['--dev']), { code: 0, out: /Writing the types of generated/ })
})

t.test('schemas that do not compile stop a server, but not a command that can mend them', async (t) => {
  const folder = await generatingProject(t)
  writeFileSync(join(folder, 'scripts/compile/main.ts'), "throw new Error('no JSON')\n")
  t.match(await setup(folder), {
    code: 1,
    err: /no JSON[^]*could not be compiled\. Fix the error above\.\n$/,
  })
  t.match(await setup(folder, ['--dev']), { code: 0, err: /no JSON/ })
})

t.test('two concurrent runs install once', async (t) => {
  const folder = project(t)
  const both = await Promise.all([setup(folder, ['--dev']), setup(folder, ['--dev'])])
  t.strictSame(
    both.map(({ code }) => code),
    [0, 0],
  )
  t.equal(both.filter(({ out }) => out.includes('Installing')).length, 1)
})

t.test('an old Node is an error', async (t) => {
  const { code, err } = await setup(project(t), [], {
    npm_config_user_agent: 'npm/8.0.0 node/v18.20.0 linux x64',
  })
  t.equal(code, 1)
  t.match(err, /^This project needs Node 20 or later, but this is Node 18\. .*\.\n$/)
})

t.test('a missing network is reported in one line', async (t) => {
  const folder = project(t)
  const { code, err } = await setup(folder, [], {
    npm_config_user_agent: 'npm/10.0.0 node/v20.0.0 linux x64',
    npm_config_cache: join(folder, 'cache'),
  })
  t.equal(code, 1)
  t.match(err, /The npm registry cannot be reached\. .*run the command again\.\n$/)
})

/** A package of Node for this platform that is a script, and its hash. */
function packNode(t: Test, name: string): { file: string; integrity: string } {
  const folder = mkdtempSync(join(tmpdir(), 'node-package-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(join(folder, 'package/bin'), { recursive: true })
  writeFileSync(join(folder, 'package/package.json'), JSON.stringify({ name, version: '24.99.0' }))
  const script = '#!/bin/sh\ntouch "$(dirname "$0")/ran"\necho v24.99.0\n'
  writeFileSync(join(folder, 'package/bin/node'), script)
  chmodSync(join(folder, 'package/bin/node'), 0o755)
  const file = join(folder, 'node.tgz')
  execFileSync('tar', ['-czf', file, '-C', folder, 'package'])
  return { file, integrity: `sha512-${createHash('sha512').update(readFileSync(file)).digest('base64')}` }
}

t.test('Node is installed only if its bytes have the recorded hash', async (t) => {
  if (process.platform === 'win32') return t.pass('the package of this test is a shell script')
  const platform = `${process.platform}-${process.arch}`
  const pinned = JSON.parse(readFileSync(join(SETUP, 'node.json'), 'utf8'))[platform]
  t.match(pinned, { name: /^node-/, version: /^24\.\d+\.\d+$/, integrity: /^sha512-[\w+/]{86}==$/ })
  const { file, integrity } = packNode(t, pinned.name)
  const old = { npm_config_user_agent: 'npm/10.0.0 node/v20.0.0 linux x64' }
  const install = async (integrity: string) => {
    const folder = await installed(t)
    const node = { name: pinned.name, version: '24.99.0', integrity, resolved: `file:${file}` }
    writeFileSync(join(folder, 'scripts/setup/node.json'), JSON.stringify({ [platform]: node }))
    const done = await setup(folder, [], { ...old, npm_config_cache: join(folder, 'cache') })
    return {
      ...done,
      folder,
      ran: existsSync(join(folder, `node_modules/.node/node_modules/${pinned.name}/bin/ran`)),
    }
  }
  const right = await install(integrity)
  t.match(right, { code: 0, ran: true }, right.err)
  t.ok(existsSync(join(right.folder, 'node_modules/.bin/node')))

  const wrong = await install(pinned.integrity)
  t.match(wrong, { code: 1, ran: false, err: /EINTEGRITY/ })
  t.notOk(existsSync(join(wrong.folder, 'node_modules/.bin/node')))
})

t.test('another version of Node than the recorded one is replaced', async (t) => {
  const folder = await installed(t)
  const { name } = JSON.parse(readFileSync(join(SETUP, 'node.json'), 'utf8'))[
    `${process.platform}-${process.arch}`
  ]
  const place = join(folder, 'node_modules/.node/node_modules', name)
  mkdirSync(place, { recursive: true })
  writeFileSync(join(place, 'package.json'), JSON.stringify({ name, version: '24.0.1' }))
  mkdirSync(join(folder, 'node_modules/.bin'), { recursive: true })
  writeFileSync(join(folder, 'node_modules/.bin/node'), '')
  const env = {
    npm_config_user_agent: 'npm/10.0.0 node/v20.0.0 linux x64',
    npm_config_cache: join(folder, 'cache'),
  }
  t.match(await setup(folder, [], env), { code: 1, out: /Installing Node 24/ })
})

const script = `
  import served from 'served/package.json' with { type: 'json' }
  import { text } from 'node:stream/consumers'
  process.on('SIGTERM', () => process.exit(7))
  const { pid, execArgv, argv } = process
  console.log(JSON.stringify({ pid, execArgv, args: argv.slice(2), served: served.name }))
  if (argv[2] === 'wait') setInterval(() => {}, 1_000)
  else if (argv[2] === 'crash') process.kill(pid, 'SIGKILL')
  else process.exitCode = Number(await text(process.stdin))
`

const runners: Array<{ title: string; env: Record<string, string> }> = [
  { title: 'replaces its process', env: {} },
  // As in Node 20.
  {
    title: 'has a child process',
    env: { NODE_OPTIONS: '--import=data:text/javascript,process.execve=undefined' },
  },
]

for (const { title, env } of runners)
  t.test(`the runner of the npm scripts ${title}`, async (t) => {
    const folder = project(t)
    writeFileSync(join(folder, 'script.mjs'), script)
    const run = (...args: string[]) =>
      start(folder, ['scripts/run.mjs', '--no-deprecation', 'script.mjs', ...args], env)
    const printed = ({ out }: Ended) => JSON.parse(out.trim().split('\n').at(-1)!)

    const first = run('a', 'b c', '--', '--dev')
    first.stdin!.end('3')
    const ended = await ending(first)
    t.match(ended, { code: 3, out: /^Installing/ }, ended.err)
    const { pid, ...seen } = printed(ended)
    t.equal(pid === first.pid, title === 'replaces its process' && process.platform !== 'win32')
    t.strictSame(seen, {
      execArgv: ['--no-deprecation'],
      args: ['a', 'b c', '--', '--dev'],
      served: 'served',
    })
    t.notOk(has(folder, 'tested'))

    const stopped = run('wait')
    stopped.stdout!.once('data', () => stopped.kill('SIGTERM'))
    t.match(await ending(stopped), { code: 7, signal: null })
    t.match(await ending(run('crash')), { code: null, signal: 'SIGKILL' })
  })

t.test('no script runs after a failed installation', async (t) => {
  const folder = project(t)
  writeFileSync(join(folder, 'script.mjs'), 'console.log("ran")')
  const env = { npm_config_user_agent: 'npm/8.0.0 node/v18.20.0 linux x64' }
  const ended = await ending(start(folder, ['scripts/run.mjs', 'script.mjs'], env))
  t.match(ended, { code: 1, out: /^$/, err: /^This project needs Node 20/ })
  t.match(await ending(start(folder, ['scripts/run.mjs', '--dev', 'script.mjs'])), { code: 0, out: /ran\n$/ })
  t.ok(has(folder, 'tested'))
})
