// Lints any OpenAPI document. Errors are what OpenAPI forbids, or what makes a document unusable. Warnings
// are what a reader or a generated client would miss.
import { createConfig, getLineColLocation, lint } from '@redocly/openapi-core'
import { relative, resolve } from 'node:path'
import { noticesOf, unicodePattern } from '@platform-api/openapi/faults.ts'
import { readOpenapi } from '@platform-api/openapi/read.ts'
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
  'no-schema-type-mismatch': 'error',
  'readable/pattern': 'warn',
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

/**
 * @returns the problems of the document and of the files that it refers to, errors first.
 * @throws Error if the file cannot be read as YAML or JSON.
 */
export async function lintOpenapi(
  file: string,
  options: { allowRemote?: boolean } = {},
): Promise<LintProblem[]> {
  const config = await createConfig({
    rules,
    plugins: [readable],
    resolve: { doNotResolveExamples: true },
  } as Parameters<typeof createConfig>[0])
  const externalRefResolver = new DocumentResolver(options)
  const found = await lint({ ref: resolve(file), config, externalRefResolver })
  const problems = found.map((problem): LintProblem => {
    const at = problem.location[0]
    const { start } = getLineColLocation(at) as { start: { line?: number; col?: number } }
    return {
      severity: problem.severity === 'error' ? 'error' : 'warning',
      file: relative(process.cwd(), at.source.absoluteRef),
      // An error about the whole file has no line.
      line: start.line || 1,
      column: start.col || 1,
      message: problem.message.replace(/\s+/g, ' ').trim(),
      rule: problem.ruleId,
    }
  })
  // A pattern has a rule of its own, with its place. A document that cannot be read has errors already.
  const document = await readOpenapi(resolve(file), options).catch(() => null)
  for (const message of document === null ? [] : noticesOf(document))
    if (!message.startsWith('The pattern '))
      problems.push({
        severity: 'warning',
        file: relative(process.cwd(), resolve(file)),
        line: 1,
        column: 1,
        message,
        rule: 'readable/notice',
      })
  return problems.toSorted((a, b) => Number(a.severity !== 'error') - Number(b.severity !== 'error'))
}

/** The rules that a document must keep. */
export interface LintProfile {
  /**
   * @param file the path of the document.
   * @returns the problems, errors first.
   */
  lint(file: string, options?: { allowRemote?: boolean }): Promise<LintProblem[]>
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
