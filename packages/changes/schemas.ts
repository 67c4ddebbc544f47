// Compares two schemas. A wider schema allows more values, which is safe in requests and breaking in
// responses; a narrower one is the reverse. Where it is unknown which of the two allows more, the change
// counts as both.
import {
  child,
  compareOthers,
  compareTexts,
  reporter,
  same,
  type Change,
  type Comparison,
  type Node,
  type Place,
  type Report,
  type Weight,
} from './change.ts'
import { compareDiscriminators } from './discriminators.ts'
import type { Context, ReportChange, Subject } from './schema-comparison.ts'
import { annotations, normalized, typesOf, valuesOf, type Direction } from './normalize.ts'

type Json = any

/** The keywords that a function below compares. */
const compared = [
  ...annotations,
  ...(
    'additionalProperties allOf anyOf const contains contentEncoding contentMediaType ' +
    'contentSchema default dependentRequired dependentSchemas discriminator else enum ' +
    'exclusiveMaximum exclusiveMinimum format if items maxContains maxItems maxLength ' +
    'maxProperties maximum minContains minItems minLength minProperties minimum multipleOf ' +
    'not oneOf pattern patternProperties prefixItems properties propertyNames readOnly ' +
    'required then type unevaluatedItems unevaluatedProperties uniqueItems writeOnly'
  ).split(' '),
]

