// Emits events. `emit` inserts the event in the transaction that makes the change, with a delivery for every
// webhook endpoint that selects the event and may receive it. A rollback therefore removes both.
import { eventTypes, type EventInfo, type EventObjects, type EventType } from '../../generated/events.ts'
import serializers from '../../generated/serializers.js'
import type { Db } from '../../infra/database/database.ts'
import { statement } from '../../infra/database/statements.ts'
import { newId, timeOf } from '../../infra/ids.ts'
import type { NewJob, Queue } from '../../infra/jobs/queue.ts'
import { assertMatchesSchema } from '../../infra/validation/response-check.ts'
import { isFailingSql } from './failing-endpoints.ts'
import { tenantEventSql } from './log.ts'

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
  deliveryIds: string[]
}

export interface Emitter {
  /** Fields of the object that the spec does not declare are omitted from the event. */
  emit<T extends EventType>(
    tx: Db,
    type: T,
    object: EventObjects[T],
    options?: EmitOptions<T>,
  ): Promise<EmittedEvent>
}

export interface EmitterOptions {
  deliveries: Queue<DeliveryJob>
  /** Called after the commit of an event. */
  onEmitted: () => void
  /** Validates every event against the spec, as the tests do. */
  strict: boolean
}

interface Recipient {
  /** The id of a webhook endpoint. */
  id: string
  failing: boolean
}

const insertEvent = `
    INSERT INTO events (id, type, project_id, user_id, scope, role, request_id, data, created_at)
    VALUES ($1, $2, $3, $4, $5, $6::"MemberRole", $7, $8, $9)`
const recipient = `w.id, ${isFailingSql} AS failing`
const endpoints = 'webhook_endpoints w JOIN users u ON u.id = w.user_id'
const selectsEvent = `w.enabled AND w.deleted_at IS NULL AND $5 = ANY(w.scopes)
      AND w.event_types && ARRAY[$2, '*'] AND u.status = 'active'`
/** Inserts an event and returns the endpoints that receive it, by the event's audience. */
const insertStatements = {
  project: statement<Recipient>(`
    WITH event AS (${insertEvent})
    SELECT ${recipient} FROM members m
    JOIN webhook_endpoints w ON w.user_id = m.user_id JOIN users u ON u.id = w.user_id
    WHERE m.project_id = $3 AND m.role <= $6::"MemberRole" AND (w.all_projects OR $3 = ANY(w.project_ids))
      AND ${selectsEvent}`),
  user: statement<Recipient>(`
    WITH event AS (${insertEvent})
    SELECT ${recipient} FROM ${endpoints}
    WHERE w.user_id = $4 AND (w.all_projects OR NOT ${tenantEventSql('$2')}) AND ${selectsEvent}`),
  admins: statement<Recipient>(`
    WITH event AS (${insertEvent})
    SELECT ${recipient} FROM ${endpoints} WHERE u.role = 'admin' AND ${selectsEvent}`),
  everyone: statement<Recipient>(`
    WITH event AS (${insertEvent})
    SELECT ${recipient} FROM ${endpoints} WHERE ${selectsEvent}`),
  /** For an event that goes to a given endpoint only. */
  none: statement<Recipient>(insertEvent),
}

const insertDeliveries = statement(`
  INSERT INTO webhook_deliveries (id, endpoint_id, event_id, next_attempt_at, created_at)
  SELECT id, endpoint_id, $3, $4, $4 FROM unnest($1::text[], $2::text[]) AS d (id, endpoint_id)`)

export function createEmitter({ deliveries, onEmitted, strict }: EmitterOptions): Emitter {
  return {
    async emit(tx, type, object, { previous, userId, endpointId } = {}) {
      const info = eventTypes[type]
      const id = newId('evt')
      const at = timeOf(id)
      const data = dataOf(info, object, previous)
      const { projectId, ownerId, audience } = audienceOf(type, object, userId)
      if (strict) checkPayload({ id, type, at, projectId, requestId: tx.requestId, data })
      const rows = await tx.sql(insertStatements[endpointId === undefined ? audience : 'none'], [
        id,
        type,
        projectId,
        ownerId,
        info.scope,
        projectId === null ? null : info.role,
        tx.requestId,
        data,
        at,
      ])
      const recipients = endpointId === undefined ? rows : [{ id: endpointId, failing: false }]
      const deliveryIds = await addDeliveries(tx, id, at, recipients)
      tx.afterCommit(onEmitted)
      return { id, deliveryIds }
    },
  }

  /** Inserts a delivery and a queued job for each recipient. */
  async function addDeliveries(
    tx: Db,
    eventId: string,
    at: Date,
    recipients: Recipient[],
  ): Promise<string[]> {
    const deliveryIds = recipients.map(() => newId('whd'))
    if (recipients.length === 0) return deliveryIds
    await tx.sql(insertDeliveries, [deliveryIds, recipients.map((endpoint) => endpoint.id), eventId, at])
    const jobs = recipients.map(({ id, failing }, i): NewJob<DeliveryJob> => ({
      data: { delivery_id: deliveryIds[i] },
      group: id,
      lane: failing ? 'failing' : undefined,
    }))
    await deliveries.add(tx, jobs)
    return deliveryIds
  }
}

/** The project or the user that the event belongs to, and who receives it. */
function audienceOf(type: EventType, object: object, userId: string | undefined) {
  const info: EventInfo = eventTypes[type]
  const projectId = info.project === null ? null : (object as Record<string, string | null>)[info.project]
  if (projectId !== null) return { projectId, ownerId: null, audience: 'project' as const }
  if (info.audience === 'admins' || info.audience === 'everyone')
    return { projectId, ownerId: null, audience: info.audience }
  if (userId === undefined) throw new Error(`the event ${type} needs a userId`)
  return { projectId, ownerId: userId, audience: 'user' as const }
}

interface Payload {
  id: string
  type: EventType
  at: Date
  projectId: string | null
  requestId: string | null
  data: string
}

/** Throws when the event does not match the spec. */
function checkPayload({ id, type, at, projectId, requestId, data }: Payload): void {
  assertMatchesSchema(`the event ${type}`, eventTypes[type].payload, {
    id,
    type,
    created_at: at.toISOString(),
    api_version: 'v1',
    project_id: projectId,
    request_id: requestId,
    sequence: 1,
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
