// Compares `discriminator`: the property that chooses an alternative, and its values.
import { child, compareOthers, follow, nodeAt, same, type Node } from './change.ts'
import { valuesOf } from './normalize.ts'
import type { Context } from './schema-comparison.ts'

type Json = any

/** The property that chooses, and by its values the pointers of the schemas. */
interface Choice {
  property: string
  targets: Map<string, string>
}

/** Whether clients of the first schema cannot use the second one. */
type Breaks = (before: Node, after: Node) => boolean

export function compareDiscriminators(context: Context, breaks: Breaks): void {
  const { comparison, change, report, was, is } = context
  const { what, direction } = context.subject
  const [from, to] = [choiceIn(comparison.before, was), choiceIn(comparison.after, is)]
  if (from === null && to === null) return
  const place = { side: 'after', pointer: is.pointer } as const
  if (from === null) {
    if (isKnown(comparison.before, was, to!))
      return report(
        'safe',
        `${direction}-discriminator-added`,
        `${what} is now chosen by ${to!.property}, whose values its alternatives listed before`,
        place,
      )
    return change(
      'narrower',
      'discriminator-added',
      `is now chosen by ${to!.property}, which was free before`,
      'discriminator',
    )
  }
  if (to === null) {
    if (isKnown(comparison.after, is, from))
      return report(
        'safe',
        `${direction}-discriminator-removed`,
        `${what} is no longer chosen by ${from.property}, whose values its alternatives still list`,
        place,
      )
    return change('wider', 'discriminator-removed', `is no longer chosen by ${from.property}`)
  }
  compareOthers(report, child(was, 'discriminator'), child(is, 'discriminator'), ['propertyName', 'mapping'])
  if (from.property !== to.property)
    return change(
      'unknown',
      'discriminator-property-changed',
      `is now chosen by ${to.property} instead of ${from.property}`,
      'discriminator',
    )
  compareTargets(context, from, to, breaks)
}

/** The schemas that the same property chooses. */
function compareTargets(
  { comparison, subject: { what, direction }, change, report, is }: Context,
  { property, targets: were }: Choice,
  { targets: are }: Choice,
  breaks: Breaks,
): void {
  const name = (pointer: string): string => pointer.split('/').at(-1)!
  const chosen = [...new Set(are.values())]
  const kept = new Set([...are].filter(([value]) => were.has(value)).map(([, target]) => target))
  /** Whether the second schema is the first one, perhaps under another name. */
  const becomes = (former: string, now: string): boolean =>
    former === now ||
    (!chosen.includes(former) && !breaks(nodeIn(comparison.before, former), nodeIn(comparison.after, now)))
  for (const [value, former] of were) {
    const now = are.get(value)
    // Where only new values choose the schema, clients no longer find it.
    if (now === undefined && chosen.some((other) => !kept.has(other) && becomes(former, other)))
      change(
        'unknown',
        'discriminator-value-removed',
        `is no longer ${name(former)} where ${property} is ${JSON.stringify(value)}, but by another value`,
        'discriminator',
      )
    else if (now === undefined)
      change(
        'narrower',
        'discriminator-value-removed',
        `can no longer have the ${property} ${JSON.stringify(value)}`,
        'discriminator',
      )
    else if (!becomes(former, now))
      change(
        'unknown',
        'discriminator-value-changed',
        `is ${name(now)} instead of ${name(former)} where ${property} is ${JSON.stringify(value)}`,
        'discriminator',
      )
  }
  // That the value chooses a new schema is a change of the alternatives.
  for (const value of are.keys())
    if (!were.has(value))
      report(
        'safe',
        `${direction}-discriminator-value-added`,
        `${what} can now have the ${property} ${JSON.stringify(value)}`,
        { side: 'after', pointer: is.pointer },
      )
}

function nodeIn(document: Json, pointer: string): Node {
  return { value: nodeAt(document, pointer), pointer }
}

/** The alternatives with their references resolved; without any the schema is its only one. */
function alternativesOf(document: Json, node: Node): Node[] {
  const keyword = ['oneOf', 'anyOf'].find((each) => node.value[each] !== undefined)
  if (keyword === undefined) return [node]
  return Object.keys(node.value[keyword]).map((i) => follow(document, child(node, keyword, i)))
}

/** The values that the alternative lists for the property; null if it lists none. */
function listedIn(document: Json, alternative: Node, property: string): Json[] | null {
  return valuesOf(follow(document, child(alternative, 'properties', property)).value)
}

/** An alternative without an entry in `mapping` has the values that it lists, else the name of its schema. */
function choiceIn(document: Json, node: Node): Choice | null {
  const { propertyName: property, mapping = {} } = node.value.discriminator ?? {}
  if (typeof property !== 'string') return null
  const targets = new Map<string, string>()
  for (const [value, target] of Object.entries<string>(mapping))
    targets.set(value, target.startsWith('#') ? target.slice(1) : `/components/schemas/${target}`)
  const mapped = new Set(targets.values())
  for (const alternative of alternativesOf(document, node)) {
    if (alternative === node || mapped.has(alternative.pointer)) continue
    const name = alternative.pointer.match(/^\/components\/schemas\/([^/]+)$/)?.[1]
    for (const value of listedIn(document, alternative, property) ?? [name ?? []].flat())
      targets.set(String(value), alternative.pointer)
  }
  return { property, targets }
}

/** Whether each alternative requires the property, and lists values that choose it. */
function isKnown(document: Json, node: Node, { property, targets }: Choice): boolean {
  const alternatives = alternativesOf(document, node)
  return alternatives.every((alternative) => {
    const values = listedIn(document, alternative, property)
    return (
      alternative.value?.required?.includes(property) === true &&
      values?.every((value) => targets.has(String(value))) === true &&
      alternatives.every(
        (other) =>
          other === alternative ||
          !listedIn(document, other, property)?.some((value) => values.some((own) => same(own, value))),
      )
    )
  })
}
