// Mutation test of the constraints: deletes each constraint of the spec in turn, in `npm test` every
// twentieth, and compiles its validators again. The invalid values for the constraint must then be accepted.
// Expectations come from constraints.json, never from the mutant. The invalid answers are also rejected by
// the validators that the tests use.
import t from 'tap'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { listFile } from '../../scripts/constraints/main.ts'
import {
  constraintsOf,
  each,
  flattened,
  nameOf,
  same,
  type Constraint,
} from '../../scripts/constraints/constraints.ts'
import { nodeAt, withConstraints, without } from '../../scripts/constraints/edit.ts'
import { difference, readConstraints } from '../../scripts/constraints/list.ts'
import { ContractError, readContract } from '../../scripts/generate/contract.ts'
import { operationsOf } from '../../scripts/generate/model.ts'
import { eventTypes, type EventType } from '../../generated/events.ts'
import { operations, type OperationId } from '../../generated/operations.ts'
import { replies } from '../../infra/validation/replies.ts'
import { negativeCasesOf } from '../support/contract/constraint-cases.ts'
import { allowsHeader, headerCasesOf } from '../support/contract/constraint-headers.ts'
import { isDetected, problemsFor } from '../support/contract/constraint-mutants.ts'
import { readSpecOnce } from '../support/contract/spec.ts'
import { createChecks, problemsOf } from '../support/contract/constraint-negatives.ts'
import type { SchemaRoot } from '../support/contract/constraint-sites.ts'
import { isLongForm } from '../support/long-form.ts'

type Json = any

const step = isLongForm ? 1 : 20

const listed = readConstraints(readFileSync(listFile, 'utf8'))
const { document: spec, constraints: current } = await readSpecOnce()
const document = withConstraints(spec, listed)
const all = [...each(listed)]
const check = createChecks(document)
const { requests, answers, byConstraint } = negativeCasesOf(document, check, listed)
const headers = headerCasesOf(document, check, listed)

t.test('a deleted constraint is reported as missing from the spec', { timeout: 300_000 }, async (t) => {
  for (const constraint of all.filter((_, i) => i % Math.ceil(all.length / (isLongForm ? 60 : 6)) === 0)) {
    const mutant = without(spec, constraint)
    const { removed } = difference(listed, constraintsOf(mutant))
    t.ok(
      removed.some((each) => nameOf(each) === nameOf(constraint)),
      nameOf(constraint),
    )
    // The expectations must not change with the mutant.
    t.ok(sameConstraints(withConstraints(mutant, listed)), `${nameOf(constraint)} is still expected`)
  }
  t.same(difference(listed, current).removed, [])
})

t.test(
  'at least 92 of 100 deletions are detected by a value that is accepted after the deletion',
  { timeout: 900_000 },
  async (t) => {
    const started = process.cpuUsage()
    const chosen = all.filter((_, i) => i % step === 0)
    const undetected: Constraint[] = []
    const counts = { values: 0, headers: 0, bodies: 0, linter: 0 }
    for (const constraint of chosen) {
      const negatives = byConstraint.get(nameOf(constraint)) ?? []
      if (negatives.length > 0 && isDetected(document, constraint, negatives)) counts.values++
      else if (
        headers.has(nameOf(constraint)) &&
        allowsHeader(without(document, constraint), headers.get(nameOf(constraint))!)
      )
        counts.headers++
      else if (isBodyRequired(constraint)) counts.bodies++
      else undetected.push(constraint)
    }
    const rejected = await rejectedByLinter(undetected)
    counts.linter = rejected.size
    const missed = undetected
      .filter((constraint) => !rejected.has(nameOf(constraint)))
      .map((constraint) => `${nameOf(constraint)}: ${reasonFor(constraint)}`)
    const { user, system } = process.cpuUsage(started)
    const detected = chosen.length - missed.length
    t.comment(
      `${chosen.length} of ${all.length} constraints deleted in turn, ` +
        `${detected} detected (${((100 * detected) / chosen.length).toFixed(1)} %): ` +
        `${counts.values} by a value, ${counts.headers} by a response header, ` +
        `${counts.bodies} by a request without a body, ${counts.linter} by the linter ` +
        `(${((user + system) / 1e6).toFixed(0)} s of CPU)`,
    )
    for (const line of missed) t.comment(`missed: ${line}`)
    // The others have a reason: most are types of headers, form fields and pages, which are always text. The
    // sample of a normal run may contain more of them.
    t.ok(detected / chosen.length >= (isLongForm ? 0.92 : 0.9), `${detected} of ${chosen.length}`)
    t.same(
      missed.filter((line) => line.endsWith(unexplained)),
      [],
      'there is a reason why no value detects the others',
    )
  },
)

t.test('nothing is detected in the unchanged contract', { timeout: 300_000 }, async (t) => {
  for (const [name, one] of headers) t.notOk(allowsHeader(document, one), `${name} ${one.value}`)
  for (const negative of [...requests, ...answers].filter((_, i) => i % step === 0)) {
    const expected =
      negative.alone === 'unsafe integer'
        ? negative.expected.filter((said) => !said.endsWith(' type'))
        : negative.expected
    if (!same(problemsFor(document, negative), expected))
      t.same(problemsFor(document, negative), expected, nameOf(negative.site.constraint))
  }
})

t.test('an answer that breaks one constraint is rejected by the validators that the tests use', async (t) => {
  t.ok(answers.length > 1000)
  for (const { root, site, value, expected } of answers) {
    const validate = replies[validatorName(root)]
    const reportedProblems = validate(value) ? [] : problemsOf(validate.errors!, value, 'answer')
    if (JSON.stringify(reportedProblems) !== JSON.stringify(expected))
      t.same(
        reportedProblems,
        expected,
        `${root.operation} ${root.status} ${nameOf(site.constraint)}: ${JSON.stringify(value)}`,
      )
  }
})

