// What a difference between two contracts is, and how the documents are walked that it is found in.
import { escaped, keysOf, valueAt } from '../../infra/validation/json-pointer.ts'

type Json = any

export type Weight = 'breaking' | 'safe' | 'documentation'

/** Where something stands: a JSON pointer into the contract before or after the change. */
export interface Place {
  side: 'before' | 'after'
  pointer: string
}

export interface Change {
  weight: Weight
  /** What kind of change it is, by a name that stays. */
  rule: string
  /** The operation, event or component that it is about. */
  subject: string
  says: string
  place: Place
  /** Where it stood before, whatever `place` says: what was announced there excuses it. */
  before: string | null
}

/** A node of a document with where it stands. */
export interface Node {
  value: Json
  pointer: string
}

/** Two documents and what was found so far. */
export interface Comparison {
  before: Json
  after: Json
  changes: Change[]
  /** Pairs of schemas that were compared already, each way once. */
  seen: Set<string>
}

export type Report = (
  weight: Weight,
  rule: string,
  says: string,
  place: Place,
  before?: string | null,
) => void

export function reporter({ changes }: Comparison, subject: string): Report {
  return (weight, rule, says, place, before = place.side === 'before' ? place.pointer : null) => {
    changes.push({ weight, rule, subject, says, place, before })
  }
}

/** A node with its reference followed. */
export function follow(document: Json, { value, pointer }: Node): Node {
  let node = { value, pointer }
  for (let hops = 0; node.value?.$ref !== undefined && hops < 20; hops++) {
    const target = (node.value.$ref as string).slice(1)
    node = { value: at(document, target), pointer: target }
  }
  return node
}

export function child({ value, pointer }: Node, ...keys: Array<string | number>): Node {
  return keys.reduce<Node>(
    (node, key) => ({ value: node.value?.[key], pointer: `${node.pointer}/${escaped(String(key))}` }),
    { value, pointer },
  )
}

export function at(document: Json, pointer: string): Json {
  return valueAt(document, keysOf(pointer))
}

/** What is for people alone. */
export function compareTexts(report: Report, before: Node, after: Node, keys: string[]): void {
  for (const key of keys) {
    if (same(before.value?.[key], after.value?.[key])) continue
    const gone = after.value?.[key] === undefined
    report(
      'documentation',
      'text-changed',
      `its ${key} is ${gone ? 'gone' : before.value?.[key] === undefined ? 'new' : 'another'}`,
      gone
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
