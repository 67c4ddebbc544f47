// Receipts by e-mail. They are queued in the transaction of the payment or the refund, so that no crash loses
// one, and with its id as key, so that none is queued twice.
//
// Users get them at the address of their account, if it is verified. A buyer cannot name another address:
// payments in the sandbox are free, and would mail strangers. Sellers name that of a customer without a user:
// not an organization, which everyone can make and which sells in the sandbox.
import type { Transaction } from '../../../infra/database/database.ts'
import { html, type Html } from '../../../infra/html/html.ts'
import { queueMail, type MailServices } from '../../mail/mails.ts'
import type { MailContent, Receipt as ReceiptKind } from '../../mail/templates.ts'
import { formatAmount } from '../currency.ts'
import type { OwnedOrder } from '../orders.ts'
import type { Receipt } from './model.ts'
import { readReceipt } from './receipts.ts'

export interface ReceiptMailsOptions extends MailServices {
  /** SELLER_NAME. */
  seller: string
  /** PUBLIC_URL. null: the e-mails have no link. */
  publicUrl: string | null
  /** Customers of organizations get receipts only if these sell with all gateways. */
  organizationSales: 'sandbox' | 'all'
}

export class ReceiptMails {
  readonly #options: ReceiptMailsOptions

  constructor(options: ReceiptMailsOptions) {
    this.#options = options
  }

  /** For an order that this transaction has set to paid. */
  async paid(tx: Transaction, order: OwnedOrder): Promise<void> {
    await this.#queue(tx, order, { kind: 'receipt', about: order.id, render: renderPaid })
  }

  /** For an order to whose refunded amount this transaction has added a refund. */
  async refunded(tx: Transaction, order: OwnedOrder, refund: { id: string; amount: number }): Promise<void> {
    const amount = formatAmount(refund.amount, order.currency)
    const render: Render = (receipt, url) => renderRefunded(receipt, url, amount)
    await this.#queue(tx, order, { kind: 'refund_receipt', about: refund.id, render })
  }

  async #queue(
    tx: Transaction,
    order: OwnedOrder,
    { kind, about, render }: { kind: ReceiptKind; about: string; render: Render },
  ): Promise<void> {
    const { seller, publicUrl, organizationSales } = this.#options
    if (order.seller_organization_id != null && organizationSales !== 'all') return
    const { receipt, buyerEmail: recipient } = await readReceipt(tx, order, seller)
    if (recipient === null) return
    // Only a user can sign in to see it.
    const url =
      publicUrl === null || order.user_id === null
        ? null
        : `${publicUrl}/v1/payments/orders/${order.id}/receipt`
    await queueMail(tx, this.#options, {
      kind,
      recipient,
      userId: order.user_id,
      content: render(receipt, url),
      dedupeKey: `${kind} ${about}`,
    })
  }
}

type Render = (receipt: Receipt, url: string | null) => MailContent

function renderPaid(receipt: Receipt, url: string | null): MailContent {
  const { number, seller, total, paidOn } = receipt
  const intro = `You have paid ${total} to ${seller} for the order ${number} on ${paidOn}.`
  return renderReceipt(receipt, url, { subject: `Your receipt for the order ${number}`, intro })
}

function renderRefunded(receipt: Receipt, url: string | null, amount: string): MailContent {
  const { number, seller } = receipt
  const intro = `${seller} has refunded ${amount} of your order ${number}.`
  return renderReceipt(receipt, url, { subject: `Your refund for the order ${number}`, intro })
}

function renderReceipt(
  { warning, items, total, refunds, remaining, paidBy }: Receipt,
  url: string | null,
  { subject, intro }: { subject: string; intro: string },
): MailContent {
  const lines = items.map(({ quantity, description, amount }) => [`${quantity} × ${description}`, amount])
  const sums = [
    ['Total paid', total],
    ...refunds.map(({ on, amount }) => [`Refunded on ${on}`, `−${amount}`]),
    ...(remaining === null ? [] : [['Net paid', remaining]]),
    ...(paidBy === null ? [] : [['Paid by', paidBy]]),
  ]
  const rows = [...lines, ...sums]
  const table = rows.map(([name, value]) => `${name}: ${value}`).join('\n')
  const link = url === null ? [] : [`Sign in to see the receipt:\n${url}`]
  return {
    subject,
    text: `${[intro, warning ?? [], table, link].flat().join('\n\n')}\n`,
    html: html`<!doctype html><meta charset="utf-8" /><title>${subject}</title>
      <p>${intro}</p>${warning === null ? null : html`<p>${warning}</p>`}
      <table>${rows.map(renderRow)}</table>
      ${url === null ? null : html`<p><a href="${url}">Show the receipt</a></p>`}`.text,
  }
}

function renderRow([name, value]: string[]): Html {
  return html`<tr><td><bdi>${name}</bdi></td><td align="right">${value}</td></tr>`
}
