// What every page of a session shows: what is bought, of whom, and what it costs; and the words around it.
import { html, type Html } from '../../../../infra/html/html.ts'
import { addressFor } from '../../checkouts.ts'
import { formatAmount } from '../../currency.ts'
import type { Till } from '../checkout-state.ts'

/** A session as it is at the till, and who sells. */
export interface Shown {
  till: Till
  seller: string
}

/** More items than this are folded away, so that the form is not far below them. */
const mostItems = 5

export const notice: Html = html`<strong>This is a sandbox.</strong> No money moves here. Pay by a test card,
  and never type the number of a real one.`

export function totalOf({ order }: Till): string {
  return formatAmount(order.total_amount, order.currency)
}

/** Where to without paying. */
export function backLink({ till, seller }: Shown, look = ''): Html {
  return html`<a class="${look}" href="${addressFor(till.checkout, 'cancel')}"
    >Back to <bdi>${seller}</bdi></a
  >`
}

export function showOrder({ till, seller }: Shown): Html {
  const { order, recurring } = till
  const count = order.items.length
  const items = html`<ul class="items">
    ${order.items.map(
      (item) =>
        html`<li>
          <span
            ><bdi>${item.description}</bdi
            >${item.quantity === 1 ? null : html`<span class="soft">${item.quantity} × ${formatAmount(item.unit_amount, order.currency)}</span>`}</span
          ><span>${formatAmount(item.amount, order.currency)}</span>
        </li> `,
    )}
  </ul>`
  return html`<section class="stack" aria-labelledby="what">
    <div>
      <h1 id="what">Pay <bdi>${seller}</bdi></h1>
      <p class="total">
        ${totalOf(till)}${recurring === null ? null : html` <small>${everyPeriod(recurring)}</small>`}
      </p>
    </div>
    <div>
      ${
        count > mostItems
          ? html`<details>
              <summary>${count} items</summary>
              ${items}
            </details>`
          : items
      }
      <p class="sum"><span>Total</span><span>${totalOf(till)}</span></p>
    </div>
    <p class="soft">
      Order
      ${order.number}${recurring === null ? null : html`<br />A subscription: it is renewed ${everyPeriod(recurring)} until it is canceled.`}
    </p>
    <p>${backLink({ till, seller })}</p>
  </section>`
}

function everyPeriod({ interval, interval_count: count }: NonNullable<Till['recurring']>): string {
  return count === 1 ? `every ${interval}` : `every ${count} ${interval}s`
}
