// What a gateway owes the platform: to take money for checkout sessions and to give it back. It tells of what has happened by way
// of settle.ts. What is asked of it inside of a transaction it only notes there when it is reached over a network, and does it later, until it
// is done.
import type { Db } from '../../infra/database/database.ts'
import type { OwnedCheckout } from './checkouts.ts'
import type { OwnedOrder } from './orders.ts'
import type { Emitter } from '../events/emit.ts'

export interface GatewayPayment {
  id: string
  /** What the gateway calls it. */
  reference: string | null
}

export interface Gateway {
  readonly name: string
  /** Whether subscriptions are renewed by this platform (renewals.ts), and not by the gateway itself. */
  readonly renews: boolean
  /** Throws 400 for an amount that it does not take. `field` is what the request calls it. */
  requireAmount(amount: number, currency: string, field: string): void
  /** Gives a part of a payment back, in a transaction. @returns whether it is done, or will be told of. */
  refund(
    tx: Db,
    refund: { id: string; amount: number; currency: string },
    payment: GatewayPayment,
  ): Promise<'succeeded' | 'pending'>
  /** Gives a whole payment back that came too late to pay anything, in a transaction. @returns whether it is done, or will be told of. */
  giveBack(tx: Db, payment: GatewayPayment): Promise<'returned' | 'returning'>
  /** Nobody is to pay by the session any more; in a transaction. Where somebody already has, `settlePayment` hears of it. */
  close(tx: Db, checkout: { id: string }): Promise<void>
  /** Whether a subscription ends with its period, or has ended, is not what it was; in a transaction. */
  follow(tx: Db, subscription: { id: string }): Promise<void>
  /**
   * The address of the gateway's own page for an open session, outside of transactions; the same for the same session. Throws 503 when the
   * gateway cannot be reached. null where this server's own page is the gateway's.
   */
  readonly page: ((db: Db, checkout: OwnedCheckout, order: OwnedOrder) => Promise<string>) | null
  /** Asks the gateway how a session went, and settles what it says; outside of transactions. */
  look?(db: Db, services: SettleServices, checkout: OwnedCheckout): Promise<void>
}

/** What a gateway was asked inside of a transaction and has to do outside. */
export interface GatewayJob {
  /** To give back a refund, or a payment that came too late; to let nobody pay by a session any more; to have a subscription end as it does here. */
  task: 'refund' | 'return' | 'close' | 'follow'
  /** Of the refund, the payment, the session or the subscription. */
  id: string
  /** What the gateway calls the session, where its row does not say it. */
  reference?: string
  /** How often it has failed. */
  tries: number
}

/** A gateway behind a network, that tells of what happened by signed requests. */
export interface TellingGateway extends Gateway {
  /** Throws 400 unless the signature is of these bytes, and 503 when the gateway cannot be asked. What was heard before has no effect. */
  hear(db: Db, services: SettleServices, body: Buffer, signature: string): Promise<void>
  /**
   * Does a job, outside of transactions. Done twice, or by two at once, it has one effect. `repeated` says whether it may have been begun before,
   * and `attempt` is unlike that of any other job.
   * @returns when it is to be looked at again; null when it is done.
   */
  perform(
    db: Db,
    services: SettleServices,
    job: GatewayJob,
    options: { repeated: boolean; attempt: string },
  ): Promise<Date | null>
  /** Nobody tries the job any more; in the transaction that ends it. */
  giveUp(tx: Db, services: SettleServices, job: GatewayJob): Promise<void>
  /** Ends the connections, and with them what is under way. */
  disconnect(): void
}

export interface Gateways {
  /** The one in use. What was begun with another is finished with that. */
  current: Gateway
  /** null unless it is configured. */
  stripe: TellingGateway | null
  /** Throws when it is not configured any more. */
  of(name: string): Gateway
}

/** @param stripe is the one in use where it is configured. */
export function createGateways(sandbox: Gateway, stripe: TellingGateway | null): Gateways {
  const known = [sandbox, ...(stripe === null ? [] : [stripe])]
  return {
    current: stripe ?? sandbox,
    stripe,
    of(name) {
      const found = known.find((gateway) => gateway.name === name)
      if (found === undefined) throw new Error(`the gateway ${name} is not configured any more`)
      return found
    },
  }
}

/** What is needed to settle what a gateway tells of. */
export interface SettleServices {
  events: Emitter
  gateways: Gateways
}
