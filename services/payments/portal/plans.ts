// The page of the customer portal on which a subscription changes its plan.
import type { components } from '../../../generated/types.ts'
import * as sql from '../../../generated/sql/portal.ts'
import type { Db, Transaction } from '../../../infra/database/database.ts'
import { renderFailure } from '../../../infra/html/form.ts'
import { html, type Html } from '../../../infra/html/html.ts'
import { page } from '../../../infra/html/layout.ts'
import { insertCheckout, toCheckout } from '../checkouts.ts'
import { changeSubscription } from '../change-subscription.ts'
import { isBeingCharged } from '../charge.ts'
import { formatAmount, formatPlan } from '../currency.ts'
import type { PaymentServices } from '../gateway.ts'
import { findOrder } from '../orders.ts'
import type { OwnedSubscription } from '../subscriptions.ts'
import type { Portal } from './sessions.ts'

type Plan = sql.ListPlansRow
export type Preview = components['schemas']['SubscriptionPreview']

const maxPlans = 50
const checkoutLifetimeMs = 3_600_000

/** The plans that a subscription of the customer can change to; empty for another customer's. */
export async function plansOf(db: Db, { customer_id }: Portal, id: string): Promise<Plan[]> {
  return await sql.listPlans(db, { id, customer_id, limit: maxPlans })
}

export interface Choice {
  price: string
  quantity: number
}

/** @param preview what the choice costs; null without a choice. */
export function renderPlans(
  { id, quantity }: Pick<OwnedSubscription, 'id' | 'quantity'>,
  plans: Plan[],
  { choice, preview, failure }: { choice: Choice | null; preview: Preview | null; failure?: string },
): string {
  const [{ name }] = plans
  const title = `Change the plan: ${name}`
  return page({
    title: failure === undefined ? title : `Error: ${title}`,
    body: html`<div class="stack">
      ${failure === undefined ? null : renderFailure('That did not work', failure)}
      <div class="sheet stack">
        <h1>Change the plan</h1>
        <p class="soft"><bdi>${name}</bdi></p>
        <form class="stack" method="get" action="/portal/subscriptions/${id}">
          <fieldset>
            <legend>Plan</legend>
            ${plans.map((plan) => renderPlan(plan, choice?.price))}
          </fieldset>
          <label
            >Quantity
            <input
              name="quantity"
              type="number"
              min="1"
              max="999999"
              required
              value="${String(choice?.quantity ?? quantity)}"
            />
          </label>
          <button class="button">Show the price</button>
        </form>
        <p><a href="/portal">Back</a></p>
      </div>
      ${choice === null || preview === null ? null : renderPreview(id, choice, preview)}
    </div>`,
  })
}

function renderPlan(plan: Plan, chosen: string | undefined): Html {
  const { id, unit_amount: amount, is_current: isCurrent } = plan
  const title = formatPlan({ ...plan, amount })
  const isChosen = chosen === undefined ? isCurrent : chosen === id
  return html`<p>
    <label>
      <input type="radio" name="price" value="${id}" ${isChosen ? html`checked` : null} required />
      ${title}${isCurrent ? ' (now)' : ''}
    </label>
  </p>`
}

function renderPreview(id: string, { price, quantity }: Choice, preview: Preview): Html {
  const { lines, currency, credit_amount: credit, total_amount: total } = preview
  const amount = (minor: number): string => formatAmount(minor, currency)
  return html`<section class="sheet stack" aria-labelledby="costs">
    <h2 id="costs">What it costs</h2>
    <ul>
      ${lines.map(({ description, amount: sum }) => html`<li><bdi>${description}</bdi>: ${amount(sum)}</li>`)}
      ${credit === 0 ? null : html`<li>Credit: −${amount(credit)}</li>`}
      <li><strong>To pay now: ${amount(total)}</strong></li>
      <li>On ${preview.period_end.slice(0, 10)}: ${amount(preview.next_amount)}</li>
    </ul>
    <form method="post" action="/portal/subscriptions">
      <input type="hidden" name="subscription" value="${id}" />
      <input type="hidden" name="price" value="${price}" />
      <input type="hidden" name="quantity" value="${String(quantity)}" />
      <button class="button" name="action" value="change">Change now</button>
      <button class="button plain" name="action" value="change_later">Change at the end of the period</button>
    </form>
  </section>`
}

/**
 * Changes the plan of a locked subscription of the customer.
 * @returns the payment page of a change that is to be paid; null if it is made or scheduled.
 */
export async function changePlan(
  tx: Transaction,
  services: PaymentServices,
  subscription: OwnedSubscription,
  { price, quantity, later, publicUrl }: Choice & { later: boolean; publicUrl: string },
): Promise<string | null> {
  const items = [{ price_id: price, quantity }]
  const apply = later ? 'period_end' : 'now'
  const { scheduled_change: change } = await changeSubscription(tx, services, subscription, { items, apply })
  if (change === null || change.order_id === null || (await isBeingCharged(tx, change.order_id))) return null
  const order = await findOrder(tx, change.order_id)
  const now = new Date(order.created_at)
  const checkout = await insertCheckout(tx, services.gateways, {
    order,
    ownsOrder: false,
    publicUrl,
    successUrl: `${publicUrl}/portal`,
    cancelUrl: `${publicUrl}/portal`,
    expiresAt: new Date(now.getTime() + checkoutLifetimeMs),
    now,
  })
  await services.events.emit(tx, 'checkout.created', toCheckout(checkout), { userId: checkout.owner_id })
  return checkout.url
}
