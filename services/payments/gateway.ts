// The payment gateway interface. A gateway takes payments for checkout sessions, refunds them, and reports
// outcomes through settle.ts. Methods that take a transaction must not call the network: a remote gateway
// enqueues a job instead.
import type { Db, Transaction } from '../../infra/database/database.ts'
import { invalidField } from '../../infra/errors.ts'
import type { OwnedCheckout } from './checkouts.ts'
import type { OwnedOrder } from './orders.ts'
import type { Emitter } from '../events/emit.ts'
import type { ReceiptMails } from './receipts/mail.ts'

export interface GatewayPayment {
  id: string
  /** The gateway's id of the payment. */
  reference: string | null
}

/** A card that a customer has stored. */
export interface StoredCard {
  brand: string
  last4: string
  /** Whether a test card pays when its customer is away. */
  renews: boolean
  /** The gateway's id of the card. */
  reference: string | null
}

export interface Gateway {
  readonly name: string
  /**
   * Throws 400 for an amount that the gateway does not support. `field` is the request field to name in the
   * error.
   */
  requireAmount(amount: number, currency: string, field: string): void
  /** The smallest amount that the gateway charges, in minor units. */
  minimumOf(currency: string): number
  /**
   * Charges a stored card while its customer is away, in a transaction. With `pending`, the gateway reports
   * the outcome later by `settleCharge`, for the id of the payment; it charges the card at most once for it.
   */
  charge(
    tx: Transaction,
    payment: { id: string },
    card: StoredCard,
  ): Promise<'succeeded' | 'pending' | { failed: string }>
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

/**
 * Throws 400 for the total of an order that the gateway cannot charge. `field` is the request field to name
 * in the error.
 */
export function requireTotal(gateway: Gateway, total: number, currency: string, field: string): void {
  gateway.requireAmount(total, currency, field)
  const minimum = gateway.minimumOf(currency)
  if (total > 0 && total < minimum)
    throw invalidField(field, 'minimum', `The total is ${total}; the gateway charges at least ${minimum}.`)
}

/** A request to a remote gateway, enqueued in a transaction and performed outside of it. */
export interface GatewayJob {
  /** The name of the gateway; `stripe` if absent. */
  gateway?: string
  task:
    | 'charge'
    | 'refund'
    | 'refund_late_payment'
    | 'close'
    | 'sync_cancellation'
    | 'forget_card'
    | 'forget_customer'
  /**
   * The id of the payment, the refund, the late payment, the checkout session or the subscription, or the
   * gateway's id of the card or the customer, in the order of the tasks. The database adds the last two.
   */
  id: string
  /** The gateway's id of the card to charge, or of the session to close if its row does not hold it. */
  reference?: string
  /** Number of failed attempts. */
  tries: number
}

/** A remote gateway rejected a request or could not be reached. The message is for operators. */
export class GatewayFailure extends Error {
  /** The gateway's error code, e.g. `resource_missing`. */
  code: string | null
  /** Whether a later retry may succeed, perhaps after an operator has fixed the account. */
  retryable: boolean
  /** Milliseconds to wait before a retry, if the gateway sent `Retry-After`. */
  retryAfter: number | null

  constructor(
    message: string,
    { code, retryable, retryAfter }: { code: string | null; retryable: boolean; retryAfter: number | null },
  ) {
    super(message)
    this.code = code
    this.retryable = retryable
    this.retryAfter = retryAfter
  }
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
  /**
   * Called when the retries of a job are exhausted, in the transaction that removes it. The retries of
   * charges and refunds never are.
   */
  giveUp(tx: Transaction, services: PaymentServices, job: GatewayJob): Promise<void>
  /** Closes all connections and aborts requests in progress. */
  disconnect(): void
}

/** The prices of a subscription for one period. */
export interface BilledPlan {
  total: number
  /** Whether usage is charged, too. */
  hasUsage: boolean
}

export interface Gateways {
  /**
   * The gateway for new sessions and subscriptions. Existing ones stay with the gateway that created them.
   */
  current: Gateway
  /** Whether organizations sell with the current gateway. */
  forOrganizations: boolean
  /** The gateway for a new session or order with this total. */
  forTotal(total: number): Gateway
  /** The gateway for a new subscription. */
  forPlan(plan: BilledPlan): Gateway
  /** The gateway of a subscription that another one had, for its new prices. */
  forChange(name: string, plan: BilledPlan): Gateway
  /** The configured gateways behind a network. */
  remotes: RemoteGateway[]
  /** The gateway behind a network with this name; null if it is not configured. */
  remote(name: string): RemoteGateway | null
  /** The gateway with this name. Throws when it is not configured. */
  of(name: string): Gateway
}

/** The gateway of orders with the total 0: it has nothing to charge and nothing to refund. */
const free: Gateway = {
  name: 'free',
  paymentPageUrl: null,
  requireAmount() {},
  minimumOf: () => 0,
  async charge() {
    throw new Error('An order with the total 0 cannot be charged.')
  },
  async refund() {
    throw new Error('An order with the total 0 cannot be refunded.')
  },
  async refundLatePayment() {
    return 'returned'
  },
  async closeCheckout() {},
  async syncCancellation() {},
}

/**
 * The first remote gateway is the current one; without any, the sandbox.
 * @param options.organizationSales the gateways with which organizations sell.
 */
export function createGateways(
  sandbox: Gateway,
  remotes: RemoteGateway[],
  { organizationSales }: { organizationSales: 'sandbox' | 'all' },
): Gateways {
  const current = remotes[0] ?? sandbox
  const configured = [sandbox, free, ...remotes]
  const forTotal = (total: number): Gateway => (total === 0 ? free : current)
  const forPlan = ({ total, hasUsage }: BilledPlan): Gateway => (hasUsage ? current : forTotal(total))
  const of = (name: string): Gateway => {
    const found = configured.find((gateway) => gateway.name === name)
    if (found === undefined) throw new Error(`The payment gateway ${name} is not configured.`)
    return found
  }
  return {
    current,
    forOrganizations: organizationSales === 'all' || current === sandbox,
    forTotal,
    forPlan,
    forChange: (name, plan) => (forPlan(plan) === free || name === free.name ? forPlan(plan) : of(name)),
    remotes,
    remote: (name) => remotes.find((gateway) => gateway.name === name) ?? null,
    of,
  }
}

/** The services that payment functions take. */
export interface PaymentServices {
  events: Emitter
  gateways: Gateways
  receiptMails: ReceiptMails
  dunning: Dunning
  usageDays: UsageDays
}

/** How long usage can change, in days. */
export interface UsageDays {
  /** How late usage is accepted. */
  accepted: number
  /** How long events are kept: the first and the last hour of a period are counted by them. */
  kept: number
}

/** How the failed payment of a renewal is tried again. */
export interface Dunning {
  /** Days after the start of the period. */
  days: number[]
  /** What becomes of the subscription after the last try. */
  end: 'cancel' | 'unpaid'
}
