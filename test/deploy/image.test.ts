// The image of the Dockerfile. With `npm run faults` it is built, without a container engine, and run with a
// read-only root, without capabilities, as its user. Otherwise only its files are checked.
import { once } from 'node:events'
import { execFileSync, type ChildProcess } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { freePort } from '../../scripts/test/free-port.ts'
import { testSecretKey } from '../support/database/database.ts'
import {
  buildImage,
  contextNames,
  readDockerfile,
  skipWithoutDebootstrap,
  type Image,
} from '../support/storage/image.ts'
import { createCluster, runCluster } from '../support/database/own-postgres.ts'
import { waitUntil } from '../support/server/wait.ts'
import { isLongForm } from '../support/long-form.ts'

const root = join(import.meta.dirname, '../..')

t.test('the Dockerfile copies files that exist, and has no shell as its command', async (t) => {
  const instructions = readDockerfile(readFileSync(join(root, 'Dockerfile'), 'utf8'))
  const copied = instructions.filter(({ name, text }) => name === 'COPY' && !text.startsWith('--from'))
  const sources = copied.flatMap(({ text }) => text.split(' ').slice(0, -1))
  for (const name of [...sources, ...contextNames()]) t.ok(existsSync(join(root, name)), name)
  const last = (name: string): string =>
    instructions.findLast((instruction) => instruction.name === name)!.text
  t.same(JSON.parse(last('ENTRYPOINT')), ['platform'])
  t.same(JSON.parse(last('CMD')), ['serve'])
  t.match(last('USER'), /^[1-9]\d*:[1-9]\d*$/)
})

t.test('everything that starts the server gives V8 one thread of its own', async (t) => {
  const starts = {
    'package.json': /"(start|worker)": "node scripts\/run.mjs --v8-pool-size=1 /g,
    Dockerfile: /^ENV .*NODE_OPTIONS=--v8-pool-size=1$/gm,
    'deploy/systemd/platform-api.service': /^ExecStart=\S+ --v8-pool-size=1 /gm,
    'deploy/systemd/platform-worker.service': /^ExecStart=\S+ --v8-pool-size=1 /gm,
    'scripts/setup/bin.mjs': /'--v8-pool-size=1'/g,
  }
  for (const [file, start] of Object.entries(starts))
    t.equal(
      readFileSync(join(root, file), 'utf8').match(start)?.length,
      file === 'package.json' ? 2 : 1,
      file,
    )
})

if (isLongForm)
  t.test(
    'the image serves, works, migrates and is healthy',
    { skip: skipWithoutDebootstrap(), timeout: 1_200_000 },
    async (t) => {
      const image = buildImage(t)
      const size = execFileSync('du', ['-sm', join(image.root, 'srv/node_modules')], { encoding: 'utf8' })
      t.ok(parseInt(size, 10) < 150, `${parseInt(size, 10)} MB of packages`)
      const port = await freePort()
      const env = {
        DATABASE_URL: (await runCluster(t, await createCluster({ migrated: false }))).url,
        SECRET_KEY: testSecretKey,
        PORT: String(port),
        MIGRATE: 'false',
      }
      t.match(await finished(image, ['platform', 'migrate'], env), /migration/)

      const server = started(t, image, [...image.entrypoint, ...image.command], env)
      await waitUntil(
        async () => (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null))?.ok === true,
        'the image',
      )
      await finished(image, image.healthcheck, { PORT: String(port) })
      const user = ['platform', 'admin', 'create-user', '--email', 'ada@example.com', '--name', 'Ada']
      const [key] = /plat_\w+/.exec(await finished(image, user, env))!
      const headers = { authorization: `Bearer ${key}` }
      const form = new FormData()
      form.set('file', new Blob(['content']), 'a.txt')
      const uploaded = await fetch(`http://127.0.0.1:${port}/v1/storage/upload`, {
        method: 'POST',
        headers,
        body: form,
      })
      t.equal(uploaded.status, 201)
      t.match(await finished(image, ['platform', 'verify'], env), /0 missing/)

      const worker = started(t, image, ['platform', 'worker'], env)
      await waitUntil(() => worker.output().includes('working;'), 'the worker')
      t.equal(await worker.stop(), 0)
      t.equal(await server.stop(), 0)
      t.match(await failed(image, ['sh', '-c', 'id -u; touch /srv/written'], {}), /^1000\n.*[Rr]ead-only/s)
    },
  )

interface Started {
  output(): string
  stop(): Promise<number | null>
}

function started(t: Test, image: Image, command: string[], env: Record<string, string>): Started {
  const child = image.run(command, env)
  const output = collect(child)
  const exited = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exited
  })
  return {
    output,
    async stop() {
      child.kill('SIGTERM')
      return (await exited)[0]
    },
  }
}

async function finished(image: Image, command: string[], env: Record<string, string>): Promise<string> {
  const { code, output } = await ended(image, command, env)
  if (code !== 0) throw new Error(`${command.join(' ')} exited with ${code}:\n${output}`)
  return output
}

async function failed(image: Image, command: string[], env: Record<string, string>): Promise<string> {
  const { code, output } = await ended(image, command, env)
  if (code === 0) throw new Error(`${command.join(' ')} did not fail:\n${output}`)
  return output
}

async function ended(image: Image, command: string[], env: Record<string, string>) {
  const child = image.run(command, env)
  const output = collect(child)
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, output: output() }
}

function collect(child: ChildProcess): () => string {
  let text = ''
  for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (chunk) => (text += chunk))
  return () => text
}
