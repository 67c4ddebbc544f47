// Each constraint of the spec on what a client sends, broken by itself: the answer names that field and that constraint, and
// nothing else. What is broken comes from the committed list, so that a constraint that is deleted from the spec is missed.
import t from 'tap'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { compareWithList, listFile } from '../../scripts/constraints/main.ts'
import { nameOf } from '../../scripts/constraints/constraints.ts'
import { withConstraints } from '../../scripts/constraints/edit.ts'
import { readConstraints, readSpec } from '../../scripts/constraints/list.ts'
import { operationsOf, type Operation } from '../../scripts/generate/model.ts'
import type { ValidateFunction } from 'ajv'
import { eventTypes, type EventType } from '../../generated/events.ts'
import { operations, type OperationId } from '../../generated/operations.ts'
import replies from '../../generated/replies.js'
import type { Reply } from '../support/client.ts'
import { askFor, served } from '../support/operation-fixtures.ts'
import type { Ask } from '../support/operation-fixture.ts'
import { casesOf } from '../support/constraint-cases.ts'
import { createBreaker, createChecks, isHolder, saidOf, type Rule } from '../support/constraint-negatives.ts'
import { createSender, givenIn } from '../support/constraint-requests.ts'
import { requestRoots, sitesOf, type Root } from '../support/constraint-sites.ts'
import { startServer } from '../support/server.ts'

const spec = join(import.meta.dirname, '../../spec/openapi.yaml')

/** The version of the tus protocol is looked at before the contract is. */
const protocol = /^tus-resumable$/

t.test('every constraint of the spec is listed, and every listed one is in the spec', async (t) => {
  const { lines } = await compareWithList()
  t.same(lines, [], 'else see what the change means for clients, and run `npm run constraints`')
})

t.test('what breaks one constraint is refused for that one', { timeout: 300_000 }, async (t) => {
  const listed = readConstraints(readFileSync(listFile, 'utf8'))
  const document = withConstraints((await readSpec(spec)).document, listed)
  const check = createChecks(document)
  const server = await startServer(t)
  const send = createSender(server.url)
  const counts = { sites: 0, alone: 0, with: new Map<Rule, number>(), not: new Map<Rule, number>() }
  const count = (map: Map<Rule, number>, rule: Rule): void => {
    map.set(rule, (map.get(rule) ?? 0) + 1)
  }
  const known = new Set<string>(served.map(({ id }) => id))

  for (const operation of operationsOf(document).filter(({ id }) => known.has(id))) {
    for (const root of requestRoots(document, operation))
      await holdAgainst(
        root,
        await askFor(server, operation.id as OperationId, { form: root.part === 'form' }),
      )
    if (operation.body?.required === true && !operation.body.raw) await holdWithoutBody(operation)
  }
  const total = (map: Map<Rule, number>): number => [...map.values()].reduce((sum, each) => sum + each, 0)
  const says = (map: Map<Rule, number>): string =>
    [...map].map(([rule, times]) => `${rule} ${times}`).join(', ')
  t.comment(
    `${counts.sites} constraints where they hold: ${counts.alone} broken alone; ${total(counts.with)} with others (${says(counts.with)}); ${total(counts.not)} that nothing breaks (${says(counts.not)})`,
  )
  // Of what can be sent at all.
  t.ok(counts.alone / (counts.sites - total(counts.not)) > 0.89, 'nine of ten are broken alone')
  t.ok(total(counts.not) / counts.sites < 0.2, 'four of five can be broken')

  async function holdAgainst(root: Root, ask: Ask): Promise<void> {
    const given = givenIn(ask, root.part)
    t.same(check(root, given ?? {}), [], `the ${root.part} of ${root.operation} is allowed before it is bent`)
    const broken = createBreaker(document, check, root, given)
    for (const site of sitesOf(document, root).filter((site) => !isHolder(site))) {
      const found = broken(site)
      const name = `${root.operation} ${root.part} ${nameOf(found.site.constraint)}`
      counts.sites++
      if (!('expected' in found)) {
        if (found.rule === null) t.fail(`${name}: nothing breaks it, and no rule says why`)
        else count(counts.not, found.rule)
        continue
      }
      const reply = await send(ask, root.part, found.value)
      if (root.part === 'header' && found.expected.every((said) => protocol.test(said.split(' ')[0]))) {
        if (reply.status !== 412) t.same(said(reply), found.expected, name)
        continue
      }
      if (JSON.stringify(said(reply)) !== JSON.stringify(found.expected))
        t.same(said(reply), found.expected, `${name}: ${JSON.stringify(found.value)?.slice(0, 200)}`)
      if (found.alone === true) counts.alone++
      else count(counts.with, found.alone)
    }
  }

  async function holdWithoutBody({ id, body }: Operation): Promise<void> {
    // Bytes without a type are refused for that.
    if (body!.streamed && body!.form === null) return
    const reply = await send(await askFor(server, id as OperationId), 'body', undefined)
    t.same(said(reply), ['body required'], `${id} without a body`)
  }
})

t.test(
  'what breaks one constraint of an answer is refused by what the tests hold answers against',
  async (t) => {
    const listed = readConstraints(readFileSync(listFile, 'utf8'))
    const document = withConstraints((await readSpec(spec)).document, listed)
    const { answers } = casesOf(document, createChecks(document), listed)
    t.ok(answers.length > 1000)
    for (const { root, site, value, expected } of answers) {
      const validate = replies[validatorName(root)] as ValidateFunction
      const said = validate(value) ? [] : saidOf(validate.errors!, value, 'answer')
      if (JSON.stringify(said) !== JSON.stringify(expected))
        t.same(
          said,
          expected,
          `${root.operation} ${root.status} ${nameOf(site.constraint)}: ${JSON.stringify(value)}`,
        )
    }
  },
)

function validatorName({ operation, status, event }: Root): string {
  if (status === undefined) return eventTypes[event as EventType].payload
  const { serializer, events } = operations[operation as OperationId].replies[status]
  return event === undefined ? serializer! : events![event]
}

/** The problems that a 400 tells; anything else as it is. */
function said({ status, body, text }: Reply): string[] {
  if (status !== 400 || body?.error?.code !== 'INVALID_REQUEST') return [`${status}: ${text.slice(0, 200)}`]
  return body.error.details.errors
    .map(({ field, constraint }: { field: string; constraint: string }) => `${field} ${constraint}`)
    .sort()
}
