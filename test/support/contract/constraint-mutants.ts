// Mutants of the contract: deletes one constraint and compiles the affected validator again with the
// generator's own code, in memory.
import { createRequire } from 'node:module'
import type { ValidateFunction } from 'ajv'
import type { Constraint } from '../../../scripts/constraints/constraints.ts'
import { without } from '../../../scripts/constraints/edit.ts'
import { operationsOf } from '../../../scripts/generate/model.ts'
import { compileReplies } from '../../../infra/validation/replies.ts'
import { compileRequests, createCompilers } from '../../../scripts/compile/validators.ts'
import { plainSchemas, schemasOf } from '../../../scripts/generate/schemas.ts'
import { distinct, formats, isLonger, isShorter, joined } from '../../../infra/validation/formats.ts'
import type { Location, Problem } from '../../../infra/errors.ts'
import { checkWith } from '../../../infra/validation/problems.ts'
import { isText, problemsOf, type NegativeCase, type ProblemList } from './constraint-negatives.ts'
import type { Part, SchemaRoot } from './constraint-sites.ts'

type Json = any

/** The problems that the validator generated from this document reports for the value. */
export function problemsFor(
  document: Json,
  { root, value }: Pick<NegativeCase, 'root' | 'value'>,
): ProblemList {
  const validate = validatorOf(document, root)
  const given = structuredClone(value)
  if (root.part === 'answer') return validate(given) ? [] : problemsOf(validate.errors!, value, root.part)
  const problems: Problem[] = []
  checkWith(validate, given, locations[root.part], problems)
  return problems.map(({ field, constraint }) => `${field} ${constraint}`).sort()
}

const locations: Record<Exclude<Part, 'answer'>, Location> = {
  path: 'query',
  query: 'query',
  header: 'header',
  body: 'body',
  form: 'body',
  fields: 'body',
}

/** Whether a negative case detects the deletion, because the mutant reports other problems than expected. */
export function isDetected(document: Json, constraint: Constraint, negatives: NegativeCase[]): boolean {
  const mutant = without(document, constraint)
  return negatives.some((negative) => {
    const { root, expected } = negative
    // app/http rejects integers outside the safe range before validation, so the contract does not decide
    // that.
    const wanted =
      isText(root.part) && negative.alone === 'unsafe integer'
        ? expected.filter((said) => !said.endsWith(' type'))
        : expected
    return JSON.stringify(problemsFor(mutant, negative)) !== JSON.stringify(wanted)
  })
}

/** The compiled validators by document and root: many values are checked with the same validator. */
const compiled = new WeakMap<object, WeakMap<SchemaRoot, ValidateFunction>>()

function validatorOf(document: Json, root: SchemaRoot): ValidateFunction {
  const known = compiled.get(document) ?? new WeakMap<SchemaRoot, ValidateFunction>()
  compiled.set(document, known)
  const validate = known.get(root) ?? compileRoot(document, root)
  known.set(root, validate)
  return validate
}

function compileRoot(document: Json, root: SchemaRoot): ValidateFunction {
  if (root.part === 'answer' && root.status === undefined) return compile(document, root.schema, 'answer')
  const operation = operationsOf(withOnlyOperation(document, root.operation))[0]
  const { parameters, bodies, responses, names } = schemasOf([operation])
  const own = names.get(root.operation)!
  switch (root.part) {
    case 'answer':
      return compile(
        document,
        responses.schemas.get(
          root.event === undefined ? own.responses[root.status!] : own.streams[root.status!][root.event],
        ),
        'answer',
      )
    case 'path':
      return compile(document, parameters.get(own.path!), 'text')
    case 'query':
      return compile(document, parameters.get(own.query), 'text')
    case 'header':
      return compile(document, parameters.get(own.header!), 'text')
    case 'form':
      return compile(document, bodies.get(own.form!), 'json')
    default:
      return compile(document, bodies.get(own.body!), 'json')
  }
}

/** A copy of the document whose paths contain only this operation. */
function withOnlyOperation(document: Json, operationId: string): Json {
  for (const [path, item] of Object.entries<Json>(document.paths)) {
    for (const [method, operation] of Object.entries<Json>(item)) {
      if (operation?.operationId !== operationId) continue
      const { parameters, servers } = item
      return {
        ...document,
        paths: {
          [path]: { ...(parameters && { parameters }), ...(servers && { servers }), [method]: operation },
        },
      }
    }
  }
  throw new Error(`there is no operation ${operationId}`)
}

function compile(document: Json, schema: Json, kind: 'text' | 'json' | 'answer'): ValidateFunction {
  const own = { components: { schemas: reachable(document, schema) } }
  const part = { text: 'parameters', json: 'bodies', answer: 'responses' }[kind]
  const schemas = plainSchemas(own, { [part]: new Map([['it', schema]]) })
  if (kind === 'answer') return compileReplies({ ...schemas.components, ...schemas.responses }).it
  return evaluateModule(compileRequests(schemas, createCompilers())).it
}

const load = createRequire(import.meta.url)

/** Evaluates the generated module in memory and returns its exports. */
function evaluateModule(code: string): Record<string, ValidateFunction> {
  const body = code
    .replace(/^import .*$/gm, '')
    .replace(/^const require = .*$/m, '')
    .replace(/^export default (\w+)$/m, 'return $1')
  const imported = { require: load, distinct, formats, isLonger, isShorter, joined }
  return new Function(...Object.keys(imported), body)(...Object.values(imported))
}

/** The component schemas that the schema refers to, directly or indirectly. */
function reachable(document: Json, schema: Json): Record<string, Json> {
  const found: Record<string, Json> = {}
  const visit = (node: Json): void => {
    if (typeof node !== 'object' || node === null) return
    const name = typeof node.$ref === 'string' ? node.$ref.split('/')[3] : undefined
    if (name !== undefined && found[name] === undefined)
      visit((found[name] = document.components.schemas[name]))
    for (const value of Object.values(node)) visit(value)
  }
  visit(schema)
  return found
}
