// Portal sessions: sellers create them, and customers open their links.
import type { Handlers } from '../services/handler.ts'
import { openCustomer } from '../services/payments/customers.ts'
import { createPortalSession, findPortalSession } from '../services/payments/portal/sessions.ts'

export const paymentsPortal = {
  async createPortalSession(request, { db, events, publicUrl }) {
    const { params, body, principal } = request
    return await db.transaction(async (tx) => {
      const { id } = await openCustomer(tx, request, params.id)
      const session = await createPortalSession(tx, events, {
        customerId: id,
        returnUrl: body?.return_url ?? null,
        createdBy: principal.userId,
        publicUrl: publicUrl(),
      })
      const location = `/v1/payments/customers/${id}/portal-sessions/${session.id}`
      return { status: 201, body: session, headers: { location } }
    })
  },

  async getPortalSession(request, { db }) {
    const { id, portal_session_id: sessionId } = request.params
    await openCustomer(db, request, id)
    return { status: 200, body: await findPortalSession(db, id, sessionId) }
  },
} satisfies Handlers<'payments-portal'>
