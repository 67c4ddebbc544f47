// SQL is in prisma/sql and in the migrations only, every file of prisma/sql is used, and the server asks
// Prisma for single rows only.
import { resolve } from 'node:path'
import ts from 'typescript'
import { placed } from '../generate/sql/source.ts'
import { callingModules, unusedFiles, type Source } from '../generate/sql/unused.ts'

/** Files and folders (with a slash at the end) that contain SQL, and why. */
const exceptions: Record<string, string> = {
  'infra/backup/': 'the catalogue, and the rows of all tables',
  'infra/database/': 'connections, transactions, notifications, and the builder of lists',
  'infra/jobs/retention.ts': 'the lock of a session',
  'infra/postgres/': 'the server itself, and the run of the migrations',
  'services/backup/': 'a session of its own, on databases of other versions as well',
  'scripts/abuse/': 'fills tables, which would take an attacker hours',
  'scripts/bench/': 'compares with SQL that the product does not contain',
  'scripts/generate/': 'reads the catalogue of the database',
  'scripts/migrate/': 'creates the database for a comparison',
  'scripts/sql/': 'asks a database how it runs a statement',
  'scripts/test/': 'creates and drops the databases of tests',
}

const sql = new RegExp(
  String.raw`^\s*(SELECT|INSERT INTO|UPDATE\s+\w+\s+(\w+\s+)?SET|DELETE FROM|WITH\s+\w+\s+AS|TRUNCATE)\s`,
)

/** Prisma's functions for more than one row. */
const severalRows =
  /\bprisma\.\w+\.(?:find(?:Many|First)|(?:create|update|delete)Many|count|aggregate|groupBy)\w*/g

/** @returns a message with its place for each problem in the project of `folder`. */
export function sqlProblems(folder: string): string[] {
  const modules = callingModules(folder)
  const served = modules.filter(({ file }) => !file.startsWith('scripts/'))
  return [
    ...modules.flatMap((module) => stringsOf(folder, module)),
    ...served.flatMap((module) => callsForSeveralRows(folder, module)),
    ...unusedFiles(folder, modules),
  ]
}

function callsForSeveralRows(folder: string, { file, text }: Source): string[] {
  return [...text.matchAll(severalRows)].map(({ index }) =>
    placed(folder, file, index, 'Prisma is for one row by its id: put this into prisma/sql (docs/sql.md)'),
  )
}

function stringsOf(folder: string, { file, text }: Source): string[] {
  if (Object.keys(exceptions).some((path) => file.startsWith(path))) return []
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest)
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    const value = ts.isStringLiteralLike(node) || ts.isTemplateHead(node) ? node.text : ''
    if (sql.test(value))
      found.push(placed(folder, file, node.getStart(source), 'put this SQL into prisma/sql (docs/sql.md)'))
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

if (import.meta.main) {
  const problems = sqlProblems(resolve(import.meta.dirname, '../..'))
  for (const problem of problems) console.log(problem)
  process.exit(problems.length === 0 ? 0 : 1)
}
