// The pages of a session other than the card form: confirmation, processing, paid, expired and not found.
import { page } from '../../../../infra/html/layout.ts'
import { html } from '../../../../infra/html/html.ts'
import { redirectUrl } from '../../checkouts.ts'
import type { CheckoutState } from '../checkout-state.ts'
import { backLink, formatTotal, sandboxNotice, type PageContext } from './order-summary.ts'

type StateOf<Page extends CheckoutState['page']> = Extract<CheckoutState, { page: Page }>

/** How often a browser reloads the page of a slow payment. */
const refreshSeconds = 2

export function renderConfirmationPage({ state, seller }: PageContext<StateOf<'confirmation'>>): string {
  const { payment, checkout } = state
  return page({
    title: 'Confirm your payment',
    notice: sandboxNotice,
    body: html`<form class="sheet stack" method="post" action="${checkout.id}/confirm" aria-labelledby="ask">
      <div>
        <h1 id="ask">Confirm your payment?</h1>
        <p class="soft">This page simulates a confirmation by the bank, such as 3-D Secure.</p>
      </div>
      <dl>
        <dt>To</dt>
        <dd><bdi>${seller}</bdi></dd>
        <dt>Amount</dt>
        <dd>${formatTotal(state)}</dd>
        <dt>Card</dt>
        <dd>${payment.card.brand} ending in ${payment.card.last4}</dd>
      </dl>
      <input type="hidden" name="payment" value="${payment.id}" />
      <button class="button" name="decision" value="confirm">Confirm</button>
      <button class="button plain" name="decision" value="reject">Reject</button>
    </form>`,
  })
}

export function renderProcessingPage({ state, seller }: PageContext): string {
  return page({
    title: 'Payment in progress',
    refresh: { seconds: refreshSeconds },
    notice: sandboxNotice,
    body: html`<div class="sheet stack">
      <div class="wait"></div>
      <h1>Payment in progress</h1>
      <p>
        Paying ${formatTotal(state)} to <bdi>${seller}</bdi> with this card takes a few seconds. This page
        refreshes automatically.
      </p>
      <p><a href="${state.checkout.id}">Refresh now</a></p>
    </div>`,
  })
}

/**
 * The page after the payment, with a link to the success URL. If it is trusted, the browser follows it at
 * once. A page instead of a redirect: a browser that obeys `form-action` would not follow a redirect from the
 * form to another site.
 */
export function renderPaidPage({ checkout, page: step }: CheckoutState, trusted = false): string {
  const url = redirectUrl(checkout, 'success')
  return page({
    title: step === 'paid' ? 'Paid' : 'Payment in progress',
    ...(trusted && { refresh: { seconds: 0, url } }),
    body: html`<div class="sheet stack">
      <h1>${step === 'paid' ? 'Payment successful.' : 'Your payment is in progress.'} Thank you!</h1>
      <p>
        <a class="button" href="${url}">Continue to <bdi>${new URL(url).host}</bdi></a>
      </p>
    </div>`,
  })
}

/** The page of a session that is no longer payable. */
export function renderExpiredPage({ state }: Pick<PageContext<StateOf<'expired'>>, 'state'>): string {
  const { order, refunded } = state
  const isPaid = order.status !== 'pending' && order.status !== 'canceled'
  const outcome = isPaid
    ? 'This order has been paid another way.'
    : refunded
      ? 'Your payment arrived too late and has been refunded.'
      : 'You have not been charged.'
  return page({
    title: 'This page has expired',
    body: html`<div class="sheet stack">
      <h1>This page has expired</h1>
      <p>${outcome}</p>
      <p>${backLink(state, 'button')}</p>
    </div>`,
  })
}

/** The page for an unknown session. */
export function renderNotFoundPage(): string {
  return page({
    title: 'Page not found',
    body: html`<div class="sheet stack">
      <h1>Payment page not found</h1>
      <p>The address is incomplete or wrong. Go back to the previous page and try again.</p>
    </div>`,
  })
}
