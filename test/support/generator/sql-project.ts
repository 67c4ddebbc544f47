// A copy of the project in which a test changes files, and what the generator, the compiler and the check of
// SQL report about it.
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import pg from 'pg'
import type { Test } from 'tap'
import ts from 'typescript'
import { sqlProblems } from '../../../scripts/check/sql.ts'
import { typeProblem } from '../../../scripts/check/types.ts'
import { GenerateError } from '../../../scripts/generate/error.ts'
import { readSources } from '../../../scripts/generate/sql/source.ts'
import { describeProject } from '../../../scripts/generate/sql/sql.ts'
import { createTestDatabase } from '../database/database.ts'
import { migrationFile, type SqlMistake } from './seeded-migrations.ts'

const root = join(import.meta.dirname, '../../..')
const parts = ['app', 'handlers', 'infra', 'scripts', 'services', 'generated', 'prisma', 'tsconfig.json']

export interface SqlProject {
  read(file: string): string
  /** Seeds a mistake. `undo` restores the files. */
  seed(mistake: SqlMistake): { undo: () => void }
  /** @returns what the generator reports, and the check of SQL or the compiler after it. */
  report(mistake: SqlMistake): Promise<string>
  /** @returns what the compiler reports about a file. */
  typesOf(file: string): string
}

export function createSqlProject(t: Test): SqlProject {
  const folder = t.testdir()
  for (const part of parts)
    cpSync(join(root, part), join(folder, part), {
      recursive: true,
      filter: (path) => !path.includes('scripts/bench'),
    })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  const compiler = createCompiler(folder)

  const read = (file: string): string => readFileSync(join(folder, file), 'utf8')
  const write = (file: string, text: string): void => {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), text)
    compiler.change(file)
  }

  /** @returns what the generator reports; writes its files if it reports nothing. */
  async function generate({ migration }: SqlMistake): Promise<string> {
    const { url, drop } = await createTestDatabase(t)
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    try {
      if (migration !== undefined) await client.query(migration)
      for (const [name, text] of (await describeProject(client, folder, readSources(folder))).files)
        if (read(`generated/sql/${name}`) !== text) write(`generated/sql/${name}`, text)
      return ''
    } catch (error) {
      if (!(error instanceof GenerateError)) throw error
      return error.message
    } finally {
      await client.end()
      await drop()
    }
  }

  return {
    read,
    seed({ name, edits, migration }) {
      const before = new Map<string, string | null>()
      const replace = (file: string, text: string | null, replacement: string): void => {
        const found = text === null ? null : read(file)
        if (found !== null && !found.includes(text!)) throw new Error(`Cannot seed "${name}" into ${file}`)
        if (!before.has(file)) before.set(file, found)
        write(file, found === null ? replacement : found.replace(text!, () => replacement))
      }
      for (const edit of edits) replace(...edit)
      if (migration !== undefined) replace(migrationFile, null, migration)
      return {
        undo() {
          for (const [file, text] of before)
            if (text === null) rmSync(join(folder, file))
            else write(file, text)
        },
      }
    },
    async report(mistake) {
      const generated = await generate(mistake)
      if (generated !== '') return `generate\n${generated}`
      const [file] = mistake.at
      if (file.endsWith('.ts')) {
        const types = compiler.report(file)
        if (types !== '') return `compile\n${types}`
      }
      return `check\n${sqlProblems(folder).join('\n')}`
    },
    typesOf: compiler.report,
  }
}

/** The compiler with the options of the project. It reads a file again after `change`. */
function createCompiler(folder: string): {
  change: (file: string) => void
  report: (file: string) => string
} {
  const config = ts.readConfigFile(join(folder, 'tsconfig.json'), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(
    { ...config.config, include: [], files: [] },
    ts.sys,
    folder,
  )
  const versions = new Map<string, number>()
  const roots = new Set<string>()
  const service = ts.createLanguageService({
    getCompilationSettings: () => options,
    getScriptFileNames: () => [...roots],
    getScriptVersion: (path) => String(versions.get(path) ?? 0),
    getScriptSnapshot: (path) => {
      const text = ts.sys.readFile(path)
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text)
    },
    getCurrentDirectory: () => folder,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: ts.sys.fileExists,
    readFile: ts.sys.readFile,
    readDirectory: ts.sys.readDirectory,
    directoryExists: ts.sys.directoryExists,
    getDirectories: ts.sys.getDirectories,
    realpath: ts.sys.realpath!,
  })
  return {
    change(file) {
      const path = join(folder, file)
      versions.set(path, (versions.get(path) ?? 0) + 1)
    },
    report(file) {
      const path = join(folder, file)
      roots.add(path)
      return [...service.getSyntacticDiagnostics(path), ...service.getSemanticDiagnostics(path)]
        .map((problem) => typeProblem(folder, problem))
        .join('\n')
    },
  }
}
