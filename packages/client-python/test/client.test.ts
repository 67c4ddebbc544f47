// The Python client: its protocol against scripted responses, and its use of a server. Needs Python 3.11
// and httpx.
import { spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { newWebhookSecret, signedHeaders } from '../../../services/webhooks/signature.ts'
import { cuttingProxy } from '../../../test/support/http/cutting-proxy.ts'
import { python, pythonEnv, skipWithoutPython as skip } from '../../../test/support/server/python.ts'
import { startWorkingServer } from '../../../test/support/server/working-server.ts'

interface Case {
  name: string
  error: string | null
}

/** Runs a file of this folder; each of its cases is a test. */
async function runCases(t: Test, file: string, env: Record<string, string>, expected: number): Promise<void> {
  const child = spawn(python!, ['-W', 'error::ResourceWarning', join(import.meta.dirname, file)], {
    env: { PATH: process.env.PATH, ...pythonEnv, ...env },
  })
  const [output, errors] = await Promise.all([child.stdout.toArray(), child.stderr.toArray()])
  t.equal(Buffer.concat(errors).toString(), '', 'nothing on stderr')
  const cases = Buffer.concat(output)
    .toString()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Case)
  for (const { name, error } of cases) t.equal(error, null, name)
  t.equal(cases.length, expected, 'cases')
}

t.test('retries, lists, streams, forms and webhooks', { skip }, async (t) => {
  const secret = newWebhookSecret()
  const payload = JSON.stringify({ id: 'evt_1', type: 'project.created', data: { object: { name: 'é' } } })
  const timestamp = Math.floor(Date.now() / 1000)
  const headers = signedHeaders([secret], { id: 'evt_1', timestamp, body: payload })
  await runCases(t, 'protocol.py', { WEBHOOK: JSON.stringify({ secret, payload, headers }) }, 15)
})

t.test('the quickstart, cut uploads, a streamed chat and webhooks', { skip }, async (t) => {
  const server = await startWorkingServer(t, { env: { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' } })
  const { key } = await server.person()
  const limits = [1_000_000, 4_500_000, 1_200_000]
  const proxy = await cuttingProxy(t, server.url, { next: () => limits.shift() ?? null })
  const env = { PLATFORM_BASE_URL: server.url, PLATFORM_API_KEY: key, PROXY_URL: proxy.url }
  await runCases(t, 'server.py', env, 7)
  t.ok(proxy.cuts === 3, `${proxy.cuts} cut connections`)
})

const mypy = python !== undefined && spawnSync(python, ['-m', 'mypy', '--version']).status === 0

t.test(
  'the types allow the right calls and refuse the wrong ones',
  { skip: !mypy && 'no mypy' },
  async (t) => {
    // The mypy of Debian 12 knows Unpack by an option only.
    const options = ['--strict', '--enable-incomplete-feature=Unpack', '--cache-dir=/dev/null']
    const file = join(import.meta.dirname, 'types_of_calls.py')
    const env = { PATH: process.env.PATH, MYPYPATH: pythonEnv.PYTHONPATH }
    const child = spawn(python!, ['-m', 'mypy', ...options, file], { env })
    const [output] = await Promise.all([child.stdout.toArray(), child.stderr.toArray()])
    const complaints = Buffer.concat(output).toString().split('\n')
    t.match(
      complaints.filter((line) => !line.includes('"Unpack" support is experimental')),
      [/^Success/, ''],
    )
  },
)
