// The pages of the customer portal: plain HTML that works without scripts. Each form redirects after POST.
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
import {
  cancelSubscription,
  isPaidOrTrialing,
  resumeSubscription,
} from '../services/payments/cancel-subscription.ts'
import { findOrder } from '../services/payments/orders.ts'
import { deletePaymentMethod, setDefaultPaymentMethod } from '../services/payments/payment-methods.ts'
import { portalPage, renderNoPortal, renderNoReceipt } from '../services/payments/portal/page.ts'
import { enterPortal, findPortal, leavePortal, portalSeconds } from '../services/payments/portal/sessions.ts'
import { receiptContentSecurityPolicy, renderReceiptHtml } from '../services/payments/receipts/html.ts'
import { readReceipt } from '../services/payments/receipts/receipts.ts'
import { lockSubscription } from '../services/payments/subscriptions.ts'

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
    const portal = await findPortal(db, readPortalCookie(config, request.headers))
    if (portal === null) return noPortal()
    return shown(await portalPage(db, portal, { seller: config.sellerName, before }))
  },

  async leavePortal(request, services) {
    if (!isOwnPage(request, services)) return otherSite()
    const { db, config } = services
    const portal = await findPortal(db, readPortalCookie(config, request.headers))
    if (portal === null) return noPortal()
    await leavePortal(db, portal)
    return redirectTo('/portal', portalCookie(config, null))
  },

  async submitPortalSubscription({ body: { subscription: id, action }, ...request }, services) {
    if (!isOwnPage(request, services)) return otherSite()
    const { db, config } = services
    const portal = await findPortal(db, readPortalCookie(config, request.headers))
    if (portal === null) return noPortal()
    await db
      .transaction(async (tx) => {
        const subscription = await lockSubscription(tx, id)
        // Another customer's: the page of the portal shows only the own ones.
        if (subscription === undefined || subscription.customer_id !== portal.customer_id) return
        if (action === 'resume') await resumeSubscription(tx, services, subscription)
        // The page may be older than the state: without a paid period the subscription would end now.
        else if (action === 'cancel_now' || isPaidOrTrialing(subscription.status))
          await cancelSubscription(tx, services, subscription, { atPeriodEnd: action === 'cancel' })
      })
      .catch((error) => noteRefusal(request, error))
    return redirectTo('/portal')
  },

  async submitPortalCard({ body: { card, action }, ...request }, services) {
    if (!isOwnPage(request, services)) return otherSite()
    const { db, config, events } = services
    const portal = await findPortal(db, readPortalCookie(config, request.headers))
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
    const portal = await findPortal(db, readPortalCookie(config, headers))
    if (portal === null) return noPortal()
    const order = await findOrder(db, id).catch(nullIfNotFound)
    if (order === null || order.customer_id !== portal.customer_id || order.paid_at === null)
      return missing(renderNoReceipt())
    const { receipt } = await readReceipt(db, order, config.sellerName)
    const answer = shown(renderReceiptHtml(receipt))
    return {
      ...answer,
      headers: { ...answer.headers, 'content-security-policy': receiptContentSecurityPolicy },
    }
  },
} satisfies Handlers<'portal-pages'>

function nullIfNotFound(error: unknown): null {
  if (error instanceof ApiError && error.status === 404) return null
  throw error
}
