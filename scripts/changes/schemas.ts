// Compares two schemas. A wider schema allows more values, which is safe in requests and breaking in
// responses; a narrower one is the reverse.
import {
  child,
  compareTexts,
  follow,
  reporter,
  same,
  type Comparison,
  type Node,
  type Place,
  type Report,
  type Weight,
} from './change.ts'

type Json = any

export interface Subject {
  subject: string
  /** The part of the subject, for messages: `the body of 200.name`. */
  what: string
  direction: 'request' | 'response'
}

export function compareSchemas(
  comparison: Comparison,
  { subject, what, direction }: Subject,
  before: Node,
  after: Node,
): void {
  const form = direction === 'response' ? withoutOtherValues : follow
  const [was, is] = [form(comparison.before, before), form(comparison.after, after)]
  const pair = `${direction} ${was.pointer} ${is.pointer}`
  if (comparison.seen.has(pair)) return
  comparison.seen.add(pair)
  if (same(was.value, is.value) && !hasReference(was.value)) return
  const report = reporter(comparison, subject)
  const place: Place = { side: 'after', pointer: is.pointer }
  /** Reports a change of the allowed values with the weight that follows from the direction. */
  const change: ReportChange = (width, rule, message, keyword) => {
    const weight: Weight = (width === 'wider') === (direction === 'request') ? 'safe' : 'breaking'
    report(
      weight,
      `${direction}-${rule}`,
      `${what} ${message}`,
      keyword === undefined || is.value?.[keyword] === undefined
        ? place
        : { side: 'after', pointer: child(is, keyword).pointer },
      was.pointer,
    )
  }
  if (was.value === undefined || is.value === undefined) {
    if (was.value !== is.value)
      change(
        is.value === undefined ? 'wider' : 'narrower',
        'schema-changed',
        is.value === undefined ? 'no longer has a schema' : 'now has a schema',
      )
    return
  }
  compareTypes(change, was.value, is.value)
  compareValues(change, report, direction, what, was, is)
  compareLimits(change, was.value, is.value)
  compareProperties(comparison, { subject, what, direction }, change, report, was, is)
  compareParts(comparison, { subject, what, direction }, change, was, is)
  if (direction === 'request' && !same(was.value.default, is.value.default)) {
    report(
      'breaking',
      'request-default-changed',
      `the default of ${what} changed from ${toText(was.value.default)} to ${toText(is.value.default)}`,
      place,
      was.pointer,
    )
  }
  if (is.value.deprecated === true && was.value.deprecated !== true)
    report('safe', 'schema-deprecated', `${what} is deprecated`, place)
  compareTexts(report, was, is, ['title', 'description', 'example', 'examples'])
}

/**
 * The schema without the alternative that stands for later values of an enum. An enum in a response is
 * extensible in any case.
 */
function withoutOtherValues(document: Json, schema: Node): Node {
  const node = follow(document, schema)
  const { anyOf, ...rest } = node.value ?? {}
  if (!Array.isArray(anyOf)) return node
  const alternatives = anyOf.map((_, i) => follow(document, child(node, 'anyOf', i)))
  const known = alternatives.find(({ value }) => value.enum !== undefined)
  const isOther = ({ value }: Node): boolean =>
    Object.keys(value).every((key) => key === 'type' || key === 'format') &&
    value.type !== 'null' &&
    typesOf(known!.value).has(value.type)
  if (known === undefined || !alternatives.some(isOther)) return node
  const kept = anyOf.filter((_, i) => !isOther(alternatives[i]))
  if (kept.length > 1) return { ...node, value: { ...rest, anyOf: kept } }
  return kept[0].$ref === undefined ? { ...node, value: { ...rest, ...known.value } } : known
}

type ReportChange = (width: 'wider' | 'narrower', rule: string, message: string, keyword?: string) => void

/** Whether the schema contains a reference, whose target may have changed. */
function hasReference(schema: Json): boolean {
  return (
    typeof schema === 'object' &&
    schema !== null &&
    (schema.$ref !== undefined || Object.values(schema).some(hasReference))
  )
}

function toText(value: Json): string {
  return value === undefined ? 'nothing' : JSON.stringify(value)
}

const allTypes = ['null', 'boolean', 'object', 'array', 'string', 'number']

function typesOf({ type, enum: values, const: constant }: Json): Set<string> {
  if (type !== undefined) return new Set(Array.isArray(type) ? type : [type])
  if (constant !== undefined || values !== undefined)
    return new Set(
      (values ?? [constant]).map((value: Json) =>
        value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value,
      ),
    )
  return new Set(allTypes)
}

