// Runs attacks and measures what the victim notices. Quiet and attacked windows alternate, and the median of
// each counts, because the timings of one machine vary several-fold with its load. Rounds in which the host
// of a virtual machine took CPU are repeated. Only ratios mean something on another machine.
import type { Attack, Scene } from './attack.ts'
import { openClient } from './client.ts'
import { addressOfRound } from './address.ts'
import type { Target } from './target.ts'
import { startStolen } from './machine.ts'
import { percentile, type VictimProcess } from './victim.ts'

/** Keys of one attacker. */
const keysEach = 5
/** With more of a CPU taken by the host, a stall says nothing about the server. */
export const maxStolen = 0.1
/** A round that has not reached the limit of the attack by then ends without it. */
const maxRoundMs = 20_000

export interface Plan {
  rounds: number
  /** Milliseconds of a window. */
  ms: number
}

interface Latency {
  p50: number
  p99: number
}

export interface Result {
  attack: Attack
  quiet: Latency
  attacked: Latency
  /** The victim's p99 during the attack, as a multiple of the quiet one. */
  ratio: number
  /** The part of one CPU that the host took from this machine during the attack: 0.5 is half of a CPU. */
  stolen: number
  /** The victim's answers that are not successes, in both kinds of windows. */
  victimFailures: string[]
  /** How often the attacker got each answer. */
  answers: Record<string, number>
  /** Milliseconds of the main thread for one attacking request. */
  cpuMs: number
  /** Growth in megabytes from before the attack to its end. */
  memory: number
  /** Seconds until the other work of a tenant was done, if the attack has such. */
  meanwhile: number | null
}

export interface Field {
  target: Target
  victims: VictimProcess
}

export async function runAttack(field: Field, attack: Attack, { rounds, ms }: Plan): Promise<Result> {
  const memory = field.target.memory()
  const all: Round[] = []
  while (all.length < rounds || (all.length < 2 * rounds && !isCalm(all, rounds)))
    all.push(await runRound(field, attack, ms))
  const calmest = all.toSorted((a, b) => a.stolen - b.stolen).slice(0, rounds)
  const median = (of: (round: Round) => number): number => percentile(calmest.map(of), 0.5)
  const latency = (name: 'quiet' | 'attacked'): Latency => ({
    p50: median((round) => round[name].p50),
    p99: median((round) => round[name].p99),
  })
  const answers: Record<string, number> = {}
  for (const round of all)
    for (const [label, count] of Object.entries(round.answers)) answers[label] = (answers[label] ?? 0) + count
  const [quiet, attacked] = [latency('quiet'), latency('attacked')]
  return {
    attack,
    quiet,
    attacked,
    ratio: attacked.p99 / quiet.p99,
    stolen: median(({ stolen }) => stolen),
    victimFailures: all.flatMap(({ victimFailures }) => victimFailures),
    answers,
    cpuMs: Math.min(...all.map(({ cpuMs }) => cpuMs)),
    memory: field.target.memory() - memory,
    meanwhile: attack.meanwhile === undefined ? null : Math.max(...all.map((round) => round.meanwhile ?? 0)),
  }
}

/** There are enough rounds in which the host took little. */
function isCalm(all: Round[], rounds: number): boolean {
  return all.filter(({ stolen }) => stolen <= maxStolen).length >= rounds
}

type Round = Pick<
  Result,
  'quiet' | 'attacked' | 'stolen' | 'victimFailures' | 'answers' | 'cpuMs' | 'meanwhile'
>

