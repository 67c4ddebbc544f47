// Builds the invalid values for all constraints of a contract: one per constraint, in a request where
// possible, otherwise in a response.
import { each, nameOf, type Constraints } from '../../../scripts/constraints/constraints.ts'
import { operationsOf } from '../../../scripts/generate/model.ts'
import { createCaseBuilder, isStructural, type Checks, type NegativeCase } from './constraint-negatives.ts'
import { answerRoots, requestRoots, sitesOf, type SchemaRoot, type Site } from './constraint-sites.ts'

type Json = any

export interface NegativeCases {
  requests: NegativeCase[]
  answers: NegativeCase[]
  /** By constraint name: the values that are rejected until the constraint is deleted. */
  byConstraint: Map<string, NegativeCase[]>
}

/** Builds enough cases to cover each listed constraint, but not each at every site. */
export function negativeCasesOf(document: Json, check: Checks, constraints: Constraints): NegativeCases {
  const wanted = new Set([...each(constraints)].map(nameOf))
  const operations = operationsOf(document)
  const byConstraint = new Map<string, NegativeCase[]>()
  const isNeeded = (site: Site): boolean =>
    !isStructural(site) &&
    [nameOf(site.constraint), ...site.through].some((name) => wanted.has(name) && !byConstraint.has(name))

  function add(root: SchemaRoot): NegativeCase[] {
    const found: NegativeCase[] = []
    const sites = sitesOf(document, root)
    if (!sites.some(isNeeded)) return found
    const buildCase = createCaseBuilder(document, check, root)
    for (const site of sites) {
      if (!isNeeded(site)) continue
      const negative = buildCase(site)
      if (!('expected' in negative)) continue
      found.push(negative)
      for (const name of [nameOf(site.constraint), ...site.through])
        byConstraint.set(name, [...(byConstraint.get(name) ?? []), negative])
    }
    return found
  }

  const requests = operations.flatMap((operation) => requestRoots(document, operation)).flatMap(add)
  const answers = [
    ...operations.flatMap((operation) => answerRoots(document, operation)),
    ...eventRoots(document),
  ].flatMap(add)
  return { requests, answers, byConstraint }
}

/** One root per event type: the payload schema. */
export function eventRoots(document: Json): SchemaRoot[] {
  return Object.entries<Json>(document.webhooks ?? {}).map(([event, { post }]) => {
    const { schema } = post.requestBody.content['application/json']
    return { operation: event, part: 'answer', event, schema, place: schema.$ref.slice(1) }
  })
}
