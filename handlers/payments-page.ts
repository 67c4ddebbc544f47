// The pages by which a session is paid: plain HTML that works without scripts. Every form is answered by sending the browser on, so that
// going back or loading again does nothing twice; what a page shows is what the database says.
import type { Handlers } from '../generated/operations.ts'
import { ApiError } from '../services/errors.ts'
import { addressFor } from '../services/payments/checkouts.ts'
import { readCard, showCardForm, showConfirmation, showMissing, showOver, showWait, pageHeaders } from '../services/payments/page.ts'
import { answerConfirmation, payByCard, tillOf } from '../services/payments/till.ts'

const sentTo = (location: string) => ({ status: 303 as const, headers: { location, 'referrer-policy': 'no-referrer' } })
const missing = () => ({ status: 404 as const, body: showMissing(), headers: pageHeaders })

export const paymentsPage = {
  async showPayPage ({ params: { id } }, { db, gateways }) {
    const till = await tillOf(db, id).catch(unlessMissing)
    if (till === null) return missing()
    if (till.shows === 'paid') return sentTo(addressFor(till.checkout, 'success'))
    if (till.shows === 'over') return { status: 410, body: showOver(till), headers: pageHeaders }
    const page = gateways.of(till.checkout.gateway).page
    if (page !== null) return sentTo(await page(db, till.checkout, till.order))
    const body = till.shows === 'wait' ? showWait(till) : till.shows === 'confirmation' ? showConfirmation(till) : showCardForm(till, { failure: till.failure })
    return { status: 200, body, headers: pageHeaders }
  },

  async payCheckout ({ params: { id }, body }, { db, events, gateways }) {
    const till = await tillOf(db, id).catch(unlessMissing)
    if (till === null) return missing()
    if (till.shows === 'over') return { status: 410, body: showOver(till), headers: pageHeaders }
    if (till.shows !== 'form' && till.shows !== 'confirmation') return sentTo(`/pay/${id}`)
    const card = readCard(body)
    if ('problems' in card) return { status: 422, body: showCardForm(till, { typed: body, problems: card.problems }), headers: pageHeaders }
    if (gateways.of(till.checkout.gateway).page === null) await payByCard(db, { events, gateways }, id, card.number)
    return sentTo(`/pay/${id}`)
  },

  async confirmPayment ({ params: { id }, body: { payment, decision } }, { db, events, gateways }) {
    const till = await tillOf(db, id).catch(unlessMissing)
    if (till === null) return missing()
    if (till.shows === 'over') return { status: 410, body: showOver(till), headers: pageHeaders }
    await answerConfirmation(db, { events, gateways }, id, { payment, confirmed: decision === 'confirm' })
    return sentTo(`/pay/${id}`)
  },

  async returnFromGateway ({ params: { id } }, { db, gateways }) {
    const till = await tillOf(db, id).catch(unlessMissing)
    if (till === null) return missing()
    await gateways.of(till.checkout.gateway).look?.(db, till.checkout)
    return sentTo(`/pay/${id}`)
  }
} satisfies Handlers<'payments-page'>

function unlessMissing (error: unknown): null {
  if (error instanceof ApiError && error.status === 404) return null
  throw error
}
