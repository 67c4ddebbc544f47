// The payment pages: plain HTML that works without scripts. Each form redirects after POST, so that reloading
// or going back submits nothing twice. A page always shows the state in the database.
import type { Handlers } from '../services/handler.ts'
import { ApiError } from '../infra/errors.ts'
import { pageHeaders as headers } from '../infra/html/layout.ts'
import { isTrustedReturn, redirectUrl } from '../services/payments/checkouts.ts'
import { renderCardPage } from '../services/payments/sandbox/page/card-form.ts'
import {
  renderConfirmationPage,
  renderExpiredPage,
  renderNotFoundPage,
  renderPaidPage,
  renderProcessingPage,
} from '../services/payments/sandbox/page/status-pages.ts'
import { validateCard } from '../services/payments/sandbox/page/card-validation.ts'
import { sellerName } from '../services/payments/sellers.ts'
import { checkoutState, payByCard, resolveConfirmation } from '../services/payments/sandbox/checkout-state.ts'

const redirectTo = (location: string) => ({
  status: 303 as const,
  headers: { location, 'referrer-policy': 'no-referrer', 'cache-control': 'no-store' },
})
const notFoundPage = () => ({ status: 404 as const, body: renderNotFoundPage(), headers })

export const paymentsPage = {
  async showPayPage({ params: { id } }, { db, gateways, config }) {
    const state = await checkoutState(db, id).catch(nullIfNotFound)
    if (state === null) return notFoundPage()
    const { checkout, order } = state
    const seller = await sellerName(db, order.seller_organization_id, config.sellerName)
    if (state.page === 'expired') return { status: 410, body: renderExpiredPage({ state }), headers }
    const { paymentPageUrl } = gateways.of(checkout.gateway)
    const trusted = isTrustedReturn(checkout, config.checkoutRedirectOrigins)
    if (paymentPageUrl !== null) {
      // Customers of a remote gateway are done as soon as its page is, even if the bank takes longer.
      const isDone = state.page === 'paid' || state.page === 'processing'
      if (!isDone) return redirectTo(await paymentPageUrl(db, checkout, order))
      if (trusted) return redirectTo(redirectUrl(checkout, 'success'))
      return { status: 200, body: renderPaidPage(state), headers }
    }
    switch (state.page) {
      case 'paid':
        return { status: 200, body: renderPaidPage(state, trusted), headers }
      case 'processing':
        return { status: 200, body: renderProcessingPage({ state, seller }), headers }
      case 'confirmation':
        return { status: 200, body: renderConfirmationPage({ state, seller }), headers }
      case 'form':
        return { status: 200, body: renderCardPage({ state, seller }, { failure: state.failure }), headers }
    }
  },

  async payCheckout({ params: { id }, body }, services) {
    const { db, gateways, config } = services
    const state = await checkoutState(db, id).catch(nullIfNotFound)
    if (state === null) return notFoundPage()
    const seller = await sellerName(db, state.order.seller_organization_id, config.sellerName)
    if (state.page === 'expired') return { status: 410, body: renderExpiredPage({ state }), headers }
    const isSandbox = gateways.of(state.checkout.gateway).paymentPageUrl === null
    if (!isSandbox || state.page === 'paid' || state.page === 'processing') return redirectTo(id)
    const card = validateCard(body)
    if ('problems' in card) {
      const { problems } = card
      return { status: 422, body: renderCardPage({ state, seller }, { values: body, problems }), headers }
    }
    await payByCard(db, services, id, card)
    return redirectTo(id)
  },

  async confirmPayment({ params: { id }, body: { payment, decision } }, services) {
    const { db } = services
    const state = await checkoutState(db, id).catch(nullIfNotFound)
    if (state === null) return notFoundPage()
    if (state.page === 'expired') return { status: 410, body: renderExpiredPage({ state }), headers }
    await resolveConfirmation(db, services, id, { payment, confirmed: decision === 'confirm' })
    return redirectTo(`../${id}`)
  },

  async returnFromGateway({ params: { id } }, services) {
    const { db, gateways } = services
    const state = await checkoutState(db, id).catch(nullIfNotFound)
    if (state === null) return notFoundPage()
    await gateways.of(state.checkout.gateway).poll?.(db, services, state.checkout)
    return redirectTo(`../${id}`)
  },
} satisfies Handlers<'payments-page'>

function nullIfNotFound(error: unknown): null {
  if (error instanceof ApiError && error.status === 404) return null
  throw error
}
