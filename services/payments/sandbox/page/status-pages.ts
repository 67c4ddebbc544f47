// The other pages of a session: the question back, the wait, and the ends of it.
import { page } from '../../../../infra/html/layout.ts'
import { html } from '../../../../infra/html/html.ts'
import { addressFor } from '../../checkouts.ts'
import type { Till } from '../checkout-state.ts'
import { backLink, notice, totalOf, type Shown } from './order-summary.ts'

/** How long a browser waits before it asks again how a slow card does, in seconds. */
const patience = 2

export function showConfirmation({
  till,
  seller,
}: Shown & { till: Extract<Till, { shows: 'confirmation' }> }): string {
  const { payment, checkout } = till
  return page({
    title: 'Confirm the payment',
    notice,
    body: html`<form class="sheet stack" method="post" action="${checkout.id}/confirm" aria-labelledby="ask">
      <div>
        <h1 id="ask">Do you confirm this payment?</h1>
        <p class="soft">This stands for what the bank of a card asks its holder, such as 3-D Secure does.</p>
      </div>
      <dl>
        <dt>To</dt>
        <dd><bdi>${seller}</bdi></dd>
        <dt>Amount</dt>
        <dd>${totalOf(till)}</dd>
        <dt>Card</dt>
        <dd>${payment.card.brand} ending in ${payment.card.last4}</dd>
      </dl>
      <input type="hidden" name="payment" value="${payment.id}" />
      <button class="button" name="decision" value="confirm">Confirm</button>
      <button class="button plain" name="decision" value="reject">Reject</button>
    </form>`,
  })
}

export function showWait({ till, seller }: Shown): string {
  return page({
    title: 'The payment is on its way',
    refresh: { seconds: patience },
    notice,
    body: html`<div class="sheet stack">
      <div class="wait"></div>
      <h1>The payment is on its way</h1>
      <p>
        This card takes some seconds to pay ${totalOf(till)} to <bdi>${seller}</bdi>. The page goes on by
        itself.
      </p>
      <p><a href="${till.checkout.id}">Look again now</a></p>
    </div>`,
  })
}

/**
 * Everything is paid. By a page of its own: a browser that obeys `form-action` would not follow a redirect from the form to the seller's, and
 * whatever that redirects to.
 */
export function showPaid({ till, seller }: Shown): string {
  const url = addressFor(till.checkout, 'success')
  return page({
    title: 'Paid',
    refresh: { seconds: 0, url },
    body: html`<div class="sheet stack">
      <h1>Paid. Thank you!</h1>
      <p>
        <a class="button" href="${url}">Go on to <bdi>${seller}</bdi></a>
      </p>
    </div>`,
  })
}

/** Nobody pays by this session any more. */
export function showOver({ till, seller }: Shown & { till: Extract<Till, { shows: 'over' }> }): string {
  const { order, givenBack } = till
  const isPaid = order.status !== 'pending' && order.status !== 'canceled'
  return page({
    title: 'This page has expired',
    body: html`<div class="sheet stack">
      <h1>This page has expired</h1>
      <p>
        ${isPaid ? 'The order was paid in another way.' : givenBack ? 'Your payment came too late, and is given back to you.' : 'Nothing was paid.'}
      </p>
      <p>${backLink({ till, seller }, 'button')}</p>
    </div>`,
  })
}

/** There is no such session. */
export function showMissing(): string {
  return page({
    title: 'There is no such page',
    body: html`<div class="sheet stack">
      <h1>There is nothing to be paid here</h1>
      <p>
        The address of this page is not complete, or was mistyped. Go back to where you came from and try
        again.
      </p>
    </div>`,
  })
}
