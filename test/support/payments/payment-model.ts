// A minimal model of orders, sessions and subscriptions, to compare the platform with. Time is in ms since
// the start of the test.
import type { cards } from '../operations/catalog-fixtures.ts'

export interface ModelOrder {
  /** null until it was read from the list of orders. */
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
  /** The event that the active payment attempt waits for. */
  awaits: 'nothing' | 'confirmation' | 'slow payment'
  slowUntil: number
}

export interface ModelSubscription {
  id: string
  status: 'incomplete' | 'active' | 'past_due' | 'canceled'
  /** The length and the price of a period. */
  length: number
  amount: number
  /** The start of the first period and the number of the current one. */
  anchor: number
  period: number
  cancelAtPeriodEnd: boolean
  tries: number
  dueAt: number | null
  orders: ModelOrder[]
}

export const hour = 3_600_000
export const day = 24 * hour
const slowCardDelayMs = 3_000
const retryDays = [1, 3, 5, 9, 14]

export class PaymentModel {
  /** Whether the card that paid a subscription last pays renewals: all are charged to it. */
  #renews = false
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
      cancelAtPeriodEnd: false,
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
    session.awaits =
      card === 'needsConfirmation' ? 'confirmation' : card === 'slow' ? 'slow payment' : 'nothing'
    if (card === 'slow') session.slowUntil = this.now + slowCardDelayMs
    if (card === 'succeeds' || card === 'renewalDeclined') this.#paid(session, card === 'succeeds')
  }

  confirm(session: ModelSession, confirmed: boolean): void {
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
    this.#renews = renews
    if (subscription.status === 'incomplete') Object.assign(subscription, { anchor: this.now, period: 1 })
    Object.assign(subscription, {
      status: 'active',
      tries: 0,
      dueAt: subscription.anchor + subscription.period * subscription.length,
    })
  }

  expire(session: ModelSession): void {
    session.status = 'expired'
    session.awaits = 'nothing'
    if (!session.ownsOrder) return
    if (session.order.subscription !== null) this.cancelSubscription(session.order.subscription)
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

  cancelSubscription(subscription: ModelSubscription): void {
    Object.assign(subscription, { status: 'canceled', dueAt: null })
    const latest = subscription.orders.at(-1)!
    if (latest.status === 'pending') this.cancel(latest)
  }

  /** Moves the time forward and runs the due tasks in order. */
  advance(by: number): void {
    const to = this.now + by
    for (let next = this.#nextTask(to); next !== null; next = this.#nextTask(to)) {
      this.now = Math.max(this.now, next.at)
      next.run()
    }
    this.now = to
  }

  #nextTask(to: number): { at: number; run: () => void } | null {
    const tasks = [
      ...this.sessions
        .filter(({ awaits }) => awaits === 'slow payment')
        .map((session) => ({ at: session.slowUntil, run: () => this.#paid(session, true) })),
      ...this.sessions
        .filter(({ status, awaits }) => status === 'open' && awaits !== 'slow payment')
        .map((session) => ({ at: session.expiresAt, run: () => this.expire(session) })),
      ...this.subscriptions
        .filter(({ dueAt }) => dueAt !== null)
        .map((subscription) => ({ at: subscription.dueAt!, run: () => this.#renew(subscription) })),
    ].filter(({ at }) => at <= to)
    return tasks.length === 0 ? null : tasks.reduce((first, due) => (due.at < first.at ? due : first))
  }

  #renew(subscription: ModelSubscription): void {
    const { status, cancelAtPeriodEnd, amount, tries } = subscription
    const renews = this.#renews
    const isLast = tries === retryDays.length
    if (cancelAtPeriodEnd || (isLast && !renews)) return this.cancelSubscription(subscription)
    if (status === 'active') {
      subscription.period++
      this.addOrder(null, amount, subscription).status = renews ? 'paid' : 'pending'
    }
    // A retry succeeds once the customer has paid something else with a better card.
    else if (renews) subscription.orders.at(-1)!.status = 'paid'
    const start = subscription.anchor + (subscription.period - 1) * subscription.length
    Object.assign(
      subscription,
      renews
        ? { status: 'active', tries: 0, dueAt: start + subscription.length }
        : { status: 'past_due', tries: tries + 1, dueAt: start + retryDays[tries] * day },
    )
  }
}
