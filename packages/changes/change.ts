// The type of a change between two contracts, and helpers to walk both documents.
import { escaped, keysOf, valueAt } from '@platform-api/openapi/json-pointer.ts'

type Json = any

export type Weight = 'breaking' | 'safe' | 'documentation'

/** A JSON pointer into the contract before or after the change. */
export interface Place {
  side: 'before' | 'after'
  pointer: string
}

export interface Change {
  weight: Weight
  /** The kind of change, a stable name. */
  rule: string
  /** The operation, event or component that has changed. */
  subject: string
  message: string
  place: Place
  /** The pointer into the former contract, where a deprecation may announce the change. */
  before: string | null
}

/** A node of a document with its pointer. */
export interface Node {
  value: Json
  pointer: string
}

/** Two documents and the changes found so far. */
export interface Comparison {
  before: Json
  after: Json
  changes: Change[]
  /** Pairs of schemas that were compared already, per direction. */
  seen: Set<string>
  /** The pointers of all objects of both documents, which normalized schemas still hold. */
  pointers: WeakMap<object, string>
  /** How many comparisons this one is inside of. */
  depth: number
}

export function comparisonOf(before: Json, after: Json): Comparison {
  const pointers = new WeakMap<object, string>()
  const add = (value: Json, pointer: string): void => {
    if (typeof value !== 'object' || value === null) return
    pointers.set(value, pointer)
    for (const [key, inner] of Object.entries(value)) add(inner, `${pointer}/${escaped(key)}`)
  }
  add(before, '')
  add(after, '')
  return { before, after, changes: [], seen: new Set(), pointers, depth: 0 }
}

export type Report = (
  weight: Weight,
  rule: string,
  message: string,
  place: Place,
  before?: string | null,
) => void

export function reporter({ changes }: Comparison, subject: string): Report {
  return (weight, rule, message, place, before = place.side === 'before' ? place.pointer : null) => {
    changes.push({ weight, rule, subject, message, place, before })
  }
}

/** The node with its references resolved. */
export function follow(document: Json, { value, pointer }: Node): Node {
  let node = { value, pointer }
  for (let hops = 0; node.value?.$ref !== undefined && hops < 20; hops++) {
    const target = (node.value.$ref as string).slice(1)
    node = { value: nodeAt(document, target), pointer: target }
  }
  return node
}

export function child({ value, pointer }: Node, ...keys: Array<string | number>): Node {
  return keys.reduce<Node>(
    (node, key) => ({ value: node.value?.[key], pointer: `${node.pointer}/${escaped(String(key))}` }),
    { value, pointer },
  )
}

/**
 * Compares what no other rule knows. An extension affects readers only; whether another key breaks clients is
 * unknown, so it counts as breaking.
 */
export function compareOthers(report: Report, before: Node, after: Node, known: readonly string[]): void {
  for (const key of new Set(Object.keys({ ...before.value, ...after.value }))) {
    if (known.includes(key) || same(before.value[key], after.value[key])) continue
    if (key.startsWith('x-')) {
      compareTexts(report, before, after, [key])
      continue
    }
    const isGone = after.value[key] === undefined
    report(
      'breaking',
      'unknown-changed',
      `\`${key}\` ${isGone ? 'removed' : 'added or changed'}, and no rule knows what that means`,
      isGone
        ? { side: 'before', pointer: child(before, key).pointer }
        : { side: 'after', pointer: child(after, key).pointer },
      before.pointer,
    )
  }
}

export function nodeAt(document: Json, pointer: string): Json {
  return valueAt(document, keysOf(pointer))
}

/** Reports changed texts, which affect only readers of the documentation. */
export function compareTexts(report: Report, before: Node, after: Node, keys: string[]): void {
  for (const key of keys) {
    if (same(before.value?.[key], after.value?.[key])) continue
    const removed = after.value?.[key] === undefined
    report(
      'documentation',
      'text-changed',
      `${key} ${removed ? 'removed' : before.value?.[key] === undefined ? 'added' : 'changed'}`,
      removed
        ? { side: 'before', pointer: child(before, key).pointer }
        : { side: 'after', pointer: child(after, key).pointer },
    )
  }
}

export function same(a: Json, b: Json): boolean {
  if (a === b) return true
  if (
    typeof a !== 'object' ||
    typeof b !== 'object' ||
    a === null ||
    b === null ||
    Array.isArray(a) !== Array.isArray(b)
  )
    return false
  const keys = Object.keys(a)
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key]))
  )
}
