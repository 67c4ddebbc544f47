// Every sample of code on the reference page, run as a reader would run it: in a folder with the files that it names, with the address of a server and a key.
import { execFile, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { operations, type OperationId } from '../../generated/operations.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { prepareSample, samplesInOrder, sampleOf, type PreparedSample } from '../support/code-samples.ts'
import { startServer } from '../support/server.ts'
import { examples } from '../support/example-fixtures.ts'

const run = promisify(execFile)
const ids = Object.keys(operations) as OperationId[]

const has = (command: string, ...args: string[]): boolean =>
  spawnSync(command, args, { stdio: 'ignore' }).status === 0
const withoutEnd: OperationId[] = ['streamEvents']

interface Failure {
  code?: number
  stderr?: string
  stdout?: string
}

t.test(
  'the curl of every operation is answered with a success',
  { skip: !has('curl', '--version') && 'no curl' },
  async (t) => {
    const server = await startServer(t)
    const folder = t.testdir({ home: { '.curlrc': 'silent\nshow-error\nfail-with-body\nmax-time = 20\n' } })
    for (const id of samplesInOrder()) {
      const { folder: cwd, source, env } = await prepareSample(server, folder, id, 'curl')
      const options = { cwd, env: { ...env, CURL_HOME: join(folder, 'home') } }
      // A stream without an end is left after its first words.
      const command = withoutEnd.includes(id) ? `${source} --max-time 2` : source
      const failed = await run('bash', ['-euc', command], options).then(
        () => null,
        (error: Failure) => error,
      )
      t.ok(
        failed === null || (withoutEnd.includes(id) && failed.code === 28),
        `${id}: ${failed === null ? 'done' : `${failed.code} ${failed.stderr} ${failed.stdout}`}`,
      )
    }
  },
)

const python = has('python3', '--version')
const requests = python && has('python3', '-c', 'import requests')

t.test('the Python of every operation is Python', { skip: !python && 'no python3' }, async (t) => {
  const folder = t.testdir()
  for (const id of ids) writeFileSync(join(folder, `${id}.py`), sampleOf(id, 'Python'))
  const { stdout } = await run('python3', [
    '-c',
    'import sys\nfor name in sys.argv[1:]: compile(open(name).read(), name, "exec"); print(name)',
    ...ids.map((id) => join(folder, `${id}.py`)),
  ])
  t.equal(stdout.trim().split('\n').length, ids.length)
})

t.test(
  'the Python of every operation is answered with a success',
  { skip: !requests && 'no python3 with requests' },
  async (t) => {
    const server = await startServer(t)
    const folder = t.testdir()
    // One process for all, which is left alone by a stream without an end.
    const chosen = samplesInOrder().filter((id) => !withoutEnd.includes(id))
    const samples: Array<PreparedSample & { id: string }> = []
    for (const id of chosen) samples.push({ id, ...(await prepareSample(server, folder, id, 'Python')) })
    const program =
      'import io, json, os, sys, contextlib\nfor one in json.load(sys.stdin):\n  os.chdir(one["folder"]); os.environ.update(one["env"])\n  try:\n    with contextlib.redirect_stdout(io.StringIO()): exec(compile(one["source"], one["id"], "exec"), {})\n    print(one["id"], "done")\n  except BaseException as error: print(one["id"], repr(error), getattr(getattr(error, "response", None), "text", ""))\n'
    const child = run('python3', ['-c', program], { maxBuffer: 1e7 })
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
    for (const { label, source } of examples[id].samples)
      t.equal(
        source.includes('PLATFORM_API_KEY'),
        scopes !== null,
        `the ${label} of ${id} has a key where it needs one`,
      )
  }
})