async function runRound({ target, victims }: Field, attack: Attack, ms: number): Promise<Round> {
  const client = openClient(target.url, addressOfRound())
  const [attacker] = await target.people(1, keysEach)
  const over = Promise.withResolvers<void>()
  let turn = 0
  const key = (): string => attacker.keys[turn++ % keysEach]
  const scene: Scene = { target, client, attacker, key, over: over.promise }
  try {
    const state = await attack.prepare?.(scene)
    const victim = await victims.next()
    const [quietCpu, quiet] = await cpuDuring(target, () => victim.watch(ms))
    let meanwhile: number | null = null
    const stolen = startStolen()
    const [attackedCpu, { attacked, answers }] = await cpuDuring(target, async () => {
      const firing = fire(attack, scene, state, ms)
      const started = performance.now()
      const work = attack.meanwhile?.run(target, client).then(() => {
        meanwhile = (performance.now() - started) / 1_000
      })
      const [attacked] = await Promise.all([victim.watch(ms), firing.enough, work])
      over.resolve()
      return { attacked, answers: await firing.end() }
    })
    const stolenPart = stolen()
    const sent = Object.values(answers).reduce((sum, count) => sum + count, 0)
    return {
      quiet: latencyOf(quiet.latencies),
      attacked: latencyOf(attacked.latencies),
      stolen: stolenPart,
      victimFailures: [quiet, attacked].flatMap(({ statuses }) =>
        Object.keys(statuses).filter((status) => !status.startsWith('2')),
      ),
      answers,
      cpuMs: ((attackedCpu - quietCpu) * 1_000) / sent,
      meanwhile,
    }
  } finally {
    over.resolve()
    await client.close()
  }
}

async function cpuDuring<T>(target: Target, work: () => Promise<T>): Promise<[seconds: number, result: T]> {
  const before = await target.mainThread()
  const result = await work()
  return [(await target.mainThread()) - before, result]
}

interface Firing {
  /** The limit of the attack was reached, or will not be. */
  enough: Promise<void>
  /** Ends the attack, waits for its answers and counts them. */
  end(): Promise<Record<string, number>>
}

function fire(attack: Attack, scene: Scene, state: unknown, ms: number): Firing {
  const answers: Record<string, number> = {}
  const enough = Promise.withResolvers<void>()
  const latest = setTimeout(enough.resolve, maxRoundMs)
  const isLimited = (): boolean => attack.limit === undefined || answers[attack.limit] !== undefined
  const started = performance.now()
  let ended = false
  let sent = 0
  const connections = Array.from({ length: attack.atOnce }, async () => {
    while (!ended) {
      const label = await attack
        .send(scene, state, sent++)
        .catch((error: NodeJS.ErrnoException) => error.code ?? error.message)
      answers[label] = (answers[label] ?? 0) + 1
      if (isLimited()) enough.resolve()
    }
  })
  void scene.over.then(() => {
    ended = true
  })
  if (isLimited()) setTimeout(enough.resolve, Math.max(0, ms - (performance.now() - started)))
  return {
    enough: enough.promise,
    async end() {
      clearTimeout(latest)
      await Promise.all(connections)
      return answers
    },
  }
}

function latencyOf(latencies: number[]): Latency {
  return { p50: percentile(latencies, 0.5), p99: percentile(latencies, 0.99) }
}

/**
 * The failures of a result, in sentences. `ratio` is checked in long runs only, and only if the host gave
 * this machine its CPUs.
 */
export function problemsOf(result: Result, { maxRatio }: { maxRatio: number }): string[] {
  const { attack, answers, victimFailures, meanwhile } = result
  const problems: string[] = []
  if (victimFailures.length > 0) problems.push(`the victim got ${[...new Set(victimFailures)].join(', ')}`)
  const unexpected = Object.keys(answers).filter((label) => !attack.answers.includes(label))
  if (unexpected.length > 0) problems.push(`the attacker got ${unexpected.join(', ')}`)
  if (attack.limit !== undefined && answers[attack.limit] === undefined)
    problems.push(`the attacker never got ${attack.limit}`)
  if (result.cpuMs > attack.cpuMs) problems.push(`a request takes ${result.cpuMs.toFixed(1)} ms of CPU`)
  if (result.memory > maxMemory) problems.push(`the memory grew by ${Math.round(result.memory)} MB`)
  if (result.ratio > maxRatio && result.stolen <= maxStolen)
    problems.push(`the victim's p99 is ${result.ratio.toFixed(1)} times as long`)
  if (attack.meanwhile !== undefined && meanwhile! > attack.meanwhile.seconds)
    problems.push(`${attack.meanwhile.name} took ${meanwhile!.toFixed(1)} s`)
  return problems
}

/** Megabytes that an attack may add to the memory of the server. */
const maxMemory = 300
