// `npm run contract`: no finding on a healthy server, findings for seeded defects, and one-line usage errors.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { isKnown, runCommand } from '../../packages/contract/main.ts'
import { messageOf } from '../../packages/openapi/command-help.ts'
import { runContractCommand, runContractHere as contract } from '../support/contract/contract-command.ts'
import { isLongForm } from '../support/long-form.ts'
import { defects, writeCopy } from '../support/generator/seeded-defects.ts'
import { createTestDatabase } from '../support/database/database.ts'
import { bootstrapKey, spawnServer } from '../support/server/process.ts'
import { startServer } from '../support/server/server.ts'

const server = await startServer(t)
const { url, key } = server

t.test('a usage error prints one sentence and exits with 2', async (t) => {
  for (const [says, ...args] of [
    ['--url and --key are required. See --help.'],
    ["Unknown option '--nothing'.", '--nothing'],
    ['--url must be a URL such as http://127.0.0.1:3000, not nowhere.', '--url', 'nowhere', '--key', key],
    ['Unknown operation: getNothing.', '--url', url, '--key', key, '--operation', 'getNothing'],
    ['Unknown tag: nothing.', '--url', url, '--key', key, '--tag', 'nothing'],
    ['--runs must be an integer of at least 1, not many.', '--url', url, '--key', key, '--runs', 'many'],
    [
      /^Cannot read the OpenAPI document from http:\/\/127\.0\.0\.1:9\/openapi\.json: .+$/,
      '--url',
      'http://127.0.0.1:9',
      '--key',
      key,
    ],
  ] as Array<[string | RegExp, ...string[]]>) {
    const profile = fileURLToPath(new URL('../../scripts/profiles/contract.ts', import.meta.url))
    const error = await runCommand(['--profile', profile, ...args]).catch((error: Error) => error)
    t.ok(isKnown(error), String(says))
    if (typeof says === 'string') t.equal(messageOf(error), says)
    else t.match(messageOf(error), says)
  }
  const { code, out, err } = await runContractCommand('--url', url, '--key', 'plat_test_none')
  t.equal(code, 2)
  t.equal(out, '', 'nothing is written to stdout')
  t.equal(err, 'The server rejects the key. Pass another one with --key.\n', 'no stack trace')
})

/** Of the short form: a project, and members, for whom the run creates users. */
const tags = ['projects', 'members', ...(isLongForm ? ['user', 'api-keys', 'payments-catalogue'] : [])]

t.test(
  'a run against a healthy server has no findings and leaves no data',
  { timeout: 300_000 },
  async (t) => {
    const folder = t.testdir({})
    const [html, junit] = [join(folder, 'report.html'), join(folder, 'report.xml')]
    const { code, out, err } = await contract(
      '--url',
      server.url,
      '--key',
      server.key,
      '--seed',
      '7',
      ...(isLongForm ? ['--runs', '3'] : ['--runs', '1']),
      ...tags.flatMap((tag) => ['--tag', tag]),
      '--html',
      html,
      '--junit',
      junit,
    )
    t.equal(code, 0, out)
    t.match(out, /^The server conforms to the contract: \d+ requests in .+ s, /m)
    t.match(out, /^The server conforms .+ s, \d+ of \d+ operations succeeded, seed 7\.$/m)
    t.match(err, /^contract tests…\n/)
    t.same(
      server.logs.filter((line) => JSON.parse(line).level >= 50),
      [],
      'the server logged no error',
    )
    const { body: users } = await server.admin.client.get('/users')
    t.same(
      users.data.map(({ id }: { id: string }) => id),
      [server.admin.id],
      'no user is left',
    )
    t.equal((await server.admin.client.get('/projects')).body.pagination.total, 0, 'no project is left')
    const page = readFileSync(html, 'utf8')
    t.match(page, /<code title="GET \/v1\/projects\/\{id\}">getProject<\/code>/)
    t.notMatch(page, /<script|src=|href="http/, 'the page loads nothing')
    t.notMatch(page + readFileSync(junit, 'utf8') + out, server.key, 'no report contains the key')
    const [declaration, root] = readFileSync(junit, 'utf8').split('\n')
    t.equal(declaration, '<?xml version="1.0" encoding="UTF-8"?>')
    t.match(root, /^<testsuites name="contract, seed 7" tests="\d+" failures="0"/)
  },
)

t.test('--read-only changes nothing', async (t) => {
  const { body: project } = await server.admin.client.post('/projects', { name: 'Kept' })
  const before = server.statements.length
  const { code, out } = await contract(
    '--url',
    server.url,
    '--key',
    server.key,
    '--read-only',
    '--runs',
    '1',
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
  t.same(writes, [], 'no statement writes')
})

t.test(
  'seeded defects are reported at their operations with commands that reproduce them',
  { timeout: 300_000 },
  async (t) => {
    const sown = defects.filter(({ name }) =>
      ['an operation needs no key', 'an update loses a property', 'a sort order is ignored'].includes(name),
    )
    t.equal(sown.length, 3)
    const folder = t.testdir({})
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
      new RegExp(
        [
          '^listProducts',
          '  no-key \\(access\\)',
          '    expected 401 for a request without a key',
          '    actual   200',
          "    curl -i '.+/v1/payments/products'$",
        ].join('\n'),
        'm',
      ),
    )
    t.match(
      out,
      /^updateSession\n {2}update-value \(crud\)\n {4}expected title to have the value that was sent: /m,
    )
    t.match(out, /^ {2}order \(lists\)\n {4}expected by name /m)
    t.match(
      out,
      `  replay: npm run contract -- --url ${url} --key $KEY --operation updateSession --seed 7 --runs 2`,
    )
    t.notMatch(out, bootstrapKey, 'the report does not contain the key')
    const failures = [
      ...readFileSync(junit, 'utf8').matchAll(
        /<testcase classname="(\w+)" name="\w+"><failure type="([\w-]+)"/g,
      ),
    ].map(([, operation]) => operation)
    t.same([...new Set(failures)].sort(), ['listApiKeys', 'listProducts', 'updateSession'])
  },
)
