// Reads and writes the committed list of constraints. Tests use the list instead of the spec, so that they
// notice a constraint that was removed from the spec by mistake.
import { readContract } from '../generate/contract.ts'
import { addErrorCodes } from '../generate/errors.ts'
import { addEvents } from '../generate/events.ts'
import { constraintsOf, each, nameOf, same, type Constraint, type Constraints } from './constraints.ts'

type Json = any

/** The contract at `root` as published, and the constraints that are written in the spec. */
export async function readSpec(
  root: string,
  read: (root: string) => Promise<Json> = readContract,
): Promise<{ document: Json; constraints: Constraints }> {
  const document = await read(root)
  const components = new Set(Object.keys(document.components?.schemas ?? {}))
  addErrorCodes(document)
  addEvents(document)
  return { document, constraints: constraintsOf(document, (component) => components.has(component)) }
}

/** One line per place, for readable diffs. */
export function serialize(constraints: Constraints): string {
  const lines = [...constraints].map(([place, own]) => `  ${JSON.stringify(place)}: ${JSON.stringify(own)}`)
  return `{\n${lines.join(',\n')}\n}\n`
}

export function readConstraints(text: string): Constraints {
  return new Map(Object.entries(JSON.parse(text)))
}

/**
 * The constraints that were added to the spec, removed from it, or changed in value since the list was
 * written.
 */
export function difference(
  listed: Constraints,
  now: Constraints,
): { added: Constraint[]; removed: Constraint[]; changed: Constraint[] } {
  const names = (constraints: Constraints): Map<string, Constraint> =>
    new Map([...each(constraints)].map((constraint) => [nameOf(constraint), constraint]))
  const before = names(listed)
  const after = names(now)
  return {
    added: [...after].filter(([name]) => !before.has(name)).map(([, constraint]) => constraint),
    removed: [...before].filter(([name]) => !after.has(name)).map(([, constraint]) => constraint),
    changed: [...after]
      .filter(
        ([name, { place, keyword, name: demanded }]) =>
          before.has(name) &&
          demanded === undefined &&
          !same(listed.get(place)![keyword], now.get(place)![keyword]),
      )
      .map(([, constraint]) => constraint),
  }
}
