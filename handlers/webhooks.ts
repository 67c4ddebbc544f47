// The caller's webhook endpoints and what was sent to them.
import type { Handlers } from '../services/handler.ts'
import { conflict, invalidState, unauthorized } from '../infra/errors.ts'
import { newId, timeOf } from '../infra/ids.ts'
import { offsetOf, pageOfRows } from '../infra/database/pagination.ts'
import { lockUser } from '../services/users/users.ts'
import {
  findDelivery,
  listDeliveries,
  recoverDeliveries,
  redeliver,
} from '../services/webhooks/deliveries.ts'
import {
  deletedEndpoint,
  findEndpoint,
  grantsOfKey,
  listEndpoints,
  requireSelectableEvents,
  requirePublicUrl,
  toWebhookEndpoint,
  type EndpointRow,
} from '../services/webhooks/endpoints.ts'
import { newWebhookSecret } from '../services/webhooks/signature.ts'

export const webhooks = {
  async listWebhookEndpoints({ principal, query }, { db }) {
    return { status: 200, body: await listEndpoints(db, principal, query) }
  },

  async createWebhookEndpoint({ principal, body }, { db, config, webhookClient, events }) {
    const { url, description = null, event_types: eventTypes, enabled = true } = body
    const { userId } = principal
    const grant = grantsOfKey(principal)
    requirePublicUrl(webhookClient, url)
    requireSelectableEvents(eventTypes, grant.scopes)
    return await db.transaction(async (tx) => {
      if ((await lockUser(tx, userId)) === null) throw unauthorized('disabled')
      const most = config.webhookEndpointsPerUser
      if ((await tx.prisma.webhookEndpoint.count({ where: { userId, deletedAt: null } })) >= most)
        throw conflict('max_endpoints', `A user has at most ${most} webhook endpoints.`)
      const id = newId('whe')
      const secret = newWebhookSecret()
      const data = { id, userId, url, description, eventTypes, enabled, ...grant, createdAt: timeOf(id) }
      const endpoint = toWebhookEndpoint({ ...data, disabledReason: null })
      // Before it is there: nobody could verify its own coming to be, with a secret that has not been answered yet.
      await events.emit(tx, 'webhook_endpoint.created', endpoint, { userId })
      await tx.prisma.webhookEndpoint.create({ data: { ...data, secret }, select: { id: true } })
      return {
        status: 201,
        body: { ...endpoint, secret },
        headers: { location: `/v1/webhooks/endpoints/${id}` },
      }
    })
  },

  async getWebhookEndpoint({ principal, params: { id } }, { db }) {
    return { status: 200, body: toWebhookEndpoint(await findEndpoint(db, principal, id, { covered: false })) }
  },

  async updateWebhookEndpoint({ principal, params: { id }, body, ifMatch }, { db, webhookClient, events }) {
    const { url, description, event_types: eventTypes, enabled } = body
    if (url !== undefined) requirePublicUrl(webhookClient, url)
    return await db.transaction(async (tx) => {
      const row = await findEndpoint(tx, principal, id, { lock: true })
      const previous = toWebhookEndpoint(row)
      requireSelectableEvents(eventTypes ?? [], row.scopes)
      ifMatch(previous)
      // Whoever switches it on begins anew.
      const anew = enabled === true && { disabledReason: null, failingSince: null }
      const endpoint = toWebhookEndpoint(
        await tx.prisma.webhookEndpoint.update({
          where: { id },
          data: { url, description, eventTypes, enabled, ...anew },
        }),
      )
      await events.emit(tx, 'webhook_endpoint.updated', endpoint, { userId: principal.userId, previous })
      return { status: 200, body: endpoint }
    })
  },

  async deleteWebhookEndpoint({ principal, params: { id }, ifMatch }, { db, events }) {
    return await db.transaction(async (tx) => {
      const endpoint = toWebhookEndpoint(await findEndpoint(tx, principal, id, { lock: true }))
      ifMatch(endpoint)
      await tx.prisma.webhookEndpoint.update({ where: { id }, data: deletedEndpoint() })
      await events.emit(tx, 'webhook_endpoint.deleted', endpoint, { userId: principal.userId })
      return { status: 204 }
    })
  },

  async rotateWebhookSecret({ principal, params: { id }, body }, { db, events }) {
    const overlap = body?.overlap_seconds ?? 86_400
    return await db.transaction(async (tx) => {
      await findEndpoint(tx, principal, id, { lock: true })
      const { secret: previousSecret } = await tx.prisma.webhookEndpoint.findUniqueOrThrow({
        where: { id },
        select: { secret: true },
      })
      const secret = newWebhookSecret()
      const kept =
        overlap === 0
          ? { previousSecret: null, previousExpiresAt: null }
          : { previousSecret, previousExpiresAt: new Date(Date.now() + overlap * 1000) }
      const endpoint = toWebhookEndpoint(
        await tx.prisma.webhookEndpoint.update({ where: { id }, data: { secret, ...kept } }),
      )
      await events.emit(tx, 'webhook_endpoint.secret_rotated', endpoint, { userId: principal.userId })
      return { status: 200, body: { ...endpoint, secret } }
    })
  },

  async testWebhookEndpoint({ principal, params: { id } }, { db, events }) {
    return await db.transaction(async (tx) => {
      const row = await findEndpoint(tx, principal, id, { lock: true })
      requireEnabled(row)
      const { deliveryIds } = await events.emit(tx, 'webhook_endpoint.tested', toWebhookEndpoint(row), {
        userId: principal.userId,
        endpointId: id,
      })
      return { status: 202, body: await findDelivery(tx, principal, deliveryIds[0]) }
    })
  },

  async recoverWebhookEndpoint({ principal, params: { id }, body: { since } }, { db, deliveries, events }) {
    return await db.transaction(async (tx) => {
      requireEnabled(await findEndpoint(tx, principal, id, { lock: true }))
      const from = new Date(since)
      const { recovered, hasMore } = await recoverDeliveries(tx, deliveries, id, from)
      const recovery = { endpoint_id: id, since: from.toISOString(), recovered, has_more: hasMore }
      await events.emit(tx, 'webhook_endpoint.recovered', recovery, { userId: principal.userId })
      return { status: 202, body: recovery }
    })
  },

  async listWebhookDeliveries({ principal, params: { id }, query }, { db }) {
    await findEndpoint(db, principal, id)
    return { status: 200, body: pageOfRows(await listDeliveries(db, id, query, offsetOf(query)), query) }
  },

  async getWebhookDelivery({ principal, params: { id } }, { db }) {
    return { status: 200, body: await findDelivery(db, principal, id) }
  },

  async redeliverWebhookDelivery({ principal, params: { id } }, { db, deliveries, events }) {
    return await db.transaction(async (tx) => {
      const locked = await findDelivery(tx, principal, id, { lock: true })
      if (locked.status === 'pending')
        throw invalidState(
          'delivery',
          'pending',
          `The delivery is under way already; it is tried next at ${locked.next_attempt_at}.`,
        )
      requireEnabled(await findEndpoint(tx, principal, locked.endpoint_id))
      const delivery = await redeliver(tx, deliveries, principal, locked)
      await events.emit(tx, 'webhook_delivery.redelivered', delivery, { userId: principal.userId })
      return { status: 202, body: delivery }
    })
  },
} satisfies Handlers<'webhooks'>

function requireEnabled({ enabled }: EndpointRow): void {
  if (!enabled) throw invalidState('webhook endpoint', 'disabled', 'The webhook endpoint is disabled.')
}
