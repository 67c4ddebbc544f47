// The npm package of the server: its command serves from an empty folder, reads documents in a process of
// their own, and stops. `npm run faults -- pack` installs it from the registry, with the toolkit.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { packServer } from '../../scripts/pack/server.ts'
import { isLongForm } from '../support/long-form.ts'
import { inheritedEnvironment } from '../support/server/process.ts'
import { waitUntil } from '../support/server/wait.ts'

const root = resolve(import.meta.dirname, '../..')

t.test('the package serves in an empty folder', { timeout: 300_000 }, async (t) => {
  const packed = t.testdir({})
  packServer(packed, { toolkit: isLongForm })
  const command = install(t, globSync(join(packed, 'platform-api-*.tgz'))[0])
  const cwd = mkdtempSync(join(tmpdir(), 'empty-'))
  const env = { ...inheritedEnvironment(), PORT: '0', NODE_COMPILE_CACHE: undefined }
  const child = spawn(command, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  t.teardown(async () => {
    if (child.exitCode === null && child.kill('SIGTERM')) await once(child, 'exit')
    rmSync(cwd, { recursive: true })
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text))
  const keyFile = join(cwd, '.data/first-api-key')
  const [, url] = await waitUntil(() => {
    if (child.exitCode !== null) throw new Error(output)
    return /"first_api_key|first-api-key/.test(output) && /listening at (http:[^"]+)/.exec(output)
  }, 'the server to serve')
  const authorization = `Bearer ${readFileSync(keyFile, 'utf8').trim()}`
  const call = async (path: string, init: RequestInit = {}): Promise<any> => {
    const response = await fetch(`${url}/v1${path}`, { ...init, headers: { authorization, ...init.headers } })
    t.ok(response.ok, `${path} ${response.status}`)
    return await response.json()
  }
  const post = async (path: string, body: object): Promise<any> =>
    await call(path, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    })
  const form = new FormData()
  form.append('file', new Blob(['The canteen opens at noon.']), 'hours.md')
  const file = await call('/storage/upload', { method: 'POST', body: form })
  const base = await post('/ai/knowledge', { name: 'House' })
  const { id } = await post(`/ai/knowledge/${base.id}/documents`, { file_id: file.id })
  await waitUntil(
    async () => (await call(`/ai/knowledge/${base.id}/documents/${id}`)).status === 'ready',
    'the document to be read',
  )
  for (const path of ['/docs', '/console', '/docs/client.tgz', '/docs/guides/quickstart']) {
    const response = await fetch(url + path)
    t.equal(response.status, 200, path)
    await response.arrayBuffer()
  }
  t.equal((await fetch(`${url}/docs/packages/toolkit.tgz`)).status, isLongForm ? 200 : 404)
  child.kill('SIGTERM')
  await once(child, 'exit')
  t.equal(child.exitCode, 0, output)
})

/** @returns the command of the package. The short form uses the dependencies of this project. */
function install(t: Test, tarball: string): string {
  if (isLongForm) {
    const folder = mkdtempSync(join(tmpdir(), 'installed-'))
    t.teardown(() => rmSync(folder, { recursive: true }))
    execFileSync('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', tarball], { cwd: folder })
    return join(folder, 'node_modules/.bin/platform-api')
  }
  const folder = join(root, `node_modules/.cache/pack-${process.pid}`)
  t.teardown(() => rmSync(folder, { recursive: true }))
  const own = join(folder, 'node_modules/platform-api')
  mkdirSync(own, { recursive: true })
  execFileSync('tar', ['xzf', tarball, '-C', own, '--strip-components=1'])
  const command = join(own, 'scripts/setup/bin.mjs')
  chmodSync(command, 0o755)
  return command
}
