// Code samples of the reference page: each runs against a real server, in a folder with the files it names.
// `npm test` runs the curl and Python samples of one operation for each set of options and content type; the
// examples in them are those of examples.test.ts, which sends all. `npm run faults` runs all.
import { execFile, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { operations, type OperationId } from '../../generated/operations.ts'
import { docsData } from '../../services/docs/openapi-samples.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import {
  prepareSample,
  samplesInOrder,
  sampleOf,
  type PreparedSample,
} from '../support/generator/code-samples.ts'
import { isEndless } from '../support/contract/contract-schema.ts'
import { oneOfEachKind } from '../support/operations/kinds.ts'
import { isLongForm } from '../support/long-form.ts'
import { python, pythonEnv, skipWithoutPython } from '../support/server/python.ts'
import { startServer } from '../support/server/server.ts'
import { examples } from '../support/operations/example-fixtures.ts'

const run = promisify(execFile)
const ids = Object.keys(operations) as OperationId[]

const has = (command: string, ...args: string[]): boolean =>
  spawnSync(command, args, { stdio: 'ignore' }).status === 0

/** The options of a curl sample, and what they send. */
function curlKind(id: OperationId): unknown {
  const source = sampleOf(id, 'curl')
  const { method, body, scopes, queryObjects } = operations[id] as OperationInfo
  const options = new Set(source.match(/(?<=\s)--?\w[\w-]*/g))
  return [method, [...options].sort(), body?.contentTypes, scopes !== null, queryObjects, isEndless(id)]
}

interface Failure {
  code?: number
  stderr?: string
  stdout?: string
}

t.test(
  `the curl sample of ${isLongForm ? 'every operation' : 'one operation of each kind'} succeeds`,
  { skip: !has('curl', '--version') && 'no curl' },
  async (t) => {
    const server = await startServer(t)
    const folder = t.testdir({ home: { '.curlrc': 'silent\nshow-error\nfail-with-body\nmax-time = 20\n' } })
    const all = samplesInOrder()
    for (const id of isLongForm ? all : oneOfEachKind(all, curlKind)) {
      const { folder: cwd, source, env } = await prepareSample(server, folder, id, 'curl')
      const options = { cwd, env: { ...env, CURL_HOME: join(folder, 'home') }, maxBuffer: 1e7 }
      // An event stream never ends, so curl stops after two seconds.
      const command = isEndless(id) ? `${source} --max-time 2` : source
      const failed = await run('bash', ['-euc', command], options).then(
        () => null,
        (error: Failure) => error,
      )
      t.ok(
        failed === null || (isEndless(id) && failed.code === 28),
        `${id}: ${failed === null ? 'done' : `${failed.code} ${failed.stderr} ${failed.stdout}`}`,
      )
    }
  },
)

const requests = python !== undefined && has(python, '-c', 'import requests')

/** The operations that the Python client has no method for. */
const withoutMethod = ids.filter((id) => !sampleOf(id, 'Python').includes('from platform_api import'))

t.test('a Python sample without the client prints the error of a request that fails', async (t) => {
  t.ok(withoutMethod.length > 0 && withoutMethod.length < 60)
  for (const id of withoutMethod) {
    t.match(sampleOf(id, 'Python'), 'if not response.ok:', id)
    t.match(sampleOf(id, 'Python'), 'raise SystemExit(response.text)', id)
  }
})

t.test('the Python sample of every operation compiles', { skip: skipWithoutPython }, async (t) => {
  const folder = t.testdir()
  const sources = [
    ...ids.map((id): [string, string] => [id, sampleOf(id, 'Python')]),
    ...Object.entries(docsData().guides).map(([name, samples]): [string, string] => [
      `guide-${name}`,
      samples.map((sample) => sample?.python ?? '').join('\n'),
    ]),
  ]
  for (const [name, source] of sources) writeFileSync(join(folder, `${name}.py`), source)
  const { stdout } = await run(python!, [
    '-c',
    'import sys\nfor name in sys.argv[1:]: compile(open(name).read(), name, "exec"); print(name)',
    ...sources.map(([name]) => join(folder, `${name}.py`)),
  ])
  t.equal(stdout.trim().split('\n').length, sources.length)
})

t.test(
  `the Python sample of ${isLongForm ? 'every operation' : 'one operation of each kind'} succeeds`,
  { skip: skipWithoutPython || (!requests && 'no Python with requests') },
  async (t) => {
    const server = await startServer(t)
    const folder = t.testdir()
    // One process for all, which is left alone by a stream without an end.
    const all = samplesInOrder().filter((id) => !isEndless(id))
    const chosen = isLongForm ? all : oneOfEachKind(all, curlKind)
    const samples: Array<PreparedSample & { id: string }> = []
    for (const id of chosen) samples.push({ id, ...(await prepareSample(server, folder, id, 'Python')) })
    const program = [
      'import io, json, os, sys, contextlib',
      'for one in json.load(sys.stdin):',
      '  os.chdir(one["folder"]); os.environ.update(one["env"])',
      '  try:',
      '    code = compile(one["source"], one["id"], "exec")',
      '    with contextlib.redirect_stdout(io.StringIO()): exec(code, {})',
      '    print(one["id"], "done")',
      '  except BaseException as error:',
      '    response = getattr(error, "response", None)',
      '    print(one["id"], repr(error), getattr(response, "text", ""))',
      '',
    ].join('\n')
    const child = run(python!, ['-c', program], {
      maxBuffer: 1e7,
      env: { ...process.env, ...pythonEnv },
    })
    child.child.stdin!.end(JSON.stringify(samples))
    const { stdout } = await child
    t.same(
      stdout.trim().split('\n'),
      chosen.map((id) => `${id} done`),
    )
  },
)

t.test('every operation has a sample in each language', async (t) => {
  for (const id of ids) {
    t.same(
      examples[id].samples.map(({ label }) => label),
      ['curl', 'TypeScript', 'Python'],
      id,
    )
    const { scopes } = operations[id] as OperationInfo
    // The clients read the key from the environment themselves.
    for (const { label, source } of examples[id].samples.filter(({ source }) => !/Client\(\)/.test(source)))
      t.equal(
        source.includes('PLATFORM_API_KEY'),
        scopes !== null,
        `the ${label} of ${id} has a key exactly where the operation needs one`,
      )
  }
})
