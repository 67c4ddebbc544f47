// Runs all parts of the contract tests and returns the outcome. The operations of each tag are tested at the
// same time, by accounts of their own, so that the rate limits of one user do not delay all requests.
import { access, strangers } from './access.ts'
import { cleanUp } from './cleanup.ts'
import { crud } from './crud-lifecycle.ts'
import { hasSuccess, responseFor, type Json, type Operation } from '@platform-api/openapi/document.ts'
import { contradictionIn } from '@platform-api/openapi/intersections.ts'
import { flows } from './flows.ts'
import { invalid } from './invalid-requests.ts'
import { isShared, lists } from './lists.ts'
import type { RunOptions } from './options.ts'
import { otherMethods } from './other-methods.ts'
import { canEncode, withRequired } from './requests.ts'
import { ranges } from './ranges.ts'
import { runChecks, type Check, type Part } from './part.ts'
import { listItemKind } from './resources.ts'
import {
  createRun,
  createShared,
  isUnreachable,
  type Run,
  type Shared,
  type Unfinished,
} from './run-context.ts'
import { isolation } from './tenant-isolation.ts'
import { valid } from './valid-requests.ts'
import { groupBy } from '@platform-api/openapi/group-by.ts'

export interface Outcome extends Pick<Shared, 'findings' | 'matrix' | 'operations' | 'unfinished'> {
  /** The operations under test. */
  selected: Operation[]
  requests: number
  seconds: number
  seed: number
  /** The number of resources that the cleanup could not delete, by kind. */
  leftovers: Record<string, number>
  /** Remarks about the run, such as operations that never succeeded. */
  notes: string[]
}

const parts: Part[] = [access, flows, crud, isolation, ranges, invalid, valid]
/** The parts whose requests servers limit by address, beside those that they limit by user. */
const partsByAddress: Part[] = [strangers, otherMethods]
/** The seeds of runs at the same time are so far apart. */
const seedsOfRun = 1_000_000

/** Throws ServerUnreachable, and UsageError if the server rejects the key. */
export async function runContract(options: RunOptions): Promise<Outcome> {
  const started = Date.now()
  const shared = createShared(options)
  const selected = shared.operations.filter(
    (operation) =>
      options.selected(operation) &&
      options.profile.selects(operation) &&
      (!options.readOnly || operation.method === 'GET' || operation.method === 'OPTIONS'),
  )
  const runs = await createRuns(shared, selected)
  let leftovers: Array<Record<string, number>>
  try {
    await checkAll(shared, runs)
  } finally {
    leftovers = await Promise.all(runs.map(async (run) => await cleanUp(run).catch(() => ({}))))
  }
  const { findings, matrix, operations, unfinished, counts } = shared
  if (shared.stopReason() === null && !options.readOnly) unfinished.push(...unreached(shared, selected))
  return {
    findings,
    matrix,
    operations,
    unfinished,
    selected,
    requests: counts.requests,
    seconds: (Date.now() - started) / 1000,
    seed: options.seed,
    leftovers: summed(leftovers),
    notes: notesOf(shared, selected),
  }
}

/** One run for the operations of each tag, or a single run if it cannot create accounts of its own. */
async function createRuns(shared: Shared, selected: Operation[]): Promise<Run[]> {
  const { seed } = shared.options
  const [first = [], ...others] = groupBy(selected, ({ tag }) => tag).values()
  const run = await createRun(shared, first, seed, withRequired)
  if (!run.accounts.createdUser) return [{ ...run, selected }]
  const runs = [run]
  for (const [i, operations] of others.entries())
    runs.push(await createRun(shared, operations, seed + (i + 1) * seedsOfRun, withRequired))
  return runs
}