export function compareSchemas(
  comparison: Comparison,
  { subject, what, direction }: Subject,
  before: Node,
  after: Node,
): void {
  const was = normalized(comparison.before, before, direction)
  const is = normalized(comparison.after, after, direction)
  const pair = `${direction} ${was.pointer} ${is.pointer}`
  if (comparison.seen.has(pair)) return
  comparison.seen.add(pair)
  if (same(was.value, is.value) && !hasReference(was.value)) return
  const report = reporter(comparison, subject)
  const place: Place = { side: 'after', pointer: is.pointer }
  /** Reports a change of the allowed values with the weight that follows from the direction. */
  const change: ReportChange = (width, rule, message, keyword) => {
    const weight: Weight =
      width !== 'unknown' && (width === 'wider') === (direction === 'request') ? 'safe' : 'breaking'
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
  const [wasNever, isNever] = [was, is].map(({ value }) => same(value, { not: {} }))
  if (wasNever || isNever) {
    if (wasNever !== isNever)
      change(
        isNever ? 'narrower' : 'wider',
        'schema-changed',
        isNever ? 'is no longer allowed' : 'is now allowed',
      )
    return
  }
  const context: Context = { comparison, subject: { subject, what, direction }, change, report, was, is }
  if (!compareWrapping(context)) {
    const [wasShared, isShared] = [ofTypesIn(was, is), ofTypesIn(is, was)]
    const shared: Context = { ...context, was: wasShared, is: isShared }
    compareTypes(change, was.value, is.value)
    compareValues(change, report, direction, what, was, is)
    compareLimits(change, wasShared.value, isShared.value)
    compareProperties(shared)
    compareDependencies(shared)
    compareItems(shared)
    compareParts(context)
    compareAlternatives(context)
    compareConditions(context)
    compareOthers(report, was, is, compared)
  }
  compareDiscriminators(context, (before, after) =>
    trial(comparison, direction, before, after).some(({ weight }) => weight === 'breaking'),
  )
  if (!same(was.value.default, is.value.default)) {
    report(
      direction === 'request' ? 'breaking' : 'documentation',
      `${direction}-default-changed`,
      `the default of ${what} changed from ${toText(was.value.default)} to ${toText(is.value.default)}`,
      place,
      was.pointer,
    )
  }
  if (is.value.deprecated === true && was.value.deprecated !== true)
    report('safe', 'schema-deprecated', `${what} is deprecated`, place)
  compareTexts(report, was, is, ['title', 'description', 'example', 'examples'])
}

/** The schema inside at the keys, with its own place if the node is merged of several. */
function inside({ pointers }: Comparison, node: Node, ...keys: Array<string | number>): Node {
  const { value, pointer } = child(node, ...keys)
  return { value, pointer: pointers.get(value) ?? pointer }
}

/** Whether both allow the same values. */
function equivalent(comparison: Comparison, direction: Direction, before: Node, after: Node): boolean {
  return trial(comparison, direction, before, after).every(({ weight }) => weight === 'documentation')
}

/** The changes from one schema to the other, without reporting them. */
function trial(comparison: Comparison, direction: Direction, before: Node, after: Node): Change[] {
  if (same(before.value, after.value) && !hasReference(before.value)) return []
  const subject = { subject: '', what: 'the schema', direction }
  const own = { ...comparison, changes: [], seen: new Set<string>(), depth: comparison.depth + 1 }
  // Schemas that hold themselves would be compared without end.
  if (own.depth <= 3) compareSchemas(own, subject, before, after)
  else if (!same(before.value, after.value))
    reporter(own, '')('breaking', 'schema-changed', 'changed', { side: 'after', pointer: after.pointer })
  return own.changes
}

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

/**
 * A schema that becomes one of several alternatives, or the reverse. @returns whether it is that.
 * A value may match two alternatives of `oneOf`, so such a change may allow less, too.
 */
function compareWrapping({ comparison, subject: { direction }, change, was, is }: Context): boolean {
  for (const keyword of ['anyOf', 'oneOf']) {
    const [before, after] = [was.value[keyword], is.value[keyword]]
    if ((before === undefined) === (after === undefined)) continue
    const [single, wrapped] = before === undefined ? [was, is] : [is, was]
    const { [keyword]: alternatives, ...rest } = wrapped.value
    // The caller compares the defaults and the discriminators.
    const ignored = [...annotations, 'type', 'default', 'discriminator']
    if (Object.keys(rest).some((key) => !ignored.includes(key))) continue
    const { default: _, discriminator: __, ...own } = single.value
    const whole = { ...single, value: own }
    const isSame = (i: number): boolean => {
      const alternative = inside(comparison, wrapped, keyword, i)
      return wrapped === is
        ? equivalent(comparison, direction, whole, alternative)
        : equivalent(comparison, direction, alternative, whole)
    }
    if (!alternatives.some((_: Json, i: number) => isSame(i))) continue
    const nodes = alternatives.map((_: Json, i: number) => inside(comparison, wrapped, keyword, i))
    const document = wrapped === is ? comparison.after : comparison.before
    const overlaps =
      keyword === 'oneOf' &&
      wrapped.value.discriminator === undefined &&
      !areDisjoint(document, direction, nodes)
    change(
      overlaps ? 'unknown' : wrapped === is ? 'wider' : 'narrower',
      `${keyword}-changed`,
      wrapped === is
        ? `is now one of ${alternatives.length} alternatives`
        : `is no longer one of ${alternatives.length} alternatives`,
      keyword,
    )
    return true
  }
  return false
}

/** Whether no value matches two of the schemas, by their types or by a required property with an enum. */
function areDisjoint(document: Json, direction: Direction, nodes: Node[]): boolean {
  const schemas = nodes.map((node) => normalized(document, node, direction).value)
  const property = (schema: Json, name: string): Json =>
    normalized(document, child({ value: schema, pointer: '' }, 'properties', name), direction).value
  const differ = (a: Json, b: Json): boolean => {
    const has = (types: Set<string>, type: string): boolean =>
      types.has(type) ||
      (type === 'integer' && types.has('number')) ||
      (type === 'number' && types.has('integer'))
    if (![...typesOf(a)].some((type) => has(typesOf(b), type))) return true
    return (a.required ?? []).some((name: string) => {
      if (b.required?.includes(name) !== true) return false
      const [values, others] = [valuesOf(property(a, name)), valuesOf(property(b, name))]
      return (
        values?.every((value) => others?.every((other) => !same(value, other))) === true && others !== null
      )
    })
  }
  return schemas.every((a, i) => schemas.slice(i + 1).every((b) => differ(a, b)))
}

/** The keywords that limit the values of one type only. */
const keywordsOfType = {
  array: 'contains items maxContains maxItems minContains minItems prefixItems unevaluatedItems uniqueItems',
  object:
    'additionalProperties dependentRequired dependentSchemas maxProperties minProperties ' +
    'patternProperties properties propertyNames required unevaluatedProperties',
  string: 'contentEncoding contentMediaType contentSchema format maxLength minLength pattern',
}

/**
 * The schema without the limits of types that the other one does not have. They are no change of their own: a
 * text that can now be an array, too, was never an array with more items.
 */
function ofTypesIn(node: Node, other: Node): Node {
  const [own, others] = [typesOf(node.value), typesOf(other.value)]
  const foreign = Object.entries(keywordsOfType)
    .filter(([type]) => own.has(type) && !others.has(type))
    .flatMap(([, keywords]) => keywords.split(' '))
  if (!foreign.some((keyword) => node.value[keyword] !== undefined)) return node
  const value = Object.fromEntries(
    Object.entries(node.value).filter(([keyword]) => !foreign.includes(keyword)),
  )
  return { ...node, value }
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
  const [before, after] = [valuesOf(was.value), valuesOf(is.value)]
  if (before === null && after === null) return
  if (before === null)
    return change('narrower', 'values-limited', `is now limited to ${after!.map(toText).join(', ')}`, 'enum')
  if (after === null) return change('wider', 'values-unlimited', 'is no longer limited to an enum')
  const removed = before.filter((value) => !after.some((other) => same(value, other)))
  const added = after.filter((value) => !before.some((other) => same(value, other)))
  if (removed.length > 0)
    change('narrower', 'value-removed', `can no longer be ${removed.map(toText).join(', ')}`, 'enum')
  // That null is one more value follows from the type.
  if (added.length === 0 || same(added, [null])) return
  // Clients must expect new values of every enum in a response, but not another constant.
  if (direction === 'response' && !Object.hasOwn(was.value, 'const'))
    return report('safe', 'response-value-added', `${what} can now be ${added.map(toText).join(', ')}`, {
      side: 'after',
      pointer: is.pointer,
    })
  change('wider', 'value-added', `can now be ${added.map(toText).join(', ')}`, 'enum')
}

/** Each limit with the keyword for its exclusive form. A schema has one of the two. */
const lowerLimits = [['minimum', 'exclusiveMinimum'], ['minLength'], ['minItems'], ['minProperties']]
const upperLimits = [['maximum', 'exclusiveMaximum'], ['maxLength'], ['maxItems'], ['maxProperties']]

function compareLimits(change: ReportChange, was: Json, is: Json): void {
  for (const keywords of lowerLimits) compareLimit(change, was, is, keywords, 1)
  for (const keywords of upperLimits) compareLimit(change, was, is, keywords, -1)
  if (!same(was.multipleOf, is.multipleOf)) {
    const isMultiple = (a = 0, b = 1): boolean => Number.isInteger(a / b)
    change(
      was.multipleOf === undefined || isMultiple(is.multipleOf, was.multipleOf)
        ? is.multipleOf === undefined
          ? 'wider'
          : 'narrower'
        : is.multipleOf === undefined || isMultiple(was.multipleOf, is.multipleOf)
          ? 'wider'
          : 'unknown',
      'multipleOf-changed',
      limitChange('multipleOf', was.multipleOf, is.multipleOf),
      'multipleOf',
    )
  }
  for (const keyword of ['pattern', 'format', 'contentEncoding', 'contentMediaType', 'not'])
    compareWhole(change, keyword, was[keyword], is[keyword])
  if ((was.uniqueItems === true) !== (is.uniqueItems === true))
    change(
      is.uniqueItems === true ? 'narrower' : 'wider',
      'uniqueItems-changed',
      is.uniqueItems === true ? 'now needs unique items' : 'no longer needs unique items',
      'uniqueItems',
    )
}

/** @param sign 1 for a lower limit, -1 for an upper one. */
function compareLimit(
  change: ReportChange,
  was: Json,
  is: Json,
  [inclusive, exclusive]: string[],
  sign: 1 | -1,
): void {
  const used = (schema: Json): string => (schema[exclusive] === undefined ? inclusive : exclusive)
  const [from, to] = [used(was), used(is)]
  const [before, after] = [was[from], is[to]]
  if (before === after && (from === to || before === undefined)) return
  const isStricter =
    before === undefined ||
    (after !== undefined && (after - before) * sign > 0) ||
    (before === after && to === exclusive)
  const keyword = after === undefined ? from : to
  change(
    isStricter ? 'narrower' : 'wider',
    `${keyword}-changed`,
    from === to || before === undefined || after === undefined
      ? limitChange(keyword, before, after)
      : `changed ${from} ${toText(before)} to ${to} ${toText(after)}`,
    keyword,
  )
}

/** A keyword whose values cannot be compared. */
function compareWhole(change: ReportChange, keyword: string, before: Json, after: Json): void {
  if (same(before, after)) return
  if (before === undefined)
    change('narrower', `${keyword}-added`, `now has ${keyword} ${toText(after)}`, keyword)
  else if (after === undefined) change('wider', `${keyword}-removed`, `no longer has ${keyword}`)
  else {
    // `a|b` accepts all that `a` accepts.
    const isWider = keyword === 'pattern' && String(after).startsWith(`${before}|`)
    change(isWider ? 'wider' : 'unknown', `${keyword}-changed`, limitChange(keyword, before, after), keyword)
  }
}

function limitChange(keyword: string, before: Json, after: Json): string {
  return `changed ${keyword} from ${toText(before)} to ${toText(after)}`
}

function compareProperties(context: Context): void {
  const { comparison, change, report, was, is } = context
  const { subject, what, direction } = context.subject
  const [before, after] = [was.value.properties ?? {}, is.value.properties ?? {}]
  const [requiredBefore, requiredAfter]: [string[], string[]] = [
    was.value.required ?? [],
    is.value.required ?? [],
  ]
  const pathTo = (name: string): string => `${what}.${name}`
  for (const name of Object.keys(before)) {
    const former = inside(comparison, was, 'properties', name)
    if (after[name] !== undefined) {
      const own = { subject, what: pathTo(name), direction }
      compareSchemas(comparison, own, former, inside(comparison, is, 'properties', name))
      continue
    }
    // A closed object rejects undeclared properties.
    const rejected =
      direction === 'response' ||
      is.value.additionalProperties === false ||
      is.value.unevaluatedProperties === false
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
      { side: 'after', pointer: inside(comparison, is, 'properties', name).pointer },
      was.pointer,
    )
  }
  for (const name of requiredAfter)
    if (!requiredBefore.includes(name) && (before[name] !== undefined || after[name] === undefined))
      change('narrower', 'property-required', `now requires ${name}`, 'required')
  for (const name of requiredBefore)
    if (!requiredAfter.includes(name) && (after[name] !== undefined || before[name] === undefined))
      change('wider', 'property-not-required', `no longer requires ${name}`, 'required')
  for (const keyword of ['additionalProperties', 'unevaluatedProperties']) compareOpenness(context, keyword)
}

