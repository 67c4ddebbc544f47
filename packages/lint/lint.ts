// Lints any OpenAPI document. Errors are what OpenAPI forbids, or what makes a document unusable. Warnings
// are what a reader or a generated client would miss.
import { lintDocument, type Document, type NormalizedProblem } from '@redocly/openapi-core'
import { relative, resolve } from 'node:path'
import type { RuleLevel } from '@platform-api/openapi/config.ts'
import { noticesOf, unicodePattern } from '@platform-api/openapi/faults.ts'
import { readingConfig } from '@platform-api/openapi/node-types.ts'
import { DocumentError, placeOf, readOpenapi, reasonOf } from '@platform-api/openapi/read.ts'
import { DocumentResolver } from '@platform-api/openapi/resolver.ts'
import { groupBy } from '@platform-api/openapi/group-by.ts'

export interface LintProblem {
  severity: 'error' | 'warning'
  file: string
  line: number
  column: number
  message: string
  rule: string
}

/** What OpenAPI allows, but no tool can carry out. */
const readable = {
  id: 'readable',
  rules: {
    oas3: {
      keyword: () => ({
        Schema(schema: object, { report, location, type, specVersion }: any) {
          if (specVersion === 'oas3_0') return
          for (const key of Object.keys(schema))
            if (key !== '$ref' && !key.startsWith('x-') && !Object.hasOwn(type.properties, key))
              report({
                message: `\`${key}\` is no keyword of JSON Schema 2020-12.`,
                location: location.child(key).key(),
              })
        },
      }),
      pattern: () => ({
        Schema({ pattern }: { pattern?: unknown }, { report, location }: any) {
          if (typeof pattern === 'string' && unicodePattern(pattern) === null)
            report({
              message: 'The pattern is no regular expression of ECMA-262: it is not validated.',
              location: location.child('pattern'),
            })
        },
      }),
    },
  },
}

const rules = {
  struct: 'error',
  'no-unresolved-refs': 'error',
  'spec-components-invalid-map-name': 'error',
  'operation-operationId-unique': 'error',
  'operation-parameters-unique': 'error',
  'path-parameters-defined': 'error',
  'path-declaration-must-exist': 'error',
  'no-duplicated-tag-names': 'error',
  'no-identical-paths': 'error',
  'readable/keyword': 'warn',
  'readable/pattern': 'warn',
  'no-schema-type-mismatch': 'warn',
  'security-defined': 'warn',
  'no-ambiguous-paths': 'warn',
  'no-enum-type-mismatch': 'warn',
  'no-invalid-media-type-examples': 'warn',
  'no-invalid-parameter-examples': 'warn',
  'no-invalid-schema-examples': 'warn',
  'no-path-trailing-slash': 'warn',
  'no-required-schema-properties-undefined': 'warn',
  'no-server-trailing-slash': 'warn',
  'no-unused-components': 'warn',
  'operation-2xx-response': 'warn',
  'operation-operationId': 'warn',
  'operation-operationId-url-safe': 'warn',
  'operation-summary': 'warn',
  'operation-tag-defined': 'warn',
  'path-not-include-query': 'warn',
} as const

/** The rules that any document can be checked by. */
const { struct, 'no-unresolved-refs': unresolved } = rules
const safeRules = { struct, 'no-unresolved-refs': unresolved }

/** The rule of the problem for which no tool can read the document. */
export const unreadable = 'readable/document'

export type RuleName = keyof typeof rules | 'readable/notice' | typeof unreadable

export const ruleNames: string[] = [...Object.keys(rules), 'readable/notice', unreadable]

/** The problems with the configured levels of their rules. */
export function withLevels(problems: LintProblem[], levels: Record<string, RuleLevel>): LintProblem[] {
  return problems
    .map((problem) => ({ problem, level: [levels[problem.rule] ?? problem.severity].flat()[0] }))
    .filter(({ level }) => level !== 'off')
    .map(({ problem, level }) => ({ ...problem, severity: level as LintProblem['severity'] }))
    .toSorted((a, b) => Number(a.severity !== 'error') - Number(b.severity !== 'error'))
}

/**
 * @returns the problems of the document and of the files that it refers to, errors first.
 * @throws DocumentError if the file is no OpenAPI document.
 */
