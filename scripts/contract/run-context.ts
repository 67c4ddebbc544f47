// The state of one run that all of its parts share.
import { problemsOf, type Problem } from './checks.ts'
import { operationsOf, type Json, type Operation } from './document.ts'
import { neverSucceeds } from './exceptions.ts'
import { createFindings, type Findings } from './findings.ts'
import type { RunOptions } from './options.ts'
import { createAccounts, type Accounts } from './accounts.ts'
import { createSender, type Answer, type RequestParts, type Sender } from './sender.ts'
import { createValidation, type Validation } from './validation.ts'
import { createResourcePool, type ResourcePool } from './resource-pool.ts'

export interface Run {
  options: RunOptions
  document: Json
  operations: Operation[]
  /** The operations under test. */
  selected: Operation[]
  sender: Sender
  validation: Validation
  pool: ResourcePool
  accounts: Accounts
  findings: Findings
  /** The number of responses by `operation status`. */
  matrix: Map<string, number>
  /** Sends a request and records a finding for every general check that its response fails. */
  call(part: string, operation: Operation, parts: Partial<RequestParts>, key?: string | null): Promise<Answer>
  /** Sends a request and returns the problems instead of recording them. */
  exchange(
    operation: Operation,
    parts: Partial<RequestParts>,
    key?: string | null,
  ): Promise<{ answer: Answer; problems: Problem[] }>
  isTimeUp(): boolean
  /** A new seed for each generated value; a run with the same seed and the same course repeats them. */
  nextSeed(): number
}

/** Throws ServerUnreachable, and UsageError if the server rejects the key. */
export async function createRun(options: RunOptions, started: number): Promise<Run> {
  const { document } = options
  const operations = operationsOf(document)
  const pool = createResourcePool(document, operations)
  const matrix = new Map<string, number>()
  const sender = createSender(options.base, {
    onAnswer(answer) {
      const name = `${answer.operation.id} ${answer.status}`
      if (answer.method === answer.operation.method) matrix.set(name, (matrix.get(name) ?? 0) + 1)
      pool.record(answer)
    },
  })
  const validation = createValidation(document)
  const findings = createFindings()
  let draws = 0
  const accounts = await createAccounts({ options, operations, sender, document })
  // The checks must not use or change these users; the cleanup deletes them last.
  for (const known of pool.all)
    if (known.id === accounts.actor.id || known.id === accounts.otherUser?.id) known.created = false
  const run: Run = {
    options,
    document,
    operations,
    sender,
    validation,
    pool,
    accounts,
    findings,
    matrix,
    selected: operations.filter(
      (operation) =>
        options.selected(operation) &&
        (!options.readOnly || operation.method === 'GET' || operation.method === 'OPTIONS'),
    ),
    async exchange(operation, parts, key = accounts.keyFor(operation)) {
      const answer = await sender.send(operation, { path: {}, query: {}, headers: {}, ...parts }, key)
      return { answer, problems: problemsOf(answer, validation) }
    },
    async call(part, operation, parts, key) {
      const { answer, problems } = await run.exchange(operation, parts, key)
      if (options.selected(operation))
        for (const problem of problems) findings.add(operation.id, part, problem, answer)
      findings.recordCase(operation.id, part, 1)
      return answer
    },
    isTimeUp: () => Date.now() - started > options.time,
    nextSeed: () => options.seed + ++draws,
  }
  return run
}

/** Whether a request that succeeds is allowed in this run. */
export function maySucceed(run: Run, operation: Operation): boolean {
  if (neverSucceeds.has(operation.id)) return false
  if (operation.method === 'GET' || operation.method === 'OPTIONS') return true
  if (run.options.readOnly) return false
  // Everything else changes the account itself, which is allowed only for an account that the run created.
  return (
    run.accounts.createdUser ||
    operation.path.includes('{') ||
    (operation.method === 'POST' && operation.responses.has(201))
  )
}
