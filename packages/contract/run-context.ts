// The state of a run. A run has its own accounts and resources, and shares everything else with the runs that
// test other operations at the same time.
import { problemsOf, type Problem } from './checks.ts'
import { addDiscriminatorValues } from '@platform-api/openapi/discriminators.ts'
import { operationsOf, successOf, type Json, type Operation } from '@platform-api/openapi/document.ts'
import { createFindings, type Findings } from './findings.ts'
import type { RunOptions } from './options.ts'
import { createAccounts, type Accounts } from './accounts.ts'
import { createSender, type Answer, type RequestCounts, type RequestParts, type Sender } from './sender.ts'
import { createValidation, type Validation } from './validation.ts'
import { createResourcePool, type ResourcePool } from './resource-pool.ts'

/** Something that was not checked, or not to its end. */
export interface Unfinished {
  part: string
  operation: string
  reason: string
}

/** The state that simultaneous runs share. */
export interface Shared {
  options: RunOptions
  document: Json
  operations: Operation[]
  validation: Validation
  findings: Findings
  /** The number of responses by `operation status`. */
  matrix: Map<string, number>
  counts: RequestCounts
  unfinished: Unfinished[]
  /** The last refusal of a valid request, by operation. */
  refusals: Map<string, string>
  /** Starts no further check. */
  stop(reason: string): void
  /** Why no further check starts; null while checks start. */
  stopReason(): string | null
}

export interface Run extends Shared {
  /** The operations under test. */
  selected: Operation[]
  sender: Sender
  pool: ResourcePool
  accounts: Accounts
  /** Sends a request and records a finding for every general check that its response fails. */
  call(part: string, operation: Operation, parts: Partial<RequestParts>, key?: string | null): Promise<Answer>
  /** Sends a request and returns the problems instead of recording them. */
  exchange(
    operation: Operation,
    parts: Partial<RequestParts>,
    key?: string | null,
  ): Promise<{ answer: Answer; problems: Problem[] }>
  /** A new seed for each generated value; a run with the same seed and the same course repeats them. */
  nextSeed(): number
}

export function createShared(options: RunOptions): Shared {
  const { document } = options
  addDiscriminatorValues(document)
  const deadline = Date.now() + options.time
  let stopped: string | null = null
  return {
    options,
    document,
    operations: operationsOf(document),
    validation: createValidation(document, {
      closed: options.profile.answers.closed,
      formats: options.profile.formats,
    }),
    findings: createFindings(options.checksOff),
    matrix: new Map(),
    counts: { requests: 0, waits: 0, waited: 0 },
    unfinished: [],
    refusals: new Map(),
    stop(reason) {
      stopped ??= reason
    },
    stopReason: () =>
      stopped ??
      (options.signal?.aborted
        ? 'the run was interrupted'
        : Date.now() > deadline
          ? 'the time was up'
          : null),
  }
}

/**
 * @param seed of the values of this run
 * @param complete adds what the operation requires to the parts of a request
 * @throws ServerUnreachable, and UsageError if the server rejects the key.
 */
export async function createRun(
  shared: Shared,
  selected: Operation[],
  seed: number,
  complete: (run: Run, operation: Operation, parts: Partial<RequestParts>) => Partial<RequestParts>,
): Promise<Run> {
  const { document, operations, options, matrix, counts, findings, validation } = shared
  const pool = createResourcePool(document, operations)
  const sender = createSender(options.base, {
    counts,
    signal: options.signal,
    onAnswer(answer) {
      const name = `${answer.operation.id} ${answer.status}`
      if (answer.method === answer.operation.method) matrix.set(name, (matrix.get(name) ?? 0) + 1)
      pool.record(answer)
    },
  })
  let draws = 0
  const accounts = await createAccounts({ options, operations, sender, document })
  // The checks must not use or change these users; the cleanup deletes them last.
  const users = [accounts.operator, accounts.actor, accounts.otherUser].map((account) => account?.id)
  for (const known of pool.all) if (users.includes(known.id)) known.created = false
  const run: Run = {
    ...shared,
    sender,
    pool,
    accounts,
    selected,
    async exchange(operation, parts, key = accounts.keyFor(operation)) {
      const whole = parts.isExact === true ? parts : complete(run, operation, parts)
      const answer = await sender.send(operation, { path: {}, query: {}, headers: {}, ...whole }, key)
      return { answer, problems: problemsOf(answer, validation, options.profile.answers) }
    },
    async call(part, operation, parts, key) {
      const { answer, problems } = await run.exchange(operation, parts, key)
      if (options.selected(operation))
        for (const problem of problems) findings.add(operation.id, part, problem, answer)
      findings.recordCase(operation.id, part, 1)
      return answer
    },
    nextSeed: () => seed + ++draws,
  }
  return run
}

/** Whether the operation never succeeds in a run. */
export function isUnreachable({ profile }: RunOptions, { id }: Operation): boolean {
  return profile.neverSucceeds.has(id)
}

/**
 * Whether an answer with the sent value would be valid. Servers may take values that their answers never
 * have, such as null for "unchanged".
 */
export function mayAnswer(
  { options, validation }: Run,
  operation: Operation,
  body: Json,
  name: string,
  value: Json,
): boolean {
  if (options.profile.answers.repeatInput) return true
  return validation.answered(successOf(operation)!.media.pointer, { ...body, [name]: value }).length === 0
}

/** Whether a request that succeeds is allowed in this run. */
export function maySucceed(run: Run, operation: Operation): boolean {
  if (isUnreachable(run.options, operation)) return false
  if (operation.method === 'GET' || operation.method === 'OPTIONS') return true
  if (run.options.readOnly) return false
  if (run.options.profile.accounts === null) return true
  // Everything else changes the account itself, which is allowed only for an account that the run created.
  return (
    run.accounts.createdUser ||
    operation.path.includes('{') ||
    (operation.method === 'POST' && operation.responses.has(201))
  )
}
