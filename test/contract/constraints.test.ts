// Constraints on requests: breaks each constraint of the spec by itself and expects an answer that names that
// field and that constraint only. The cases are built from constraints.json, so a constraint that is deleted
// from the spec fails. `npm run faults` breaks each constraint in all requests, `npm test` in the first one,
// and one constraint in each part of a request.
import t from 'tap'
import { readFileSync } from 'node:fs'
import { listFile } from '../../scripts/constraints/main.ts'
import { nameOf } from '../../scripts/constraints/constraints.ts'
import { withConstraints } from '../../scripts/constraints/edit.ts'
import { difference, readConstraints } from '../../scripts/constraints/list.ts'
import { operationsOf, type Operation } from '../../scripts/generate/model.ts'
import type { OperationId } from '../../generated/operations.ts'
import type { Reply } from '../support/http/client.ts'
import { served, requestFor } from '../support/operations/operation-fixtures.ts'
import {
  createChecks,
  type Rule,
  createCaseBuilder,
  isStructural,
} from '../support/contract/constraint-negatives.ts'
import { createSender, valueOfPart } from '../support/contract/constraint-requests.ts'
import { requestRoots, sitesOf, type SchemaRoot, type Site } from '../support/contract/constraint-sites.ts'
import type { OperationRequest } from '../support/operations/operation-fixture.ts'
import { readSpecOnce } from '../support/contract/spec.ts'
import { isLongForm } from '../support/long-form.ts'
import { startServer } from '../support/server/server.ts'

/** The tus version is checked before the request is validated, so it has a status of its own. */
const tusVersionField = /^tus-resumable$/

const listed = readConstraints(readFileSync(listFile, 'utf8'))
const spec = await readSpecOnce()
const document = withConstraints(spec.document, listed)
const check = createChecks(document)

t.test('constraints.json lists exactly the constraints of the spec', async (t) => {
  const changes = Object.entries(difference(listed, spec.constraints))
  t.same(
    changes.flatMap(([change, each]) => each.map((constraint) => `${nameOf(constraint)} is ${change}`)),
    [],
    'review what the change means for clients, then run `npm run constraints`',
  )
})

t.test(
  'a request that breaks one constraint is rejected for that constraint',
  { timeout: 300_000 },
  async (t) => {
    const server = await startServer(t)
    const send = createSender(server.url)
    const counts = { sites: 0, alone: 0, with: new Map<Rule, number>(), not: new Map<Rule, number>() }
    const count = (map: Map<Rule, number>, rule: Rule): void => {
      map.set(rule, (map.get(rule) ?? 0) + 1)
    }
    const broken = new Set<string>()
    /** In the short form, those whose constraint no other request had; at least one that can be broken. */
    const chosen = (sites: Site[], canBreak: (site: Site) => boolean): Site[] => {
      const found = isLongForm ? sites : sites.filter(({ constraint }) => !broken.has(nameOf(constraint)))
      for (const { constraint } of found) broken.add(nameOf(constraint))
      return found.some(canBreak) ? found : [...found, ...sites.filter(canBreak).slice(0, 1)]
    }
    const known = new Set<string>(served.map(({ id }) => id))

    for (const operation of operationsOf(document).filter(({ id }) => known.has(id))) {
      const id = operation.id as OperationId
      // Rejected requests change nothing, so all parts share one.
      const valid = await requestFor(server, id)
      for (const root of requestRoots(document, operation))
        await checkConstraints(
          root,
          root.part === 'form' ? await requestFor(server, id, { form: true }) : valid,
        )
      if (operation.body?.required === true && !operation.body.raw) await checkMissingBody(operation, valid)
    }
    const total = (map: Map<Rule, number>): number => [...map.values()].reduce((sum, each) => sum + each, 0)
    const summary = (map: Map<Rule, number>): string =>
      [...map].map(([rule, times]) => `${rule} ${times}`).join(', ')
    t.comment(
      `${counts.sites} sites of constraints: ${counts.alone} broken alone; ` +
        `${total(counts.with)} broken with others (${summary(counts.with)}); ` +
        `${total(counts.not)} that cannot be broken (${summary(counts.not)})`,
    )
    // The share of the constraints that a request can break.
    t.ok(
      counts.alone / (counts.sites - total(counts.not)) > 0.89,
      'nine of ten are broken without breaking another constraint',
    )
    t.ok(total(counts.not) / counts.sites < 0.2, 'four of five constraints can be broken')

    async function checkConstraints(root: SchemaRoot, request: OperationRequest): Promise<void> {
      const validValue = valueOfPart(request, root.part)
      t.same(
        check(root, validValue ?? {}),
        [],
        `the ${root.part} of ${root.operation} is valid before a constraint is broken`,
      )
      const buildCase = createCaseBuilder(document, check, root, validValue)
      const sites = sitesOf(document, root).filter((site) => !isStructural(site))
      for (const site of chosen(sites, (each) => 'expected' in buildCase(each))) {
        const found = buildCase(site)
        const name = `${root.operation} ${root.part} ${nameOf(found.site.constraint)}`
        counts.sites++
        if (!('expected' in found)) {
          if (found.rule === null) t.fail(`${name}: no value breaks the constraint, and no rule explains why`)
          else count(counts.not, found.rule)
          continue
        }
        const reply = await send(request, root.part, found.value)
        // An id that cannot exist is answered as one that does not.
        if (root.part === 'path') {
          if (reply.status !== 404) t.equal(reply.status, 404, name)
          counts.alone++
          continue
        }
        if (
          root.part === 'header' &&
          found.expected.every((reportedProblems) => tusVersionField.test(reportedProblems.split(' ')[0]))
        ) {
          if (reply.status !== 412) t.same(reportedProblems(reply), found.expected, name)
          continue
        }
        if (JSON.stringify(reportedProblems(reply)) !== JSON.stringify(found.expected))
          t.same(
            reportedProblems(reply),
            found.expected,
            `${name}: ${JSON.stringify(found.value)?.slice(0, 200)}`,
          )
        if (found.alone === true) counts.alone++
        else count(counts.with, found.alone)
      }
    }

    async function checkMissingBody({ id, body }: Operation, request: OperationRequest): Promise<void> {
      // A raw body without a Content-Type is rejected for the missing type.
      if (body!.streamed && body!.form === null) return
      const reply = await send(request, 'body', undefined)
      t.same(reportedProblems(reply), ['body required'], `${id} without a body`)
    }
  },
)

/** The problems in a 400 as `field constraint`; the status and text of any other answer. */
function reportedProblems({ status, body, text }: Reply): string[] {
  if (status !== 400 || body?.error?.code !== 'INVALID_REQUEST') return [`${status}: ${text.slice(0, 200)}`]
  return body.error.details.errors
    .map(({ field, constraint }: { field: string; constraint: string }) => `${field} ${constraint}`)
    .sort()
}
