// The caller's webhook endpoints and their deliveries.
import * as sql from '../generated/sql/webhooks.ts'
import { changesOf } from '../infra/contract/changes.ts'
import type { Handlers } from '../services/handler.ts'
import { invalidState } from '../infra/errors.ts'
import { alertUser } from '../services/mail/mails.ts'
import { lockKeys } from '../services/users/api-keys.ts'
import {
  openDelivery,
  listAllDeliveries,
  listDeliveries,
  recoverDeliveries,
  redeliver,
} from '../services/webhooks/deliveries.ts'
import {
  openEndpoint,
  grantsOfKey,
  listEndpoints,
  newEndpoint,
  readableEndpointIds,
  replaceSecret,
  requirePublicUrl,
  requireSelectableEvents,
  toWebhookEndpoint,
  type EndpointRow,
} from '../services/webhooks/endpoints.ts'

export const webhooks = {
  async listWebhookEndpoints({ principal, query }, { db }) {
    return { status: 200, body: await listEndpoints(db, principal, query) }
  },

  async createWebhookEndpoint({ principal, body }, services) {
    const { db, webhookClient, cipher, events } = services
    const { userId } = principal
    requirePublicUrl(webhookClient, body.url)
    return await db.transaction(async (tx) => {
      const caller = await lockKeys(tx, principal)
      requireSelectableEvents(body.event_types, grantsOfKey(caller, body.event_types).scopes)
      const { row, endpoint, secret } = newEndpoint(caller, body, cipher)
      // Before the endpoint, which receives the events after it (`events_after`), so not this one: its
      // owner does not have the secret yet to verify the signature.
      await events.emit(tx, 'webhook_endpoint.created', endpoint, { userId })
      await tx.prisma.webhookEndpoint.create({ data: row, select: { id: true } })
      // An endpoint outlives its key, so an attacker with a stolen one would create one.
      await alertUser(tx, services, 'webhook_endpoint_created', userId, { detail: endpoint.id })
      const location = `/v1/webhooks/endpoints/${endpoint.id}`
      return { status: 201, body: { ...endpoint, secret }, headers: { location } }
    })
  },

  async getWebhookEndpoint({ principal, params: { id } }, { db }) {
    return {
      status: 200,
      body: toWebhookEndpoint(await openEndpoint(db, principal, id, { anyScopes: true })),
    }
  },

  async updateWebhookEndpoint({ principal, params: { id }, body, ifMatch }, services) {
    const { db, webhookClient, events } = services
    const { userId } = principal
    const { url, description, event_types: eventTypes, enabled } = body
    if (url !== undefined) requirePublicUrl(webhookClient, url)
    return await db.transaction(async (tx) => {
      const row = await openEndpoint(tx, await lockKeys(tx, principal), id, { lock: true })
      const previous = toWebhookEndpoint(row)
      requireSelectableEvents(eventTypes ?? [], row.scopes)
      ifMatch(previous)
      const isReset = enabled === true && row.failingSince !== null
      const changes = changesOf(previous, body)
      if (changes === null && !isReset) return { status: 200, body: previous }
      const metadata = changes?.metadata
      const disabledReason = enabled === true ? null : undefined
      const failingSince = enabled === true || changes?.url !== undefined ? null : undefined
      const endpoint = toWebhookEndpoint(
        await tx.prisma.webhookEndpoint.update({
          where: { id },
          data: { url, description, eventTypes, enabled, metadata, disabledReason, failingSince },
        }),
      )
      await events.emit(tx, 'webhook_endpoint.updated', endpoint, { userId, previous })
      if (changes?.url !== undefined || changes?.event_types !== undefined)
        await alertUser(tx, services, 'webhook_endpoint_redirected', userId, { detail: id })
      return { status: 200, body: endpoint }
    })
  },

  async deleteWebhookEndpoint({ principal, params: { id }, ifMatch }, { db, events }) {
    return await db.transaction(async (tx) => {
      const endpoint = toWebhookEndpoint(await openEndpoint(tx, principal, id, { lock: true }))
      ifMatch(endpoint)
      await sql.deleteEndpoint(tx, { id })
      await events.emit(tx, 'webhook_endpoint.deleted', endpoint, { userId: principal.userId })
      return { status: 204 }
    })
  },

  async rotateWebhookSecret({ principal, params: { id }, body }, { db, cipher, events }) {
    return await db.transaction(async (tx) => {
      const caller = await lockKeys(tx, principal)
      const previous = toWebhookEndpoint(await openEndpoint(tx, caller, id, { lock: true }))
      const { endpoint, secret } = await replaceSecret(tx, cipher, {
        id,
        overlapSeconds: body?.overlap_seconds ?? 86_400,
      })
      await events.emit(tx, 'webhook_endpoint.secret_rotated', endpoint, {
        previous,
        userId: principal.userId,
      })
      return { status: 200, body: { ...endpoint, secret } }
    })
  },

  async testWebhookEndpoint({ principal, params: { id } }, { db, events }) {
    return await db.transaction(async (tx) => {
      const row = await openEndpoint(tx, principal, id, { lock: true })
      requireEnabled(row)
      const { deliveryIds } = await events.emit(tx, 'webhook_endpoint.tested', toWebhookEndpoint(row), {
        userId: principal.userId,
        endpointId: id,
      })
      return { status: 202, body: await openDelivery(tx, principal, deliveryIds[0]) }
    })
  },

  async recoverWebhookEndpoint({ principal, params: { id }, body: { since } }, { db, deliveries, events }) {
    return await db.transaction(async (tx) => {
      requireEnabled(await openEndpoint(tx, principal, id, { lock: true }))
      const from = new Date(since)
      const { recovered, hasMore } = await recoverDeliveries(tx, deliveries, id, from)
      const recovery = { endpoint_id: id, since: from.toISOString(), recovered, has_more: hasMore }
      await events.emit(tx, 'webhook_endpoint.recovered', recovery, { userId: principal.userId })
      return { status: 202, body: recovery }
    })
  },

  async listWebhookDeliveries({ principal, params: { id }, query }, { db, lists }) {
    await openEndpoint(db, principal, id)
    return { status: 200, body: await listDeliveries(lists, id, query) }
  },

  async listAllWebhookDeliveries({ principal, query }, { db, lists }) {
    const endpoints = { user_id: principal.userId, endpoint_ids: await readableEndpointIds(db, principal) }
    return { status: 200, body: await listAllDeliveries(lists, endpoints, query) }
  },

  async getWebhookDelivery({ principal, params: { id } }, { db }) {
    return { status: 200, body: await openDelivery(db, principal, id) }
  },

  async redeliverWebhookDelivery({ principal, params: { id } }, { db, deliveries, events }) {
    return await db.transaction(async (tx) => {
      const locked = await openDelivery(tx, principal, id, { lock: true })
      requireEnabled(await openEndpoint(tx, principal, locked.endpoint_id))
      const delivery = await redeliver(tx, deliveries, principal, locked)
      if (delivery === locked) return { status: 202, body: delivery }
      await events.emit(tx, 'webhook_delivery.redelivered', delivery, { userId: principal.userId })
      return { status: 202, body: delivery }
    })
  },
} satisfies Handlers<'webhooks'>

function requireEnabled({ enabled }: EndpointRow): void {
  if (!enabled) throw invalidState('webhook endpoint', 'disabled', undefined, 'enabled')
}
