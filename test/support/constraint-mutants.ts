// A contract from which one constraint was deleted, generated again: only the validator that a value is held against, by
// the generator's own code, and in this process.
import { createRequire } from 'node:module'
import type { ValidateFunction } from 'ajv'
import type { Constraint } from '../../scripts/constraints/constraints.ts'
import { without } from '../../scripts/constraints/edit.ts'
import { operationsOf } from '../../scripts/generate/model.ts'
import { schemasOf } from '../../scripts/generate/schemas.ts'
import { compileRequests, compileResponses, createCompilers } from '../../scripts/generate/validators.ts'
import { distinct, formats, joined } from '../../infra/validation/formats.ts'
import type { Location, Problem } from '../../infra/errors.ts'
import { checkWith } from '../../infra/validation/problems.ts'
import { isText, saidOf, type Negative, type Said } from './constraint-negatives.ts'
import type { Part, Root } from './constraint-sites.ts'

type Json = any

/** What is said of the value by the validator that is generated from the document. */
export function judged(document: Json, { root, value }: Pick<Negative, 'root' | 'value'>): Said {
  const validate = validatorOf(document, root)
  const given = structuredClone(value)
  if (root.part === 'answer') return validate(given) ? [] : saidOf(validate.errors!, value, root.part)
  const problems: Problem[] = []
  checkWith(validate, given, locations[root.part], problems)
  return problems.map(({ field, constraint }) => `${field} ${constraint}`).sort()
}

const locations: Record<Exclude<Part, 'answer'>, Location> = {
  path: 'path',
  query: 'query',
  header: 'header',
  body: 'body',
  form: 'body',
  fields: 'body',
}

/** Whether one of the values is no longer refused as it has to be, once the constraint is gone. */
export function isCaught(document: Json, constraint: Constraint, negatives: Negative[]): boolean {
  const mutant = without(document, constraint)
  return negatives.some((negative) => {
    const { root, expected } = negative
    // A number that is not exact is refused by the edge, whatever the contract says of it.
    const wanted =
      isText(root.part) && negative.alone === 'beyond whole numbers'
        ? expected.filter((said) => !said.endsWith(' type'))
        : expected
    return JSON.stringify(judged(mutant, negative)) !== JSON.stringify(wanted)
  })
}

function validatorOf(document: Json, root: Root): ValidateFunction {
  if (root.part === 'answer' && root.status === undefined) return compiled(document, root.schema, 'answer')
  const operation = operationsOf(onlyWith(document, root.operation))[0]
  const { parameters, bodies, responses, names } = schemasOf([operation])
  const own = names.get(root.operation)!
  switch (root.part) {
    case 'answer':
      return compiled(
        document,
        responses.schemas.get(
          root.event === undefined ? own.responses[root.status!] : own.streams[root.status!][root.event],
        ),
        'answer',
      )
    case 'path':
      return compiled(document, parameters.get(own.path!), 'text')
    case 'query':
      return compiled(document, parameters.get(own.query), 'text')
    case 'header':
      return compiled(document, parameters.get(own.header!), 'text')
    case 'form':
      return compiled(document, bodies.get(own.form!), 'json')
    default:
      return compiled(document, bodies.get(own.body!), 'json')
  }
}

/** The document with one operation and nothing else under its paths. */
function onlyWith(document: Json, operationId: string): Json {
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

function compiled(document: Json, schema: Json, kind: 'text' | 'json' | 'answer'): ValidateFunction {
  const own = { components: { schemas: reachable(document, schema) } }
  const compilers = createCompilers()
  const one = new Map([['it', schema]])
  const code =
    kind === 'answer'
      ? compileResponses(own, one, compilers)
      : compileRequests(own, kind === 'text' ? one : new Map(), kind === 'json' ? one : new Map(), compilers)
  return evaluated(code).it
}

const load = createRequire(import.meta.url)

/** The module's exports, without a file. */
function evaluated(code: string): Record<string, ValidateFunction> {
  const body = code
    .replace(/^import .*$/gm, '')
    .replace(/^const require = .*$/m, '')
    .replace(/^export default (\w+)$/m, 'return $1')
  return new Function('require', 'distinct', 'formats', 'joined', body)(load, distinct, formats, joined)
}

/** The components that the schema refers to, and those that these do. */
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
