// The guides: each is served as a page, its commands work, and their output is what the guide shows.
import { execFile, spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { guideNames } from '../../services/docs/guides.ts'
import { python, pythonEnv, skipWithoutPython } from '../support/server/python.ts'
import { blocksOf, differences, readGuide } from '../support/generator/guides.ts'
import { testSecretKey } from '../support/database/database.ts'
import { startWorkingServer } from '../support/server/working-server.ts'

const run = promisify(execFile)
const root = resolve(import.meta.dirname, '../..')
// Webhooks of the guides go to this machine.
const env = { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8,::1/128' }
/** Each guide has a user of its own. */
const server = await startWorkingServer(t as Test, { env })
const hasCurl = spawnSync('curl', ['--version'], { stdio: 'ignore' }).status === 0

/** The functions that the quickstart defines; the other guides begin with them. */
const functions = blocksOf(readGuide('quickstart'))[0].text

t.test('every file of docs/guides is in the list of guides', async (t) => {
  const files = readdirSync(join(root, 'docs/guides')).map((file) => file.replace(/\.md$/, ''))
  t.same(files.sort(), [...guideNames].sort())
})

t.test('every guide has 300 to 700 words beside its tables', async (t) => {
  for (const name of guideNames) {
    const words = readGuide(name)
      .replace(/^\|.*$/gm, '')
      .split(/\s+/).length
    t.ok(words >= 300 && words <= 700, `${name}: ${words} words`)
  }
})

t.test('every guide is a page that links to the others and loads nothing', async (t) => {
  const list = await (await fetch(`${server.url}/docs/guides`)).text()
  await checkLinks(t, server.url, list)
  for (const name of guideNames) {
    t.match(list, `href="/docs/guides/${name}"`)
    const response = await fetch(`${server.url}/docs/guides/${name}`)
    t.equal(response.status, 200)
    t.match(response.headers.get('content-type'), 'text/html')
    t.match(response.headers.get('content-security-policy'), "default-src 'none'")
    const page = await response.text()
    t.match(page, /<h1>[^<]+<\/h1>/)
    t.notMatch(page, /<script(?! src="\/docs\/docs\.js" defer)|href="[\w-]+\.md/)
    if (/^```(sh|ts|json|python)/m.test(readGuide(name))) t.match(page, /<span class="c-/, 'code is colored')
    await checkLinks(t, server.url, page)
  }
})

/** Every link of the page works: it is absolute, and this server answers it. */
async function checkLinks(t: Test, url: string, page: string) {
  for (const [, href] of page.matchAll(/<a href="([^"#]+)/g)) {
    if (/^https?:/.test(href)) continue
    t.match(href, /^\//, `${href} does not depend on the address of the page`)
    const { status } = await fetch(new URL(href, url))
    t.ok(status < 400, `${href} answers ${status}`)
  }
}

for (const name of guideNames) {
  const skip = (!hasCurl && 'no curl') || (name === 'python-client' && skipWithoutPython)
  t.test(`the commands of ${name} print what it shows`, { skip }, async (t) => {
    // An admin reads the events of the other guides.
    const person = await server.person({ role: name === 'pagination' ? 'user' : 'admin' })
    const folder = t.testdir()
    mkdirSync(join(folder, 'node_modules/@platform-api'), { recursive: true })
    symlinkSync(join(root, 'generated/client'), join(folder, 'node_modules/@platform-api/client'))
    mkdirSync(join(folder, 'node_modules/.bin'))
    const program = join(root, 'generated/client/bin.js')
    const wrapper = `#!/bin/sh\nexec ${process.execPath} ${program} "$@"\n`
    writeFileSync(join(folder, 'node_modules/.bin/platform'), wrapper, { mode: 0o755 })
    symlinkSync(join(root, 'node_modules/openai'), join(folder, 'node_modules/openai'))
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    if (python?.startsWith('/')) symlinkSync(python, join(folder, 'python3'))
    const blocks = blocksOf(readGuide(name))
    const script = blocks.map(({ language, text }, i) => {
      if (language === 'sh') return `printf '\\n::block ${i}::\\n'\n${text}`
      const file = fileOf(text)
      if (['ts', 'js', 'python'].includes(language) && file !== null) writeFileSync(join(folder, file), text)
      return ''
    })
    const shell = {
      ...process.env,
      ...pythonEnv,
      PATH: `${folder}:${process.env.PATH}`,
      API: server.url,
      PLATFORM: root,
      DATABASE_URL: server.databaseUrl,
      SECRET_KEY: testSecretKey,
      KEY: person.key,
      PLATFORM_BASE_URL: server.url,
      PLATFORM_API_KEY: person.key,
      XDG_CONFIG_HOME: folder,
    }
    const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', `${functions}\n${script.join('\n')}`], {
      cwd: folder,
      env: shell,
      maxBuffer: 16 * 1024 * 1024,
      timeout: 120_000,
    })
    const printed = new Map(
      stdout
        .split(/^::block (?=\d+::$)/m)
        .slice(1)
        .map((part) => {
          const [number] = /^\d+/.exec(part)!
          return [Number(number), part.slice(part.indexOf('\n') + 1)] as const
        }),
    )
    for (const [i, { language, line, text }] of blocks.entries()) {
      if (language !== 'json') continue
      const output = printed.get(i - 1)?.trim() ?? ''
      t.same(differences(JSON.parse(text), lastJson(output)), [], `${name}.md:${line}`)
    }
  })
}

/** The file of a program: its first line names it in a comment. null for an excerpt. */
function fileOf(program: string): string | null {
  return /^(?:\/\/|#) ([\w-]+\.(?:ts|mjs|py))/.exec(program)?.[1] ?? null
}

/** The last JSON document of what a block printed. */
function lastJson(output: string): unknown {
  const start = output.search(/[{[](?=[^]*$)/)
  const lines = output.split('\n').filter((line) => /^[{[]/.test(line))
  return JSON.parse(lines.at(-1) ?? output.slice(start))
}
