// The bus over NATS. The leader relays the notifications of PostgreSQL (relay.ts); this is what every process
// does: it receives them, answers barriers, and learns from the heartbeats of the relay whether it hears
// everything. While no heartbeat names it, it listens at PostgreSQL itself.
import type { NatsConnection } from '@nats-io/transport-node'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../database/database.ts'
import type { Leadership } from '../database/leadership.ts'
import { notify, otherListeners, raiseBarrier, readOrigin, type Listener } from '../database/notifications.ts'
import type { Bus } from './bus.ts'
import { connectNats } from './nats-connection.ts'
import { Relay, subjects, type Relayed } from './relay.ts'

export interface NatsBusOptions {
  database: Database
  url: string
  /** The leader runs the relay. */
  leadership: Pick<Leadership, 'leading' | 'onChange'>
  openListener(beforeAnswer?: (token: string) => Promise<void>): Listener
  /** Channels that other processes may listen to, besides those of this one. */
  channels?: string[]
  onError?: (error: Error) => void
  /** Milliseconds between two heartbeats; the same in every process. Default 1,000. */
  heartbeat?: number
}

export class NatsBus implements Bus {
  readonly #options: Required<NatsBusOptions>
  readonly #id = randomUUID()
  readonly #channels = new Map<string, Array<(payload: string) => void>>()
  readonly #stateCallbacks: Array<(listening: boolean) => void> = []
  /** The barriers of this process that wait for answers, by token. */
  readonly #barriers = new Map<string, Barrier>()
  readonly #stop = new AbortController()
  #nats: NatsConnection | null = null
  #prefix = ''
  #relay: Relay | null = null
  /** The relay starts and stops in turn. */
  #relaying: Promise<void> = Promise.resolve()
  #running: Promise<void> | undefined
  /** Whether all messages of the relay arrive. */
  #hears = false
  /** When the relay ceased to be heard. */
  #lostAt = -Infinity
  /** Listens at PostgreSQL while the relay is not heard. */
  #fallback: Listener | null = null
  #listening = false
  #timer: NodeJS.Timeout | undefined
  #epoch = 0
  #number = 0
  #heardAt = -Infinity

