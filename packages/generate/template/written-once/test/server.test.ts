// `npm test`: the server has a route for each operation. If @platform-api/toolkit is installed, its contract
// tests call every operation that has a handler, with the key of $CONTRACT_KEY.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { after, test } from 'node:test'
import { handlers } from '../generated/handlers.ts'
import { operations } from '../generated/operations.ts'
import { createServer } from '../generated/server.ts'

const app = await createServer()
const address = await app.listen({ host: '127.0.0.1', port: 0 })
after(() => app.close())

const isStub = (id: string): boolean =>
  String(handlers[id as keyof typeof handlers]).includes('notImplemented(')
const written = Object.keys(operations).filter((id) => !isStub(id))

test('every operation has a route', () => {
  for (const { id, method, url } of Object.values(operations)) assert.ok(app.hasRoute({ method, url }), id)
})

test('an unknown path is no error of the server', async () => {
  const { status } = await fetch(`${address}/no-such-path`)
  assert.ok(status < 500 || status === 501, String(status))
})

const toolkit = toolkitFile()
const skip =
  toolkit === null ? 'the toolkit is not installed' : written.length === 0 && 'no handler is written'

test('the server keeps its contract', { skip }, async () => {
  const { CONTRACT_KEY = 'key' } = process.env
  const contract = new URL('../generated/openapi.json', import.meta.url).pathname
  const only = written.flatMap((id) => ['--operation', id])
  const args = ['contract', '--spec', contract, '--url', address, '--key', CONTRACT_KEY, ...only]
  const child = spawn(process.execPath, [toolkit!, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  let report = ''
  child.stdout.on('data', (chunk: Buffer) => (report += chunk))
  const code = await new Promise((done) => child.once('close', done))
  // 2: not everything was checked. An operation may need another that is a stub.
  const hasStubs = written.length < Object.keys(operations).length
  assert.ok(code === 0 || (code === 2 && hasStubs), report)
})

function toolkitFile(): string | null {
  try {
    return createRequire(import.meta.url).resolve('@platform-api/toolkit/main.ts')
  } catch {
    return null
  }
}
