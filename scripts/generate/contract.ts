// Reads and lints spec/, bundles it into one document and adds the implied parameters, responses
// and headers.
// Every problem is reported with file, line and column.
import {
  type BaseResolver,
  type Config,
  bundle,
  createConfig,
  getLineColLocation,
  lint,
  type NormalizedProblem,
} from '@redocly/openapi-core'
import { readFile } from 'node:fs/promises'
import { dirname, relative } from 'node:path'
import { SpecResolver } from './crud.ts'
import { addDiscriminatorValues } from '@platform-api/openapi/discriminators.ts'
import { GenerateError } from './error.ts'
import { addImpliedHeaders } from './implied-headers.ts'
import { addImpliedParameters } from './implied-parameters.ts'
import { addImpliedSecurity } from './implied-security.ts'
import { addImpliedResponses } from './implied-responses.ts'
import { brokenReferences, readFiles, type SpecProblem } from './references.ts'
import { addAbsoluteServers } from './servers.ts'
import { platformRules, ruleNames } from './rules.ts'
import { findUnused } from './unused.ts'

export interface Problem {
  file: string
  line: number
  column: number
  message: string
  rule: string
  excerpt: string
}

/** The spec violates at least one rule. `problems` are sorted by place. */
export class ContractError extends GenerateError {
  problems: Problem[]
  constructor(problems: Problem[]) {
    const lines = problems.map(formatProblem)
    const count = `${problems.length} ${problems.length === 1 ? 'problem' : 'problems'}`
    super(`${lines.join('\n')}\n\n${count} in the spec; nothing was written.`)
    this.problems = problems
  }
}

/** `file:line:column message (rule)` and the source line. */
export function formatProblem({ file, line, column, message, rule, excerpt }: Problem): string {
  return `${file}:${line}:${column} ${message} (${rule})${excerpt && `\n    ${excerpt}`}`
}

type Json = any
type LintProblem = Pick<NormalizedProblem, 'message' | 'ruleId' | 'location'>

const builtInRules = {
  struct: 'error',
  'no-unresolved-refs': 'error',
  'spec-strict-refs': 'off',
  'operation-operationId': 'error',
  'operation-operationId-unique': 'error',
  'operation-operationId-url-safe': 'error',
  'operation-summary': 'error',
  'operation-singular-tag': 'error',
  'operation-tag-defined': 'error',
  'operation-parameters-unique': 'error',
  'path-parameters-defined': 'error',
  'path-declaration-must-exist': 'error',
  'path-not-include-query': 'error',
  'no-path-trailing-slash': 'error',
  'no-identical-paths': 'error',
  'no-ambiguous-paths': 'off',
  'no-duplicated-tag-names': 'error',
  'no-enum-type-mismatch': 'error',
  'no-schema-type-mismatch': 'error',
  'no-required-schema-properties-undefined': 'off',
  'no-invalid-schema-examples': 'error',
  'no-invalid-media-type-examples': 'error',
  'no-invalid-parameter-examples': 'error',
  'security-defined': 'error',
  'no-unused-components': 'error',
  'tag-description': 'error',
} as const

/**
 * Lints and bundles the document at `root`.
 * Throws ContractError with every problem found.
 */
export async function readContract(root: string): Promise<Json> {
  const config = await configOfRules()
  const externalRefResolver = new SpecResolver(config.resolve)
  const files = await readFiles(root, externalRefResolver)
  const broken = brokenReferences(files).map((problem) => lintProblem('references', problem))
  broken.push(...externalRefResolver.problems.map((problem) => lintProblem('x-crud', problem)))
  if (broken.length > 0) throw new ContractError(sorted(broken, dirname(root)))
  const problems = await lintOrThrow(root, config, externalRefResolver)
  if (problems.length > 0) throw new ContractError(sorted(problems, dirname(root), externalRefResolver))
  return withImplied(await bundled(root, config, externalRefResolver))
}

/** The document of `readContract`, without the lint, which takes most of its time. */
export async function readContractUnchecked(root: string): Promise<Json> {
  return withImplied(await bundled(root, await configOfRules()))
}

/** The bundled document at `root`, without the lint. @throws ContractError for what cannot be read. */
export async function bundledContract(root: string): Promise<Json> {
  return await bundled(root, await createConfig({}))
}

/** The rules also say which extensions have references. */
async function configOfRules(): Promise<Config> {
  return await createConfig({
    plugins: [platformRules],
    rules: { ...builtInRules, ...Object.fromEntries(ruleNames.map((name) => [`platform/${name}`, 'error'])) },
  } as Parameters<typeof createConfig>[0])
}

