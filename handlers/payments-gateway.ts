// Payment gateway webhooks.
import type { Handlers } from '../services/handler.ts'
import { notFound } from '../infra/errors.ts'

export const paymentsGateway = {
  async receiveStripeEvent({ body, headers }, services) {
    const { db, gateways } = services
    const stripe = gateways.remote('stripe')
    if (stripe === null) throw notFound('gateway')
    await stripe.handleWebhook(db, services, body, headers['stripe-signature'])
    return { status: 200, body: { received: true } }
  },
} satisfies Handlers<'payments-gateway'>