function compareOpenness({ comparison, subject, change, was, is }: Context, keyword: string): void {
  const [before, after] = [was.value[keyword] ?? true, is.value[keyword] ?? true]
  if (before === after) return
  if (typeof before === 'object' && typeof after === 'object')
    return compareSchemas(
      comparison,
      { ...subject, what: `a property of ${subject.what}` },
      inside(comparison, was, keyword),
      inside(comparison, is, keyword),
    )
  // No additional properties, some, or any.
  const width = (value: Json): number => (value === false ? 0 : value === true ? 2 : 1)
  // Additional properties in responses do not break clients.
  if (subject.direction === 'response' && before === false) return
  change(
    width(after) > width(before) ? 'wider' : 'narrower',
    'openness-changed',
    width(after) < width(before) ? 'allows fewer additional properties' : 'allows more additional properties',
    keyword,
  )
}

/** The keywords that hold a schema or a list of names for each property or pattern. */
function compareDependencies({ comparison, subject, change, was, is }: Context): void {
  for (const keyword of ['patternProperties', 'dependentSchemas'])
    for (const name of Object.keys({ ...was.value[keyword], ...is.value[keyword] })) {
      const [before, after] = [inside(comparison, was, keyword, name), inside(comparison, is, keyword, name)]
      const what =
        keyword === 'patternProperties'
          ? `a property of ${subject.what} that matches ${name}`
          : `${subject.what} with ${name}`
      if (before.value === undefined)
        change('narrower', `${keyword}-added`, `has rules for ${name} in ${keyword}`, keyword)
      else if (after.value === undefined)
        change('wider', `${keyword}-removed`, `no longer has rules for ${name} in ${keyword}`, keyword)
      else compareSchemas(comparison, { ...subject, what }, before, after)
    }
  const [before, after] = [was.value.dependentRequired ?? {}, is.value.dependentRequired ?? {}]
  for (const name of Object.keys({ ...before, ...after })) {
    const [from, to]: string[][] = [before[name] ?? [], after[name] ?? []]
    const added = to.filter((other) => !from.includes(other))
    const removed = from.filter((other) => !to.includes(other))
    if (added.length > 0)
      change(
        'narrower',
        'dependentRequired-added',
        `with ${name} now requires ${added.join()}`,
        'dependentRequired',
      )
    if (removed.length > 0)
      change('wider', 'dependentRequired-removed', `with ${name} no longer requires ${removed.join()}`)
  }
}

