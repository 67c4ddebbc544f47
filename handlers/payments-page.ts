// The pages by which a session is paid: plain HTML that works without scripts. Every form is answered by sending the browser on, so that
// going back or loading again does nothing twice; what a page shows is what the database says.
import type { Handlers } from '../services/handler.ts'
import { ApiError } from '../infra/errors.ts'
import { pageHeaders as headers } from '../infra/html/layout.ts'
import { addressFor } from '../services/payments/checkouts.ts'
import { showCardForm } from '../services/payments/sandbox/page/card-form.ts'
import {
  showConfirmation,
  showMissing,
  showOver,
  showPaid,
  showWait,
} from '../services/payments/sandbox/page/status-pages.ts'
import { readCard } from '../services/payments/sandbox/page/card-validation.ts'
import { answerConfirmation, payByCard, tillOf } from '../services/payments/sandbox/checkout-state.ts'

const sentTo = (location: string) => ({
  status: 303 as const,
  headers: { location, 'referrer-policy': 'no-referrer', 'cache-control': 'no-store' },
})
const missing = () => ({ status: 404 as const, body: showMissing(), headers })

export const paymentsPage = {
  async showPayPage({ params: { id } }, { db, gateways, config: { sellerName: seller } }) {
    const till = await tillOf(db, id).catch(unlessMissing)
    if (till === null) return missing()
    if (till.shows === 'over') return { status: 410, body: showOver({ till, seller }), headers }
    const page = gateways.of(till.checkout.gateway).page
    // Where a gateway's own page is done, the customer is, too: also when a bank takes its time.
    if (page !== null)
      return sentTo(
        till.shows === 'paid' || till.shows === 'wait'
          ? addressFor(till.checkout, 'success')
          : await page(db, till.checkout, till.order),
      )
    switch (till.shows) {
      case 'paid':
        return { status: 200, body: showPaid({ till, seller }), headers }
      case 'wait':
        return { status: 200, body: showWait({ till, seller }), headers }
      case 'confirmation':
        return { status: 200, body: showConfirmation({ till, seller }), headers }
      case 'form':
        return { status: 200, body: showCardForm({ till, seller }, { failure: till.failure }), headers }
    }
  },

  async payCheckout({ params: { id }, body }, { db, events, gateways, config: { sellerName: seller } }) {
    const till = await tillOf(db, id).catch(unlessMissing)
    if (till === null) return missing()
    if (till.shows === 'over') return { status: 410, body: showOver({ till, seller }), headers }
    const isOurs = gateways.of(till.checkout.gateway).page === null
    if (!isOurs || till.shows === 'paid' || till.shows === 'wait') return sentTo(id)
    const card = readCard(body)
    if ('problems' in card)
      return {
        status: 422,
        body: showCardForm({ till, seller }, { typed: body, problems: card.problems }),
        headers,
      }
    await payByCard(db, { events, gateways }, id, card.number)
    return sentTo(id)
  },

  async confirmPayment(
    { params: { id }, body: { payment, decision } },
    { db, events, gateways, config: { sellerName: seller } },
  ) {
    const till = await tillOf(db, id).catch(unlessMissing)
    if (till === null) return missing()
    if (till.shows === 'over') return { status: 410, body: showOver({ till, seller }), headers }
    await answerConfirmation(db, { events, gateways }, id, { payment, confirmed: decision === 'confirm' })
    return sentTo(`../${id}`)
  },

  async returnFromGateway({ params: { id } }, { db, events, gateways }) {
    const till = await tillOf(db, id).catch(unlessMissing)
    if (till === null) return missing()
    await gateways.of(till.checkout.gateway).look?.(db, { events, gateways }, till.checkout)
    return sentTo(`../${id}`)
  },
} satisfies Handlers<'payments-page'>

function unlessMissing(error: unknown): null {
  if (error instanceof ApiError && error.status === 404) return null
  throw error
}
