// Errors and warnings about a document of another API.
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { lintReport, type LintProblem } from '../lint.ts'

const main = join(import.meta.dirname, '../main.ts')
const library = join(import.meta.dirname, '../../../test/support/contract/foreign-servers/library.yaml')
const lint = (file: string) => spawnSync(process.execPath, [main, file], { encoding: 'utf8' })

t.test('lint lists warnings, and fails on errors', async (t) => {
  const valid = lint(library)
  t.equal(valid.status, 0, valid.stderr)
  t.match(valid.stdout, /^0 errors, \d+ warnings?$/m)
  const folder = t.testdir()
  const broken = join(folder, 'broken.yaml')
  writeFileSync(broken, readFileSync(library, 'utf8').replace('in: path', 'in: nowhere'))
  const { status, stdout } = lint(broken)
  t.equal(status, 1)
  t.match(stdout, /^error struct: 1\n {2}.*broken\.yaml:\d+:\d+ /m)
  t.equal(lint(join(folder, 'missing.yaml')).status, 2)
})

t.test('the report lists all errors, and some places of each warning', async (t) => {
  const problem = (severity: LintProblem['severity'], line: number): LintProblem => ({
    severity,
    file: 'a.yaml',
    line,
    column: 1,
    message: 'wrong',
    rule: 'struct',
  })
  const problems = [1, 2, 3].flatMap((line) => [problem('error', line), problem('warning', line)])
  t.equal(
    lintReport(problems, 2),
    [
      'error struct: 3',
      '  a.yaml:1:1 wrong',
      '  a.yaml:2:1 wrong',
      '  a.yaml:3:1 wrong',
      'warning struct: 3',
      '  a.yaml:1:1 wrong',
      '  a.yaml:2:1 wrong',
      '  ... and 1 more',
      '3 errors, 3 warnings',
    ].join('\n'),
  )
  t.match(lintReport([problem('error', 1), problem('warning', 1)]), /\n1 error, 1 warning$/)
})
