// Values that break one constraint of a response header. Header values are always text.
import { each, flattened, nameOf, type Constraints } from '../../../scripts/constraints/constraints.ts'
import { nodeAt } from '../../../scripts/constraints/edit.ts'
import { headerProblem } from '../http/header-values.ts'
import { createCaseBuilder, isStructural, type Checks } from './constraint-negatives.ts'
import { sitesOf, type SchemaRoot } from './constraint-sites.ts'

type Json = any

/** A value for the header whose schema is at `place`. */
export interface HeaderCase {
  place: string
  value: string
}

/** By the name of the broken constraint, and of the structural constraints that lead to it. */
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
    const root: SchemaRoot = {
      operation: place,
      part: 'header',
      schema: { type: 'object', properties: { value: nodeAt(document, place) }, required: [] },
      place: { value: place.replace(/\/schema$/, '') },
    }
    const buildCase = createCaseBuilder(document, check, root)
    for (const site of sitesOf(document, root).filter((site) => !isStructural(site))) {
      const negative = buildCase(site)
      if (!('expected' in negative)) continue
      for (const name of [nameOf(site.constraint), ...site.through])
        if (!found.has(name)) found.set(name, { place, value: negative.value.value })
    }
  }
  return found
}

/** Whether the header's schema in the document accepts the value. */
export function allowsHeader(document: Json, { place, value }: HeaderCase): boolean {
  return headerProblem(flattened(document, nodeAt(document, place)), value) === null
}
