// The filters of a search. Pairs and ids at the top are conditions of their own, which an index may answer.
// All others become one jsonpath predicate on the id and the metadata of a document, with the operands as
// variables.
import type { components } from '../../../generated/types.ts'
import { invalidField } from '../../../infra/errors.ts'

export type DocumentFilters = components['schemas']['SearchFilters']
type Condition = components['schemas']['MetadataCondition']

const maxDepth = 4
const maxConditions = 50

/** Throws 400 for filters that are too deep, or together have too many conditions. */
export function requireFilters(filters: DocumentFilters | undefined): void {
  if (filters === undefined) return
  let conditions = 0
  const visit = (filter: DocumentFilters, field: string, depth: number): void => {
    if (depth > maxDepth)
      throw invalidField(field, 'maxDepth', `${field} is more than ${maxDepth} levels deep.`)
    const { and = [], or = [], not, metadata = {}, document_ids: ids } = filter
    conditions += Object.keys(metadata).length + (ids === undefined ? 0 : 1)
    and.forEach((each, i) => visit(each, `${field}.and[${i}]`, depth + 1))
    or.forEach((each, i) => visit(each, `${field}.or[${i}]`, depth + 1))
    if (not !== undefined) visit(not, `${field}.not`, depth + 1)
  }
  visit(filters, 'filters', 1)
  if (conditions > maxConditions)
    throw invalidField('filters', 'maxItems', `filters have at most ${maxConditions} conditions together.`)
}

/** The parameters of prisma/sql/search/is-selected.sql. */
export interface FilterParameters {
  document_ids: string[] | null
  metadata: Record<string, string> | null
  condition: string | null
  operands: Record<string, unknown> | null
}

export function filterParameters({
  document_ids: ids,
  metadata = {},
  ...rest
}: DocumentFilters): FilterParameters {
  const entries = Object.entries(metadata)
  const pairs = entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string')
  const others = entries.filter(([, condition]) => typeof condition !== 'string')
  const operands: Record<string, unknown> = {}
  const hasCondition = others.length > 0 || Object.keys(rest).length > 0
  return {
    document_ids: ids ?? null,
    metadata: pairs.length === 0 ? null : Object.fromEntries(pairs),
    condition: hasCondition ? predicateOf({ ...rest, metadata: Object.fromEntries(others) }, operands) : null,
    operands: hasCondition ? operands : null,
  }
}

/** A jsonpath predicate that is true or false, never unknown, so that its negation selects the others. */
function predicateOf(filter: DocumentFilters, operands: Record<string, unknown>): string {
  const { document_ids: ids, metadata = {}, and = [], or, not } = filter
  const variable = (value: unknown): string => {
    const name = `v${Object.keys(operands).length}`
    operands[name] = value
    return `$${name}`
  }
  const all = [
    ...(ids === undefined ? [] : [`$.id == ${variable(ids)}[*]`]),
    ...Object.entries(metadata).map(([key, condition]) => conditionOf(key, condition, variable)),
    ...and.map((each) => predicateOf(each, operands)),
    ...(or === undefined ? [] : [or.map((each) => predicateOf(each, operands)).join(' || ')]),
    ...(not === undefined ? [] : [`!(${predicateOf(not, operands)})`]),
  ]
  return all.length === 0 ? '1 == 1' : all.map((each) => `(${each})`).join(' && ')
}

const bounds = { gt: '>', gte: '>=', lt: '<', lte: '<=' } as const
/** Decimal numbers. A bound on the digits would make the expression six times as slow. */
const isNumber = `like_regex "^[+-]?[0-9]+([.][0-9]+)?$"`

function conditionOf(key: string, condition: Condition, variable: (value: unknown) => string): string {
  const value = `$.metadata.${JSON.stringify(key)}`
  if (typeof condition === 'string') return `${value} == ${variable(condition)}`
  const { in: values, not, exists } = condition
  const all = Object.entries(bounds).flatMap(([name, operator]) => {
    const bound = condition[name as keyof typeof bounds]
    if (bound === undefined) return []
    const operand = variable(bound)
    if (typeof bound === 'string') return [`${value} ${operator} ${operand}`]
    const comparison = `${value}.double() ${operator} ${operand}`
    // Unknown for a number that `.double()` cannot read.
    return [`${value} ${isNumber}`, comparison, `!((${comparison}) is unknown)`]
  })
  if (values !== undefined) all.push(`${value} == ${variable(values)}[*]`)
  if (not !== undefined) all.push(`${value} != ${variable(not)}`)
  if (exists !== undefined) all.push(`${exists ? '' : '!'}exists(${value})`)
  return all.join(' && ')
}
