// The order summary that every page of a session shows: the items, the seller and the total.
import { html, type Html } from '../../../../infra/html/html.ts'
import { redirectUrl } from '../../checkouts.ts'
import { formatAmount, formatInterval } from '../../currency.ts'
import type { CheckoutState } from '../checkout-state.ts'

/** The input of every page. */
export interface PageContext<State extends CheckoutState = CheckoutState> {
  state: State
  seller: string
}

/** Longer lists of items are collapsed, so that the form stays near the top of the page. */
const maxExpandedItems = 5

export const sandboxNotice: Html = html`<strong>This is a sandbox.</strong> No money moves. Pay with a test
  card, and never enter a real card number.`

export function formatTotal({ order }: CheckoutState): string {
  return formatAmount(order.total_amount, order.currency)
}

/** A link to the cancel URL. It names the host, which need not be the seller's. */
export function backLink({ checkout }: CheckoutState, className = ''): Html {
  const url = redirectUrl(checkout, 'cancel')
  return html`<a class="${className}" href="${url}">Back to <bdi>${new URL(url).host}</bdi></a>`
}

export function renderOrderSummary({ state, seller }: PageContext): Html {
  const { order, recurring, hasUsage } = state
  const usage = hasUsage ? ', plus usage,' : ''
  const count = order.items.length
  const items = html`<ul class="items">${order.items.map(
    ({ description, quantity, unit_amount: unitAmount, amount }) => html`
      <li>
        <span><bdi>${description}</bdi>${
          quantity === 1
            ? null
            : html`<span class="soft">${quantity} × ${formatAmount(unitAmount, order.currency)}</span>`
        }</span>
        <span>${formatAmount(amount, order.currency)}</span>
      </li>`,
  )}
    </ul>`
  return html`<section class="stack" aria-labelledby="what">
    <div>
      <h1 id="what">Pay <bdi>${seller}</bdi></h1>
      <p class="total">
        ${formatTotal(state)}${recurring === null ? null : html` <small>${formatInterval(recurring)}</small>`}
      </p>
    </div>
    <div>
      ${
        count > maxExpandedItems
          ? html`<details>
              <summary>${count} items</summary>
              ${items}
            </details>`
          : items
      }
      ${
        order.credit_amount === 0
          ? null
          : html`<p class="sum">
              <span>Credit</span><span>−${formatAmount(order.credit_amount, order.currency)}</span>
            </p>`
      }
      <p class="sum"><span>Total</span><span>${formatTotal(state)}</span></p>
    </div>
    <p class="soft">
      Order
      ${order.number}${
        recurring === null
          ? null
          : html`<br />This subscription renews ${formatInterval(recurring)}${usage} until you cancel it.`
      }
    </p>
    <p>${backLink(state)}</p>
  </section>`
}