  constructor(options: NatsBusOptions) {
    this.#options = { channels: [], onError: () => {}, heartbeat: 1_000, ...options }
    this.on('barrier_heard', (payload) => {
      const [token, backend] = payload.split(' ')
      this.#barriers.get(token)?.heardBy(backend)
    })
    options.leadership.onChange(() => this.#startOrStopRelay())
  }

  get listening(): boolean {
    return this.#listening
  }

  on(channel: string, callback: (payload: string) => void): void {
    if (this.#running !== undefined) throw new Error(`the bus has started without the channel ${channel}`)
    this.#channels.set(channel, [...(this.#channels.get(channel) ?? []), callback])
  }

  onState(callback: (listening: boolean) => void): void {
    this.#stateCallbacks.push(callback)
  }

  /**
   * While the relay is not heard, PostgreSQL carries the notification: other processes may hear the relay.
   */
  async publish(channel: string, payload = ''): Promise<void> {
    if (this.#hears) this.#publish(subjects(this.#prefix).direct, JSON.stringify({ channel, payload }))
    else await this.#options.database.sql(notify, [channel, payload])
  }

  async requireListening(milliseconds = 2_000): Promise<void> {
    const deadline = Date.now() + milliseconds
    while (!this.#listening) {
      if (Date.now() > deadline) throw new Error('The server receives no notifications.')
      await sleep(50)
    }
  }

  /** For the readiness: throws while this process does not hear the relay over NATS. */
  async requireRelay(): Promise<void> {
    if (!this.#hears)
      throw new Error('No notifications arrive over NATS; this process listens at PostgreSQL.')
  }

  /**
   * The relay answers a barrier when all processes that hear it have received the barrier; the processes that
   * listen at PostgreSQL answer themselves. Other processes do not know yet that they hear nothing, but will
   * within three heartbeats: this waits so long unless the barrier came over NATS, or NATS has been away for
   * that time.
   */
  async waitForListeners(): Promise<void> {
    const { database, heartbeat } = this.#options
    const deadline = performance.now() + 3 * heartbeat
    const others = new Set((await database.sql(otherListeners, [0])).map(({ pid }) => String(pid)))
    const token = randomUUID()
    const barrier = new Barrier(others)
    this.#barriers.set(token, barrier)
    const until = (time: number): Promise<void> => this.#pause(Math.max(0, time - performance.now()))
    try {
      await database.sql(raiseBarrier, [token])
      const known = this.#hears ? barrier.relayed : until(Math.min(deadline, this.#lostAt + 3 * heartbeat))
      await Promise.race([Promise.all([barrier.heard, known]), until(deadline)])
    } finally {
      this.#barriers.delete(token)
    }
  }

  start(): void {
    if (this.#running !== undefined) return
    this.#lostAt = performance.now()
    this.#running = this.#run()
    this.#timer = setInterval(() => this.#beat(), this.#options.heartbeat / 2)
  }

  async close(): Promise<void> {
    this.#stop.abort()
    clearInterval(this.#timer)
    this.#publish(subjects(this.#prefix).members, `-${this.#id}`)
    await this.#running
    this.#startOrStopRelay()
    await this.#relaying
    await this.#endFallback()
    await this.#nats?.close().catch(() => {})
  }

  async #run(): Promise<void> {
    while (this.#nats === null && !this.#stop.signal.aborted) {
      await this.#connect().catch((error: Error) => this.#report(error))
      if (this.#nats === null) await this.#pause(this.#options.heartbeat)
    }
  }

  #beat(): void {
    const { heartbeat } = this.#options
    this.#publish(subjects(this.#prefix).members, this.#id)
    const now = performance.now()
    if (now - this.#heardAt > 2 * heartbeat) this.#setHears(false)
    // A process that has just started hears its first heartbeat soon.
    if (!this.#hears && now - this.#lostAt > 2 * heartbeat) this.#startFallback()
  }

  #setHears(hears: boolean): void {
    if (this.#hears === hears) return
    this.#hears = hears
    if (hears) {
      // Notifications that the fallback has not delivered yet are lost, so subscribers begin again.
      if (this.#fallback !== null) this.#setListening(false)
      this.#setListening(true)
      return void this.#endFallback()
    }
    this.#lostAt = performance.now()
    this.#updateListening()
    this.#startFallback()
  }

  #startFallback(): void {
    if (this.#fallback !== null || this.#stop.signal.aborted) return
    const listener = this.#options.openListener()
    this.#fallback = listener
    // While both are heard, notifications arrive twice, which has no effect.
    for (const channel of this.#channels.keys())
      listener.on(channel, (payload) => this.#call(channel, payload))
    listener.onState(() => {
      if (this.#fallback === listener) this.#updateListening()
    })
    listener.start()
  }

  async #endFallback(): Promise<void> {
    const listener = this.#fallback
    this.#fallback = null
    await listener?.close()
  }

  async #connect(): Promise<void> {
    const { database, url } = this.#options
    const [{ id }] = await database.sql(readOrigin, [])
    const nats = await connectNats(url, { reconnect: true })
    this.#prefix = `platform.${id}`
    const { relayed, direct } = subjects(this.#prefix)
    // The client stops reading after an error in a callback.
    nats.subscribe(relayed, {
      callback: (_error, message) => this.#guard(() => this.#receive(message.json<Relayed>())),
    })
    nats.subscribe(direct, {
      callback: (_error, message) =>
        this.#guard(() => {
          const { channel, payload } = message.json<{ channel: string; payload: string }>()
          this.#call(channel, payload)
        }),
    })
    void this.#watch(nats)
    await nats.flush().catch(async (error: Error) => {
      await nats.close()
      throw error
    })
    this.#nats = nats
    this.#startOrStopRelay()
  }

  /** Messages are lost while the connection is. */
  async #watch(nats: NatsConnection): Promise<void> {
    for await (const { type } of nats.status()) if (type === 'disconnect') this.#setHears(false)
  }

  #receive({ epoch, number, channel, payload = '', members }: Relayed): void {
    // A relay that another has replaced.
    if (epoch < this.#epoch) return
    if (epoch !== this.#epoch || number !== this.#number + 1) this.#setHears(false)
    this.#epoch = epoch
    this.#number = number
    this.#heardAt = performance.now()
    if (members !== undefined) this.#setHears(members.includes(this.#id))
    else if (channel === 'barrier') {
      this.#publish(subjects(this.#prefix).answers, `${payload} ${this.#id}`)
      this.#barriers.get(payload)?.setRelayed()
    } else this.#call(channel!, payload)
  }

  #startOrStopRelay(): void {
    this.#relaying = this.#relaying
      .then(async () => {
        const { leadership, database, openListener, heartbeat, channels } = this.#options
        const wanted = leadership.leading && this.#nats !== null && !this.#stop.signal.aborted
        if (wanted === (this.#relay !== null)) return
        if (!wanted) {
          await this.#relay!.close()
          this.#relay = null
          return
        }
        const [{ time: epoch }] = await database.sql(readOrigin, [])
        this.#relay = new Relay({
          nats: this.#nats!,
          prefix: this.#prefix,
          epoch,
          channels: [...new Set([...this.#channels.keys(), ...channels])],
          heartbeat,
          openListener,
        })
      })
      .catch((error: Error) => this.#report(error))
  }

  #updateListening(): void {
    this.#setListening(this.#hears || this.#fallback?.listening === true)
  }

  #setListening(listening: boolean): void {
    if (this.#listening === listening) return
    this.#listening = listening
    for (const callback of this.#stateCallbacks) this.#guard(() => callback(listening))
  }

  #call(channel: string, payload: string): void {
    for (const callback of this.#channels.get(channel) ?? []) this.#guard(() => callback(payload))
  }

  #guard(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#report(error as Error)
    }
  }

  #publish(subject: string, payload: string): void {
    if (this.#nats !== null && !this.#nats.isClosed()) this.#nats.publish(subject, payload)
  }

  async #pause(milliseconds: number): Promise<void> {
    await sleep(milliseconds, undefined, { signal: this.#stop.signal }).catch(() => {})
  }

  /** Errors after `close` are expected and not reported. */
  #report(error: Error): void {
    if (!this.#stop.signal.aborted) this.#options.onError(error)
  }
}

/** A barrier that waits for answers. */
class Barrier {
  /** Resolves when all listeners at PostgreSQL have answered. */
  readonly heard: Promise<void>
  /** Resolves when the relay has sent the barrier to all that hear it. */
  readonly relayed: Promise<void>
  readonly #others: Set<string>
  #setHeard = (): void => {}
  setRelayed = (): void => {}

  /** @param others the backends of the listeners at PostgreSQL */
  constructor(others: Set<string>) {
    this.#others = others
    this.heard = new Promise((resolve) => {
      this.#setHeard = resolve
    })
    this.relayed = new Promise((resolve) => {
      this.setRelayed = resolve
    })
    if (others.size === 0) this.#setHeard()
  }

  heardBy(backend: string): void {
    this.#others.delete(backend)
    if (this.#others.size === 0) this.#setHeard()
  }
}