export async function lintOpenapi(
  file: string,
  options: { allowRemote?: boolean } = {},
): Promise<LintProblem[]> {
  const files = new DocumentResolver(options)
  const found = await redoclyProblems(resolve(file), files)
  const document = await readOpenapi(resolve(file), { files }).catch((error: unknown) => {
    if (error instanceof DocumentError) return error
    throw error
  })
  if (found === null) {
    if (document instanceof DocumentError) throw document
    throw new Error(`${file} cannot be linted.`)
  }
  const problems = await Promise.all(
    found.map(async (problem): Promise<LintProblem> => ({
      severity: problem.severity === 'error' ? 'error' : 'warning',
      ...placeOf(problem),
      message: await reasonOf(problem, files),
      rule: problem.ruleId,
    })),
  )
  if (document instanceof DocumentError) {
    const { place, reason } = document
    const isThere = (problem: LintProblem): boolean =>
      Object.entries(place).every(([key, value]) => problem[key as keyof LintProblem] === value)
    const others = problems.filter((problem) => problem.severity !== 'error' || !isThere(problem))
    problems.splice(
      0,
      Infinity,
      { severity: 'error', ...place, message: reason, rule: unreadable },
      ...others,
    )
  } else
    for (const message of noticesOf(document))
      // A pattern has a rule of its own, with its place.
      if (!message.startsWith('The pattern '))
        problems.push({
          severity: 'warning',
          file: resolve(file),
          line: 1,
          column: 1,
          message,
          rule: 'readable/notice',
        })
  return problems
    .map((problem) => ({ ...problem, file: relative(process.cwd(), problem.file) }))
    .toSorted((a, b) => Number(a.severity !== 'error') - Number(b.severity !== 'error'))
}

/** null if the file is no OpenAPI document. */
async function redoclyProblems(ref: string, files: DocumentResolver): Promise<NormalizedProblem[] | null> {
  const document = await (files.resolveDocument(null, ref, true) as Promise<Document>).catch(() => null)
  if (document === null) return null
  const lint = async (own: object): Promise<NormalizedProblem[]> =>
    await lintDocument({
      document,
      config: await readingConfig({ rules: own, plugins: [readable] }),
      externalRefResolver: files,
    })
  // The other rules fail where the structure of the document is wrong.
  const found = await lint(rules)
    .catch(() => lint(safeRules))
    .catch(() => null)
  const { openapi, swagger } = (document.parsed ?? {}) as { openapi?: string; swagger?: string }
  // Since version 3.1, `true` and `false` are schemas.
  const isSchema = ({ message }: NormalizedProblem): boolean =>
    !/^(2|3\.0)/.test(openapi ?? swagger ?? '') &&
    message === 'Expected type `Schema` (object) but got `boolean`'
  return found?.filter((problem) => !isSchema(problem)) ?? null
}

/** The rules that a document must keep. */
export interface LintProfile {
  /**
   * @param file the path of the document.
   * @returns the problems, errors first.
   */
  lint(file: string, options?: { allowRemote?: boolean }): Promise<LintProblem[]>
  /** Its rules, beside those of OpenAPI. */
  rules?: string[]
}

/** The rules of OpenAPI, for any document. */
export const openapi: LintProfile = { lint: lintOpenapi }

/** @param shown the places that are printed of each rule with warnings. Errors are printed all. */
export function lintReport(problems: LintProblem[], shown = 3): string {
  const line = ({ file, line, column, message }: LintProblem): string =>
    `  ${file}:${line}:${column} ${message}`
  const of = (severity: LintProblem['severity']): Array<[string, LintProblem[]]> => [
    ...groupBy(
      problems.filter((each) => each.severity === severity),
      ({ rule }) => rule,
    ),
  ]
  const group = ([rule, own]: [string, LintProblem[]], limit: number): string[] => [
    `${own[0].severity} ${rule}: ${own.length}`,
    ...own.slice(0, limit).map(line),
    ...(own.length > limit ? [`  ... and ${own.length - limit} more`] : []),
  ]
  const [errors, warnings] = [of('error'), of('warning')]
  const count = (groups: Array<[string, LintProblem[]]>, name: string): string => {
    const { length } = groups.flatMap(([, own]) => own)
    return `${length} ${name}${length === 1 ? '' : 's'}`
  }
  return [
    ...errors.flatMap((each) => group(each, Infinity)),
    ...warnings.flatMap((each) => group(each, shown)),
    `${count(errors, 'error')}, ${count(warnings, 'warning')}`,
  ].join('\n')
}
