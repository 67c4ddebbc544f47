// Copies a contract without one constraint, or with exactly the constraints of a list. Unchanged parts are
// shared.
import { escaped, keysOf } from '../../infra/validation/json-pointer.ts'
import {
  assertions,
  choices,
  constraintsOf,
  holders,
  parameterName,
  same,
  type Constraint,
  type Constraints,
} from './constraints.ts'

type Json = any

/** A copy of the document without the constraint. */
export function without(document: Json, { place, keyword, name }: Constraint): Json {
  return changed(document, keysOf(place), (node) => {
    const { [keyword]: value, ...rest } = node
    if (name === undefined) return rest
    const others = value.filter((each: string) => each !== name)
    return others.length === 0 ? rest : { ...rest, required: others }
  })
}

/**
 * A copy of the document with exactly the constraints of the list. Places that no longer exist are ignored,
 * and components without listed constraints stay unchanged, because they are generated from others.
 */
export function withConstraints(document: Json, listed: Constraints): Json {
  const written = new Set(
    [...listed.keys()].map((place) => /^\/components\/schemas\/([^/]+)/.exec(place)?.[1]),
  )
  const now = constraintsOf(document, (component) => written.has(component))
  let result = document
  // From the outside in, so that a schema exists before its subschemas are changed.
  for (const place of [...new Set([...listed.keys(), ...now.keys()])].sort(
    (a, b) => a.split('/').length - b.split('/').length,
  )) {
    const own = listed.get(place) ?? {}
    if (same(own, now.get(place) ?? {}) || !exists(result, place)) continue
    result = changed(result, keysOf(place), (node) => {
      const kept = Object.fromEntries(
        Object.entries<Json>(node).filter(
          ([key]) => own[key] !== undefined || ![...assertions, ...holders, ...choices].includes(key),
        ),
      )
      for (const [keyword, value] of Object.entries(own)) {
        if (choices.includes(keyword))
          kept[keyword] = Array.from({ length: value }, (_, i) => node[keyword]?.[i] ?? {})
        else if (value === 'schema' || (holders.includes(keyword) && value === true))
          kept[keyword] = typeof node[keyword] === 'object' ? node[keyword] : {}
        else kept[keyword] = value
      }
      return kept
    })
  }
  return result
}

function exists(document: Json, place: string): boolean {
  return (
    keysOf(place).reduce<Json>(
      (node, key) => (node === undefined ? undefined : childOf(node, key)),
      document,
    ) !== undefined
  )
}

function changed(node: Json, [key, ...rest]: string[], change: (node: Json) => Json): Json {
  if (key === undefined) return change(node)
  const actual = Array.isArray(node) ? indexOf(node, key) : key
  const copy = Array.isArray(node) ? [...node] : { ...node }
  copy[actual] = changed(node[actual], rest, change)
  return copy
}

function childOf(node: Json, key: string): Json {
  return Array.isArray(node) ? node[indexOf(node, key)] : node[key]
}

/** The index of an item by its number, or of a parameter by its location and name. */
function indexOf(list: Json[], key: string): number {
  return /^\d+$/.test(key)
    ? Number(key)
    : list.findIndex((item) => item.$ref === undefined && parameterName(item) === key)
}

/** The node at a place. */
export function nodeAt(document: Json, place: string): Json {
  return keysOf(place).reduce((node, key) => childOf(node, key), document)
}

/** The place as a JSON pointer into the document. */
export function pointerOf(document: Json, place: string): string {
  let node = document
  return keysOf(place)
    .map((key) => {
      const actual = Array.isArray(node) ? String(indexOf(node, key)) : key
      node = node?.[actual]
      return `/${escaped(actual)}`
    })
    .join('')
}
