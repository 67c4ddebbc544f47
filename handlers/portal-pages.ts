// The pages of the customer portal: plain HTML that works without scripts. Each form redirects after POST.
import type { Config } from '../infra/config/config.ts'
import type { Db } from '../infra/database/database.ts'
import { ApiError } from '../infra/errors.ts'
import {
  isOwnPage,
  missing,
  noteRefusal,
  otherSite,
  redirectTo,
  shown,
} from '../services/auth/pages/browser.ts'
import { portalCookie, readPortalCookie } from '../services/auth/sessions/cookies.ts'
import type { Handlers } from '../services/handler.ts'
import { cancelSubscription, resumeSubscription } from '../services/payments/cancel-subscription.ts'
import { cancelChange, previewChange } from '../services/payments/change-subscription.ts'
import { findOrder } from '../services/payments/orders.ts'
import { deletePaymentMethod, setDefaultPaymentMethod } from '../services/payments/payment-methods.ts'
import { portalPage, renderNoPortal, renderNothing } from '../services/payments/portal/page.ts'
import { changePlan, plansOf, renderPlans, type Preview } from '../services/payments/portal/plans.ts'
import { enterPortal, findPortal, leavePortal, portalSeconds } from '../services/payments/portal/sessions.ts'
import { receiptContentSecurityPolicy, renderReceiptHtml } from '../services/payments/receipts/html.ts'
import { sellerName } from '../services/payments/sellers.ts'
import { readReceipt } from '../services/payments/receipts/receipts.ts'
import { findSubscription, isPaidOrTrialing, lockSubscription } from '../services/payments/subscriptions.ts'

/** The portal session of the browser; null without one. */
const portalOf = (db: Db, config: Config, headers: object) =>
  findPortal(db, readPortalCookie(config, headers))

/** Without a session: the page of a link that has ended. */
const noPortal = () => redirectTo('/portal/ended')

export const portalPages = {
  async openPortal({ params: { token }, isHead }, { db, config }) {
    // Programs that check links ask for the headers; only a browser uses the link up.
    const cookie = isHead ? null : await enterPortal(db, token)
    if (cookie === null) return missing(renderNoPortal())
    return redirectTo('/portal', portalCookie(config, cookie, portalSeconds))
  },

  async showPortal({ query: { before }, ...request }, { db, config }) {
    const portal = await portalOf(db, config, request.headers)
    if (portal === null) return noPortal()
    const seller = await sellerName(db, portal.organization_id, config.sellerName)
    return shown(await portalPage(db, portal, { seller, before }))
  },

  async leavePortal(request, services) {
    if (!isOwnPage(request, services)) return otherSite()
    const { db, config } = services
    const portal = await portalOf(db, config, request.headers)
    if (portal === null) return noPortal()
    await leavePortal(db, portal)
    return redirectTo('/portal', portalCookie(config, null))
  },

  async showPortalPlans({ params: { id }, query: { price, quantity = 1 }, headers }, services) {
    const { db, config } = services
    const portal = await portalOf(db, config, headers)
    if (portal === null) return noPortal()
    const plans = await plansOf(db, portal, id)
    if (plans.length === 0) return missing(renderNothing('No subscription', 'You have no such subscription.'))
    const subscription = (await findSubscription(db, id))!
    const choice = plans.some((plan) => plan.id === price) ? { price: price!, quantity } : null
    const show = (preview: Preview | null, failure?: string) =>
      shown(renderPlans(subscription, plans, { choice, preview, failure }))
    if (choice === null) return show(null)
    const change = { items: [{ price_id: choice.price, quantity }] }
    return await previewChange(db, services, subscription, change).then(show, (error) => {
      if (error instanceof ApiError && error.status < 500) return show(null, error.message)
      throw error
    })
  },

  async submitPortalSubscription({ body, ...request }, services) {
    if (!isOwnPage(request, services)) return otherSite()
    const { subscription: id, action, price, quantity = '1' } = body
    const { db, config } = services
    const portal = await portalOf(db, config, request.headers)
    if (portal === null) return noPortal()
    const paymentPage = await db
      .transaction(async (tx) => {
        const subscription = await lockSubscription(tx, id)
        // Another customer's: the page of the portal shows only the own ones.
        if (subscription === undefined || subscription.customer_id !== portal.customer_id) return
        if (action === 'change' || action === 'change_later') {
          // Only the plans that the page shows.
          if (!(await plansOf(tx, portal, id)).some((plan) => plan.id === price)) return
          const terms = { price: price!, quantity: Number(quantity), later: action === 'change_later' }
          return await changePlan(tx, services, subscription, { ...terms, publicUrl: services.publicUrl() })
        }
        if (action === 'keep') await cancelChange(tx, services, subscription)
        else if (action === 'resume') await resumeSubscription(tx, services, subscription)
        // The page may be older than the state: without a paid period the subscription would end now.
        else if (action === 'cancel_now' || isPaidOrTrialing(subscription.status))
          await cancelSubscription(tx, services, subscription, { atPeriodEnd: action === 'cancel' })
      })
      .catch((error) => void noteRefusal(request, error))
    return redirectTo(paymentPage ?? '/portal')
  },

  async submitPortalCard({ body: { card, action }, ...request }, services) {
    if (!isOwnPage(request, services)) return otherSite()
    const { db, config, events } = services
    const portal = await portalOf(db, config, request.headers)
    if (portal === null) return noPortal()
    const change = action === 'default' ? setDefaultPaymentMethod : deletePaymentMethod
    await db
      .transaction(async (tx) => {
        await change(tx, events, portal.customer_id, card)
      })
      // A card that another tab has removed.
      .catch((error) => noteRefusal(request, error))
    return redirectTo('/portal')
  },

  async showPortalReceipt({ params: { id }, headers }, { db, config }) {
    const portal = await portalOf(db, config, headers)
    if (portal === null) return noPortal()
    const order = await findOrder(db, id).catch(nullIfNotFound)
    if (order === null || order.customer_id !== portal.customer_id || order.paid_at === null)
      return missing(renderNothing('No receipt', 'You have no paid order with this number.'))
    const { receipt } = await readReceipt(db, order, config.sellerName)
    const answer = shown(renderReceiptHtml(receipt))
    return {
      ...answer,
      headers: { ...answer.headers, 'content-security-policy': receiptContentSecurityPolicy() },
    }
  },
} satisfies Handlers<'portal-pages'>

function nullIfNotFound(error: unknown): null {
  if (error instanceof ApiError && error.status === 404) return null
  throw error
}
