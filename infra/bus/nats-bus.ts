// The bus over NATS. The leader relays the notifications of PostgreSQL (relay.ts); this is what every process
// does: it receives them, answers barriers, and learns from the heartbeats of the relay whether it hears
// everything. Without a heartbeat that names it, it hears nothing.
import type { NatsConnection } from '@nats-io/transport-node'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../database/database.ts'
import type { Leadership } from '../database/leadership.ts'
import { otherListeners, raiseBarrier, readOrigin } from '../database/notifications.ts'
import type { Bus } from './bus.ts'
import { connectNats } from './nats-connection.ts'
import { Relay, subjects, type Relayed, type RelayOptions } from './relay.ts'

export interface NatsBusOptions {
  database: Database
  url: string
  /** The leader runs the relay. */
  leadership: Pick<Leadership, 'leading' | 'onChange'>
  openListener: RelayOptions['openListener']
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
  readonly #barriers = new Map<string, (backend: string) => void>()
  readonly #stop = new AbortController()
  #nats: NatsConnection | null = null
  #prefix = ''
  #relay: Relay | null = null
  /** The relay starts and stops in turn. */
  #relaying: Promise<void> = Promise.resolve()
  #running: Promise<void> | undefined
  #listening = false
  #epoch = 0
  #number = 0
  #heardAt = -Infinity

  constructor(options: NatsBusOptions) {
    this.#options = { channels: [], onError: () => {}, heartbeat: 1_000, ...options }
    this.on('barrier_heard', (payload) => {
      const [token, backend] = payload.split(' ')
      this.#barriers.get(token)?.(backend)
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

  async publish(channel: string, payload = ''): Promise<void> {
    this.#publish(subjects(this.#prefix).direct, JSON.stringify({ channel, payload }))
  }

  async requireListening(milliseconds = 2_000): Promise<void> {
    const deadline = Date.now() + milliseconds
    while (!this.#listening) {
      if (Date.now() > deadline) throw new Error('The server receives no notifications over NATS.')
      await sleep(50)
    }
  }

  /**
   * The relay answers a barrier when all processes have received it. Without an answer this waits for three
   * heartbeats: by then every process that hears no relay knows it.
   */
  async waitForListeners(): Promise<void> {
    const { database, heartbeat } = this.#options
    const timeout = sleep(3 * heartbeat, undefined, { signal: this.#stop.signal }).catch(() => {})
    const others = new Set((await database.sql(otherListeners, [0])).map(({ pid }) => String(pid)))
    if (others.size === 0) return await timeout
    const token = randomUUID()
    const answered = new Promise<void>((resolve) => {
      this.#barriers.set(token, (backend) => {
        if (others.delete(backend) && others.size === 0) resolve()
      })
    })
    try {
      await database.sql(raiseBarrier, [token])
      await Promise.race([answered, timeout])
    } finally {
      this.#barriers.delete(token)
    }
  }

  start(): void {
    this.#running ??= this.#run()
  }

  async close(): Promise<void> {
    this.#stop.abort()
    this.#publish(subjects(this.#prefix).members, `-${this.#id}`)
    await this.#running
    this.#startOrStopRelay()
    await this.#relaying
    await this.#nats?.close().catch(() => {})
  }

  async #run(): Promise<void> {
    const { heartbeat } = this.#options
    while (this.#nats === null && !this.#stop.signal.aborted) {
      await this.#connect().catch((error: Error) => this.#report(error))
      if (this.#nats === null) await this.#pause(heartbeat)
    }
    while (!this.#stop.signal.aborted) {
      this.#publish(subjects(this.#prefix).members, this.#id)
      await this.#pause(heartbeat / 2)
      if (performance.now() - this.#heardAt > 2 * heartbeat) this.#setListening(false)
    }
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
    await nats.flush()
    this.#nats = nats
    this.#startOrStopRelay()
  }

  /** Messages are lost while the connection is. */
  async #watch(nats: NatsConnection): Promise<void> {
    for await (const { type } of nats.status()) if (type === 'disconnect') this.#setListening(false)
  }

  #receive({ epoch, number, channel, payload = '', members }: Relayed): void {
    // A relay that another has replaced.
    if (epoch < this.#epoch) return
    if (epoch !== this.#epoch || number !== this.#number + 1) this.#setListening(false)
    this.#epoch = epoch
    this.#number = number
    this.#heardAt = performance.now()
    if (members !== undefined) this.#setListening(members.includes(this.#id))
    else if (channel === 'barrier') this.#publish(subjects(this.#prefix).answers, `${payload} ${this.#id}`)
    else this.#call(channel!, payload)
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
