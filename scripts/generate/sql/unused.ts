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
  const used = new Set([
    ...[...files, ...resourceFiles(folder)].flatMap((file) =>
      includedIn(readFileSync(join(folder, file), 'utf8'), partsOf(file).domain),
    ),
    ...modules.flatMap(({ text }) => calledIn(text)),
  ])
  return files
    .filter((file) => {
      const { domain, name } = partsOf(file)
      return !used.has(`${domain}/${name}`) && !used.has(`${domain}.${camelCase(name)}`)
    })
    .map((file) => placed(folder, file, 0, 'nothing uses this file: call its function, or delete it'))
}

/** The fragments that a statement of the domain includes, such as `projects/columns`. */
function includedIn(text: string, domain: string): string[] {
  const includes = text.matchAll(/\{(?:[:=]|[a-z]\w*\.)?(?:([\w-]+)\/)?([\w-]+)[\s}]/g)
  return [...includes].map(([, of = domain, name]) => `${of}/${name}`)
}

/**
 * The functions of statements that a module calls, such as `projects.findMember`. Every module imports them
 * as `sql`. The default handlers of resources call those with these names.
 */
function calledIn(text: string): string[] {
  const domains = [...text.matchAll(/generated\/sql\/([\w-]+)\.ts/g)].map(([, domain]) => domain)
  if (domains.length === 0) return []
  const ofResource = ['list', 'find', 'lock', 'insert', 'update', 'remove']
  const names = [...text.matchAll(/\bsql\.(\w+)/g)]
    .map(([, name]) => name)
    .filter((name) => !ofResource.includes(name))
    .concat(/\bresourceHandlers\(/.test(text) ? ofResource : [])
  return domains.flatMap((domain) => names.map((name) => `${domain}.${name}`))
}

function partsOf(file: string): { domain: string; name: string } {
  const [, , domain, name] = file.split('/')
  return { domain, name: name.replace(/\.sql$/, '') }
}
