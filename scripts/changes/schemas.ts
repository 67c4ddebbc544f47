// What of one schema is another in the next: wider, so that more is allowed, or narrower. Wider is safe for what is sent and breaks who
// reads what is answered; narrower the other way round.
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
  /** What of it, for people. */
  what: string
  way: 'request' | 'response'
}

export function compareSchemas(
  comparison: Comparison,
  { subject, what, way }: Subject,
  before: Node,
  after: Node,
): void {
  const [was, is] = [follow(comparison.before, before), follow(comparison.after, after)]
  const pair = `${way} ${was.pointer} ${is.pointer}`
  if (comparison.seen.has(pair)) return
  comparison.seen.add(pair)
  if (same(was.value, is.value) && !refers(was.value)) return
  const report = reporter(comparison, subject)
  const place: Place = { side: 'after', pointer: is.pointer }
  /** Reports a change of what is allowed by the way that it is for. */
  const change: Change = (direction, rule, says, keyword) => {
    const weight: Weight = (direction === 'wider') === (way === 'request') ? 'safe' : 'breaking'
    report(
      weight,
      `${way}-${rule}`,
      `${what} ${says}`,
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
        is.value === undefined ? 'may be anything' : 'is described now',
      )
    return
  }
  compareTypes(change, was.value, is.value)
  compareValues(change, report, way, what, was, is)
  compareLimits(change, was.value, is.value)
  compareProperties(comparison, { subject, what, way }, change, report, was, is)
  compareParts(comparison, { subject, what, way }, change, was, is)
  if (way === 'request' && !same(was.value.default, is.value.default)) {
    report(
      'breaking',
      'request-default-changed',
      `${what} is ${shown(is.value.default)} where it is left out, and was ${shown(was.value.default)}`,
      place,
      was.pointer,
    )
  }
  if (is.value.deprecated === true && was.value.deprecated !== true)
    report('safe', 'schema-deprecated', `${what} is deprecated`, place)
  compareTexts(report, was, is, ['title', 'description', 'example', 'examples'])
}

type Change = (direction: 'wider' | 'narrower', rule: string, says: string, keyword?: string) => void

/** Whether something in it stands elsewhere, and may have changed there. */
function refers(schema: Json): boolean {
  return (
    typeof schema === 'object' &&
    schema !== null &&
    (schema.$ref !== undefined || Object.values(schema).some(refers))
  )
}