function compareTypes(change: ReportChange, was: Json, is: Json): void {
  const [before, after] = [typesOf(was), typesOf(is)]
  // `number` includes `integer`.
  const has = (types: Set<string>, type: string): boolean =>
    types.has(type) || (type === 'integer' && types.has('number'))
  const removed = [...before].filter((type) => !has(after, type))
  const added = [...after].filter((type) => !has(before, type))
  if (removed.length > 0)
    change('narrower', 'type-removed', `can no longer be ${removed.join(' or ')}`, 'type')
  if (added.length > 0) change('wider', 'type-added', `can now be ${added.join(' or ')}`, 'type')
}

function compareValues(
  change: ReportChange,
  report: Report,
  direction: Subject['direction'],
  what: string,
  was: Node,
  is: Node,
): void {
  const values = (schema: Json): Json[] | null =>
    schema.enum ?? (Object.hasOwn(schema, 'const') ? [schema.const] : null)
  const [before, after] = [values(was.value), values(is.value)]
  if (before === null && after === null) return
  if (before === null)
    return change('narrower', 'values-limited', `is now limited to ${after!.map(toText).join(', ')}`, 'enum')
  if (after === null) return change('wider', 'values-unlimited', 'is no longer limited to an enum')
  const removed = before.filter((value) => !after.some((other) => same(value, other)))
  const added = after.filter((value) => !before.some((other) => same(value, other)))
  if (removed.length > 0)
    change('narrower', 'value-removed', `can no longer be ${removed.map(toText).join(', ')}`, 'enum')
  if (added.length === 0) return
  // Clients must expect new values of every enum in a response, but not another constant.
  if (direction === 'response' && was.value.enum !== undefined)
    return report('safe', 'response-value-added', `${what} can now be ${added.map(toText).join(', ')}`, {
      side: 'after',
      pointer: is.pointer,
    })
  change('wider', 'value-added', `can now be ${added.map(toText).join(', ')}`, 'enum')
}

const lowerLimits = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties', 'minContains']
const upperLimits = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties', 'maxContains']
const patterns = [
  'pattern',
  'format',
  'multipleOf',
  'dependentRequired',
  'contentEncoding',
  'contentMediaType',
  'not',
  'if',
  'then',
  'else',
]

function compareLimits(change: ReportChange, was: Json, is: Json): void {
  for (const keyword of [...lowerLimits, ...upperLimits]) {
    const [before, after] = [was[keyword], is[keyword]]
    if (before === after) continue
    const narrower =
      before === undefined ||
      (after !== undefined && (lowerLimits.includes(keyword) ? after > before : after < before))
    change(
      narrower ? 'narrower' : 'wider',
      `${keyword}-changed`,
      limitChange(keyword, before, after),
      keyword,
    )
  }
  for (const keyword of patterns) {
    const [before, after] = [was[keyword], is[keyword]]
    if (same(before, after)) continue
    if (before === undefined)
      change('narrower', `${keyword}-added`, `now has ${keyword} ${toText(after)}`, keyword)
    else if (after === undefined) change('wider', `${keyword}-removed`, `no longer has ${keyword}`)
    else {
      // It is unknown which of the two allows more.
      change('narrower', `${keyword}-changed`, limitChange(keyword, before, after), keyword)
      change('wider', `${keyword}-changed`, limitChange(keyword, before, after), keyword)
    }
  }
  if ((was.uniqueItems === true) !== (is.uniqueItems === true))
    change(
      is.uniqueItems === true ? 'narrower' : 'wider',
      'uniqueItems-changed',
      is.uniqueItems === true ? 'now needs unique items' : 'no longer needs unique items',
      'uniqueItems',
    )
}

function limitChange(keyword: string, before: Json, after: Json): string {
  return `changed ${keyword} from ${toText(before)} to ${toText(after)}`
}

