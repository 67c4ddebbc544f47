// Emits events. `emit` inserts the event in the transaction that makes the change, so a rollback removes it.
// The statement is sent with the next one of the transaction, or with its COMMIT. The event gets its
// deliveries when it is numbered (log.ts).
import { eventTypes, type EventInfo, type EventObjects, type EventType } from '../../generated/events.ts'
import serializers from '../../generated/serializers.js'
import type { components } from '../../generated/types.ts'
import type { Transaction } from '../../infra/database/database.ts'
import * as sql from '../../generated/sql/events.ts'
import { newId, timeOf } from '../../infra/ids.ts'
import type { Queue } from '../../infra/jobs/queue.ts'
import { currentTraceparent } from '../../infra/telemetry/spans.ts'
import { assertMatchesSchema } from '../../infra/validation/response-check.ts'

type Actor = components['schemas']['Actor']

export interface EmitOptions<T extends EventType> {
  /** The object before an update. The fields that changed become `previous_attributes`. */
  previous?: EventObjects[T]
  /** The user that the event is about; required for an event that belongs to no project but to a user. */
  userId?: string
  /** Delivers the event to this webhook endpoint only. */
  endpointId?: string
}

/** The queued job that delivers one event to one endpoint. */
export interface DeliveryJob {
  delivery_id: string
}

export interface EmittedEvent {
  id: string
  /** Of an event with `endpointId`: its delivery. */
  deliveryIds: string[]
}

export interface Emitter {
  /** Fields of the object that the spec does not declare are omitted from the event. */
  emit<T extends EventType>(
    tx: Transaction,
    type: T,
    object: EventObjects[T],
    options?: EmitOptions<T>,
  ): Promise<EmittedEvent>
  /** Emits an event of the type for each object, in their order, with one statement. */
  emitAll<T extends EventType>(
    tx: Transaction,
    type: T,
    changes: { object: EventObjects[T]; previous?: EventObjects[T]; userId?: string }[],
  ): Promise<void>
}

export interface EmitterOptions {
  deliveries: Queue<DeliveryJob>
  /** Called after the commit of an event. */
  onEmitted: () => void
  /** Validates every event against the spec, as the tests do. */
  strict: boolean
}

/** The actor of events without an API key: background work, and payments on the page of a checkout. */
const systemActor: Actor = {
  type: 'system',
  id: null,
  name: null,
  user_id: null,
  service_account_id: null,
}

export function createEmitter({ deliveries, onEmitted, strict }: EmitterOptions): Emitter {
  /** The row of a new event. Checks it in tests. */
  function rowOf<T extends EventType>(
    tx: Transaction,
    type: T,
    object: EventObjects[T],
    { previous, userId }: EmitOptions<T>,
  ) {
    const info = eventTypes[type]
    const id = newId('evt')
    const at = timeOf(id)
    const data = dataOf(info, object, previous)
    const { projectId, organizationId, ownerId } = placeOf(type, object, userId)
    // The admins of an organization read the events of what it sells, with the scope `payments:sell`.
    const isOfSeller = organizationId !== null && info.scope === 'payments:read'
    const actor = tx.request?.actor ?? systemActor
    const requestId = tx.request?.id ?? null
    const clientRequestId = tx.request?.clientRequestId ?? null
    if (strict)
      checkPayload({ id, type, at, projectId, organizationId, requestId, clientRequestId, actor, data })
    return {
      id,
      type,
      // Of an event of an organization the column has the organization: its members read it likewise.
      project_id: projectId ?? organizationId,
      user_id: ownerId,
      scope: isOfSeller ? 'payments:sell' : info.scope,
      role: isOfSeller ? ('admin' as const) : ownerId === null ? info.role : null,
      request_id: requestId,
      client_request_id: clientRequestId,
      actor,
      data,
      created_at: at,
      traceparent: currentTraceparent() ?? null,
    }
  }

  return {
    async emit(tx, type, object, { endpointId, ...options } = {}) {
      const event = { ...rowOf(tx, type, object, options), delivers: endpointId === undefined }
      const { id, traceparent, created_at: at } = event
      // Its error is that of the transaction.
      sql.insertEvent(tx.later, event).catch(() => {})
      tx.afterCommit(onEmitted)
      if (endpointId === undefined) return { id, deliveryIds: [] }
      const row = { event_id: id, endpoint_id: endpointId, traceparent, created_at: at }
      const delivery = await sql.insertEndpointDelivery(tx, row)
      tx.afterCommit(deliveries.announce)
      return { id, deliveryIds: [delivery.id] }
    },

    async emitAll(tx, type, changes) {
      if (changes.length === 0) return
      const events = changes.map(({ object, ...options }) => rowOf(tx, type, object, options))
      const { request_id, client_request_id, actor, traceparent } = events[0]
      const insert = sql.insertEvents(tx.later, {
        type,
        request_id,
        client_request_id,
        actor: JSON.stringify(actor),
        traceparent,
        ids: events.map(({ id }) => id),
        project_ids: events.map((event) => event.project_id),
        user_ids: events.map((event) => event.user_id),
        scopes: events.map(({ scope }) => scope),
        roles: events.map(({ role }) => role),
        data: events.map(({ data }) => data),
        times: events.map((event) => event.created_at),
      })
      // Its error is that of the transaction.
      insert.catch(() => {})
      tx.afterCommit(onEmitted)
    },
  }
}

/** The project, the organization or the user that the event belongs to; none for admins or everyone. */
function placeOf(type: EventType, object: object, userId: string | undefined) {
  const info: EventInfo = eventTypes[type]
  const idIn = (field: string | null) =>
    field === null ? null : ((object as Record<string, string | null | undefined>)[field] ?? null)
  const place = { projectId: idIn(info.project), organizationId: idIn(info.organization), ownerId: null }
  if (place.projectId !== null || place.organizationId !== null) return place
  if (info.audience === 'admins' || info.audience === 'everyone') return place
  if (userId === undefined) throw new Error(`the event ${type} needs a userId`)
  return { ...place, ownerId: userId }
}

interface Payload {
  id: string
  type: EventType
  at: Date
  projectId: string | null
  organizationId: string | null
  requestId: string | null
  clientRequestId: string | null
  actor: Actor
  data: string
}

/** Throws when the event does not match the spec. */
function checkPayload(event: Payload): void {
  const { id, type, at, projectId, organizationId, requestId, clientRequestId, actor, data } = event
  assertMatchesSchema(`the event ${type}`, eventTypes[type].payload, {
    id,
    type,
    created_at: at.toISOString(),
    api_version: 'v1',
    project_id: projectId,
    organization_id: organizationId,
    request_id: requestId,
    client_request_id: clientRequestId,
    actor,
    data: JSON.parse(data),
  })
}

/**
 * The event's `data` as JSON: the object as the spec declares it, and the previous values of the changed
 * fields.
 */
function dataOf(info: EventInfo, object: object, previous: object | undefined): string {
  const serialize = serializers[info.serializer]
  const current = serialize(object)
  const previousAttributes =
    previous === undefined
      ? '{}'
      : JSON.stringify(changedFields(JSON.parse(serialize(previous)), JSON.parse(current)))
  return `{"object":${current},"previous_attributes":${previousAttributes}}`
}

/** The fields of `before` whose values differ in `after`. */
function changedFields(
  before: Record<string, unknown>,
  after: Record<string, unknown>,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(before).filter(([field, value]) => JSON.stringify(value) !== JSON.stringify(after[field])),
  )
}
