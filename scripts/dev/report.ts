// What `npm run dev` says of a server that has exited, of the generator's problems, and of type errors.
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { formatDiagnostic, type Diagnostic } from '../check/compiler-errors.ts'

const stubHint = '`npm run generate -- --stubs` writes a stub'
const migrationHint =
  '`npm run migrate -- --create NAME` writes a migration from prisma/schema.prisma, and dev applies it'
/** What PostgreSQL and Prisma say of a table or a column that no migration has made. */
const notMigrated =
  /relation "[^"]+" does not exist|The (?:table|column) `[^`]+` does not exist in the current database/

/** A problem of the generator, with the command that makes a missing table. */
export function explainProblem(problem: string): string {
  return notMigrated.test(problem) ? `${problem}\n  ${migrationHint}` : problem
}

/** How many errors are printed. */
const shown = 5

/**
 * Prints what a check has changed: the errors that are new, how many are mended and which are left, or that
 * there are none.
 */
export function typeReport(folder: string, say: (line: string) => void): (errors: Diagnostic[]) => void {
  let before: Map<string, Diagnostic> | null = null
  return (errors) => {
    const now = new Map(errors.map((error) => [formatDiagnostic(folder, error), error]))
    const fresh = [...now.keys()].filter((line) => before?.has(line) !== true)
    const mended = [...(before?.keys() ?? [])].filter((line) => !now.has(line)).length
    const left = [...now].filter(([line]) => !fresh.includes(line)).map(([, error]) => error)
    for (const line of fresh.slice(0, shown)) say(`✗ types: ${line}`)
    if (fresh.length > shown) say(`✗ types: and ${fresh.length - shown} more`)
    if (now.size === 0 && before?.size !== 0) say('✓ no type errors')
    else if (mended > 0 && left.length > 0) {
      const places = left.slice(0, shown).map(({ file, line, column }) => `${file}:${line}:${column}`)
      const more = left.length > shown ? ` and ${left.length - shown} more` : ''
      say(`· types: ${mended} mended, ${left.length} left: ${places.join(', ')}${more}`)
    } else if (mended > 0) say(`· types: ${mended} mended`)
    before = now
  }
}

/** The reason of a crash, from Node's error output: a place, the source line with a caret, and the error. */
export function explainExit(folder: string, output: string): string {
  const lines = output.split('\n')
  const message =
    lines.find((line) => /^\s*(?:\[?\w*Error\b.*|Uncaught .*)$/.test(line))?.trim() ??
    lines.find((line) => line.trim() !== '') ??
    'it exited without a message'
  const [, tag] = /has no handler in handlers\/(\S+)\.ts/.exec(message) ?? []
  if (tag !== undefined) return `${message.replace(/^Error: /, '')}; ${stubHint}`
  const [, module] =
    /Cannot find module '[^']*\/(handlers\/[^']+)' imported from [^']*generated\/routes\.ts/.exec(message) ??
    []
  if (module !== undefined) return `${module} does not exist, but the spec has operations for it; ${stubHint}`
  const [, statements] = /Cannot find module '[^']*\/(generated\/sql\/[\w-]+\.ts)'/.exec(message) ?? []
  if (statements !== undefined)
    return `${statements} does not exist, but a module imports it: its table is missing; ${migrationHint}`
  const missing = lines.find((line) => notMigrated.test(line))?.trim()
  const reason = missing === undefined ? message : `${missing}; ${migrationHint}`
  const at = placeIn(folder, lines)
  return at === null ? reason : formatDiagnostic(folder, { ...at, message: reason })
}

function placeIn(folder: string, lines: string[]): Omit<Diagnostic, 'message'> | null {
  for (const [i, text] of lines.entries()) {
    const [, head, row] = /^(?:file:\/\/)?(\/\S+?):(\d+)$/.exec(text) ?? []
    const [, url, stackRow, column] = /\(?(file:\/\/\/\S+?):(\d+):(\d+)\)?$/.exec(text) ?? []
    const path = head ?? (url === undefined ? undefined : fileURLToPath(url))
    if (path === undefined || !isProjectFile(folder, path)) continue
    const caret = lines.slice(i + 1, i + 4).find((below) => /^\s*\^+\s*$/.test(below))
    return {
      file: relative(folder, path),
      line: Number(row ?? stackRow),
      column: Number(column ?? (caret?.indexOf('^') ?? 0) + 1),
    }
  }
  return null
}

function isProjectFile(folder: string, path: string): boolean {
  return path.startsWith(`${folder}/`) && !path.includes('/node_modules/')
}