const unexplained = 'no known reason'

function validatorName({ operation, status, event }: SchemaRoot): string {
  if (status === undefined) return eventTypes[event as EventType].payload
  const { serializer, events } = operations[operation as OperationId].replies[status]
  return event === undefined ? serializer! : events![event]
}

/** Why no value detects the deletion of the constraint. */
function reasonFor({ place, keyword }: Constraint): string {
  const node = nodeAt(document, place)
  const flat = flattened(document, node)
  if (
    keyword === 'minLength' &&
    flat.minLength === 1 &&
    flat.pattern !== undefined &&
    !new RegExp(flat.pattern, 'u').test('')
  )
    return 'the pattern needs a character too'
  if (keyword === 'minLength' && flat.minLength === 1 && /\/parameters\/path /.test(place))
    return 'a path without the segment has no route'
  if (keyword === 'maxItems') return 'there are not enough distinct values'
  if (keyword === 'type' && flat.enum !== undefined) return 'the values of the enum have the type'
  if (/\/headers\//.test(place)) return 'the value is always text'
  if (
    flat.format === 'binary' ||
    keyword === 'format' ||
    /\/content\/(text|image|application)~1(?!json)/.test(place)
  )
    return 'a text or binary body has no invalid values'
  if (keyword === 'type' && /\/parameters\//.test(place)) return 'the value is always text'
  if (keyword === 'type' && (isForm(place) || place.startsWith('/components/schemas/FileUpload/')))
    return 'the value is always text'
  if (place.endsWith('/requestBody')) return 'a body without a Content-Type is rejected first'
  if (chosenByDiscriminator(place)) return 'the discriminator has chosen the alternative by this value'
  const referred = keyword === 'items' ? node.items : node
  if (['$ref', 'items'].includes(keyword) && place.startsWith(`${referred.$ref?.slice(1)}/`))
    return 'the samples do not follow a schema into itself'
  if (place.includes('stripe')) return 'a signed body is not validated'
  return unexplained
}

/** Whether the place is an alternative of a `discriminator`, or the property that chooses it. */
function chosenByDiscriminator(place: string): boolean {
  return Object.values<Json>(document.components.schemas).some(({ discriminator, oneOf = [] }) =>
    oneOf.some(({ $ref: alternative }: Json) => {
      if (discriminator === undefined || alternative === undefined) return false
      const [at, name] = [alternative.slice(1), discriminator.propertyName]
      return [`${at}`, `${at}/properties/${name}`].includes(place)
    }),
  )
}

function isForm(place: string): boolean {
  if (place.endsWith('/content/multipart~1form-data/schema')) return true
  return Object.values<Json>(document.paths)
    .flatMap((item) => Object.values<Json>(item))
    .some((operation) =>
      Object.entries<Json>(operation?.requestBody?.content ?? {}).some(
        ([type, { schema }]) => /form/.test(type) && `#${place}`.startsWith(schema.$ref),
      ),
    )
}

/** Whether the constraint makes a body required. constraints.test.ts covers that for each operation. */
function isBodyRequired(constraint: Constraint): boolean {
  if (!constraint.place.endsWith('/requestBody') || constraint.keyword !== 'required') return false
  const find = (from: Json): boolean[] =>
    operationsOf(from).map(({ body }) => body?.required === true && (!body.streamed || body.form !== null))
  return !same(find(document), find(without(document, constraint)))
}

/** The constraints whose deletion the linter of the generator rejects. */
async function rejectedByLinter(constraints: Constraint[]): Promise<Set<string>> {
  const candidates = constraints.filter(
    ({ place, keyword }) =>
      /\/parameters\/path /.test(place) ||
      (place.startsWith('/components/parameters/') && keyword === 'required') ||
      isForm(place),
  )
  const rejected = new Set<string>()
  const folder = mkdtempSync(join(tmpdir(), 'constraints-'))
  try {
    const paths = candidates.filter(
      ({ place, keyword }) => keyword === 'required' && nodeAt(document, place).in === 'path',
    )
    if (
      (await countLintProblems(folder, paths, /a path parameter must be `required: true`/)) === paths.length
    )
      for (const one of paths) rejected.add(nameOf(one))
    for (const one of candidates.filter(
      ({ place, keyword, name }) =>
        isForm(place) &&
        (name === 'file' || (keyword === 'format' && place.endsWith('/file')) || keyword === '$ref'),
    )) {
      if ((await countLintProblems(folder, [one], /exactly one property of format `binary`/)) > 0)
        rejected.add(nameOf(one))
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
  return rejected
}

async function countLintProblems(
  folder: string,
  constraints: Constraint[],
  message: RegExp,
): Promise<number> {
  const { webhooks: _, ...rest } = constraints.reduce(
    (from, constraint) => without(from, constraint),
    document,
  )
  const file = join(folder, 'openapi.json')
  writeFileSync(file, JSON.stringify(rest, null, 1))
  try {
    await readContract(file)
    return 0
  } catch (error) {
    if (!(error instanceof ContractError)) throw error
    return error.problems.filter((problem) => message.test(problem.message)).length
  }
}

function sameConstraints(other: Json): boolean {
  const { added, removed, changed } = difference(listed, constraintsOf(other))
  return removed.length === 0 && changed.length === 0 && added.every(({ place }) => !listed.has(place))
}
