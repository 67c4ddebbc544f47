// The values that break the constraints of a whole contract: for each constraint one, of a request where
// there is such, else of an answer.
import { each, nameOf, type Constraints } from '../../scripts/constraints/constraints.ts'
import { operationsOf } from '../../scripts/generate/model.ts'
import { createBreaker, isHolder, type Checks, type Negative } from './constraint-negatives.ts'
import { answerRoots, requestRoots, sitesOf, type Root, type Site } from './constraint-sites.ts'

type Json = any

export interface Cases {
  requests: Negative[]
  answers: Negative[]
  /** By the name of a constraint: what is refused because of it, and no more where it is gone. */
  byConstraint: Map<string, Negative[]>
}

/** As many as it takes for each constraint, also of those that only hold others, at few of the places where it holds. */
export function casesOf(document: Json, check: Checks, constraints: Constraints): Cases {
  const wanted = new Set([...each(constraints)].map(nameOf))
  const operations = operationsOf(document)
  const byConstraint = new Map<string, Negative[]>()
  const isNeeded = (site: Site): boolean =>
    !isHolder(site) &&
    [nameOf(site.constraint), ...site.through].some((name) => wanted.has(name) && !byConstraint.has(name))

  function add(root: Root): Negative[] {
    const found: Negative[] = []
    const sites = sitesOf(document, root)
    if (!sites.some(isNeeded)) return found
    const broken = createBreaker(document, check, root)
    for (const site of sites) {
      if (!isNeeded(site)) continue
      const negative = broken(site)
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

/** What is sent of each type of event. */
export function eventRoots(document: Json): Root[] {
  return Object.entries<Json>(document.webhooks ?? {}).map(([event, { post }]) => {
    const { schema } = post.requestBody.content['application/json']
    return { operation: event, part: 'answer', event, schema, place: schema.$ref.slice(1) }
  })
}
