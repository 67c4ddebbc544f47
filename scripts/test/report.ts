// Prints tap's output for people: a line per file, every failure in full, and the counts.
import { Parser, type Result } from 'tap-parser'
import { stringify } from 'yaml'

export interface TestReport {
  passed: number
  failed: number
  skipped: number
}

export interface ReportOptions {
  print: (line: string) => void
  /** In continuous integration, a skipped test is a failure. */
  skippedFails: boolean
}

/** tap's diagnostics that help people; the others are for tools. */
const printedDiagnostics = [
  'diff',
  'found',
  'wanted',
  'expected',
  'actual',
  'code',
  'signal',
  'exitCode',
  'stack',
  'error',
  'reason',
]

export async function reportTests(
  tap: NodeJS.ReadableStream,
  { print, skippedFails }: ReportOptions,
): Promise<TestReport> {
  const report: TestReport = { passed: 0, failed: 0, skipped: 0 }
  let before = { ...report }

  const fail = (name: string, result?: Result) => {
    report.failed += 1
    print(`not ok  ${name}`)
    const diagnostics = diagnosticsOf(result)
    if (diagnostics !== '') print(diagnostics)
  }

  const count = (result: Result, name: string) => {
    if (result.skip === false && result.todo === false) {
      if (result.ok) report.passed += 1
      else fail(name, result)
      return
    }
    const reason =
      [result.skip, result.todo].find((why) => typeof why === 'string' && why !== '') ?? 'no reason given'
    if (skippedFails) return fail(`${name}: skipped (${reason}), which is a failure if CI is set`)
    report.skipped += 1
    print(`skipped ${name}: ${reason}`)
  }

  const parser = new Parser()
  const files = new Set<Result>()
  parser.on('assert', (file: Result) => {
    files.add(file)
    if (file.skip !== false) count(file, file.name)
    // A file can also fail as a whole: by a crash, a time-out or an exit code.
    else if (!file.ok && report.failed === before.failed) fail(file.name, file)
    else if (file.ok)
      print(
        `ok      ${file.name} (${report.passed - before.passed} passed, ${Math.round(file.time ?? 0)} ms)`,
      )
    before = { ...report }
  })
  parser.on('result', (result: Result) => {
    if (!files.has(result)) count(result, result.fullname)
  })
  parser.on('bailout', (reason: string) => fail(`tap bailed out: ${reason}`))
  // Output of the tests.
  parser.on('extra', (text: string) => print(text.trim()))

  const complete = new Promise<void>((resolve) => parser.on('complete', () => resolve()))
  tap.pipe(parser)
  await complete
  return report
}

export function closingLine({ passed, failed, skipped }: TestReport): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
}

function diagnosticsOf(result: Result | undefined): string {
  const diagnostics = (result?.diag ?? {}) as Record<string, unknown>
  const printed = Object.fromEntries(
    printedDiagnostics.filter((key) => diagnostics[key] != null).map((key) => [key, diagnostics[key]]),
  )
  if (isRecord(diagnostics['cause'])) printed['cause'] = causeOf(diagnostics['cause'])
  if (Object.keys(printed).length === 0) return ''
  return stringify(printed)
    .trimEnd()
    .split('\n')
    .map((line) => `          ${line}`)
    .join('\n')
}

/** The chain of an error's causes, with message and code. */
function causeOf({ message, code, cause }: Record<string, unknown>): Record<string, unknown> {
  return { message, ...(code != null && { code }), ...(isRecord(cause) && { cause: causeOf(cause) }) }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
