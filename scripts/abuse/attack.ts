// The declaration of an attack. The list of all attacks is in attacks/.
import type { AttackClient } from './client.ts'
import type { Person, Target } from './target.ts'

/** The server, and one user with several keys. A new one for each round. */
export interface Scene {
  target: Target
  client: AttackClient
  attacker: Person
  /** A key of the attacker, the next one each time. */
  key(): string
  /** The round has ended: what is held open may end. */
  over: Promise<void>
}

export interface Attack<State = any> {
  name: string
  /** A short description of the attack. */
  does: string
  /** Without a valid key: the attacker is an address, not a user. */
  anonymous?: boolean
  /** How many requests the attacker sends at once. */
  atOnce: number
  /** Makes what the attack needs. Not measured. */
  prepare?(scene: Scene): Promise<State>
  /** Sends one request. Repeated until the round ends. @returns the label of its answer. */
  send(scene: Scene, state: State, i: number): Promise<string>
  /** All answers that the attacker may get. */
  answers: string[]
  /** The answer that limits the attacker. Every round must reach it. */
  limit?: string
  /** Milliseconds of the main thread that one request may take on a slow machine. */
  cpuMs: number
  /** Work for another tenant that must get done during the attack. */
  meanwhile?: { name: string; seconds: number; run(target: Target, client: AttackClient): Promise<void> }
}

/** Keeps the type of the state between `prepare` and `send`. */
export function attack<State>(declared: Attack<State>): Attack {
  return declared
}

/** Many texts in a row. */
export function repeat(count: number, make: (i: number) => string, separator = ' '): string {
  return Array.from({ length: count }, (_, i) => make(i)).join(separator)
}
