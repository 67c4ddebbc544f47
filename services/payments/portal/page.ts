// The page of the customer portal: subscriptions, cards and orders of one customer.
import * as sql from '../../../generated/sql/portal.ts'
import type { Db } from '../../../infra/database/database.ts'
import { html, type Html } from '../../../infra/html/html.ts'
import { page } from '../../../infra/html/layout.ts'
import { formatAmount, formatPlan } from '../currency.ts'
import { isPaidOrTrialing } from '../subscriptions.ts'
import type { Portal } from './sessions.ts'

type Subscription = sql.ListSubscriptionsRow
type Card = sql.ListCardsRow
type Order = sql.ListOrdersRow

const maxItems = 50
const ordersPerPage = 20

export interface PortalOptions {
  seller: string
  /** Shows the orders before this one. */
  before?: string
}

/** The page of a customer, with the present state. */
export async function portalPage(db: Db, portal: Portal, { seller, before }: PortalOptions): Promise<string> {
  const { customer_id, name, email, return_url: returnUrl } = portal
  const subscriptions = await sql.listSubscriptions(db, { customer_id, limit: maxItems })
  const cards = await sql.listCards(db, { customer_id, limit: maxItems })
  const orders = await sql.listOrders(db, { customer_id, before: before ?? null, limit: ordersPerPage + 1 })
  return page({
    title: `Your account at ${seller}`,
    body: html`<div class="stack">
      <div class="sheet stack">
        <h1>Your account at <bdi>${seller}</bdi></h1>
        <p class="soft"><bdi>${name ?? email ?? ''}</bdi></p>
        ${returnUrl === null ? null : renderReturn(returnUrl)}
        <form method="post" action="/portal">
          <button class="button plain" name="action" value="leave">Leave</button>
        </form>
      </div>
      ${renderSection('subscriptions', 'Subscriptions', renderList(subscriptions.map(renderSubscription)))}
      ${renderSection('cards', 'Cards', renderList(cards.map(renderCard)))}
      ${renderSection('orders', 'Orders', renderOrders(orders))}
    </div>`,
  })
}

/** One page for every link and session that has ended or never existed. */
export function renderNoPortal(): string {
  return page({
    title: 'This link has ended',
    body: html`<div class="sheet stack">
      <h1>This link has ended</h1>
      <p>A link opens once, and the page is open for an hour. Go back to the shop and ask for a new link.</p>
    </div>`,
  })
}

/** The page of an address that leads to nothing of the customer's. */
export function renderNothing(title: string, text: string): string {
  return page({
    title,
    body: html`<div class="sheet stack">
      <h1>${title}</h1>
      <p>${text}</p>
      <p><a class="button" href="/portal">Back</a></p>
    </div>`,
  })
}

function renderReturn(url: string): Html {
  return html`<p><a href="${url}">Back to <bdi>${new URL(url).host}</bdi></a></p>`
}

function renderSection(id: string, title: string, body: Html): Html {
  return html`<section class="sheet stack" aria-labelledby="${id}">
    <h2 id="${id}">${title}</h2>
    ${body}
  </section> `
}

function renderList(items: Html[]): Html {
  if (items.length === 0) return html`<p>None.</p>`
  return html`<ul class="stack">
    ${items}
  </ul>`
}

const day = (time: string): string => time.slice(0, 10)

const statusNames: Record<Subscription['status'], string> = {
  incomplete: 'Not paid yet',
  trialing: 'Trial',
  active: 'Active',
  past_due: 'Payment due',
  unpaid: 'Not paid',
  paused: 'Paused',
  canceled: 'Ended',
}

function renderSubscription(subscription: Subscription): Html {
  const { name, status } = subscription
  return html`<li class="stack">
    <p>
      <strong><bdi>${name}</bdi></strong><br />
      <span class="soft"
        >${formatPlan(subscription)} · ${statusNames[status]}${renewalOf(subscription)}</span
      >
    </p>
    ${renderSubscriptionForm(subscription)}
  </li> `
}

function renewalOf({ status, cancel_at_period_end: ends, period_end: periodEnd }: Subscription): string {
  if (status === 'canceled' || periodEnd === null) return ''
  if (ends) return ` · ends on ${day(periodEnd)}`
  return isPaidOrTrialing(status) ? ` · renews on ${day(periodEnd)}` : ''
}

function renderSubscriptionForm(subscription: Subscription): Html | null {
  const { id, name, status, cancel_at_period_end: ends, changes } = subscription
  if (status === 'canceled') return null
  const form = (action: 'cancel' | 'cancel_now' | 'resume' | 'keep', text: string): Html =>
    html`<form method="post" action="/portal/subscriptions">
      <input type="hidden" name="subscription" value="${id}" />
      <button class="button plain" name="action" value="${action}" aria-label="${text}: ${name}">
        ${text}
      </button>
    </form>`
  if (ends) return form('resume', 'Resume')
  if (isPaidOrTrialing(status))
    return html`${changes ? form('keep', 'Take the change back') : null}
      <p><a href="/portal/subscriptions/${id}" aria-label="Change the plan: ${name}">Change the plan</a></p>
      ${form('cancel', 'Cancel at the end of the period')}`
  return html`<details>
    <summary aria-label="Cancel: ${name}">Cancel</summary>
    <p>The subscription ends now, and cannot be resumed.</p>
    ${form('cancel_now', 'Cancel now')}
  </details>`
}

function renderCard({ id, brand, last4, exp_month: month, exp_year: year }: Card, i: number): Html {
  const title = `${brand} ending in ${last4}`
  const expiry = month === null || year === null ? '' : `Expires ${month} / ${year}`
  const form = (action: 'default' | 'remove', text: string): Html =>
    html`<form method="post" action="/portal/cards">
      <input type="hidden" name="card" value="${id}" />
      <button class="button plain" name="action" value="${action}" aria-label="${text}: ${title}">
        ${text}
      </button>
    </form>`
  const details = [...(i === 0 ? ['Pays your subscriptions'] : []), ...(expiry === '' ? [] : [expiry])]
  return html`<li class="stack">
    <p>
      <strong>${title}</strong><br />
      <span class="soft">${details.join(' · ')}</span>
    </p>
    ${i === 0 ? null : form('default', 'Pay with this card')}
    <details>
      <summary aria-label="Remove: ${title}">Remove</summary>
      <p>Without a card, your subscriptions cannot renew.</p>
      ${form('remove', 'Remove the card')}
    </details>
  </li> `
}

const orderStatusNames: Record<Order['status'], string> = {
  pending: 'Not paid',
  paid: 'Paid',
  partially_refunded: 'Partly refunded',
  refunded: 'Refunded',
  canceled: 'Canceled',
}

function renderOrders(orders: Order[]): Html {
  const shown = orders.slice(0, ordersPerPage)
  return html`${renderList(shown.map(renderOrder))}
  ${
    orders.length > ordersPerPage
      ? html`<p><a href="/portal?before=${shown.at(-1)!.id}">Older orders</a></p>`
      : null
  }`
}

function renderOrder({ id, number, status, total_amount: total, currency, ...order }: Order): Html {
  return html`<li>
    <p>
      <strong>${formatAmount(total, currency)}</strong> · ${orderStatusNames[status]}<br />
      <span class="soft">${number} · ${day(order.created_at)}</span>
      ${
        order.paid_at === null
          ? null
          : html`<br /><a href="/portal/orders/${id}/receipt" aria-label="Receipt of ${number}">Receipt</a>`
      }
    </p>
  </li> `
}
