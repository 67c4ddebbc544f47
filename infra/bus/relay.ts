// The relay sends the notifications of PostgreSQL to NATS, in their order. The leader runs it: one process
// listens at PostgreSQL, all hear NATS. So a notification belongs to its transaction as before: it is sent if
// the transaction commits, also by triggers and commands.
//
// Each message has a number, and the time when the relay began (`epoch`). A process that sees a gap or
// another relay knows that it may have missed notifications.
import type { NatsConnection, Subscription } from '@nats-io/transport-node'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Listener } from '../database/notifications.ts'

/** A message of the relay: a notification, or a heartbeat with the ids of the processes that it knows. */
export interface Relayed {
  epoch: number
  number: number
  channel?: string
  payload?: string
  members?: string[]
}

export const subjects = (prefix: string) => ({
  /** From the relay to all. */
  relayed: `${prefix}.relayed`,
  /** Notifications without a transaction, from any process to all. */
  direct: `${prefix}.direct`,
  /** From each process to the relay, with every heartbeat: its id; on leaving, with `-` in front of it. */
  members: `${prefix}.members`,
  /** From each process to the relay: that it has received a barrier. */
  answers: `${prefix}.answers`,
})

export interface RelayOptions {
  nats: NatsConnection
  prefix: string
  /** A time of the database, later than that of the relay before. */
  epoch: number
  channels: string[]
  heartbeat: number
  /** @param beforeAnswer is awaited before the listener answers a barrier. */
  openListener(beforeAnswer: (token: string) => Promise<void>): Listener
}

export class Relay {
  readonly #options: RelayOptions
  readonly #subjects: ReturnType<typeof subjects>
  readonly #listener: Listener
  readonly #subscriptions: Subscription[]
  /** When each process was last heard. */
  readonly #members = new Map<string, number>()
  /** The processes that have not answered yet, by barrier. */
  readonly #waiting = new Map<string, Set<string>>()
  readonly #startedAt = performance.now()
  readonly #timer: NodeJS.Timeout
  #epoch: number
  #number = 0

  constructor(options: RelayOptions) {
    const { nats, prefix, channels, heartbeat, epoch } = options
    this.#options = options
    this.#epoch = epoch
    this.#subjects = subjects(prefix)
    this.#listener = options.openListener((token) => this.#passBarrier(token))
    for (const channel of channels) this.#listener.on(channel, (payload) => this.#send({ channel, payload }))
    this.#listener.onState((listening) => this.#begin(listening))
    this.#subscriptions = [
      nats.subscribe(this.#subjects.members, { callback: (_error, m) => this.#noteMember(m.string()) }),
      nats.subscribe(this.#subjects.answers, { callback: (_error, m) => this.#noteAnswer(m.string()) }),
    ]
    this.#timer = setInterval(() => this.#beat(), heartbeat)
    this.#listener.start()
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    for (const subscription of this.#subscriptions) subscription.unsubscribe()
    this.#waiting.clear()
    await this.#listener.close()
  }

  /** A new epoch means that notifications may be lost, because the listener was disconnected. */
  #begin(listening: boolean): void {
    if (!listening) return
    this.#epoch++
    this.#number = 0
    this.#beat()
  }

  #send(message: Omit<Relayed, 'epoch' | 'number'>): void {
    const { nats } = this.#options
    if (nats.isClosed()) return
    nats.publish(
      this.#subjects.relayed,
      JSON.stringify({ epoch: this.#epoch, number: ++this.#number, ...message } satisfies Relayed),
    )
  }

  #beat(): void {
    const { heartbeat } = this.#options
    for (const [id, heardAt] of this.#members)
      if (performance.now() - heardAt > 3 * heartbeat) this.#forget(id)
    if (this.#listener.listening) this.#send({ members: [...this.#members.keys()] })
  }

  #noteMember(id: string): void {
    if (id.startsWith('-')) return this.#forget(id.slice(1))
    const isNew = !this.#members.has(id)
    this.#members.set(id, performance.now())
    if (isNew && this.#listener.listening) this.#beat()
  }

  #forget(id: string): void {
    this.#members.delete(id)
    for (const waiting of this.#waiting.values()) waiting.delete(id)
  }

  #noteAnswer(answer: string): void {
    const [token, id] = answer.split(' ')
    this.#waiting.get(token)?.delete(id)
  }

  /** Resolves when every process has received the barrier, and with it all notifications before it. */
  async #passBarrier(token: string): Promise<void> {
    const { heartbeat } = this.#options
    const waiting = new Set(this.#members.keys())
    this.#waiting.set(token, waiting)
    this.#send({ channel: 'barrier', payload: token })
    const deadline = performance.now() + 3 * heartbeat
    // A relay that has just begun may not know all processes yet.
    const knowsAll = this.#startedAt + 2 * heartbeat
    while (performance.now() < deadline && (waiting.size > 0 || performance.now() < knowsAll)) await sleep(5)
    this.#waiting.delete(token)
  }
}
