// The payment gateway interface. A gateway takes payments for checkout sessions, refunds them, and reports
// outcomes through settle.ts. Methods that take a transaction must not call the network: a remote gateway
// enqueues a job instead.
import type { Db, Transaction } from '../../infra/database/database.ts'
import type { OwnedCheckout } from './checkouts.ts'
import type { OwnedOrder } from './orders.ts'
import type { Emitter } from '../events/emit.ts'
import type { ReceiptMails } from './receipts/mail.ts'

export interface GatewayPayment {
  id: string
  /** The gateway's id of the payment. */
  reference: string | null
}

export interface Gateway {
  readonly name: string
  /** True if this platform renews subscriptions (renewals.ts); false if the gateway renews them itself. */
  readonly renews: boolean
  /**
   * Throws 400 for an amount that the gateway does not support. `field` is the request field to name in the
   * error.
   */
  requireAmount(amount: number, currency: string, field: string): void
  /**
   * Refunds a part of a payment, in a transaction. `pending` means that the gateway reports the outcome
   * later.
   */
  refund(
    tx: Transaction,
    refund: { id: string; amount: number; currency: string },
    payment: GatewayPayment,
  ): Promise<'succeeded' | 'pending'>
  /**
   * Refunds a late payment in full, in a transaction. A payment is late if its order is no longer payable.
   * `returning` means that the gateway reports the outcome later.
   */
  refundLatePayment(tx: Transaction, payment: GatewayPayment): Promise<'returned' | 'returning'>
  /**
   * Makes a session unpayable, in a transaction. If it was paid already, the gateway calls `applyPayment`.
   */
  closeCheckout(tx: Transaction, checkout: { id: string }): Promise<void>
  /**
   * Sends the cancellation state of a subscription (now, at period end, or none) to the gateway, in a
   * transaction.
   */
  syncCancellation(tx: Transaction, subscription: { id: string }): Promise<void>
  /**
   * Returns the URL of the gateway's own payment page for an open session, the same URL on each call. Called
   * outside of transactions. Throws 503 when the gateway cannot be reached. null if the gateway uses this
   * server's page.
   */
  readonly paymentPageUrl: ((db: Db, checkout: OwnedCheckout, order: OwnedOrder) => Promise<string>) | null
  /** Fetches the state of a session from the gateway and applies it. Called outside of transactions. */
  poll?(db: Db, services: PaymentServices, checkout: OwnedCheckout): Promise<void>
}

/** A request to a remote gateway, enqueued in a transaction and performed outside of it. */
export interface GatewayJob {
  task: 'refund' | 'refund_late_payment' | 'close' | 'sync_cancellation'
  /**
   * The id of the refund, the payment, the checkout session or the subscription, in the order of the tasks.
   */
  id: string
  /** The gateway's id of the session to close, if the session's row does not hold it. */
  reference?: string
  /** Number of failed attempts. */
  tries: number
}

/** A gateway behind a network, which reports outcomes by signed webhooks. */
export interface RemoteGateway extends Gateway {
  /**
   * Verifies a webhook and applies the state that it announces. Idempotent. Throws 400 for an invalid
   * signature and 503 when the gateway cannot be reached.
   */
  handleWebhook(db: Db, services: PaymentServices, body: Buffer, signature: string): Promise<void>
  /**
   * Performs a job outside of transactions. A job has one effect even if it runs twice or twice at the same
   * time.
   * @param options.repeated true if an earlier attempt may have reached the gateway.
   * @param options.attempt a unique id of this attempt.
   * @returns when to check the outcome again; null when the job is done.
   */
  perform(
    db: Db,
    services: PaymentServices,
    job: GatewayJob,
    options: { repeated: boolean; attempt: string },
  ): Promise<Date | null>
  /** Called when the retries of a job are exhausted, in the transaction that removes it. */
  giveUp(tx: Transaction, services: PaymentServices, job: GatewayJob): Promise<void>
  /** Closes all connections and aborts requests in progress. */
  disconnect(): void
}

export interface Gateways {
  /**
   * The gateway for new sessions and subscriptions. Existing ones stay with the gateway that created them.
   */
  current: Gateway
  /** The gateway for a new session or subscription with this total. */
  forTotal(total: number): Gateway
  /** The gateway of a subscription that another one had, for its new total. */
  forChange(name: string, total: number): Gateway
  /** null unless Stripe is configured. */
  stripe: RemoteGateway | null
  /** The gateway with this name. Throws when it is not configured. */
  of(name: string): Gateway
}

/** The gateway of orders with the total 0: it has nothing to charge and nothing to refund. */
const free: Gateway = {
  name: 'free',
  renews: true,
  paymentPageUrl: null,
  requireAmount() {},
  async refund() {
    throw new Error('An order with the total 0 cannot be refunded.')
  },
  async refundLatePayment() {
    return 'returned'
  },
  async closeCheckout() {},
  async syncCancellation() {},
}

/** Stripe is the current gateway if it is configured, else the sandbox. */
export function createGateways(sandbox: Gateway, stripe: RemoteGateway | null): Gateways {
  const current = stripe ?? sandbox
  const configured = [sandbox, free, ...(stripe === null ? [] : [stripe])]
  const forTotal = (total: number): Gateway => (total === 0 ? free : current)
  const of = (name: string): Gateway => {
    const found = configured.find((gateway) => gateway.name === name)
    if (found === undefined) throw new Error(`The payment gateway ${name} is not configured.`)
    return found
  }
  return {
    current,
    forTotal,
    forChange: (name, total) => (total === 0 || name === free.name ? forTotal(total) : of(name)),
    stripe,
    of,
  }
}

/** The services that payment functions take. */
export interface PaymentServices {
  events: Emitter
  gateways: Gateways
  receiptMails: ReceiptMails
  dunning: Dunning
}

/** How the failed payment of a renewal is tried again. */
export interface Dunning {
  /** Days after the start of the period. */
  days: number[]
  /** What becomes of the subscription after the last try. */
  end: 'cancel' | 'unpaid'
}
