// Each constraint of the spec is deleted in turn, and the validators that it was in are generated again: what was made to
// break it has to be noticed. What is expected is made from the committed list, never from the spec that lacks it.
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
import { difference, readConstraints, readSpec } from '../../scripts/constraints/list.ts'
import { ContractError, readContract } from '../../scripts/generate/contract.ts'
import { operationsOf } from '../../scripts/generate/model.ts'
import { casesOf } from '../support/constraint-cases.ts'
import { allowsHeader, headerCasesOf } from '../support/constraint-headers.ts'
import { isCaught, judged } from '../support/constraint-mutants.ts'
import { createChecks } from '../support/constraint-negatives.ts'

type Json = any

const long = process.env.FAULTS === 'long'
/** In the short form, every so many constraints. */
const step = long ? 1 : 8

const listed = readConstraints(readFileSync(listFile, 'utf8'))
const { document: spec, constraints: now } = await readSpec(
  join(import.meta.dirname, '../../spec/openapi.yaml'),
)
const document = withConstraints(spec, listed)
const all = [...each(listed)]

t.test('every constraint that is deleted is missed in the list', { timeout: 300_000 }, async (t) => {
  for (const constraint of all.filter((_, i) => i % Math.ceil(all.length / (long ? 60 : 12)) === 0)) {
    const mutant = without(spec, constraint)
    const { removed } = difference(listed, constraintsOf(mutant))
    t.ok(
      removed.some((each) => nameOf(each) === nameOf(constraint)),
      nameOf(constraint),
    )
    // And what is expected is what it was.
    t.ok(sameConstraints(withConstraints(mutant, listed)), `${nameOf(constraint)} is expected all the same`)
  }
  t.same(difference(listed, now).removed, [])
})

t.test(
  'of all deletions, a request or an answer that is refused no more tells at least 95 in 100',
  { timeout: 900_000 },
  async (t) => {
    const check = createChecks(document)
    const { byConstraint } = casesOf(document, check, listed)
    const headers = headerCasesOf(document, check, listed)
    const started = process.cpuUsage()
    const refused = await refusedByLinter(all)
    const chosen = all.filter((_, i) => i % step === 0)
    const missed: string[] = []
    const counts = { values: 0, headers: 0, bodies: 0, linter: 0 }
    for (const constraint of chosen) {
      const negatives = byConstraint.get(nameOf(constraint)) ?? []
      if (negatives.length > 0 && isCaught(document, constraint, negatives)) counts.values++
      else if (
        headers.has(nameOf(constraint)) &&
        allowsHeader(without(document, constraint), headers.get(nameOf(constraint))!)
      )
        counts.headers++
      else if (isBodyDemanded(constraint)) counts.bodies++
      else if (refused.has(nameOf(constraint))) counts.linter++
      else missed.push(`${nameOf(constraint)}: ${reasonFor(constraint)}`)
    }
    const { user, system } = process.cpuUsage(started)
    const caught = chosen.length - missed.length
    t.comment(
      `${chosen.length} of ${all.length} constraints deleted in turn, ${caught} caught (${((100 * caught) / chosen.length).toFixed(1)} %): ${counts.values} by a value, ${counts.headers} by a header field of an answer, ${counts.bodies} by a request without a body, ${counts.linter} by the linter (${((user + system) / 1e6).toFixed(0)} s of CPU)`,
    )
    for (const line of missed) t.comment(`missed: ${line}`)
    // Few may be chosen unluckily.
    t.ok(caught / chosen.length >= (long ? 0.95 : 0.9), `${caught} of ${chosen.length}`)
    t.same(
      missed.filter((line) => line.endsWith(unexplained)),
      [],
      'what is missed cannot be noticed in any value',
    )
  },
)

t.test('nothing is noticed where nothing is deleted', { timeout: 300_000 }, async (t) => {
  const check = createChecks(document)
  const { requests, answers } = casesOf(document, check, listed)
  for (const [name, one] of headerCasesOf(document, check, listed))
    t.notOk(allowsHeader(document, one), `${name} ${one.value}`)
  for (const negative of [...requests, ...answers].filter((_, i) => i % step === 0)) {
    const expected =
      negative.alone === 'beyond whole numbers'
        ? negative.expected.filter((said) => !said.endsWith(' type'))
        : negative.expected
    if (!same(judged(document, negative), expected))
      t.same(judged(document, negative), expected, nameOf(negative.site.constraint))
  }
})

const unexplained = 'nobody knows why'

/** Why no value tells that the constraint is gone. */
function reasonFor({ place, keyword }: Constraint): string {
  const node = nodeAt(document, place)
  const flat = flattened(document, node)
  if (
    keyword === 'minLength' &&
    flat.minLength === 1 &&
    flat.pattern !== undefined &&
    !new RegExp(flat.pattern, 'u').test('')
  )
    return 'its pattern wants a character too'
  if (keyword === 'maxItems') return 'there are not more different values'
  if (/\/headers\//.test(place)) return 'all is text'
  if (
    flat.format === 'binary' ||
    keyword === 'format' ||
    /\/content\/(text|image|application)~1(?!json)/.test(place)
  )
    return 'a body of text or bytes is that, whatever comes'
  if (keyword === 'type' && /\/parameters\//.test(place)) return 'all is text'
  if (keyword === 'type' && (isForm(place) || place.startsWith('/components/schemas/FileUpload/')))
    return 'all is text'
  if (place.endsWith('/requestBody')) return 'bytes without a type are refused for that'
  if (place.includes('stripe')) return 'what is signed is not held against the contract'
  return unexplained
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

/** A body that has to be there is asked for by a test of its own, in each operation. */
function isBodyDemanded(constraint: Constraint): boolean {
  if (!constraint.place.endsWith('/requestBody') || constraint.keyword !== 'required') return false
  const find = (from: Json): boolean[] =>
    operationsOf(from).map(({ body }) => body?.required === true && (!body.streamed || body.form !== null))
  return !same(find(document), find(without(document, constraint)))
}

/** The constraints without which the generator writes nothing: all of them deleted at once, and its linter asked. */
async function refusedByLinter(constraints: Constraint[]): Promise<Set<string>> {
  const candidates = constraints.filter(
    ({ place, keyword }) =>
      /\/parameters\/path /.test(place) ||
      (place.startsWith('/components/parameters/') && keyword === 'required') ||
      isForm(place),
  )
  const refused = new Set<string>()
  const folder = mkdtempSync(join(tmpdir(), 'constraints-'))
  try {
    const paths = candidates.filter(
      ({ place, keyword }) => keyword === 'required' && nodeAt(document, place).in === 'path',
    )
    if ((await problemsOf(folder, paths, /a path parameter is `required: true`/)) === paths.length)
      for (const one of paths) refused.add(nameOf(one))
    for (const one of candidates.filter(
      ({ place, keyword, name }) =>
        isForm(place) &&
        (name === 'file' || (keyword === 'format' && place.endsWith('/file')) || keyword === '$ref'),
    )) {
      if ((await problemsOf(folder, [one], /exactly one property of format `binary`/)) > 0)
        refused.add(nameOf(one))
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
  return refused
}

async function problemsOf(folder: string, constraints: Constraint[], message: RegExp): Promise<number> {
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
