// The command line of the toolkit on a document of another API: generate, mock, changes, contract.
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import Fastify, { type FastifyRequest } from 'fastify'
import t from 'tap'
import ts from 'typescript'
import { openapi } from '../../mock/profile.ts'
import { serveMock } from '../../mock/serve.ts'
import { readOpenapi } from '../../openapi/read.ts'
import { compilerHost } from '../../../test/support/generator/compiler-host.ts'
import { inheritedEnvironment } from '../../../test/support/server/process.ts'

const root = resolve(import.meta.dirname, '../../..')
const library = join(root, 'test/support/contract/foreign-servers/library.yaml')
const folder = t.testdir()

interface Outcome {
  code: number
  out: string
  errors: string
}

async function run(file: string, args: string[], cwd = root): Promise<Outcome> {
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [file, ...args], {
      cwd,
      env: inheritedEnvironment(),
      maxBuffer: 64 * 1024 * 1024,
    })
    return { code: 0, out: stdout, errors: stderr }
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
    return { code, out: stdout, errors: stderr }
  }
}

const toolkit = (...args: string[]): Promise<Outcome> => run('packages/toolkit/main.ts', args)

/** Starts a server that prints its address. */
async function serve(
  args: string[],
  { cwd, env = {} }: { cwd: string; env?: Record<string, string> },
): Promise<{ address: string; stop: () => Promise<void> }> {
  const child: ChildProcess = spawn(process.execPath, args, {
    cwd,
    env: { ...inheritedEnvironment(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exit = new Promise<void>((done) => child.once('exit', () => done()))
  const address = await new Promise<string>((found, failed) => {
    let output = ''
    const read = (chunk: Buffer): void => {
      output += chunk
      const url = /http:\/\/127\.0\.0\.1:\d+/.exec(output)
      if (url !== null) found(url[0])
    }
    child.stdout!.on('data', read)
    child.stderr!.on('data', read)
    void exit.then(() => failed(new Error(output)))
  })
  return {
    address,
    async stop() {
      child.kill('SIGTERM')
      await exit
    },
  }
}

/**
 * Compiles the project by its tsconfig.json; returns the errors. The first compilation checks all files, the
 * next ones read and check only the file of the handlers and the routes, which name its types.
 */
function compiler(project: string): () => string[] {
  const { config } = ts.readConfigFile(join(project, 'tsconfig.json'), ts.sys.readFile)
  const { fileNames, options } = ts.parseJsonConfigFileContent(config, ts.sys, project)
  const changing = [join(project, 'handlers/operations.ts'), join(project, 'generated/handlers.ts')]
  const host = compilerHost(options)
  const read = host.getSourceFile
  const files = new Map<string, ts.SourceFile | undefined>()
  host.getSourceFile = (name, ...rest) => {
    if (!files.has(name) || changing.includes(name)) files.set(name, read(name, ...rest))
    return files.get(name)
  }
  let program: ts.Program | undefined
  return () => {
    const isFirst = program === undefined
    const current = ts.createProgram(fileNames, options, host, program)
    program = current
    const checked = isFirst ? [undefined] : changing.map((name) => current.getSourceFile(name))
    return checked
      .flatMap((file) => ts.getPreEmitDiagnostics(current, file))
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))
  }
}

t.test('generate writes a server that compiles and starts, and keeps handlers', async (t) => {
  const out = join(folder, 'server')
  const first = await toolkit('generate', library, '--out', out)
  t.equal(first.code, 0, first.errors)
  t.match(first.out, '9 operations')
  symlinkSync(join(root, 'node_modules'), join(out, 'node_modules'))
  const compiles = compiler(out)
  t.strictSame(compiles(), [], 'the stubs compile')

  const file = join(out, 'handlers/operations.ts')
  const stub = "throw notImplemented('listAuthors')"
  const stubs = readFileSync(file, 'utf8').replaceAll('"', "'")
  t.match(stubs, stub)
  writeFileSync(file, stubs.replace(stub, 'return { status: 200, body: { writers: [] } }'))
  // The words depend on the order in which the compiler checks the files.
  const undeclared =
    /'writers' does not exist in type|Property 'authors' is missing|writers: never.*'Handler<"listAuthors">'/
  t.match(compiles(), [undeclared], 'an answer must be declared')
  const own = stubs.replace(stub, 'return { status: 200, body: { authors: [] } }')
  writeFileSync(file, own)
  t.strictSame(compiles(), [])

  t.match((await toolkit('generate', library, '--out', out)).out, 'nothing changed')
  t.equal(readFileSync(file, 'utf8'), own, 'a handler is kept')

  const server = await serve(['main.ts'], { cwd: out, env: { PORT: '0' } })
  t.teardown(() => server.stop())
  const call = async (path: string, init: RequestInit = {}): Promise<[number, any]> => {
    const headers = { authorization: 'Bearer any', 'content-type': 'application/json' }
    const answer = await fetch(`${server.address}/api${path}`, { headers, ...init })
    return [answer.status, await answer.json()]
  }
  t.same(await call('/authors'), [200, { authors: [] }])
  t.match(await call('/authors', { headers: {} }), [401, {}], 'a key is required')
  t.match(await call('/authors', { method: 'POST', body: '{"name":"Ada"}' }), [501, { status: 501 }])
  t.match(await call('/authors', { method: 'POST', body: '{"name":""}' }), [
    400,
    { problems: [{ in: 'body', at: '/name' }] },
  ])
  t.match(await call('/authors?page=none'), [400, { problems: [{ in: 'query', at: '/page' }] }])
  t.match(await call('/nothing'), [404, {}])
})

t.test('generate --plugin writes what an app of its own registers', async (t) => {
  const out = join(folder, 'app')
  const { code, errors } = await toolkit('generate', library, '--out', out, '--plugin')
  t.equal(code, 0, errors)
  t.same(readdirSync(out), ['generated'])
  symlinkSync(join(root, 'node_modules'), join(out, 'node_modules'))
  const { api } = await import(join(out, 'generated/plugin.ts'))
  const { operations } = await import(join(out, 'generated/operations.ts'))
  const { HttpError } = await import(join(out, 'generated/handler.ts'))
  const app = Fastify()
  t.teardown(() => app.close())
  app.post('/own', async ({ body }) => ({ body }))
  const author = { id: '0b4c21ee-bc02-4d07-8b2c-973352f9eae6', name: 'Ada' }
  let asked: any
  const handlers = Object.fromEntries(
    Object.keys(operations).map((id) => [
      id,
      async (request: object) => {
        asked = { id, ...request }
        return { status: id === 'createAuthor' ? 201 : 200, body: { ...author, row: 1 } }
      },
    ]),
  )
  await app.register(api, {
    prefix: '/v2',
    handlers,
    async authenticate({ headers }: FastifyRequest) {
      if (headers.authorization !== 'Bearer secret') throw new HttpError(401, 'No key')
    },
    errorBody: ({ message, problems }: any) => ({ type: 'application/json', body: { message, problems } }),
  })
  const call = async (method: 'GET' | 'POST', url: string, payload?: object, key = 'secret') => {
    const headers = { authorization: `Bearer ${key}` }
    const answer = await app.inject({ method, url, headers, ...(payload && { payload }) })
    return [answer.statusCode, answer.json()]
  }
  t.same(await call('GET', `/v2/api/authors/${author.id}`), [200, author])
  t.match(asked, { id: 'getAuthor', path: { author_id: author.id } })
  t.same(await call('POST', '/v2/api/authors', { name: 'Ada' }), [201, author])
  t.match(asked, { id: 'createAuthor', body: { name: 'Ada' } })
  t.match(await call('POST', '/v2/api/authors', { name: '' }), [400, { problems: [{ at: '/name' }] }])
  t.same(await call('GET', '/v2/api/authors', undefined, 'other'), [401, { message: 'No key', problems: [] }])
  t.same(
    await call('POST', '/own', { any: 1 }, 'other'),
    [200, { body: { any: 1 } }],
    'other routes keep theirs',
  )
  t.match(await call('GET', '/nothing'), [404, { error: 'Not Found' }])
})

t.test('mock serves the document, and contract finds nothing', async (t) => {
  const mock = await serve(['packages/toolkit/main.ts', 'mock', library, '--port', '0', '--key', 'any'], {
    cwd: root,
  })
  t.teardown(() => mock.stop())
  const options = `--url ${mock.address} --key any --runs 1 --path /api/authors --seed 1`.split(' ')
  const { code, out, errors } = await toolkit('contract', '--spec', library, ...options)
  t.equal(code, 0, `${out}${errors}`)
  t.match(out, 'The server conforms to the contract')
})

t.test('changes compares two files, and fails on what breaks clients', async (t) => {
  const same = await toolkit('changes', library, library)
  t.equal(same.code, 0, same.errors)
  const shorter = join(folder, 'shorter.yaml')
  writeFileSync(shorter, readFileSync(library, 'utf8').replace('maxLength: 80', 'maxLength: 8'))
  const { code, out } = await toolkit('changes', library, shorter)
  t.equal(code, 1)
  t.match(out, 'Breaking: 1')
})

t.test('an unknown command and a missing document are refused', async (t) => {
  const { code, errors } = await toolkit('mend')
  t.equal(code, 2)
  t.match(errors, 'The commands are lint, generate, mock, changes, contract')
  t.not((await toolkit('generate', library)).code, 0)
  t.notOk(existsSync(join(root, 'generated/handler.ts')))
})

t.test('a wrong option is refused with a sentence', async (t) => {
  for (const [says, file, ...args] of [
    ["Option '--port <value>' argument missing.", 'mock', '--port'],
    ["Unknown option '--prt'.", 'lint', '--prt'],
    ["Unknown option '--prt'.", 'changes', '--prt'],
    ["Unknown option '--prt'.", 'contract', '--prt'],
    ["Unknown option '--prt'.", 'generate', '--prt'],
  ]) {
    const { code, errors } = await run(`packages/${file}/main.ts`, args)
    t.not(code, 0, file)
    t.equal(errors.trim(), says, file)
  }
  for (const [port, says] of [
    ['abc', 'abc'],
    ['65536', '65536'],
    ['', 'empty'],
  ])
    await t.rejects(
      serveMock(() => readOpenapi(library), openapi, { port, seed: '1' }),
      { message: `--port must be a whole number from 0 to 65535, not ${says}.` },
    )
  const own = await run('scripts/generate/main.ts', ['--prt'])
  t.equal(
    own.errors.trim(),
    "Unknown option '--prt'. The options are --check, --types, --stubs, --spec FILE and --out FOLDER.",
  )
  const dev = await run('scripts/dev/main.ts', ['--port', '1'])
  t.equal(dev.errors.trim(), "Unknown option '--port'. The only option is --no-types.")
})
