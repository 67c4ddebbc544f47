// Two branches that both add an operation, merged and rebased in a copy of this project.
import t from 'tap'
import { execFile } from 'node:child_process'
import { appendFileSync, cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { serialize } from '../../scripts/constraints/list.ts'
import { isLongForm } from '../support/long-form.ts'

const root = resolve(import.meta.dirname, '../..')
const run = promisify(execFile)
const copied = [
  'app',
  'handlers',
  'infra',
  'packages',
  'prisma',
  'services',
  'spec',
  'generated',
  'scripts',
  'docs',
]
const files = ['package.json', 'package-lock.json', 'tsconfig.json', '.env.example', 'CHANGELOG.md']
const ofGit = ['.gitattributes', '.gitignore']
const list = 'test/contract/constraints.json'
/**
 * The paths that the copy leaves out, so that the generator has less to do. Those with x-crud have events.
 */
const crud = 'customRoles|pr\\w+s|customers|meters|features|budgets'
const others = new RegExp(`^  /(?!.*system\\.yaml|.*/(${crud})').*\\$ref: '.*\\n`, 'gm')

t.test('a merge and a rebase of branches that both added operations need no hand', async (t) => {
  const folder = t.testdir()
  for (const name of [...copied, ...files, ...ofGit, list])
    cpSync(join(root, name), join(folder, name), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  appendFileSync(join(folder, '.gitignore'), 'node_modules\n')
  const identity = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com']
  const git = async (...args: string[]): Promise<string> =>
    (await run('git', [...identity, ...args], { cwd: folder, maxBuffer: 1e8 })).stdout
  const node = async (...args: string[]): Promise<string> =>
    (await run(process.execPath, args, { cwd: folder })).stdout
  const read = (name: string): string => readFileSync(join(folder, name), 'utf8')
  const replace = (name: string, from: string, to: string): void => {
    const before = read(name)
    t.ok(before.includes(from), `${name} has ${from}`)
    writeFileSync(join(folder, name), before.replace(from, to))
  }
  // In this process, which loads the libraries once. The merge driver runs the commands.
  const { generate } = (await import(
    join(folder, 'scripts/generate/main.ts')
  )) as typeof import('../../scripts/generate/main.ts')
  const { compareWithList } = (await import(
    join(folder, 'scripts/constraints/main.ts')
  )) as typeof import('../../scripts/constraints/main.ts')
  const generateAll = async (): Promise<void> => {
    writeFileSync(join(folder, list), serialize((await compareWithList()).now))
    await generate({})
  }
  /** Commits an operation that stands before the path, and a line of the changelog. */
  const addOperation = async (branch: string, file: string, before: string): Promise<void> => {
    await git('checkout', '-q', '-b', branch, 'main')
    replace(
      'spec/openapi.yaml',
      `  ${before}:`,
      `  /${branch}: { $ref: '${file}#/paths/${branch}' }\n  ${before}:`,
    )
    replace(`spec/${file}`, 'paths:\n', `paths:\n${operationCalled(branch)}`)
    writeFileSync(join(folder, 'CHANGELOG.md'), `${read('CHANGELOG.md')}- ${branch}\n`)
    await generateAll()
    await git('commit', '-q', '-am', `${branch}: a number`)
  }

  if (!isLongForm) {
    writeFileSync(join(folder, 'spec/openapi.yaml'), read('spec/openapi.yaml').replace(others, ''))
    await generateAll()
  }
  await git('init', '-q', '-b', 'main')
  await git('add', '.')
  await git('commit', '-q', '-m', 'both begin here')
  // In one place of many generated files: at the beginning of the tag `system`.
  await addOperation('first', 'system.yaml', '/healthz')
  await addOperation('second', 'user.yaml', '/readyz')

  const conflicts = async (): Promise<string> => await git('diff', '--name-only', '--diff-filter=U')
  await t.rejects(git('merge', '-q', 'first'), 'without the driver')
  t.match(await conflicts(), /generated\/client\/operations\.d\.ts/)
  t.notMatch(await conflicts(), /spec|CHANGELOG/)
  await git('merge', '--abort')

  await node('-e', `import('./scripts/setup/git-config.mjs').then((m) => m.configureGit('.'))`)
  let shown = 0
  let added = 0
  for (const line of (await git('diff', '--numstat', 'main', 'second', '--', 'generated'))
    .trim()
    .split('\n')) {
    const [insertions, deletions, name] = line.split('\t')
    shown += Number(insertions) + Number(deletions)
    added += newLines(await git('show', `main:${name}`), await git('show', `second:${name}`))
  }
  t.ok(added > 100 && shown < 1.5 * added, `git shows ${shown} lines of ${added} new ones`)

  await git('checkout', '-q', '-b', 'merged', 'first')
  await git('merge', '-q', '-m', 'both', 'second')
  t.equal(await git('status', '--porcelain'), '')
  for (const name of ['generated/openapi.json', 'generated/operations.ts'])
    for (const id of ['countFirst', 'countSecond']) t.ok(read(name).includes(id), `${name} has ${id}`)
  t.match(read('CHANGELOG.md'), /- second\n- first\n|- first\n- second\n/)
  t.strictSame((await compareWithList()).lines, [])
  await generate({})
  t.equal(await git('status', '--porcelain'), '', 'the generator writes the same files')

  // The same merge of the same sources: it takes the files that the driver has generated.
  await git('checkout', '-q', 'second')
  await git('rebase', '-q', 'first')
  t.equal(await git('rev-parse', 'HEAD~'), await git('rev-parse', 'first'))
  t.equal(await git('diff', '--name-only', 'merged'), '', 'the rebase has the same files as the merge')
})

/** How many lines of `after` are not in `before`. */
function newLines(before: string, after: string): number {
  const left = new Map<string, number>()
  for (const line of before.split('\n')) left.set(line, (left.get(line) ?? 0) + 1)
  return after.split('\n').filter((line) => {
    const count = left.get(line) ?? 0
    left.set(line, count - 1)
    return count <= 0
  }).length
}

function operationCalled(name: string): string {
  return `  ${name}:
    get:
      operationId: count${name[0].toUpperCase()}${name.slice(1)}
      tags: [system]
      summary: Count the ${name}
      description: Returns how many there are.
      security: []
      x-rate-limit: page
      parameters:
        - name: ${name}_limit
          in: query
          description: The largest number.
          schema: { type: integer, format: int32, minimum: 1, maximum: 9 }
      responses:
        '200':
          description: The number.
          content: { application/json: { schema: { $ref: 'system.yaml#/components/schemas/Health' } } }
`
}
