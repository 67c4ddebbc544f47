// The test runner's report of tap's output: the counts, the names and the closing line.
import { PassThrough, Readable } from 'node:stream'
import t from 'tap'
import { closingLine, Report } from '../../scripts/test/report.ts'
import { waitUntil } from '../support/server/wait.ts'

async function report(tap: string, skippedFails = false) {
  const lines: string[] = []
  const report = new Report({ print: (line) => lines.push(line), skippedFails })
  await report.read(Readable.from([tap]))
  return { counts: report.counts, closing: closingLine(report.counts), text: lines.join('\n') }
}

const MIXED = `TAP version 14
# Subtest: test/a.test.ts
    # Subtest: adds
        ok 1 - right
        not ok 2 - wrong
          ---
          diff: "-1 +2"
          ...
        1..2
    not ok 1 - adds
    ok 2 - waits # SKIP no Redis
    1..2
not ok 1 - test/a.test.ts
# Subtest: test/b.test.ts
    ok 1 - fine
    1..1
ok 2 - test/b.test.ts # time=12ms
1..2
`

t.test('assertions are counted, and failures have their full name', async (t) => {
  const { closing, text } = await report(MIXED)
  t.equal(closing, '2 passed, 1 failed, 1 skipped')
  t.match(text, 'not ok  test/a.test.ts > adds > wrong')
  t.match(text, '-1 +2')
  t.match(text, 'skipped test/a.test.ts > waits: no Redis')
  t.match(text, /ok +test\/b\.test\.ts \(1 passed, 12 ms\)/)
})

t.test('in continuous integration a skipped test is a failure', async (t) => {
  const { closing, text } = await report(MIXED, true)
  t.equal(closing, '2 passed, 2 failed')
  t.match(text, /not ok {2}test\/a\.test\.ts > waits: skipped \(no Redis\)/)
})

t.test('a file that fails as a whole counts as one failure', async (t) => {
  const crashed = await report(
    'TAP version 14\nnot ok 1 - test/crash.test.ts\n  ---\n  exitCode: 1\n  ...\n1..1\n',
  )
  t.equal(crashed.closing, '0 passed, 1 failed')
  t.match(crashed.text, 'exitCode: 1')

  const late = await report(
    'TAP version 14\n# Subtest: test/late.test.ts\n    ok 1 - fine\n    1..1\n' +
      'not ok 1 - test/late.test.ts\n  ---\n  signal: SIGKILL\n  ...\n1..1\n',
  )
  t.equal(late.closing, '1 passed, 1 failed')
})

t.test('a failure is printed with the chain of its causes', async (t) => {
  const { text } = await report(`TAP version 14
# Subtest: test/thrown.test.ts
    not ok 1 - the service is not there
      ---
      cause:
        message: unavailable
        code: UNAVAILABLE
        cause:
          message: canceling statement due to statement timeout
          code: "57014"
          routine: ProcessInterrupts
      ...
    1..1
not ok 1 - test/thrown.test.ts
1..1
`)
  const causes = text.slice(text.indexOf('cause:')).split(/\n +/)
  t.strictSame(causes, [
    'cause:',
    'message: unavailable',
    'code: UNAVAILABLE',
    'cause:',
    'message: canceling statement due to statement timeout',
    'code: "57014"',
    'The file alone: npm test -- test/thrown.test.ts',
  ])
})

t.test('the first failure of a file says at once how to run the file alone', async (t) => {
  const lines: string[] = []
  const report = new Report({ print: (line) => lines.push(line), skippedFails: false })
  const tap = new PassThrough()
  const read = report.read(tap)
  const end = MIXED.indexOf('    not ok 1 - adds')
  tap.write(MIXED.slice(0, end))
  await waitUntil(() => lines.length > 0, 'the failure')
  t.match(lines[0], 'not ok  test/a.test.ts > adds > wrong')
  t.equal(lines.at(-1), '        The file alone: npm test -- test/a.test.ts')
  tap.end(MIXED.slice(end))
  await read
  t.equal(lines.filter((line) => line.includes('alone')).length, 1)
  t.strictSame([...report.passed], ['test/b.test.ts'])
  report.fail('test/b.test.ts leaves open: 1 TCPServerWrap')
  t.strictSame([...report.passed], [], 'a file that leaves something open has not passed')
})

t.test('empty output counts no passed test', async (t) => {
  t.strictSame((await report('')).counts.passed, 0)
})
