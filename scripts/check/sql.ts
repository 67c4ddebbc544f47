// SQL is in prisma/sql and in the migrations only, and every file of prisma/sql is used.
import { readFileSync, readdirSync } from 'node:fs'
import { join, resolve, sep } from 'node:path'
import ts from 'typescript'
import { camelCase, sqlFiles } from '../generate/sql/source.ts'

const checked = ['app', 'handlers', 'infra', 'scripts', 'services']

/** Files and folders (with a slash at the end) that contain SQL, and why. */
const exceptions: Record<string, string> = {
  'infra/database/': 'connections, transactions, notifications, and the builder of lists',
  'infra/jobs/': 'the tables of pg-boss, which its own migrations create',
  'infra/postgres/': 'the server itself, and the run of the migrations',
  'scripts/bench/': 'compares with SQL that the product does not contain',
  'scripts/generate/': 'reads the catalogue of the database',
  'scripts/migrate/': 'creates the database for a comparison',
  'scripts/test/': 'creates and drops the databases of tests',
}

const sql = new RegExp(
  String.raw`^\s*(SELECT|INSERT INTO|UPDATE\s+\w+\s+(\w+\s+)?SET|DELETE FROM|WITH\s+\w+\s+AS|TRUNCATE)\s`,
)

/** @returns one line for each problem in the project of `folder`. */
export function sqlProblems(folder: string): string[] {
  const sources = checked.flatMap((below) => typeScriptFiles(folder, below))
  return [...sources.flatMap(({ file, text }) => stringsOf(file, text)), ...unusedFiles(folder, sources)]
}

interface Source {
  file: string
  text: string
}

function typeScriptFiles(folder: string, below: string): Source[] {
  return readdirSync(join(folder, below), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => {
      const file = join(below, name).split(sep).join('/')
      return { file, text: readFileSync(join(folder, file), 'utf8') }
    })
    .sort((a, b) => (a.file < b.file ? -1 : 1))
}

function stringsOf(file: string, text: string): string[] {
  if (Object.keys(exceptions).some((path) => file.startsWith(path))) return []
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest)
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    const value = ts.isStringLiteralLike(node) || ts.isTemplateHead(node) ? node.text : ''
    if (sql.test(value)) {
      const { line } = source.getLineAndCharacterOfPosition(node.getStart(source))
      found.push(`${file}:${line + 1} contains SQL: put it into prisma/sql (docs/sql.md)`)
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

/** Statements that nothing calls, and fragments that nothing includes. */
function unusedFiles(folder: string, sources: Source[]): string[] {
  const files = sqlFiles(folder)
  const texts = new Map(files.map((file) => [file, readFileSync(join(folder, file), 'utf8')]))
  return files.flatMap((file) => {
    const [, , domain, name] = /^(prisma)\/sql\/([\w-]+)\/([\w-]+)\.sql$/.exec(file) ?? []
    if (domain === undefined || domain === 'functions') return []
    const included = new RegExp(`\\{(${domain}/)?${name}[\\s}]`)
    const isIncluded = files.some((other) => {
      const [, otherDomain] = /^prisma\/sql\/([\w-]+)\//.exec(other)!
      const [, prefix] = included.exec(texts.get(other)!) ?? []
      return included.test(texts.get(other)!) && (prefix !== undefined || otherDomain === domain)
    })
    const call = new RegExp(`\\b${camelCase(name)}\\b`)
    const isCalled = sources.some(
      ({ text }) => text.includes(`generated/sql/${domain}.ts`) && call.test(text),
    )
    return isIncluded || isCalled ? [] : [`${file} is used by nothing: delete it`]
  })
}

if (import.meta.main) {
  const problems = sqlProblems(resolve(import.meta.dirname, '../..'))
  for (const problem of problems) console.log(problem)
  process.exit(problems.length === 0 ? 0 : 1)
}
