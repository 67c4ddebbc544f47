// Prints tap's output for people: a line per file, every failure in full, and the counts.
import { Parser, type Result } from 'tap-parser'
import { stringify } from 'yaml'

export interface Counts {
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

/** Counts and prints the results of any number of processes. */
export class Report {
  readonly counts: Counts = { passed: 0, failed: 0, skipped: 0 }
  /** The files of which nothing failed or was skipped. */
  readonly passed = new Set<string>()
  #failed = new Set<string>()
  #options: ReportOptions

  constructor(options: ReportOptions) {
    this.#options = options
  }

  /** Reads the output of one process, in which each test file is a subtest. */
  async read(tap: NodeJS.ReadableStream): Promise<void> {
    /** Of the file that is being read. */
    let counts: Counts = { passed: 0, failed: 0, skipped: 0 }
    const count = (result: Result, name: string): void => {
      counts[this.#count(result, name)] += 1
    }

    const parser = new Parser()
    const files = new Set<Result>()
    parser.on('assert', (file: Result) => {
      files.add(file)
      if (file.skip !== false) count(file, file.name)
      // A file can also fail as a whole: by a crash, a time-out or an exit code.
      else if (!file.ok && counts.failed === 0) this.fail(file.name, diagnosticsOf(file))
      else if (file.ok) {
        if (counts.skipped === 0) this.passed.add(file.name)
        this.#options.print(
          `ok      ${file.name} (${counts.passed} passed, ${Math.round(file.time ?? 0)} ms)`,
        )
      }
      counts = { passed: 0, failed: 0, skipped: 0 }
    })
    parser.on('result', (result: Result) => {
      if (!files.has(result)) count(result, result.fullname)
    })
    parser.on('bailout', (reason: string) => this.fail(`tap bailed out: ${reason}`))
    // Output of the tests.
    parser.on('extra', (text: string) => this.#options.print(text.trim()))

    const complete = new Promise<void>((resolve) => parser.on('complete', () => resolve()))
    tap.pipe(parser)
    await complete
  }

  /** @param name begins with the path of the test file, if it is a failure of one. */
  fail(name: string, diagnostics = ''): void {
    this.counts.failed += 1
    this.#options.print(`not ok  ${name}`)
    if (diagnostics !== '') this.#options.print(diagnostics)
    const file = /^\S+\.test\.ts/.exec(name)?.[0]
    if (file === undefined) return
    this.passed.delete(file)
    if (this.#failed.has(file)) return
    this.#failed.add(file)
    this.#options.print(`        The file alone: npm test -- ${file}`)
  }

  #count(result: Result, name: string): keyof Counts {
    if (result.skip === false && result.todo === false) {
      if (!result.ok) {
        this.fail(name, diagnosticsOf(result))
        return 'failed'
      }
      this.counts.passed += 1
      return 'passed'
    }
    const reason =
      [result.skip, result.todo].find((why) => typeof why === 'string' && why !== '') ?? 'no reason given'
    if (this.#options.skippedFails) {
      this.fail(`${name}: skipped (${reason}), which is a failure if CI is set`)
      return 'failed'
    }
    this.counts.skipped += 1
    this.#options.print(`skipped ${name}: ${reason}`)
    return 'skipped'
  }
}

export function closingLine({ passed, failed, skipped }: Counts): string {
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
