// Reads spec/, holds it against the rules, and bundles it into one document with every implied response written out.
// A problem is reported with the file, line and column of the place that has to change.
import { BaseResolver, bundle, createConfig, getLineColLocation, lint, type NormalizedProblem } from '@redocly/openapi-core'
import { dirname, relative } from 'node:path'
import { platformRules, ruleNames } from './rules.ts'

export interface Problem { file: string, line: number, column: number, message: string, rule: string, excerpt: string }

/** The spec breaks at least one rule. `problems` are sorted by place. */
export class ContractError extends Error {
  problems: Problem[]
  constructor (problems: Problem[]) {
    super(problems.map((p) => `${p.file}:${p.line}:${p.column} ${p.message} (${p.rule})${p.excerpt && `\n    ${p.excerpt}`}`).join('\n'))
    this.problems = problems
  }
}

type Json = any

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
  'operation-2xx-response': 'error',
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
  'tag-description': 'error'
} as const

/**
 * Lints and bundles the document at `root`.
 * Throws ContractError with every problem found.
 */
export async function readContract (root: string): Promise<Json> {
  const config = await createConfig({
    plugins: [platformRules],
    rules: { ...builtInRules, ...Object.fromEntries(ruleNames.map((name) => [`platform/${name}`, 'error'])) }
  } as Parameters<typeof createConfig>[0])
  const externalRefResolver = new BaseResolver(config.resolve)
  const problems = await lintOrThrow(root, config, externalRefResolver)
  if (problems.length > 0) throw new ContractError(sorted(problems, dirname(root)))
  const bundled = await bundle({ ref: root, config, externalRefResolver })
  const failed = bundled.problems.filter((p) => p.severity === 'error')
  if (failed.length > 0) throw new ContractError(sorted(failed, dirname(root)))
  return withImpliedResponses(bundled.bundle.parsed as Json)
}

async function lintOrThrow (ref: string, config: any, externalRefResolver: BaseResolver): Promise<NormalizedProblem[]> {
  try {
    return (await lint({ ref, config, externalRefResolver })).filter((p) => p.severity === 'error')
  } catch (error) {
    // A file that is no YAML at all never gets as far as the rules; the parser's own mark says where.
    const mark = (error as any).originalError?.mark ?? (error as any).mark
    const file = (error as any).source?.absoluteRef ?? ref
    throw new ContractError([{
      file: shown(file, dirname(ref)),
      line: (mark?.line ?? 0) + 1,
      column: (mark?.column ?? mark?.col ?? 0) + 1,
      message: String((error as any).originalError?.reason ?? (error as Error).message).split('\n')[0],
      rule: 'yaml',
      excerpt: ''
    }])
  }
}

function sorted (problems: NormalizedProblem[], folder: string): Problem[] {
  const seen = new Set<string>()
  return problems.map((problem) => {
    const at = problem.location[0]
    const { start } = getLineColLocation(at) as any
    const line = at.source.getLines()[start.line - 1] ?? ''
    return {
      file: shown(at.source.absoluteRef, folder),
      line: start.line,
      column: start.col,
      message: problem.message.replace(/\s*\n\s*/g, ' ').trim(),
      rule: problem.ruleId,
      excerpt: line.trim().slice(0, 120)
    }
  }).filter((p) => {
    const key = JSON.stringify(p)
    return seen.has(key) ? false : seen.add(key)
  }).sort((a, b) => a.file.localeCompare(b.file) || a.line - b.line || a.column - b.column)
}

function shown (file: string, specFolder: string): string {
  return relative(dirname(specFolder), file)
}

/** Writes into each operation the error responses that x-implied-responses derives from what it declares. */
function withImpliedResponses (document: Json): Json {
  const implied = document['x-implied-responses'] ?? {}
  document.components ??= {}
  document.components.responses ??= {}
  for (const path of Object.values<Json>(document.paths)) {
    for (const method of ['get', 'put', 'post', 'delete', 'patch']) {
      const operation = path[method]
      if (!operation) continue
      const parameters = [...path.parameters ?? [], ...operation.parameters ?? []].map((p) => resolve(document, p))
      const names = new Set(parameters.map((p) => p.name))
      const secured = (operation.security ?? document.security ?? []).length > 0
      const holds: Record<string, boolean> = {
        every: true,
        answer: Object.entries<Json>(operation.responses).some(([status, r]) => status < '300' && resolve(document, r).content !== undefined),
        secured,
        input: parameters.length > 0 || operation.requestBody !== undefined || method !== 'get',
        body: operation.requestBody !== undefined,
        resource: parameters.some((p) => p.in === 'path'),
        idempotent: names.has('Idempotency-Key'),
        'idempotent-body': names.has('Idempotency-Key') && operation.requestBody !== undefined,
        'conditional-read': names.has('If-None-Match'),
        'conditional-write': names.has('If-Match')
      }
      const added: Record<string, Json> = {}
      for (const [when, responses] of Object.entries<Json>(implied)) {
        if (!holds[when]) continue
        for (const [status, name] of Object.entries<string>(responses)) added[status] = { $ref: `#/components/responses/${name}` }
      }
      const all: Record<string, Json> = { ...added, ...operation.responses }
      operation.responses = Object.fromEntries(Object.keys(all).sort().map((status) => [status, all[status]]))
    }
  }
  return document
}

/** Follows `$ref` inside the bundled document. */
export function resolve (document: Json, node: Json): Json {
  let at = node
  for (let hops = 0; at?.$ref !== undefined && hops < 20; hops++) {
    at = (at.$ref as string).split('/').slice(1)
      .reduce((value, key) => value?.[key.replaceAll('~1', '/').replaceAll('~0', '~')], document)
  }
  return at
}
