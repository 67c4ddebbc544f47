// What becomes of orders, sessions and subscriptions, said a second time and as shortly as it can be: the model that the platform is held
// against. Time is counted from the beginning, in ms; of the cards only what they do.
import type { cards } from './catalog-fixtures.ts'

export interface ModelOrder {
  /** null until the list of orders has told it. */
  id: string | null
  status: 'pending' | 'paid' | 'partially_refunded' | 'refunded' | 'canceled'
  total: number
  refunded: number
  subscription: ModelSubscription | null
}

export interface ModelSession {
  id: string
  order: ModelOrder
  status: 'open' | 'complete' | 'expired'
  ownsOrder: boolean
  expiresAt: number
  /** What is under way. */
  awaits: 'nothing' | 'confirmation' | 'slow payment'
  slowUntil: number
}

export interface ModelSubscription {
  id: string
  status: 'incomplete' | 'active' | 'past_due' | 'canceled'
  /** How long a period is, and what it costs. */
  length: number
  amount: number
  /** When the first period began, and which one it is in. */
  anchor: number
  period: number
  renews: boolean
  ending: boolean
  tries: number
  dueAt: number | null
  orders: ModelOrder[]
}

export const hour = 3_600_000
export const day = 24 * hour
const slowness = 3_000
const retries = [1, 3, 5, 9, 14]

export class PaymentModel {
  now = 0
  orders: ModelOrder[] = []
  sessions: ModelSession[] = []
  subscriptions: ModelSubscription[] = []

  addOrder(id: string | null, total: number, subscription: ModelSubscription | null = null): ModelOrder {
    const order: ModelOrder = { id, status: 'pending', total, refunded: 0, subscription }
    this.orders.push(order)
    subscription?.orders.push(order)
    return order
  }

  addSession(
    id: string,
    order: ModelOrder,
    { ownsOrder, lasts }: { ownsOrder: boolean; lasts: number },
  ): void {
    this.sessions.push({
      id,
      order,
      status: 'open',
      ownsOrder,
      expiresAt: this.now + lasts,
      awaits: 'nothing',
      slowUntil: 0,
    })
  }

  addSubscription(id: string, length: number, amount: number): ModelSubscription {
    const subscription: ModelSubscription = {
      id,
      status: 'incomplete',
      length,
      amount,
      anchor: 0,
      period: 0,
      renews: false,
      ending: false,
      tries: 0,
      dueAt: null,
      orders: [],
    }
    this.subscriptions.push(subscription)
    return subscription
  }

  openSessionOf(order: ModelOrder): ModelSession | undefined {
    return this.sessions.find((session) => session.order === order && session.status === 'open')
  }

  pay(session: ModelSession, card: keyof typeof cards): void {
    if (session.status !== 'open' || session.awaits === 'slow payment') return
    session.awaits = card === 'asks' ? 'confirmation' : card === 'slow' ? 'slow payment' : 'nothing'
    if (card === 'slow') session.slowUntil = this.now + slowness
    if (card === 'pays' || card === 'paysOnce') this.#paid(session, card === 'pays')
  }

  answer(session: ModelSession, confirmed: boolean): void {
    if (session.status !== 'open' || session.awaits !== 'confirmation') return
    session.awaits = 'nothing'
    if (confirmed) this.#paid(session, true)
  }

  #paid(session: ModelSession, renews: boolean): void {
    const {
      order,
      order: { subscription },
    } = session
    order.status = 'paid'
    session.status = 'complete'
    session.awaits = 'nothing'
    if (subscription === null) return
    if (subscription.status === 'incomplete') Object.assign(subscription, { anchor: this.now, period: 1 })
    Object.assign(subscription, {
      status: 'active',
      renews,
      tries: 0,
      dueAt: subscription.anchor + subscription.period * subscription.length,
    })
  }

  expire(session: ModelSession): void {
    session.status = 'expired'
    session.awaits = 'nothing'
    if (!session.ownsOrder) return
    if (session.order.subscription !== null) this.end(session.order.subscription)
    session.order.status = 'canceled'
  }

  cancel(order: ModelOrder): void {
    order.status = 'canceled'
    const open = this.openSessionOf(order)
    if (open !== undefined) Object.assign(open, { status: 'expired', awaits: 'nothing' })
  }

  refund(order: ModelOrder, amount: number): void {
    order.refunded += amount
    order.status = order.refunded === order.total ? 'refunded' : 'partially_refunded'
  }

  end(subscription: ModelSubscription): void {
    Object.assign(subscription, { status: 'canceled', dueAt: null })
    const latest = subscription.orders.at(-1)!
    if (latest.status === 'pending') this.cancel(latest)
  }

  /** Time goes by, and with it what is due, in its order. */
  advance(by: number): void {
    const to = this.now + by
    for (let next = this.#next(to); next !== null; next = this.#next(to)) {
      this.now = Math.max(this.now, next.at)
      next.happens()
    }
    this.now = to
  }

  #next(to: number): { at: number; happens: () => void } | null {
    const dues = [
      ...this.sessions
        .filter(({ awaits }) => awaits === 'slow payment')
        .map((session) => ({ at: session.slowUntil, happens: () => this.#paid(session, true) })),
      ...this.sessions
        .filter(({ status, awaits }) => status === 'open' && awaits !== 'slow payment')
        .map((session) => ({ at: session.expiresAt, happens: () => this.expire(session) })),
      ...this.subscriptions
        .filter(({ dueAt }) => dueAt !== null)
        .map((subscription) => ({ at: subscription.dueAt!, happens: () => this.#renew(subscription) })),
    ].filter(({ at }) => at <= to)
    return dues.length === 0 ? null : dues.reduce((first, due) => (due.at < first.at ? due : first))
  }

  #renew(subscription: ModelSubscription): void {
    const { status, ending, amount, renews, tries } = subscription
    if (ending || tries > retries.length - 1) return this.end(subscription)
    if (status === 'active') {
      subscription.period++
      this.addOrder(null, amount, subscription).status = renews ? 'paid' : 'pending'
    }
    const start = subscription.anchor + (subscription.period - 1) * subscription.length
    Object.assign(
      subscription,
      renews
        ? { dueAt: start + subscription.length }
        : { status: 'past_due', tries: tries + 1, dueAt: start + retries[tries] * day },
    )
  }
}