function shown(value: Json): string {
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

function compareTypes(change: Change, was: Json, is: Json): void {
  const [before, after] = [typesOf(was), typesOf(is)]
  // What is a number may be an integer.
  const has = (types: Set<string>, type: string): boolean =>
    types.has(type) || (type === 'integer' && types.has('number'))
  const gone = [...before].filter((type) => !has(after, type))
  const added = [...after].filter((type) => !has(before, type))
  if (gone.length > 0) change('narrower', 'type-removed', `cannot be ${gone.join(' or ')} any more`, 'type')
  if (added.length > 0) change('wider', 'type-added', `may be ${added.join(' or ')}`, 'type')
}

function compareValues(
  change: Change,
  report: Report,
  way: Subject['way'],
  what: string,
  was: Node,
  is: Node,
): void {
  const values = (schema: Json): Json[] | null =>
    schema.enum ?? (Object.hasOwn(schema, 'const') ? [schema.const] : null)
  const [before, after] = [values(was.value), values(is.value)]
  if (before === null && after === null) return
  if (before === null)
    return change('narrower', 'values-limited', `is one of ${after!.map(shown).join(', ')}`, 'enum')
  if (after === null) return change('wider', 'values-unlimited', 'is not one of a few values any more')
  const gone = before.filter((value) => !after.some((other) => same(value, other)))
  const added = after.filter((value) => !before.some((other) => same(value, other)))
  if (gone.length > 0)
    change('narrower', 'value-removed', `cannot be ${gone.map(shown).join(', ')} any more`, 'enum')
  if (added.length === 0) return
  // Who reads it was told that there may come more.
  if (way === 'response' && was.value['x-extensible'] === true)
    return report('safe', 'response-value-added', `${what} may be ${added.map(shown).join(', ')}`, {
      side: 'after',
      pointer: is.pointer,
    })
  change('wider', 'value-added', `may be ${added.map(shown).join(', ')}`, 'enum')
}

const lower = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties', 'minContains']
const upper = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties', 'maxContains']
const patterns = [
  'pattern',
  'format',
  'multipleOf',
  'contentEncoding',
  'contentMediaType',
  'not',
  'if',
  'then',
  'else',
]

function compareLimits(change: Change, was: Json, is: Json): void {
  for (const keyword of [...lower, ...upper]) {
    const [before, after] = [was[keyword], is[keyword]]
    if (before === after) continue
    const narrower =
      before === undefined ||
      (after !== undefined && (lower.includes(keyword) ? after > before : after < before))
    change(
      narrower ? 'narrower' : 'wider',
      `${keyword}-changed`,
      `has ${keyword} ${shown(after)}, and had ${shown(before)}`,
      keyword,
    )
  }
  for (const keyword of patterns) {
    const [before, after] = [was[keyword], is[keyword]]
    if (same(before, after)) continue
    if (before === undefined)
      change('narrower', `${keyword}-added`, `has ${keyword} ${shown(after)}`, keyword)
    else if (after === undefined) change('wider', `${keyword}-removed`, `has no ${keyword} any more`)
    else {
      // Nobody can say which is the wider one.
      change(
        'narrower',
        `${keyword}-changed`,
        `has ${keyword} ${shown(after)}, and had ${shown(before)}`,
        keyword,
      )
      change(
        'wider',
        `${keyword}-changed`,
        `has ${keyword} ${shown(after)}, and had ${shown(before)}`,
        keyword,
      )
    }
  }
  if ((was.uniqueItems === true) !== (is.uniqueItems === true))
    change(
      is.uniqueItems === true ? 'narrower' : 'wider',
      'uniqueItems-changed',
      is.uniqueItems === true ? 'has no item twice' : 'may have an item twice',
      'uniqueItems',
    )
}

function compareProperties(
  comparison: Comparison,
  { subject, what, way }: Subject,
  change: Change,
  report: Report,
  was: Node,
  is: Node,
): void {
  const [before, after] = [was.value.properties ?? {}, is.value.properties ?? {}]
  const [mustBefore, mustAfter]: [string[], string[]] = [was.value.required ?? [], is.value.required ?? []]
  const called = (name: string): string => `${what}.${name}`
  for (const name of Object.keys(before)) {
    const former = child(was, 'properties', name)
    if (after[name] !== undefined) {
      compareSchemas(comparison, { subject, what: called(name), way }, former, child(is, 'properties', name))
      continue
    }
    // What is not declared is refused, unless the object is open.
    const refused = way === 'response' || is.value.additionalProperties === false
    report(
      refused ? 'breaking' : 'safe',
      `${way}-property-removed`,
      `${called(name)} is gone`,
      { side: 'before', pointer: former.pointer },
      former.pointer,
    )
  }
  for (const name of Object.keys(after)) {
    if (before[name] !== undefined) continue
    const needed = way === 'request' && mustAfter.includes(name)
    report(
      needed ? 'breaking' : 'safe',
      needed ? 'request-required-property-added' : `${way}-property-added`,
      `${called(name)} is new${needed ? ', and required' : ''}`,
      { side: 'after', pointer: child(is, 'properties', name).pointer },
      was.pointer,
    )
  }
  for (const name of mustAfter)
    if (!mustBefore.includes(name) && before[name] !== undefined)
      change('narrower', 'property-required', `has to have ${name}`, 'required')
  for (const name of mustBefore)
    if (!mustAfter.includes(name) && after[name] !== undefined)
      change('wider', 'property-not-required', `may be without ${name}`, 'required')
  compareOpenness(comparison, { subject, what, way }, change, was, is)
}

function compareOpenness(
  comparison: Comparison,
  { subject, what, way }: Subject,
  change: Change,
  was: Node,
  is: Node,
): void {
  const [before, after] = [was.value.additionalProperties ?? true, is.value.additionalProperties ?? true]
  if (before === after) return
  if (typeof before === 'object' && typeof after === 'object')
    return compareSchemas(
      comparison,
      { subject, what: `a property of ${what}`, way },
      child(was, 'additionalProperties'),
      child(is, 'additionalProperties'),
    )
  // From nothing by way of some to all.
  const width = (value: Json): number => (value === false ? 0 : value === true ? 2 : 1)
  // What is added to answers breaks nobody.
  if (way === 'response' && width(after) > width(before)) return
  change(
    width(after) > width(before) ? 'wider' : 'narrower',
    'openness-changed',
    after === false ? 'has no other properties' : 'may have other properties',
    'additionalProperties',
  )
}

function compareParts(comparison: Comparison, subject: Subject, change: Change, was: Node, is: Node): void {
  for (const keyword of ['items', 'propertyNames', 'contains'] as const) {
    const [before, after] = [was.value[keyword], is.value[keyword]]
    if (before === undefined && after === undefined) continue
    if (before === undefined || after === undefined)
      change(
        before === undefined ? 'narrower' : 'wider',
        `${keyword}-changed`,
        `has ${after === undefined ? 'no ' : ''}${keyword}`,
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
    // Of as many as before each is another form of the one in its place.
    if (rest.length === others.length) {
      matched(before, after).forEach(([i, j]) =>
        compareSchemas(comparison, subject, child(was, keyword, i), child(is, keyword, j)),
      )
      rest.forEach((i, n) =>
        compareSchemas(comparison, subject, child(was, keyword, i), child(is, keyword, others[n])),
      )
      continue
    }
    // All of them hold, or one of them does.
    const more =
      others.length > rest.length
        ? keyword === 'allOf' || before.length === 0
          ? 'narrower'
          : 'wider'
        : keyword === 'allOf' || after.length === 0
          ? 'wider'
          : 'narrower'
    change(more, `${keyword}-changed`, `has ${after.length} of ${keyword}, and had ${before.length}`, keyword)
  }
}

function matched(before: Json[], after: Json[]): Array<[number, number]> {
  return before.flatMap((value, i) => {
    const j = after.findIndex((other) => same(value, other))
    return j === -1 ? [] : [[i, j] as [number, number]]
  })
}

function unmatched(before: Json[], after: Json[]): [number[], number[]] {
  const lone = (list: Json[], others: Json[]): number[] =>
    list.flatMap((value, i) => (others.some((other) => same(value, other)) ? [] : [i]))
  return [lone(before, after), lone(after, before)]
}
