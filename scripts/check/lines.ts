// No line is longer than 110 columns. Prettier wraps code, but not comments, strings, SQL and prose.
import { readFileSync, readdirSync } from 'node:fs'
import { join, resolve, sep } from 'node:path'

const maxColumns = 110

/** Files and folders (with a slash at the end) whose lines may be longer, and why. */
const exceptions: Record<string, string> = {
  'generated/': 'written by the generator',
  'docs/console.png': 'a picture',
  'services/ai/parsing/cmaps.zip': 'an archive',
  'docs/database.md': 'Prettier wraps the prose; the generator writes each constraint on one line',
  'deploy/grafana/dashboard.json': 'an expression cannot be wrapped',
  'package-lock.json': 'written by npm',
  'scripts/bench/package-lock.json': 'written by npm',
  'test/support/contract/prism/package-lock.json': 'written by npm',
  'scripts/setup/node.json': 'a hash cannot be wrapped',
  'test/contract/constraints.json': 'written by `npm run constraints`, one constraint per line',
  'test/ai/python-requests.json': 'recorded requests',
  'test/support/contract/strangers/': 'unchanged copies of published documents',
  'scripts/bench/retrieval/texts/': 'books, one paragraph per line',
  'prisma/migrations/': 'written by `npm run migrate`, and an applied migration never changes',
}

/** Files in the folder that are not part of the project: see .gitignore. */
const ignored = /^(\.git|\.data|\.tap|\.env)$|(^|\/)node_modules$|\.log$/

/** Rows of Markdown tables, links, environment variables and the types of a statement cannot be wrapped. */
const unwrappable: Record<string, RegExp> = {
  md: /^\s*\||^\s*(-\s+)?\S+$/,
  example: /^(# )?[A-Z_]+=\S*$/,
  sql: /^-- @type /,
}

/**
 * @returns one line, `file:line has n columns`, for each line that is too long in the project at `folder`.
 */
export function lineProblems(folder: string): string[] {
  return textFiles(folder).flatMap((file) =>
    readFileSync(join(folder, file), 'utf8')
      .split('\n')
      .flatMap((line, i) => {
        if (line.length <= maxColumns || unwrappable[file.split('.').at(-1)!]?.test(line)) return []
        const columns = [...line].length
        return columns <= maxColumns
          ? []
          : [`${file}:${i + 1} has ${columns} columns; the limit is ${maxColumns}`]
      }),
  )
}

function textFiles(folder: string, below = ''): string[] {
  return readdirSync(join(folder, below), { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(below, entry.name).split(sep).join('/')
      if (ignored.test(path)) return []
      if (entry.isDirectory()) return `${path}/` in exceptions ? [] : textFiles(folder, path)
      return entry.isFile() && !(path in exceptions) ? [path] : []
    })
}

if (import.meta.main) {
  const problems = lineProblems(resolve(import.meta.dirname, '../..'))
  for (const problem of problems) console.log(problem)
  process.exit(problems.length === 0 ? 0 : 1)
}