async function bundled(
  ref: string,
  config: Config,
  externalRefResolver = new SpecResolver(config.resolve),
): Promise<Json> {
  const { bundle: document, problems } = await bundle({ ref, config, externalRefResolver })
  const failed = problems.filter(({ severity }) => severity === 'error')
  if (failed.length > 0) throw new ContractError(sorted(failed, dirname(ref)))
  return document.parsed
}

function withImplied(document: Json): Json {
  addImpliedParameters(document)
  addImpliedResponses(document)
  addImpliedHeaders(document)
  addImpliedSecurity(document)
  addAbsoluteServers(document)
  addDiscriminatorValues(document)
  return document
}

/** @throws ContractError for every part of the spec that nothing refers to. */
export async function requireAllUsed(root: string): Promise<void> {
  const problems = await unusedParts(root)
  if (problems.length > 0) throw new ContractError(problems)
}

/**
 * The parts of the spec that nothing refers to, sorted by place. `npm run check` fails on them; the generator
 * only notes them, because a new part is saved before the reference to it.
 */
export async function unusedParts(root: string): Promise<Problem[]> {
  const unused = await findUnused(root, await readFiles(root, new SpecResolver()))
  return sorted(
    unused.map((problem) => lintProblem('unused', problem)),
    dirname(root),
  )
}

function lintProblem(ruleId: string, { message, source, pointer }: SpecProblem): LintProblem {
  return { message, ruleId, location: [{ source, pointer, reportOnKey: ruleId === 'unused' }] }
}

async function lintOrThrow(
  ref: string,
  config: Config,
  externalRefResolver: BaseResolver,
): Promise<NormalizedProblem[]> {
  try {
    return (await lint({ ref, config, externalRefResolver })).filter((p) => p.severity === 'error')
  } catch (error) {
    // A file that is not valid YAML never reaches the rules; the parser's mark has the place.
    const mark = (error as any).originalError?.mark ?? (error as any).mark
    const source = (error as any).source
    const file = source?.absoluteRef ?? ref
    const lines: string[] = source?.getLines() ?? (await readFile(file, 'utf8').catch(() => '')).split('\n')
    throw new ContractError([
      {
        file: relativeTo(file, dirname(ref)),
        line: (mark?.line ?? 0) + 1,
        column: (mark?.column ?? mark?.col ?? 0) + 1,
        message: String((error as any).originalError?.reason ?? (error as Error).message).split('\n')[0],
        rule: 'readable',
        excerpt: excerptOf(lines[mark?.line ?? 0]),
      },
    ])
  }
}

/** @param resolver knows what the derived parts are derived from. */
function sorted(all: LintProblem[], folder: string, resolver?: SpecResolver): Problem[] {
  // If a file cannot be parsed, every reference into it fails too: report only the cause.
  const unreadable = all.filter(({ message }) => message.startsWith('Failed to parse'))
  const found = (unreadable.length > 0 ? unreadable : all).map((problem) => {
    const written = problem.location[0]
    const at = resolver === undefined ? written : originOf(written, resolver)
    const { start } = getLineColLocation(at) as any
    return {
      isDerived: at !== written,
      file: relativeTo(at.source.absoluteRef, folder),
      // An error about the whole file has no line.
      line: start.line || 1,
      column: start.col || 1,
      message: problem.message
        .replace(/\s+/g, ' ')
        .replace(/ in "[^"]+" \(\d+:\d+\)/, '')
        .trim(),
      rule: problem.ruleId,
      excerpt: excerptOf(at.source.getLines()[(start.line || 1) - 1]),
    }
  })
  const problems: Problem[] = []
  for (const { isDerived, ...problem } of found.toSorted((a, b) => +a.isDerived - +b.isDerived)) {
    const { file, line, column, message, rule } = problem
    const isKnown = problems.some(
      (other) =>
        other.rule === rule &&
        other.file === file &&
        other.line === line &&
        other.column === column &&
        // A mistake breaks the same rule in all that is derived from it.
        (isDerived || other.message === message),
    )
    if (!isKnown) problems.push(problem)
  }
  return problems.toSorted((a, b) => a.file.localeCompare(b.file) || a.line - b.line || a.column - b.column)
}

type Location = LintProblem['location'][number]

function originOf(location: Location, resolver: SpecResolver): Location {
  const { source, pointer } = location
  if (pointer === undefined) return location
  const origin = resolver.originOf(source.absoluteRef, pointer)
  if (origin === pointer) return location
  return { ...location, pointer: origin, reportOnKey: location.reportOnKey || origin.startsWith('#/paths/') }
}

function excerptOf(line = ''): string {
  return line.trim().slice(0, 120)
}

function relativeTo(file: string, specFolder: string): string {
  return relative(dirname(specFolder), file)
}
