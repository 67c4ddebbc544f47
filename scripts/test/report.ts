// Reads what tap prints for machines and tells it to a person: a line for each file, each failure in full, the counts.
import { Parser, type Result } from 'tap-parser'
import { stringify } from 'yaml'

export interface TestReport {
  passed: number
  failed: number
  skipped: number
}

export interface ReportOptions {
  print: (line: string) => void
  /** In continuous integration a test that did not run has proved nothing. */
  skippedFails: boolean
}

/** Diagnostics that say where and why; the rest of tap's is for tools. */
const TOLD = [
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
    if (skippedFails) return fail(`${name}: skipped (${reason}), which fails where CI is set`)
    report.skipped += 1
    print(`skipped ${name}: ${reason}`)
  }

  const parser = new Parser()
  const files = new Set<Result>()
  parser.on('assert', (file: Result) => {
    files.add(file)
    if (file.skip !== false) count(file, file.name)
    // A file can also fail as a whole: it crashed, hung, or ended with a code of its own.
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
  parser.on('bailout', (reason: string) => fail(`tap gave up: ${reason}`))
  // Whatever a test prints for itself.
  parser.on('extra', (text: string) => print(text.trim()))

  const whole = new Promise<void>((resolve) => parser.on('complete', () => resolve()))
  tap.pipe(parser)
  await whole
  return report
}

export function closingLine({ passed, failed, skipped }: TestReport): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
}

function diagnosticsOf(result: Result | undefined): string {
  const diagnostics = (result?.diag ?? {}) as Record<string, unknown>
  const told = Object.fromEntries(
    TOLD.filter((key) => diagnostics[key] != null).map((key) => [key, diagnostics[key]]),
  )
  if (isRecord(diagnostics['cause'])) told['cause'] = causeOf(diagnostics['cause'])
  if (Object.keys(told).length === 0) return ''
  return stringify(told)
    .trimEnd()
    .split('\n')
    .map((line) => `          ${line}`)
    .join('\n')
}

/** What an error was thrown for, down to the first one: what each says, and the code that it has. */
function causeOf({ message, code, cause }: Record<string, unknown>): Record<string, unknown> {
  return { message, ...(code != null && { code }), ...(isRecord(cause) && { cause: causeOf(cause) }) }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
