// `npm run dev` of a generated project: a save is served, mistakes are named, and the server before answers.
import { spawn } from 'node:child_process'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'
import { inheritedEnvironment } from '../../../test/support/server/process.ts'
import { waitUntil } from '../../../test/support/server/wait.ts'
import { generateProject } from '../project.ts'

const responses = {
  200: { description: 'It.', content: { 'application/json': { schema: { type: 'string' } } } },
}
const document = (path: string): string =>
  JSON.stringify({
    openapi: '3.1.0',
    info: { title: 'Names', version: '1' },
    paths: { [path]: { get: { operationId: 'getName', tags: ['names'], responses } } },
  })
const folder = t.testdir({ 'names.json': document('/name') })
symlinkSync(join(resolve(import.meta.dirname, '../../..'), 'node_modules'), join(folder, 'node_modules'))
const project = join(folder, 'server')
await generateProject(join(folder, 'names.json'), project)
symlinkSync(join(folder, 'node_modules'), join(project, 'node_modules'))
const file = join(project, 'handlers/names.ts')
const stub = readFileSync(file, 'utf8')
const handler = stub.replace(/throw .*/, "return { status: 200, body: 'Ada' }")
writeFileSync(file, handler)

const { scripts } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'))
t.equal(scripts.dev, 'node generated/dev.ts ../names.json')
const child = spawn(process.execPath, scripts.dev.split(' ').slice(1), {
  cwd: project,
  env: { ...inheritedEnvironment(), PORT: '0' },
})
let text = ''
for (const output of [child.stdout, child.stderr])
  output.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
const ended = new Promise((done) => child.once('close', done))
t.teardown(() => child.kill('SIGKILL'))

/** Saves the file, and waits for a line that matches. */
async function says(pattern: RegExp, path?: string, content?: string): Promise<string> {
  const before = text.length
  if (path !== undefined) writeFileSync(path, content!)
  await waitUntil(() => pattern.test(text.slice(before)) || child.exitCode !== null, `${pattern}`, 120_000)
  return text.slice(before)
}

await says(/Serving at/)
const url = /http:\S+/.exec(text)![0]
const get = async (path = '/name'): Promise<unknown> => await (await fetch(url + path)).json()

t.test('a saved handler is served', async (t) => {
  t.equal(await get(), 'Ada')
  t.match(await says(/serving/, file, handler.replace('Ada', 'Eve')), /✓ handlers.names\.ts → serving after/)
  t.equal(await get(), 'Eve')
})

t.test('a module that does not load is named, and the server before answers', async (t) => {
  for (const [code, message] of [
    ["throw new TypeError('broken')", /✗ handlers.names\.ts:\d+.* TypeError: broken/],
    ['const a = ;', /✗ handlers.names\.ts:\d+ SyntaxError.*Expression expected/],
    ["throw 'a text'", /✗ throws a text/],
  ] as const) {
    t.match(await says(/keeps running/, file, `${handler}${code}\n`), message)
    t.equal(await get(), 'Eve')
  }
})

t.test('a type error is named', async () => {
  await says(/✗ types: handlers.names\.ts:\d+:\d+ .*TS2322/, file, `${handler}export const a: number = 'a'\n`)
  await says(/✓ no type errors/, file, handler)
})

t.test('a saved document is generated and served', async (t) => {
  const source = join(folder, 'names.json')
  t.match(await says(/→ serving/, source, document('/names/first')), /wrote .*operations\.ts/)
  t.equal(await get('/names/first'), 'Ada')
  t.match(await says(/✗/, source, '{ "openapi": '), /names\.json:\d+:\d+ /)
  t.equal(await get('/names/first'), 'Ada')
})

t.test('SIGTERM ends all processes', async (t) => {
  child.kill('SIGTERM')
  t.equal(await ended, 0)
  await t.rejects(get())
})
