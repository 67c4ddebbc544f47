// The files of prisma/sql that nothing uses: statements without a caller, and fragments without a file that
// includes them.
import { readFileSync, readdirSync } from 'node:fs'
import { join, sep } from 'node:path'
import { functionsFolder } from './functions.ts'
import { camelCase, placed, resourceFiles, sqlFiles } from './source.ts'

/** The folders whose modules may call a statement. */
const callers = ['app', 'handlers', 'infra', 'scripts', 'services']

export interface Source {
  file: string
  text: string
}

/** The modules of the project in `folder` that may call a statement, sorted by folder and name. */
export function callingModules(folder: string): Source[] {
  return callers.flatMap((below) =>
    readdirSync(join(folder, below), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => {
        const file = join(below, name).split(sep).join('/')
        return { file, text: readFileSync(join(folder, file), 'utf8') }
      })
      .sort((a, b) => (a.file < b.file ? -1 : 1)),
  )
}

/** @returns a message with its place for each unused file of the project in `folder`. */
export function unusedFiles(folder: string, modules = callingModules(folder)): string[] {
  const files = sqlFiles(folder).filter((file) => !file.startsWith(`${functionsFolder}/`))
  const texts = new Map(
    [...files, ...resourceFiles(folder)].map((file) => [file, readFileSync(join(folder, file), 'utf8')]),
  )
  return files
    .filter((file) => !isIncluded(file, texts) && !isCalled(file, modules))
    .map((file) => placed(folder, file, 0, 'nothing uses this file: call its function, or delete it'))
}

function isIncluded(file: string, texts: Map<string, string>): boolean {
  const { domain, name } = partsOf(file)
  const include = new RegExp(`\\{(?:[:=]|[a-z]\\w*\\.)?(${domain}/)?${name}[\\s}]`)
  return [...texts].some(([other, text]) => {
    const [found, prefix] = include.exec(text) ?? []
    return found !== undefined && (prefix !== undefined || partsOf(other).domain === domain)
  })
}

/** Every module imports the functions as `sql`. The default handlers call those with these names. */
function isCalled(file: string, modules: Source[]): boolean {
  const { domain, name } = partsOf(file)
  const isOfResource = ['list', 'find', 'lock', 'insert', 'update', 'remove'].includes(name)
  const call = isOfResource ? /\bresourceHandlers\(/ : new RegExp(`\\bsql\\.${camelCase(name)}\\b`)
  return modules.some(({ text }) => text.includes(`generated/sql/${domain}.ts`) && call.test(text))
}

function partsOf(file: string): { domain: string; name: string } {
  const [, , domain, name] = file.split('/')
  return { domain, name: name.replace(/\.sql$/, '') }
}
