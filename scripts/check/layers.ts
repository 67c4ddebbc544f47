// Imports go one way: generated/routes → handlers → services → generated's types, and app wires them. What a room may
// not import is a table here, so that a layer can be read without the ones above it.
import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join, posix, relative, resolve } from 'node:path'
import ts from 'typescript'

interface Room {
  may: RegExp
  because: string
}

/** What each room may import: paths from the project's folder, and packages under `npm:`. */
const rooms: Record<string, Room> = {
  handlers: {
    may: /^(services\/|generated\/(operations|types|events)\.ts$|generated\/prisma\/|node:|npm:(?!@?fastify\b))/,
    because: 'a handler imports services/ and the generated types, never another handler, app/ or Fastify',
  },
  services: {
    may: /^(services\/|generated\/(operations|types|events)\.ts$|generated\/(serializers|validators)\.js$|generated\/prisma\/|node:|npm:(?!@?fastify\b))/,
    because: 'a service imports services/ and what is generated for it, never a handler, app/ or Fastify',
  },
  app: {
    may: /^(app\/|services\/|generated\/|node:|npm:)/,
    because: 'app/ imports services/ and generated/; the handlers come through generated/routes.ts',
  },
  scripts: {
    may: /^(scripts\/|app\/|services\/|generated\/|test\/support\/|node:|npm:)/,
    because: 'scripts/ imports no test and no handler',
  },
}

/** @returns one line for each import that goes the wrong way, in the project of `folder`. */
export function roomProblems(folder: string): string[] {
  return Object.entries(rooms).flatMap(([room, { may, because }]) =>
    sources(join(folder, room)).flatMap((file) => {
      const text = readFileSync(file, 'utf8')
      return ts.preProcessFile(text).importedFiles.flatMap(({ fileName, pos }) => {
        const target = targetOf(folder, file, fileName)
        if (may.test(target)) return []
        const line = text.slice(0, pos).split('\n').length
        return [`${posixPath(folder, file)}:${line} imports ${target}: ${because}`]
      })
    }),
  )
}

function sources(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .sort()
    .map((name) => join(folder, name))
}

function targetOf(folder: string, file: string, specifier: string): string {
  if (specifier.startsWith('.')) return posixPath(folder, resolve(dirname(file), specifier))
  return specifier.startsWith('node:') ? specifier : `npm:${specifier}`
}

function posixPath(folder: string, file: string): string {
  return relative(folder, file).split('\\').join(posix.sep)
}

if (import.meta.main) {
  const problems = roomProblems(resolve(import.meta.dirname, '../..'))
  for (const problem of problems) console.log(problem)
  process.exit(problems.length === 0 ? 0 : 1)
}
