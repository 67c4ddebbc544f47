// The list of all constraints that is committed beside the tests, so that what a test expects never comes from a spec in
// which the constraint is missing.
import { readContract } from '../generate/contract.ts'
import { addErrorCodes } from '../generate/errors.ts'
import { addEvents } from '../generate/events.ts'
import { constraintsOf, each, nameOf, same, type Constraint, type Constraints } from './constraints.ts'

type Json = any

/** The contract at `root` as it is published, with the constraints that are written in it. */
export async function readSpec(root: string): Promise<{ document: Json; constraints: Constraints }> {
  const document = await readContract(root)
  const components = new Set(Object.keys(document.components?.schemas ?? {}))
  addErrorCodes(document)
  addEvents(document)
  return { document, constraints: constraintsOf(document, (component) => components.has(component)) }
}

/** One place a line, so that a change of the spec is one line of the diff. */
export function written(constraints: Constraints): string {
  return `{\n${[...constraints].map(([place, own]) => `  ${JSON.stringify(place)}: ${JSON.stringify(own)}`).join(',\n')}\n}\n`
}

export function readConstraints(text: string): Constraints {
  return new Map(Object.entries(JSON.parse(text)))
}

/** What the spec has and the list has not, what the list has and the spec has not, and what is another value. */
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
