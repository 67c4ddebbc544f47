// Values that break one constraint each of the header fields of answers, which on the wire are text.
import { each, flattened, nameOf, type Constraints } from '../../scripts/constraints/constraints.ts'
import { nodeAt } from '../../scripts/constraints/edit.ts'
import { headerProblem } from './header-values.ts'
import { createBreaker, isHolder, type Checks } from './constraint-negatives.ts'
import { sitesOf, type Root } from './constraint-sites.ts'

type Json = any

/** Of one header field, by the place of its schema. */
export interface HeaderCase {
  place: string
  value: string
}

/** By the name of the constraint that is broken, or without which that would be gone. */
export function headerCasesOf(
  document: Json,
  check: Checks,
  constraints: Constraints,
): Map<string, HeaderCase> {
  const found = new Map<string, HeaderCase>()
  const places = new Set(
    [...each(constraints)]
      .map(({ place }) => place)
      .filter((place) => /\/headers\/[^/]+\/schema$/.test(place)),
  )
  for (const place of places) {
    const root: Root = {
      operation: place,
      part: 'header',
      schema: { type: 'object', properties: { value: nodeAt(document, place) }, required: [] },
      place: { value: place.replace(/\/schema$/, '') },
    }
    const broken = createBreaker(document, check, root)
    for (const site of sitesOf(document, root).filter((site) => !isHolder(site))) {
      const negative = broken(site)
      if (!('expected' in negative)) continue
      for (const name of [nameOf(site.constraint), ...site.through])
        if (!found.has(name)) found.set(name, { place, value: negative.value.value })
    }
  }
  return found
}

/** Whether the document's schema of the field lets the value be. */
export function allowsHeader(document: Json, { place, value }: HeaderCase): boolean {
  return headerProblem(flattened(document, nodeAt(document, place)), value) === null
}