function compareProperties(
  comparison: Comparison,
  { subject, what, direction }: Subject,
  change: ReportChange,
  report: Report,
  was: Node,
  is: Node,
): void {
  const [before, after] = [was.value.properties ?? {}, is.value.properties ?? {}]
  const [requiredBefore, requiredAfter]: [string[], string[]] = [
    was.value.required ?? [],
    is.value.required ?? [],
  ]
  const pathTo = (name: string): string => `${what}.${name}`
  for (const name of Object.keys(before)) {
    const former = child(was, 'properties', name)
    if (after[name] !== undefined) {
      compareSchemas(
        comparison,
        { subject, what: pathTo(name), direction },
        former,
        child(is, 'properties', name),
      )
      continue
    }
    // A closed object rejects undeclared properties.
    const rejected = direction === 'response' || is.value.additionalProperties === false
    report(
      rejected ? 'breaking' : 'safe',
      `${direction}-property-removed`,
      `${pathTo(name)} was removed`,
      { side: 'before', pointer: former.pointer },
      former.pointer,
    )
  }
  for (const name of Object.keys(after)) {
    if (before[name] !== undefined) continue
    const needed = direction === 'request' && requiredAfter.includes(name)
    report(
      needed ? 'breaking' : 'safe',
      needed ? 'request-required-property-added' : `${direction}-property-added`,
      `${pathTo(name)} was added${needed ? ' and is required' : ''}`,
      { side: 'after', pointer: child(is, 'properties', name).pointer },
      was.pointer,
    )
  }
  for (const name of requiredAfter)
    if (!requiredBefore.includes(name) && before[name] !== undefined)
      change('narrower', 'property-required', `now requires ${name}`, 'required')
  for (const name of requiredBefore)
    if (!requiredAfter.includes(name) && after[name] !== undefined)
      change('wider', 'property-not-required', `no longer requires ${name}`, 'required')
  compareOpenness(comparison, { subject, what, direction }, change, was, is)
}

function compareOpenness(
  comparison: Comparison,
  { subject, what, direction }: Subject,
  change: ReportChange,
  was: Node,
  is: Node,
): void {
  const [before, after] = [was.value.additionalProperties ?? true, is.value.additionalProperties ?? true]
  if (before === after) return
  if (typeof before === 'object' && typeof after === 'object')
    return compareSchemas(
      comparison,
      { subject, what: `a property of ${what}`, direction },
      child(was, 'additionalProperties'),
      child(is, 'additionalProperties'),
    )
  // No additional properties, some, or any.
  const width = (value: Json): number => (value === false ? 0 : value === true ? 2 : 1)
  // Additional properties in responses do not break clients.
  if (direction === 'response' && width(after) > width(before)) return
  change(
    width(after) > width(before) ? 'wider' : 'narrower',
    'openness-changed',
    after === false ? 'no longer allows additional properties' : 'now allows additional properties',
    'additionalProperties',
  )
}

function compareParts(
  comparison: Comparison,
  subject: Subject,
  change: ReportChange,
  was: Node,
  is: Node,
): void {
  for (const keyword of ['items', 'propertyNames', 'contains'] as const) {
    const [before, after] = [was.value[keyword], is.value[keyword]]
    if (before === undefined && after === undefined) continue
    if (before === undefined || after === undefined)
      change(
        before === undefined ? 'narrower' : 'wider',
        `${keyword}-changed`,
        after === undefined ? `no longer has ${keyword}` : `now has ${keyword}`,
        keyword,
      )
    else
      compareSchemas(
        comparison,
        {
          ...subject,
          what: keyword === 'items' ? `an item of ${subject.what}` : `${keyword} of ${subject.what}`,
        },
        child(was, keyword),
        child(is, keyword),
      )
  }
  for (const keyword of ['allOf', 'anyOf', 'oneOf'] as const) {
    const [before, after]: [Json[], Json[]] = [was.value[keyword] ?? [], is.value[keyword] ?? []]
    if (before.length === 0 && after.length === 0) continue
    const [rest, others] = unmatched(before, after)
    // With as many alternatives as before, each unmatched one is a new form of the one at its position.
    if (rest.length === others.length) {
      matched(before, after).forEach(([i, j]) =>
        compareSchemas(comparison, subject, child(was, keyword, i), child(is, keyword, j)),
      )
      rest.forEach((i, n) =>
        compareSchemas(comparison, subject, child(was, keyword, i), child(is, keyword, others[n])),
      )
      continue
    }
    // More parts of an allOf allow less; more alternatives allow more.
    const width =
      others.length > rest.length
        ? keyword === 'allOf' || before.length === 0
          ? 'narrower'
          : 'wider'
        : keyword === 'allOf' || after.length === 0
          ? 'wider'
          : 'narrower'
    change(
      width,
      `${keyword}-changed`,
      `changed the number of ${keyword} from ${before.length} to ${after.length}`,
      keyword,
    )
  }
}

function matched(before: Json[], after: Json[]): Array<[number, number]> {
  return before.flatMap((value, i) => {
    const j = after.findIndex((other) => same(value, other))
    return j === -1 ? [] : [[i, j] as [number, number]]
  })
}

function unmatched(before: Json[], after: Json[]): [number[], number[]] {
  const withoutMatch = (list: Json[], others: Json[]): number[] =>
    list.flatMap((value, i) => (others.some((other) => same(value, other)) ? [] : [i]))
  return [withoutMatch(before, after), withoutMatch(after, before)]
}
