// Webhook endpoints: whose they are and what they may be told of. An endpoint never gets more than the key that made it
// may read, so only a key that may as much can change where it leads, learn its secret, or read its deliveries.
import type { components } from '../../generated/types.ts'
import { eventTypes, type EventType } from '../../generated/events.ts'
import type { WebhookEndpoint as Row } from '../../generated/prisma/client.ts'
import { statement, type Db } from '../../infra/database/database.ts'
import { forbidden, invalidField, notFound } from '../../infra/errors.ts'
import { offsetOf, pageOfRows, type Page } from '../../infra/database/pagination.ts'
import type { Principal } from '../users/authentication.ts'
import type { WebhookClient } from './http-client.ts'

export type WebhookEndpoint = components['schemas']['WebhookEndpoint']
export type EndpointRow = Omit<Row, 'secret' | 'previousSecret'>
/** SQL for an endpoint `w` at which everything has failed for a while: one bad answer among good ones is nothing. */
export const isFailing = "coalesce(w.failing_since < now() - interval '30 seconds', false)"

export type EventSelector = EventType | '*'

type Shown = Pick<
  EndpointRow,
  | 'id'
  | 'url'
  | 'description'
  | 'eventTypes'
  | 'enabled'
  | 'disabledReason'
  | 'allProjects'
  | 'projectIds'
  | 'createdAt'
>

export function toWebhookEndpoint(row: Shown): WebhookEndpoint {
  return {
    id: row.id,
    url: row.url,
    description: row.description,
    event_types: row.eventTypes as EventSelector[],
    enabled: row.enabled,
    disabled_reason: row.disabledReason as WebhookEndpoint['disabled_reason'],
    project_ids: row.allProjects ? null : row.projectIds,
    created_at: row.createdAt.toISOString(),
  }
}

/** Whether the key may read all that the endpoint is told of. */
export function keyCanSeeEndpoint(
  principal: Principal,
  { scopes, projectIds, allProjects }: Pick<Row, 'scopes' | 'projectIds' | 'allProjects'>,
): boolean {
  if (!scopes.every((scope) => principal.scopes.has(scope))) return false
  const mine = principal.projectIds
  return mine === null || (!allProjects && projectIds.every((id) => mine.has(id)))
}

const eventScopes = [...new Set(Object.values(eventTypes).map(({ scope }) => scope))]

/** What an endpoint that this key makes is told of: what the key may read now. */
export function grantsOfKey(principal: Principal): {
  scopes: string[]
  projectIds: string[]
  allProjects: boolean
} {
  return {
    scopes: eventScopes.filter((scope) => principal.scopes.has(scope)),
    projectIds: principal.projectIds === null ? [] : [...principal.projectIds],
    allProjects: principal.projectIds === null,
  }
}

/** 403 for a type of event that the endpoint would never be told of. */
export function requireSelectableEvents(selectors: EventSelector[], scopes: string[]): void {
  const beyond = selectors.find(
    (selector) => selector !== '*' && !scopes.includes(eventTypes[selector].scope),
  )
  if (beyond !== undefined)
    throw forbidden(`${beyond} needs a key with the scope ${eventTypes[beyond as EventType].scope}.`, 'scope')
}

type ListRow = WebhookEndpoint & { total: number }
export interface EndpointQuery {
  order: 'asc' | 'desc'
  page: number
  limit: number
}

const own = 'user_id = $1 AND deleted_at IS NULL'
const pages = { asc: pageIn('ASC'), desc: pageIn('DESC') }

function pageIn(direction: 'ASC' | 'DESC') {
  return statement<ListRow>(`
    SELECT t.total, x.* FROM (SELECT count(*)::int AS total FROM webhook_endpoints WHERE ${own}) t LEFT JOIN LATERAL (
      SELECT id, url, description, event_types, enabled, disabled_reason, CASE WHEN all_projects THEN NULL ELSE project_ids END AS project_ids, created_at
      FROM webhook_endpoints WHERE ${own} ORDER BY created_at ${direction}, id ${direction} LIMIT $2 OFFSET $3
    ) x ON true`)
}

/** A page of the caller's endpoints. */
export async function listEndpoints(
  db: Db,
  { userId }: Principal,
  query: EndpointQuery,
): Promise<Page<WebhookEndpoint>> {
  const rows = await db.sql(pages[query.order], [userId, query.limit, offsetOf(query)])
  return pageOfRows(rows, query)
}

const lockEndpoint = statement<{ id: string }>(
  'SELECT id FROM webhook_endpoints WHERE id = $1 AND deleted_at IS NULL FOR NO KEY UPDATE',
)

/**
 * The caller's endpoint: 404 when there is none, 403 when it is someone else's or, where it has to be `covered`, this key
 * may read less than it is told of. `lock` holds it against other writers until the transaction ends.
 */
export async function findEndpoint(
  db: Db,
  principal: Principal,
  id: string,
  { lock = false, covered = true } = {},
): Promise<EndpointRow> {
  if (lock) await db.sql(lockEndpoint, [id])
  const row = await db.prisma.webhookEndpoint.findUnique({ where: { id } })
  if (row === null || row.deletedAt !== null) throw notFound('webhook endpoint', id)
  if (row.userId !== principal.userId) throw forbidden("This webhook endpoint is someone else's.")
  if (covered && !keyCanSeeEndpoint(principal, row))
    throw forbidden('This webhook endpoint is told of more than this key may read.', 'scope')
  return row
}

/** What a deleted endpoint is until a job removes it with its deliveries. */
export function deletedEndpoint() {
  return {
    deletedAt: new Date(),
    enabled: false,
    disabledReason: null,
    secret: '',
    previousSecret: null,
    previousExpiresAt: null,
  }
}

/** Refuses what could never be delivered to, before anything is. Names are only known when they are connected to. */
export function requirePublicUrl(webhookClient: WebhookClient, text: string): void {
  const wrong = (constraint: string, message: string): never => {
    throw invalidField('url', constraint, message)
  }
  if (!URL.canParse(text))
    return wrong('format', 'url must be an address such as https://example.com/webhooks')
  const url = new URL(text)
  if (url.username !== '' || url.password !== '')
    wrong('no_credentials', 'url must hold no user name and no password')
  if (url.hash !== '') wrong('no_fragment', 'url must have no fragment')
  if (webhookClient.isBlockedUrl(text)) wrong('public_address', 'url must lead to a public address')
}