/** `items` and `prefixItems`: the item at each position. */
function compareItems({ comparison, subject, change, was, is }: Context): void {
  const itemAt = (node: Node, i: number): Node =>
    node.value.prefixItems?.[i] === undefined
      ? node.value.items === undefined
        ? { value: {}, pointer: `${node.pointer}/prefixItems/${i}` }
        : inside(comparison, node, 'items')
      : inside(comparison, node, 'prefixItems', i)
  const length = Math.max(was.value.prefixItems?.length ?? 0, is.value.prefixItems?.length ?? 0)
  for (let i = 0; i < length; i++)
    compareSchemas(
      comparison,
      { ...subject, what: `item ${i} of ${subject.what}` },
      itemAt(was, i),
      itemAt(is, i),
    )
  const [before, after] = [was.value.items, is.value.items]
  if (before === undefined && after === undefined) return
  if (before === undefined || after === undefined)
    change(
      before === undefined ? 'narrower' : 'wider',
      'items-changed',
      after === undefined ? 'no longer has items' : 'now has items',
      'items',
    )
  else
    compareSchemas(
      comparison,
      { ...subject, what: `an item of ${subject.what}` },
      inside(comparison, was, 'items'),
      inside(comparison, is, 'items'),
    )
}

/** Keywords that hold one schema. */
function compareParts({ comparison, subject, change, was, is }: Context): void {
  for (const keyword of ['propertyNames', 'contains', 'contentSchema', 'unevaluatedItems']) {
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
        { ...subject, what: `${keyword} of ${subject.what}` },
        inside(comparison, was, keyword),
        inside(comparison, is, keyword),
      )
  }
  if (was.value.contains === undefined || is.value.contains === undefined) return
  compareLimit(change, { minContains: 1, ...was.value }, { minContains: 1, ...is.value }, ['minContains'], 1)
  compareLimit(change, was.value, is.value, ['maxContains'], -1)
}

