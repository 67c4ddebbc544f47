// A schema that applies itself to the same value, as a part, an alternative or a condition, has no outcome
// (JSON Schema 2020-12, 9.4.1), and validators do not end. It is read as its author means it: a child of a
// parent that lists its children has the parent's own keywords.
import { keysOfFragment, valueAt } from './json-pointer.ts'
import { visitSchemas } from './schema-places.ts'
import { subschemasOf } from './subschemas.ts'

type Json = any

/** One schema applies another to the same value: by a keyword, which may be `$ref`. */
interface Step {
  from: Json
  path: Array<string | number>
  to: Json
}

const alternatives = ['anyOf', 'oneOf']
const parts = ['allOf', '$ref']
const applicators = [...parts, ...alternatives, 'not', 'if', 'then', 'else', 'dependentSchemas']

/** The keyword for what is left out: which schema refers to itself, and where. */
export const unreadPart = 'x-unread-part'

/** Changes the document. */
export function withoutSelfParts(document: Json): Json {
  const ending = new Set<Json>()
  visitSchemas(document, (schema) => {
    for (;;) {
      const loop = loopFrom(document, schema, [], ending)
      if (loop === null) return
      breakLoop(loop)
    }
  })
  return document
}

/** @param ending the schemas from which no way leads back to them; they are added. */
function loopFrom(document: Json, schema: Json, way: Step[], ending: Set<Json>): Step[] | null {
  if (ending.has(schema)) return null
  const start = way.findIndex(({ from }) => from === schema)
  if (start >= 0) return way.slice(start)
  for (const step of stepsFrom(document, schema)) {
    const loop = loopFrom(document, step.to, [...way, step], ending)
    if (loop !== null) return loop
  }
  ending.add(schema)
  return null
}

function stepsFrom(document: Json, schema: Json): Step[] {
  const { $ref } = schema
  const target = typeof $ref === 'string' && $ref.startsWith('#') && valueAt(document, keysOfFragment($ref))
  return [
    ...(typeof target === 'object' && target !== null ? [{ from: schema, path: ['$ref'], to: target }] : []),
    ...subschemasOf(schema)
      .filter(([[keyword], to]) => applicators.includes(keyword as string) && typeof to === 'object')
      .map(([path, to]) => ({ from: schema, path, to })),
  ]
}

/** Leaves out one reference of the loop: the one of a child to its parent, or else of a part. */
function breakLoop(loop: Step[]): void {
  const at = (i: number): Step => loop[(i + loop.length) % loop.length]
  const keyword = (i: number): string => at(i).path[0] as string
  const references = loop.map((_, i) => i).filter((i) => keyword(i) === '$ref')
  const ofParts = references.filter((i) => parts.includes(keyword(i - 1)))
  const ofChild = ofParts.find((i) => alternatives.includes(keyword(i + 1)))
  const chosen = ofChild ?? ofParts[0] ?? references[0]
  const { from: reference, to: target } = at(chosen)
  const holder = at(chosen - 1)
  const name = decodeURIComponent(reference.$ref).split('/').at(-1)!
  const isPart = parts.includes(keyword(chosen - 1))
  ;(isPart ? reference : holder.from)[unreadPart] = `${name} refers to itself in ${keyword(chosen - 1)}`
  if (isPart) keepOwnKeywords(reference, target)
  else leaveOut(holder)
}

function keepOwnKeywords(reference: Json, target: Json): void {
  const { $ref: _, ...beside } = reference
  const own = Object.fromEntries(
    Object.entries(structuredClone(target)).filter(
      ([key]) => ![...applicators, 'discriminator', unreadPart].includes(key),
    ),
  )
  delete reference.$ref
  if (Object.keys(beside).every((key) => key === unreadPart)) Object.assign(reference, own)
  else reference.allOf = [...(beside.allOf ?? []), own]
}

function leaveOut({ from, path: [keyword, key], to }: Step): void {
  const left = Array.isArray(from[keyword]) ? from[keyword].filter((each: Json) => each !== to) : []
  if (left.length > 0) from[keyword] = left
  else if (keyword === 'dependentSchemas') delete from[keyword][key]
  else delete from[keyword]
}
