// The messages of `npm run dev` about a server that has exited, problems of the generator, and type errors.
import { existsSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { formatDiagnostic, type Diagnostic } from '../check/compiler-errors.ts'

const stubHint = '`npm run generate -- --stubs` writes a stub'
const migrationHint =
  '`npm run migrate -- --create NAME` writes a migration from prisma/schema.prisma, and dev applies it'
/** The errors of PostgreSQL and Prisma for a table or column that no migration has created. */
const notMigrated =
  /relation "[^"]+" does not exist|The (?:table|column) `[^`]+` does not exist in the current database/

/** A problem of the generator, with the command that makes a missing table. */
export function explainProblem(problem: string): string {
  return notMigrated.test(problem) ? `${problem}\n  ${migrationHint}` : problem
}

/**
 * A startup error, with what to do about an edited migration in development.
 * @param begin what gives the server a new database.
 */
export function explainStartup(message: string, begin: string): string {
  const [, name] = /^The migration (\S+) was edited after it was applied/.exec(message) ?? []
  if (name === undefined) return message
  const restore = `git restore prisma/migrations/${name}`
  return [
    `The migration ${name} was edited after this database had applied it.`,
    `  To keep the data, undo the edit (\`${restore}\`, if it was committed) and write the change as a new`,
    '  migration: `npm run migrate -- --create NAME`.',
    `  To begin with a new database, stop dev, ${begin}, and start dev again.`,
  ].join('\n')
}

/** How many errors are printed. */
const shown = 5

export interface TypeReport {
  /** A check has begun. It is announced if it takes long. */
  begin(): void
  /** Prints those of the errors that are new. The check goes on. */
  found(errors: Diagnostic[]): void
  /**
   * Prints what the check has changed: the errors that are new, how many are mended and which are left, or
   * that there are none. After an announcement it also says that nothing has changed.
   */
  end(errors: Diagnostic[]): void
  close(): void
}

export function typeReport(folder: string, say: (line: string) => void, announceAfterMs = 2_000): TypeReport {
  let before: Map<string, Diagnostic> | null = null
  /** Errors that were printed during the check. */
  let early = new Set<string>()
  let timer: NodeJS.Timeout | undefined
  let announced = false

  function begin(): void {
    if (announced || timer !== undefined) return
    timer = setTimeout(() => {
      announced = true
      say('· types: checking …')
    }, announceAfterMs)
  }

  function close(): void {
    clearTimeout(timer)
    timer = undefined
  }

  function found(errors: Diagnostic[]): void {
    const lines = errors.map((error) => formatDiagnostic(folder, error))
    const fresh = lines.filter((line) => before?.has(line) !== true && !early.has(line))
    for (const line of fresh.slice(0, shown)) {
      early.add(line)
      say(`✗ types: ${line}`)
    }
  }

  function end(errors: Diagnostic[]): void {
    close()
    const printed = early
    early = new Set()
    const wasAnnounced = announced
    announced = false
    const now = new Map(errors.map((error) => [formatDiagnostic(folder, error), error]))
    const fresh = [...now.keys()].filter((line) => before?.has(line) !== true)
    const unprinted = fresh.filter((line) => !printed.has(line))
    const mended = [...(before?.keys() ?? [])].filter((line) => !now.has(line)).length
    const left = [...now].filter(([line]) => !unprinted.includes(line)).map(([, error]) => error)
    const places = left.slice(0, shown).map(({ file, line, column }) => `${file}:${line}:${column}`)
    const more = left.length > shown ? ` and ${left.length - shown} more` : ''
    const leftAt = `${left.length} left: ${places.join(', ')}${more}`
    for (const line of unprinted.slice(0, shown)) say(`✗ types: ${line}`)
    if (unprinted.length > shown) say(`✗ types: and ${unprinted.length - shown} more`)
    if (now.size === 0 && (wasAnnounced || printed.size > 0 || before?.size !== 0)) say('✓ no type errors')
    else if (mended > 0) say(`· types: ${mended} mended${left.length > 0 ? `, ${leftAt}` : ''}`)
    else if ((wasAnnounced || printed.size > 0) && left.length > 0) say(`· types: ${leftAt}`)
    before = now
  }

  return { begin, found, end, close }
}

/** The reason of a crash, from Node's error output: a place, the source line with a caret, and the error. */
export function explainExit(folder: string, output: string): string {
  const lines = output.split('\n')
  const [, thrown] = /with the reason "([^]*?)"\.\n/.exec(output) ?? []
  // What is no Error has no place.
  if (thrown !== undefined) return `a module throws ${thrown}, which is no Error`
  const message =
    lines.find((line) => /^\s*(?:\[?\w*Error\b.*|Uncaught .*)$/.test(line))?.trim() ??
    lines.find((line) => line.trim() !== '') ??
    'it exited without a message'
  const [, id] = /operation (\w+) has no handler in handlers\/\S+\.ts/.exec(message) ?? []
  if (id !== undefined) return `${message.replace(/^Error: /, '')}; ${handlerHint(folder, id)}`
  const [, module, tag] =
    /Cannot find module '[^']*\/(handlers\/([^']+)\.ts)' imported from [^']*generated\/routes\.ts/.exec(
      message,
    ) ?? []
  if (module !== undefined)
    return (
      `${module} does not exist, but the spec has operations for it; ` +
      handlerHint(folder, ...idsOf(folder, tag))
    )
  const [, statements] = /Cannot find module '[^']*\/(generated\/sql\/[\w-]+\.ts)'/.exec(message) ?? []
  if (statements !== undefined)
    return `${statements} does not exist, but a module imports it: its table is missing; ${migrationHint}`
  const missing = lines.find((line) => notMigrated.test(line))?.trim()
  const reason = missing === undefined ? message : `${missing}; ${migrationHint}`
  const at = placeIn(folder, lines)
  return at === null ? reason : formatDiagnostic(folder, { ...at, message: reason })
}

/** The operations of a tag, as generated/routes.ts lists them. */
function idsOf(folder: string, tag: string): string[] {
  const routes = textOf(join(folder, 'generated/routes.ts'))
  const [, name] = new RegExp(`import \\{ (\\w+) \\} from '../handlers/${tag}\\.ts'`).exec(routes) ?? []
  return [...routes.matchAll(new RegExp(`typeof ${name}, '(\\w+)'`, 'g'))].map(([, id]) => id)
}

/** How the missing handlers of operations are written: those of a resource with x-crud in one line. */
function handlerHint(folder: string, ...ids: string[]): string {
  const blocks = textOf(join(folder, 'generated/resources.ts')).match(/^ {2}\w+: \{\n[^}]*\}/gm) ?? []
  const block = blocks.find((text) => ids.some((id) => text.includes(`: '${id}'`)))
  const [, schema] = /^ {2}(\w+)/.exec(block ?? '') ?? []
  if (schema === undefined) return stubHint
  return `write \`...resourceHandlers('${schema}', sql)\` there, or \`npm run generate -- --stubs\` does`
}

function textOf(file: string): string {
  return existsSync(file) ? readFileSync(file, 'utf8') : ''
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
