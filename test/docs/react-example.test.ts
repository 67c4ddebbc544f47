// The front end of docs/examples/react: its types, and its pages in a browser, built by Vite.
import { resolve } from 'node:path'
import t from 'tap'
import ts from 'typescript'
import { freePort } from '../../scripts/test/free-port.ts'
import { launchBrowser, skipWithoutBrowser } from '../support/browser/browser.ts'
import { password, setPassword } from '../support/operations/operation-fixtures-auth.ts'
import { startDocumentWorker } from '../support/ai/document-worker.ts'
import { startServer } from '../support/server/server.ts'

const root = resolve(import.meta.dirname, '../../docs/examples/react')
const client = resolve(import.meta.dirname, '../../generated/client')

t.test('it compiles against the client', async (t) => {
  const { config } = ts.readConfigFile(`${root}/tsconfig.json`, ts.sys.readFile)
  const { options, fileNames } = ts.parseJsonConfigFileContent(config, ts.sys, root)
  const paths = { '@platform-api/client': [`${client}/index.d.ts`] }
  const program = ts.createProgram(fileNames, { ...options, paths })
  const messages = ts
    .getPreEmitDiagnostics(program)
    .map(({ file, messageText }) => `${file?.fileName} ${ts.flattenDiagnosticMessageText(messageText, ' ')}`)
  t.same(messages, [])
  t.ok(fileNames.length > 4)
})

t.test('a visitor signs in, uploads a file and asks about it', { skip: skipWithoutBrowser }, async (t) => {
  const port = await freePort()
  const origin = `http://localhost:${port}`
  const server = await startServer(t, { env: { CORS_ORIGINS: origin } })
  startDocumentWorker(t, server)
  const person = await server.person()
  await setPassword(server, person.id)
  process.env['PLATFORM_URL'] = server.url
  const { build, preview } = await import('vite')
  const inline = { root, logLevel: 'error' as const, build: { outDir: t.testdir({}), emptyOutDir: true } }
  await build({ ...inline, resolve: { alias: { '@platform-api/client': `${client}/index.js` } } })
  const site = await preview({ ...inline, preview: { port, strictPort: true, host: 'localhost' } })
  t.teardown(() => site.close())

  const page = await (await launchBrowser(t)).newPage()
  const complaints: string[] = []
  page.on('pageerror', ({ message }) => complaints.push(message))
  await page.goto(origin)
  await page.getByLabel('Email').fill(person.email)
  await page.getByLabel('Password').fill('a wrong password')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('alert').waitFor()
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  const text = 'The lighthouse is painted green every spring.'
  await page
    .getByLabel('Upload')
    .setInputFiles({ name: 'lighthouse.md', mimeType: 'text/markdown', buffer: Buffer.from(text) })
  await page.getByRole('listitem').filter({ hasText: 'lighthouse.md ready' }).waitFor()
  await page.getByLabel('Question').fill('When is the lighthouse painted?')
  await page.getByRole('button', { name: 'Ask' }).click()
  await page
    .getByRole('listitem')
    .filter({ hasText: `${text} – lighthouse.md` })
    .waitFor()
  t.match(await page.getByRole('article').textContent(), /green every spring/)
  await page.reload()
  await page.getByRole('listitem').filter({ hasText: 'lighthouse.md ready' }).waitFor()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  t.same(complaints, [])
})
