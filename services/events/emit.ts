// Writing an event: in the transaction that does what it tells of, with a delivery for every webhook endpoint that may be
// told and wants to be. One call with the transaction, the type and the object.
import { eventTypes, type EventInfo, type EventObjects, type EventType } from '../../generated/events.ts'
import serializers from '../../generated/serializers.js'
import { type Db } from '../../infra/database/database.ts'
import { statement } from '../../infra/database/statements.ts'
import { newId, timeOf } from '../../infra/ids.ts'
import type { Queue } from '../../infra/jobs/queue.ts'
import { assertMatchesSchema } from '../../infra/validation/response-check.ts'
import { isFailingSql } from './failing-endpoints.ts'
import { ofSpace } from './log.ts'

export interface Details<T extends EventType> {
  /** The object before an update: what differs becomes `previous_attributes`. */
  previous?: EventObjects[T]
  /** Whom it is about, where the event belongs to no project but to a user. */
  userId?: string
  /** The only webhook endpoint to be told. */
  endpointId?: string
}

/** The job of sending one event to one endpoint. */
export interface DeliveryJob {
  delivery_id: string
}

export interface Emitted {
  id: string
  deliveryIds: string[]
}

export interface Emitter {
  /** Fields that the spec does not declare for the object are left out. */
  emit<T extends EventType>(tx: Db, type: T, object: EventObjects[T], details?: Details<T>): Promise<Emitted>
}

export interface EmitterOptions {
  deliveries: Queue<DeliveryJob>
  /** Called after the commit of an event. */
  onEmitted: () => void
  /** Holds every event against the spec, as the tests do. */
  strict: boolean
}

interface Told {
  id: string
  failing: boolean
}

const event = `INSERT INTO events (id, type, project_id, user_id, scope, role, request_id, data, created_at)
    VALUES ($1, $2, $3, $4, $5, $6::"MemberRole", $7, $8, $9)`
const told = `w.id, ${isFailingSql} AS failing`
const wants =
  "w.enabled AND w.deleted_at IS NULL AND $5 = ANY(w.scopes) AND w.event_types && ARRAY[$2, '*'] AND u.status = 'active'"
const statements = {
  project: statement<Told>(`
    WITH event AS (${event})
    SELECT ${told} FROM members m JOIN webhook_endpoints w ON w.user_id = m.user_id JOIN users u ON u.id = w.user_id
    WHERE m.project_id = $3 AND m.role <= $6::"MemberRole" AND (w.all_projects OR $3 = ANY(w.project_ids)) AND ${wants}`),
  user: statement<Told>(`
    WITH event AS (${event})
    SELECT ${told} FROM webhook_endpoints w JOIN users u ON u.id = w.user_id WHERE w.user_id = $4 AND (w.all_projects OR NOT ${ofSpace('$2')}) AND ${wants}`),
  admins: statement<Told>(`
    WITH event AS (${event})
    SELECT ${told} FROM webhook_endpoints w JOIN users u ON u.id = w.user_id WHERE u.role = 'admin' AND ${wants}`),
  everyone: statement<Told>(`
    WITH event AS (${event})
    SELECT ${told} FROM webhook_endpoints w JOIN users u ON u.id = w.user_id WHERE ${wants}`),
  nobody: statement<Told>(event),
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
      const projectId = info.project === null ? null : (object as Record<string, string | null>)[info.project]
      const common = info.audience === 'admins' || info.audience === 'everyone'
      if (projectId === null && !common && userId === undefined)
        throw new Error(`${type} does not say whose it is`)
      const owner = projectId === null && !common ? userId! : null
      if (strict)
        assertMatchesSchema(`the event ${type}`, info.payload, {
          id,
          type,
          created_at: at.toISOString(),
          api_version: 'v1',
          project_id: projectId,
          request_id: tx.requestId,
          sequence: 1,
          data: JSON.parse(data),
        })
      const way =
        endpointId !== undefined
          ? 'nobody'
          : projectId !== null
            ? 'project'
            : owner !== null
              ? 'user'
              : (info.audience as 'admins' | 'everyone')
      const rows = await tx.sql(statements[way], [
        id,
        type,
        projectId,
        owner,
        info.scope,
        projectId === null ? null : info.role,
        tx.requestId,
        data,
        at,
      ])
      const endpoints = endpointId === undefined ? rows : [{ id: endpointId, failing: false }]
      const deliveryIds = endpoints.map(() => newId('whd'))
      if (endpoints.length > 0) {
        await tx.sql(insertDeliveries, [deliveryIds, endpoints.map((endpoint) => endpoint.id), id, at])
        await deliveries.add(
          tx,
          endpoints.map((endpoint, i) => ({
            data: { delivery_id: deliveryIds[i] },
            group: endpoint.id,
            lane: endpoint.failing ? 'failing' : undefined,
          })),
        )
      }
      tx.afterCommit(onEmitted)
      return { id, deliveryIds }
    },
  }
}

/** The event's data as JSON: the object as the spec declares it, and the former values of what changed. */
function dataOf(info: EventInfo, object: object, previous: object | undefined): string {
  const write = serializers[info.serializer]
  const now = write(object)
  return `{"object":${now},"previous_attributes":${previous === undefined ? '{}' : JSON.stringify(changed(JSON.parse(write(previous)), JSON.parse(now)))}}`
}

function changed(before: Record<string, unknown>, after: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(before).filter(([field, value]) => JSON.stringify(value) !== JSON.stringify(after[field])),
  )
}