async function checkAll(shared: Shared, runs: Run[]): Promise<void> {
  const checksOf = (run: Run, parts: Part[]) => parts.map((part) => [part.name, part.checks(run)] as const)
  const planned = runs.map((run) => ({
    run,
    byAddress: checksOf(run, partsByAddress),
    checks: checksOf(run, parts),
    lists: groupBy(lists.checks(run), ({ operation }) => (isShared(run, operation) ? 'shared' : 'own')),
  }))
  const all = planned.flatMap(({ byAddress, checks, lists }) => [
    ...[...byAddress, ...checks].map(([, own]) => own),
    ...lists.values(),
  ])
  const total = all.reduce((sum, own) => sum + own.length, 0)
  let done = 0
  const runPart = async (run: Run, part: string, checks: Check[]): Promise<void> =>
    await runChecks(run, part, checks, () => {
      shared.options.onProgress(++done, total, shared.findings.all.length)
    })
  const runParts = async (run: Run, checks: ReturnType<typeof checksOf>): Promise<void> => {
    for (const [part, each] of checks) await runPart(run, part, each)
  }
  await Promise.all(
    planned.map(async ({ run, byAddress, checks, lists: own }) => {
      await runChecks(run, 'setup', existingResources(run), () => {})
      if (shared.options.profile.concurrent)
        await Promise.all([runParts(run, byAddress), runParts(run, checks)])
      else {
        await runParts(run, byAddress)
        await runParts(run, checks)
      }
      await runPart(run, lists.name, own.get('own') ?? [])
    }),
  )
  // Lists that others change are read while no other run does anything.
  for (const { run, lists: own } of planned) await runPart(run, lists.name, own.get('shared') ?? [])
}

/** Reads the lists of what exists already, so that the checks can read and reference it. */
function existingResources(run: Run): Check[] {
  return run.operations
    .filter((operation) => listItemKind(run.document, operation) !== null && !operation.path.includes('{'))
    .map((operation) => ({ operation, run: async () => void (await run.call('lists', operation, {})) }))
}

function summed(all: Array<Record<string, number>>): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const [kind, number] of all.flatMap((each) => Object.entries(each)))
    sums[kind] = (sums[kind] ?? 0) + number
  return sums
}

/** Whether the operation answered with a declared success. */
export function hasSucceeded(matrix: Outcome['matrix'], operation: Operation): boolean {
  return [...matrix.keys()].some((name) => {
    const status = Number(name.slice(operation.id.length + 1))
    return name.startsWith(`${operation.id} `) && status < 400 && responseFor(operation, status) !== undefined
  })
}

/** The operations that never succeeded, with the last refusal, except those that the profile names. */
function unreached({ document, options, matrix, refusals }: Shared, selected: Operation[]): Unfinished[] {
  return selected
    .filter((operation) => hasSuccess(operation) && !isAllowedToFail(options, operation))
    .filter((operation) => !hasSucceeded(matrix, operation))
    .map((operation) => ({
      part: valid.name,
      operation: operation.id,
      reason: whyNever(document, operation, refusals.get(operation.id)),
    }))
}

function whyNever(document: Json, { body }: Operation, refusal: string | undefined): string {
  const [contradiction] = body?.media.map(({ schema }) => contradictionIn(document, schema)) ?? []
  if (body?.required === true && typeof contradiction === 'string')
    return `no body is valid: ${contradiction}`
  if (body?.required === true && !body.media.some(({ type, schema }) => canEncode(type, schema)))
    return `no body of ${body.media.map(({ type }) => type).join(' or ')} can be written`
  return refusal === undefined ? 'the run knows no resource for it' : `it never succeeded: ${refusal}`
}

function isAllowedToFail(options: RunOptions, operation: Operation): boolean {
  return isUnreachable(options, operation) || options.profile.mayFail.has(operation.id)
}

function notesOf({ counts: { waits, waited }, matrix, options }: Shared, selected: Operation[]): string[] {
  const allowed = selected
    .filter((operation) => isAllowedToFail(options, operation) && !hasSucceeded(matrix, operation))
    .map(({ id }) => `${id} never succeeded, which is allowed`)
    .concat(Array.from(options.checksOff ?? [], ([check, reason]) => `The check ${check} is off: ${reason}`))
  return waits === 0
    ? allowed
    : [
        ...allowed,
        `The server's rate limits delayed ${waits} requests, ${waited} s in total. ` +
          options.profile.rateLimitAdvice,
      ]
}