function compareAlternatives({ comparison, subject, change, was, is }: Context): void {
  for (const keyword of ['allOf', 'anyOf', 'oneOf'] as const) {
    const [before, after]: [Json[], Json[]] = [was.value[keyword] ?? [], is.value[keyword] ?? []]
    if (before.length === 0 && after.length === 0) continue
    const pairs = pairsOf(before, after, (i, j) =>
      equivalent(
        comparison,
        subject.direction,
        inside(comparison, was, keyword, i),
        inside(comparison, is, keyword, j),
      ),
    )
    const rest = [...before.keys()].filter((i) => !pairs.some(([own]) => own === i))
    const others = [...after.keys()].filter((j) => !pairs.some(([, own]) => own === j))
    // With as many alternatives as before, each unmatched one is a new form of the one at its position.
    if (rest.length === others.length) {
      for (const [i, j] of [...pairs, ...rest.map((i, n) => [i, others[n]])])
        compareSchemas(
          comparison,
          subject,
          inside(comparison, was, keyword, i),
          inside(comparison, is, keyword, j),
        )
      continue
    }
    // More parts of an allOf allow less; more alternatives allow more.
    const isMore = others.length > rest.length
    const isNarrower = keyword === 'allOf' ? isMore : isMore ? before.length === 0 : after.length > 0
    change(
      rest.length > 0 && others.length > 0 ? 'unknown' : isNarrower ? 'narrower' : 'wider',
      `${keyword}-changed`,
      `changed the number of ${keyword} from ${before.length} to ${after.length}`,
      keyword,
    )
  }
}

/** Each index of `before` with that of its equivalent in `after`. */
function pairsOf(before: Json[], after: Json[], isSame: (i: number, j: number) => boolean): number[][] {
  const pairs: number[][] = []
  for (const find of [(i: number, j: number) => same(before[i], after[j]), isSame])
    for (const i of before.keys()) {
      if (pairs.some(([own]) => own === i)) continue
      const j = [...after.keys()].find((j) => !pairs.some(([, own]) => own === j) && find(i, j))
      if (j !== undefined) pairs.push([i, j])
    }
  return pairs
}

function compareConditions({ comparison, subject, change, was, is }: Context): void {
  const [before, after] = [inside(comparison, was, 'if'), inside(comparison, is, 'if')]
  if (!equivalent(comparison, 'request', before, after)) {
    compareWhole(change, 'if', was.value.if, is.value.if)
    return
  }
  for (const keyword of ['then', 'else']) {
    const [before, after] = [was.value[keyword], is.value[keyword]]
    if (before === undefined || after === undefined) compareWhole(change, keyword, before, after)
    else
      compareSchemas(
        comparison,
        { ...subject, what: `${subject.what}, where ${keyword} applies,` },
        inside(comparison, was, keyword),
        inside(comparison, is, keyword),
      )
  }
}
