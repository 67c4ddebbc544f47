// The text fields of the contract's requests: finds them, and puts a text into one of them.
import { operationsOf } from '../../../scripts/generate/model.ts'
import type { OperationId } from '../../../generated/operations.ts'
import { applyViolation, createBaseBuilder, createChecks } from '../contract/constraint-negatives.ts'
import { readSpecOnce } from '../contract/spec.ts'
import { valueOfPart } from '../contract/constraint-requests.ts'
import { requestRoots, sitesOf, type SchemaRoot, type Step } from '../contract/constraint-sites.ts'
import type { OperationRequest } from './operation-fixture.ts'

type Json = any

/** A place for a text in the requests of an operation. */
export interface TextSite {
  root: SchemaRoot
  steps: Step[]
  schema: Json
  /** Such as `body items.*.price_id`. */
  name: string
}

export interface TextSites {
  of(id: OperationId): TextSite[]
  /** The site's part of the request with this text; undefined when the text cannot be sent there. */
  valueWith(request: OperationRequest, site: TextSite, text: string): Json
}

/** Reads the text fields of all operations from the spec. */
export async function readTextSites(): Promise<TextSites> {
  const { document } = await readSpecOnce()
  const check = createChecks(document)
  const sites = new Map<string, TextSite[]>()
  for (const operation of operationsOf(document))
    sites.set(
      operation.id,
      requestRoots(document, operation).flatMap((root) => textSitesOf(document, root)),
    )
  return {
    of: (id) => sites.get(id)!,
    valueWith(request, { root, steps }, text) {
      const base = createBaseBuilder(document, check, root, valueOfPart(request, root.part))(steps)
      return base === undefined
        ? undefined
        : applyViolation(document, base, steps, { value: text }, root.part)
    },
  }
}

function textSitesOf(document: Json, root: SchemaRoot): TextSite[] {
  const found = new Map<string, TextSite>()
  for (const { constraint, steps, schema } of sitesOf(document, root)) {
    const isName = steps.at(-1)?.kind === 'name' && constraint.keyword === 'maxLength'
    const isText = constraint.keyword === 'type' && [schema.type].flat().includes('string')
    if (!isName && !isText) continue
    const name = `${root.part} ${nameOf(steps)}`
    if (!found.has(name)) found.set(name, { root, steps, schema, name })
  }
  return [...found.values()]
}

function nameOf(steps: Step[]): string {
  return steps
    .flatMap((step) => {
      if (step.kind === 'choice') return []
      return step.kind === 'property' ? [step.name] : step.kind === 'name' ? ['(name)'] : ['*']
    })
    .join('.')
}

/** The text at the site in a body with the same fields; undefined when the body has no such text. */
export function valueAtSite(body: Json, { steps }: TextSite): unknown {
  return steps.reduce((value, step) => {
    if (step.kind === 'property') return value?.[step.name]
    if (step.kind === 'item') return value?.[0]
    if (step.kind === 'value') return Object.values(value ?? {})[0]
    return step.kind === 'name' ? Object.keys(value ?? {})[0] : value
  }, body)
}

/** The prefix of the ids that a schema accepts, such as `prj`; undefined for other texts. */
export function idPrefixOf({ pattern }: Json): string | undefined {
  // Of several prefixes, the first: `(key|ses)`.
  return /^\^\(?([a-z]+)[|a-z]*\)?_\[0-7\]/.exec(pattern ?? '')?.[1]
}
