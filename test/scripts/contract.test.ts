// The contract tests as a tool: a healthy server is left without a finding, defects are found and told of, and what was asked wrongly is one sentence.
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { defects, writeCopy } from '../support/seeded-defects.ts'
import { createTestDatabase } from '../support/database.ts'
import { bootstrapKey, spawnServer } from '../support/process.ts'
import { startServer } from '../support/server.ts'

const script = join(import.meta.dirname, '../../scripts/contract/main.ts')

interface Ended {
  code: number
  out: string
  err: string
}

function contract(...args: string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [script, ...args],
      { maxBuffer: 64 * 1024 * 1024, env: { ...process.env, CONTRACT_KEY: undefined } },
      (error, out, err) => resolve({ code: error === null ? 0 : Number(error.code), out, err }),
    )
  })
}

function folderFor(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'contract-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

t.test('what is asked wrongly is told in a sentence', async (t) => {
  const { url, key } = await startServer(t)
  for (const [says, ...args] of [
    ['Say which server, with --url, and with which key, with --key; --help says the rest.'],
    ['--url is an address such as http://127.0.0.1:3000, not nowhere.', '--url', 'nowhere', '--key', key],
    ['The server does not take the key: say another with --key.', '--url', url, '--key', 'plat_test_none'],
    ['The contract has no operation getNothing.', '--url', url, '--key', key, '--operation', 'getNothing'],
    ['The contract has no operation with the tag nothing.', '--url', url, '--key', key, '--tag', 'nothing'],
    ['--runs is a whole number from 1, not many.', '--url', url, '--key', key, '--runs', 'many'],
    [
      /^The contract cannot be read from http:\/\/127\.0\.0\.1:9\/openapi\.json: .+$/,
      '--url',
      'http://127.0.0.1:9',
      '--key',
      key,
    ],
    [/^Unknown option '--nothing'/, '--nothing'],
  ] as Array<[string | RegExp, ...string[]]>) {
    const { code, out, err } = await contract(...args)
    t.equal(code, 2, String(says))
    t.equal(out, '', 'nothing else is written')
    if (typeof says === 'string') t.equal(err.trim(), says)
    else t.match(err.trim(), says)
    t.notMatch(err, /^ {4}at /m, 'no stack trace')
  }
  t.match((await contract('--help')).out, /^npm run contract -- --url URL --key KEY/)
})

t.test('a healthy server is left without a finding, and as it was', { timeout: 300_000 }, async (t) => {
  const server = await startServer(t)
  const folder = folderFor(t)
  const [html, junit] = [join(folder, 'report.html'), join(folder, 'report.xml')]
  const { code, out, err } = await contract(
    '--url',
    server.url,
    '--key',
    server.key,
    '--seed',
    '7',
    '--runs',
    '3',
    '--tag',
    'projects',
    '--tag',
    'user',
    '--tag',
    'members',
    '--tag',
    'api-keys',
    '--tag',
    'payments-catalogue',
    '--html',
    html,
    '--junit',
    junit,
  )
  t.equal(code, 0, out)
  t.match(
    out,
    /^The server keeps the contract: \d+ requests in [\d.]+ s, \d+ of \d+ operations answered with a success, seed 7\.$/m,
  )
  t.match(err, /who may…\nlives of resources…\nlists…\nrequests with a mistake…\nmade-up values…/)
  t.same(
    server.logs.filter((line) => JSON.parse(line).level >= 50),
    [],
    'the server had no failure',
  )
  const { body: users } = await server.admin.client.get('/users')
  t.same(
    users.data.map(({ id }: { id: string }) => id),
    [server.admin.id],
    'no user is left',
  )
  t.equal((await server.admin.client.get('/projects')).body.pagination.total, 0, 'nor a project')
  const page = readFileSync(html, 'utf8')
  t.match(page, /<code title="GET \/v1\/projects\/\{id\}">getProject<\/code>/)
  t.notMatch(page, /<script|src=|href="http/, 'the page needs nothing from elsewhere')
  t.notMatch(page + readFileSync(junit, 'utf8') + out, server.key, 'no report holds the key')
  t.match(
    readFileSync(junit, 'utf8'),
    /^<\?xml version="1\.0" encoding="UTF-8"\?>\n<testsuites name="contract, seed 7" tests="\d+" failures="0" errors="0"/,
  )
})

t.test('with --read-only nothing is changed', async (t) => {
  const server = await startServer(t)
  const { body: project } = await server.admin.client.post('/projects', { name: 'Kept' })
  const before = server.statements.length
  const { code, out } = await contract(
    '--url',
    server.url,
    '--key',
    server.key,
    '--read-only',
    '--runs',
    '2',
    '--tag',
    'projects',
    '--tag',
    'user',
    '--tag',
    'users',
  )
  t.equal(code, 0, out)
  t.same((await server.admin.client.get(`/projects/${project.id}`)).body, project)
  const writes = server.statements
    .slice(before)
    .filter((text) => /^\s*(INSERT|UPDATE|DELETE)/i.test(text) && !/last_used_at/.test(text))
  t.same(writes, [], 'no statement that writes')
})

t.test(
  'defects are found, each at its operation, with the way to see them again',
  { timeout: 300_000 },
  async (t) => {
    const sown = defects.filter(({ name }) =>
      ['an operation wants no key', 'a change loses a property', 'an order is ignored'].includes(name),
    )
    t.equal(sown.length, 3)
    const folder = folderFor(t)
    writeCopy(folder, sown)
    const { url: databaseUrl } = await createTestDatabase(t)
    const { url } = await spawnServer(
      t,
      { DATABASE_URL: databaseUrl, DATA_DIR: join(folder, 'data'), RATE_LIMIT_ADDRESS: '1000000' },
      folder,
    )
    const junit = join(folder, 'report.xml')
    const { code, out } = await contract(
      '--url',
      url,
      '--key',
      bootstrapKey,
      '--seed',
      '7',
      '--runs',
      '2',
      '--junit',
      junit,
      '--operation',
      'listProducts',
      '--operation',
      'updateSession',
      '--operation',
      'listApiKeys',
    )
    t.equal(code, 1)
    t.match(
      out,
      /^listProducts\n {2}no-key \(access\)\n {4}expected 401 for a request without a key\n {4}came {5}200\n {4}curl -i '.+\/v1\/payments\/products'$/m,
    )
    t.match(out, /^updateSession\n {2}update-kept \(lives\)\n {4}expected title as it was sent: /m)
    t.match(out, /^ {2}order \(lists\)\n {4}expected by name /m)
    t.match(
      out,
      `  again: npm run contract -- --url ${url} --key $KEY --operation updateSession --seed 7 --runs 2`,
    )
    t.notMatch(out, bootstrapKey, 'the key is nowhere')
    const failures = [
      ...readFileSync(junit, 'utf8').matchAll(
        /<testcase classname="(\w+)" name="\w+"><failure type="([\w-]+)"/g,
      ),
    ].map(([, operation]) => operation)
    t.same([...new Set(failures)].sort(), ['listApiKeys', 'listProducts', 'updateSession'])
  },
)
