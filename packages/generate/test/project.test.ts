// A generated project: its own tests, and the image that its Dockerfile describes.
import { execFile, spawn } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import t from 'tap'
import { inheritedEnvironment } from '../../../test/support/server/process.ts'
import { generateProject } from '../project.ts'

const root = resolve(import.meta.dirname, '../../..')
const schema = { type: 'string', minLength: 1 }
const document = {
  openapi: '3.1.0',
  info: { title: 'Names', version: '1' },
  paths: {
    '/name': {
      get: {
        operationId: 'getName',
        tags: ['names'],
        responses: { 200: { description: 'It.', content: { 'application/json': { schema } } } },
      },
      delete: { operationId: 'deleteName', tags: ['names'], responses: { 204: { description: 'Done.' } } },
    },
  },
}
// Outside the repository, whose packages would be found otherwise.
const project = await mkdtemp(join(tmpdir(), 'project-'))
t.teardown(() => rm(project, { recursive: true, force: true }))
writeFileSync(join(project, 'names.json'), JSON.stringify(document))
await generateProject(join(project, 'names.json'), project)
const { scripts, dependencies, devDependencies } = JSON.parse(
  readFileSync(join(project, 'package.json'), 'utf8'),
)
mkdirSync(join(project, 'node_modules'))
for (const name of [...Object.keys({ ...dependencies, ...devDependencies }), '@types']) {
  if (name.startsWith('@types/')) continue
  symlinkSync(join(root, 'node_modules', name), join(project, 'node_modules', name))
}

async function run(script: string): Promise<{ code: number; output: string }> {
  const [command, ...args] = script.split(' ')
  t.equal(command, 'node')
  return await new Promise((done) => {
    execFile(process.execPath, args, { cwd: project, env: inheritedEnvironment() }, (error, out, errors) => {
      done({ code: error === null ? 0 : Number(error.code), output: out + errors })
    })
  })
}

const file = join(project, 'handlers/names.ts')
const stubs = readFileSync(file, 'utf8')
const withName = (name: string): string =>
  stubs.replace(/throw .*/, `return { status: 200, body: '${name}' }`)

t.test('the tests of the project pass without the toolkit', async (t) => {
  writeFileSync(file, withName('Ada'))
  const { code, output } = await run(scripts.test)
  t.equal(code, 0, output)
  t.match(output, /the toolkit is not installed/)
})

t.test('with the toolkit they test the contract of the handlers that are written', async (t) => {
  symlinkSync(join(root, 'node_modules/@platform-api'), join(project, 'node_modules/@platform-api'))
  writeFileSync(file, stubs)
  const fresh = await run(scripts.test)
  t.equal(fresh.code, 0, fresh.output)
  t.match(fresh.output, /no handler is written/)
  writeFileSync(file, withName('Ada'))
  const kept = await run(scripts.test)
  t.equal(kept.code, 0, kept.output)
  t.match(kept.output, /skipped 0/)
  writeFileSync(file, withName(''))
  const broken = await run(scripts.test)
  t.equal(broken.code, 1, 'an answer that is not declared fails the test')
  t.match(broken.output, 'getName answered 200: the body at "" must NOT have fewer than 1 characters')
})

t.test('the image runs as another user than root, and its healthcheck asks the server', async (t) => {
  const lines = readFileSync(join(project, 'Dockerfile'), 'utf8')
  t.match(lines, /^USER node$/m)
  t.match(lines, /^FROM node:24-slim$/m)
  const [, check] = /HEALTHCHECK .*\\\n +CMD (.*)/.exec(lines)!
  const [, command] = /^CMD (.*)$/m.exec(lines)!
  t.same(JSON.parse(command), ['node', 'main.ts'])
  const args: string[] = JSON.parse(check).slice(1)
  const exitCode = (PORT: string): Promise<number | null> =>
    new Promise((done) =>
      spawn(process.execPath, args, { env: { ...inheritedEnvironment(), PORT } }).once('close', done),
    )
  const server = spawn(process.execPath, ['main.ts'], {
    cwd: project,
    env: { ...inheritedEnvironment(), NODE_ENV: 'production', PORT: '0' },
  })
  const port = await new Promise<string>((found) =>
    server.stdout.on('data', (chunk: Buffer) => found(/:(\d+)\s/.exec(`${chunk}`)![1])),
  )
  t.equal(await exitCode(port), 0)
  server.kill('SIGTERM')
  t.equal(await new Promise((done) => server.once('close', done)), 0)
  t.equal(await exitCode(port), 1)
})
