// The compiler's errors in words: the handler first, then the property, then what is wrong with it.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** @property lines the compiler's message, and below it what explains it, from the outside in. */
export interface CompilerError {
  file: string
  line: number
  column: number
  code: number
  lines: string[]
}

export interface Diagnostic {
  file: string
  line: number
  column: number
  message: string
}

/**
 * Handlers come first and generated code last, because its errors usually follow from one elsewhere.
 * @param folder of the project; the files of the errors are relative to it
 */
export function explained(folder: string, errors: CompilerError[]): Diagnostic[] {
  const extra = errors.flatMap((error) => extraProperties(folder, error) ?? [])
  const others = errors.flatMap((error) => (isExtra(error) ? [] : inHandler(folder, error)))
  return [...others, ...extra].toSorted((a, b) => rank(a) - rank(b))
}

function rank({ file }: Diagnostic): number {
  return file.startsWith('test/') ? 2 : /^(?:.*\/)?generated\//.test(file) ? 1 : 0
}

/** `getThing: body: Property 'name' is missing in type …`. */
function inHandler(folder: string, { file, line, column, code, lines }: CompilerError): Diagnostic {
  const path = lines.flatMap((text) => /^(?:T|The t)ypes of (?:property )?'([^']+)'/.exec(text)?.[1] ?? [])
  const handler = handlerAt(join(folder, file), line)
  const message = [...(handler === null ? [] : [handler]), path.join('.'), lines.at(-1)!]
    .filter((part) => part !== '')
    .join(': ')
  return { file, line, column, message: `${message} (TS${code})` }
}

/**
 * The error of `ExactAnswers` in generated/routes.ts, at the handler that it is about; null for any other.
 * `Exactness` in services/handler.ts has its text.
 */
function extraProperties(folder: string, error: CompilerError): Diagnostic | null {
  if (!isExtra(error)) return null
  const {
    file,
    lines: [first],
  } = error
  const found = [...first.matchAll(extraProperty)]
  const project = file.slice(0, -'generated/routes.ts'.length)
  const [[, id]] = found
  const names = [...new Set(found.map(([, , name]) => `\`${name}\``))]
  const message =
    `${id}: the answer has ${names.join(', ')}, which the spec does not declare: ` +
    'leave it out of the object or its spread'
  const place = placeOf(join(folder, project), id)
  return { ...place, file: `${project}${place.file}`, message }
}

const extraProperty = /"(\w+) answers `([^`]+)`, which the spec does not declare"/g

function isExtra({ file, lines: [first] }: CompilerError): boolean {
  return file.endsWith('generated/routes.ts') && first.search(extraProperty) >= 0
}

function placeOf(folder: string, id: string): Omit<Diagnostic, 'message'> {
  for (const name of readdirSync(join(folder, 'handlers'))) {
    const lines = readFileSync(join(folder, 'handlers', name), 'utf8').split('\n')
    const i = lines.findIndex((text) => handlerIn(text) === id)
    if (i >= 0) return { file: `handlers/${name}`, line: i + 1, column: lines[i].indexOf(id) + 1 }
  }
  return { file: 'generated/routes.ts', line: 1, column: 1 }
}

/** The handler around a line of a module of handlers/; null elsewhere. */
function handlerAt(file: string, line: number): string | null {
  if (!/\/handlers\/[^/]+\.ts$/.test(file)) return null
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, line)
  for (const text of lines.toReversed()) {
    const name = handlerIn(text)
    if (name !== null) return name
    // The end or the beginning of the object of handlers.
    if (/^\S/.test(text)) return null
  }
  return null
}

/** The name of the handler that begins on the line. */
function handlerIn(text: string): string | null {
  return /^ {2}(?:async )?\*? ?([a-z]\w*)(?: ?\(|:)/.exec(text)?.[1] ?? null
}

/** `handlers/members.ts:3:5 message` and the source line. */
export function formatDiagnostic(folder: string, { file, line, column, message }: Diagnostic): string {
  const excerpt = excerptOf(join(folder, file), line)
  return `${file}:${line}:${column} ${message}${excerpt && `\n    ${excerpt}`}`
}

function excerptOf(file: string, line: number): string {
  try {
    return readFileSync(file, 'utf8').split('\n')[line - 1]?.trim().slice(0, 120) ?? ''
  } catch (error) {
    // The file may have been deleted in the meantime.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
}
