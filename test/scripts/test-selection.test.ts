// Which test files a change can break, and what the budget of a whole run says.
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Cache } from '../../scripts/test/cache.ts'
import type { FileResult } from '../../scripts/test/pool.ts'
import { Times } from '../../scripts/test/times.ts'

/** A project whose tests passed. */
const project = {
  'package-lock.json': '{}',
  scripts: { test: { 'main.ts': '' }, tool: { 'main.ts': `import './part.ts'`, 'part.ts': '' } },
  prisma: { 'schema.prisma': '' },
  generated: { 'routes.ts': `import { files } from '../handlers/files.ts'\nimport '../handlers/users.ts'` },
  handlers: { 'files.ts': `import '../services/files.ts'`, 'users.ts': `import '../services/users.ts'` },
  services: { 'files.ts': '', 'users.ts': '', 'all.ts': '' },
  app: { 'build.ts': `import '../generated/routes.ts'\nexport { all } from '../services/all.ts'` },
  packages: {
    lint: { 'main.ts': '', test: { 'lint.test.ts': `import { lint } from '@platform-api/lint/main.ts'` } },
  },
  docs: { guides: { 'files.md': '' }, 'other.md': '' },
  test: {
    support: { 'server.ts': `import '../../app/build.ts'` },
    users: { 'users.test.ts': `import '../support/server.ts'` },
    files: { 'files.test.ts': `import '../support/server.ts'` },
    docs: { 'guides.test.ts': `// reads: handlers\nconst folder = join(root, 'docs/guides')` },
    tools: { 'tool.test.ts': `copy('handlers')\nawait program('scripts/tool/main.ts')` },
  },
}

const users = 'test/users/users.test.ts'
const files = 'test/files/files.test.ts'
const guides = 'test/docs/guides.test.ts'
const tool = 'test/tools/tool.test.ts'
const lint = 'packages/lint/test/lint.test.ts'
const all = [users, files, guides, tool, lint]

function passed(file: string): FileResult {
  const handlers = file === users ? ['users'] : file === files ? ['files'] : []
  return { file, wall: 1, cpu: 1, handlers, reusable: true }
}

/** The test files that no longer count as passed when the files have changed. */
function brokenBy(t: Test, changed: string[]): string[] {
  const folder = t.testdir(project)
  new Cache(folder).save(all.map(passed), new Set(all))
  for (const file of changed) writeFileSync(join(folder, file), '// changed')
  const cache = new Cache(folder)
  return all.filter((file) => !cache.isUnchanged(file))
}

t.test('a change runs the test files that depend on it', async (t) => {
  const cases: Record<string, string[]> = {
    'services/all.ts': [users, files],
    'test/support/server.ts': [users, files],
    'test/users/users.test.ts': [users],
    'packages/lint/main.ts': [lint],
    'scripts/tool/part.ts': [tool],
    'docs/guides/files.md': [guides],
    'docs/guides/new.md': [guides],
    'docs/other.md': [],
    'prisma/schema.prisma': all,
    'package-lock.json': all,
    'scripts/test/main.ts': all,
  }
  t.strictSame(brokenBy(t, []), [])
  for (const [file, broken] of Object.entries(cases)) t.strictSame(brokenBy(t, [file]), broken, file)
})

t.test('a change of a handler, or below it, runs the test files whose requests it served', async (t) => {
  t.strictSame(brokenBy(t, ['handlers/users.ts']), [users, guides])
  t.strictSame(brokenBy(t, ['services/users.ts']), [users, guides])
  t.strictSame(brokenBy(t, ['services/files.ts']), [files, guides])
})

t.test('a file that failed, was skipped or has lost a module runs again', async (t) => {
  const folder = t.testdir(project)
  new Cache(folder).save(all.map(passed), new Set([users, tool]))
  rmSync(join(folder, 'scripts/tool/part.ts'))
  const cache = new Cache(folder)
  t.strictSame(
    all.filter((file) => !cache.isUnchanged(file)),
    [files, guides, tool, lint],
  )
})

t.test('a whole run above its budget names the files that grew', async (t) => {
  const folder = t.testdir({ test: { 'times.json': '{ "yardstick": 1, "services": 0, "folders": {} }' } })
  const results = [
    { ...passed(users), cpu: 10_000, wall: 20_000 },
    { ...passed(files), cpu: 30_000, wall: 5_000 },
  ]
  const usual = { results, services: 5_000, yardstick: 10 }
  new Times(folder).write(usual)
  const times = new Times(folder)
  t.equal(times.wallOf(users), 20_000)
  t.equal(times.wallOf(guides), undefined)
  t.equal(times.excess(usual), null)

  const grown = [results[0], { ...results[1], cpu: 38_000 }]
  t.equal(
    times.excess({ ...usual, results: grown }),
    'It took 53 CPU seconds of the machine of test/times.json, which allows 45 and 15 % more. What grew:\n' +
      `30.0 -> 38.0  ${files}\n5.0 -> 5.0  the services and the runner`,
  )
  t.equal(times.excess({ ...usual, results: grown, yardstick: 12 }), null, 'a slower machine')
  t.match(times.excess({ ...usual, services: 13_000 }), /5\.0 -> 13\.0 {2}the services and the runner$/)
  t.match(
    times.excess({ ...usual, results: [...results, { ...passed(tool), cpu: 9_000 }] }),
    `0.0 -> 9.0  ${tool}`,
  )
})
