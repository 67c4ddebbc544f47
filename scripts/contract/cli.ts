// One run: what all of its parts share.
import { problemsOf, type Problem } from './checks.ts'
import { operationsOf, type Json, type Operation } from './document.ts'
import { refusedOnly } from './exceptions.ts'
import { createFindings, type Findings } from './findings.ts'
import type { RunOptions } from './options.ts'
import { peopleOf, type People } from './accounts.ts'
import { createSender, type Answer, type Parts, type Sender } from './sender.ts'
import { createValidation, type Validation } from './validation.ts'
import { createWorld, type World } from './resource-pool.ts'

export interface Run {
  options: RunOptions
  document: Json
  operations: Operation[]
  /** Those that are looked at. */
  wanted: Operation[]
  sender: Sender
  validation: Validation
  world: World
  people: People
  findings: Findings
  /** How often each status came, by `operation status`. */
  matrix: Map<string, number>
  /** Sends, learns, and finds what every answer must keep. */
  call(part: string, operation: Operation, parts: Partial<Parts>, key?: string | null): Promise<Answer>
  /** The same, but leaves it to the caller to tell of the problems. */
  ask(
    operation: Operation,
    parts: Partial<Parts>,
    key?: string | null,
  ): Promise<{ answer: Answer; problems: Problem[] }>
  over(): boolean
  /** A seed of its own for each value that is drawn, the same in a run that goes the same way. */
  draw(): number
}

/** Throws Unreachable, or UsageError of people.ts where the key is not taken. */
export async function begin(options: RunOptions, started: number): Promise<Run> {
  const { document } = options
  const operations = operationsOf(document)
  const world = createWorld(document, operations)
  const matrix = new Map<string, number>()
  const sender = createSender(options.base, {
    onAnswer(answer) {
      const name = `${answer.operation.id} ${answer.status}`
      if (answer.method === answer.operation.method) matrix.set(name, (matrix.get(name) ?? 0) + 1)
      world.learn(answer)
    },
  })
  const validation = createValidation(document)
  const findings = createFindings()
  let draws = 0
  const people = await peopleOf({ options, operations, sender, document })
  // They are neither named nor changed by what the run does; they go at the end.
  for (const known of world.all)
    if (known.id === people.actor.id || known.id === people.stranger?.id) known.own = false
  const run: Run = {
    options,
    document,
    operations,
    sender,
    validation,
    world,
    people,
    findings,
    matrix,
    wanted: operations.filter(
      (operation) =>
        options.wanted(operation) &&
        (!options.readOnly || operation.method === 'GET' || operation.method === 'OPTIONS'),
    ),
    async ask(operation, parts, key = people.keyFor(operation)) {
      const answer = await sender.send(operation, { path: {}, query: {}, headers: {}, ...parts }, key)
      return { answer, problems: problemsOf(answer, validation) }
    },
    async call(part, operation, parts, key) {
      const { answer, problems } = await run.ask(operation, parts, key)
      if (options.wanted(operation))
        for (const problem of problems) findings.add(operation.id, part, problem, answer)
      findings.looked(operation.id, part, 1)
      return answer
    },
    over: () => Date.now() - started > options.time,
    draw: () => options.seed + ++draws,
  }
  return run
}

/** Whether the operation may be asked in a way that succeeds. */
export function maySucceed(run: Run, operation: Operation): boolean {
  if (refusedOnly.has(operation.id)) return false
  if (operation.method === 'GET' || operation.method === 'OPTIONS') return true
  if (run.options.readOnly) return false
  // What is in no path and made by no POST belongs to the person: to be changed only where the run has made the person.
  return (
    run.people.ownUser ||
    operation.path.includes('{') ||
    (operation.method === 'POST' && operation.responses.has(201))
  )
}
