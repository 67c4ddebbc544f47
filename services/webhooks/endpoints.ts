// Webhook endpoints and their permissions. An endpoint keeps the scopes and projects of the API key that
// created it, and receives only events that this key could read. Only a key with at least these projects can
// read the endpoint, and only a key with these scopes too can change it, get a new secret or read its
// deliveries.
import * as sql from '../../generated/sql/webhooks.ts'
import type { components } from '../../generated/types.ts'
import { eventTypes } from '../../generated/events.ts'
import type { WebhookEndpoint as Row } from '../../generated/prisma/client.js'
import type { ListQuery } from '../../infra/contract/query.ts'
import type { Db, Transaction } from '../../infra/database/database.ts'
import type { Cipher } from '../../infra/encryption/cipher.ts'
import { typesOf, type EventSelector } from '../events/selectors.ts'
import { forbidden, invalidField, notFound } from '../../infra/errors.ts'
import { newId, timeOf } from '../../infra/ids.ts'
import type { Page } from '../../infra/database/pagination.ts'
import { isOperator, type Principal } from '../users/authentication.ts'
import type { WebhookClient } from './http-client.ts'
import { decryptSecret, encryptSecret } from './secrets.ts'
import { newWebhookSecret } from './signature.ts'

export type WebhookEndpoint = components['schemas']['WebhookEndpoint']
export type WebhookEndpointWithSecret = components['schemas']['WebhookEndpointWithSecret']
export type EndpointRow = Omit<Row, 'secret' | 'previousSecret'>

type PublicColumns = Pick<
  EndpointRow,
  | 'id'
  | 'url'
  | 'description'
  | 'eventTypes'
  | 'enabled'
  | 'disabledReason'
  | 'allProjects'
  | 'projectIds'
  | 'metadata'
  | 'userId'
  | 'createdAt'
  | 'updatedAt'
>

export function toWebhookEndpoint(row: PublicColumns): WebhookEndpoint {
  return {
    id: row.id,
    url: row.url,
    description: row.description,
    event_types: row.eventTypes as EventSelector[],
    enabled: row.enabled,
    disabled_reason: row.disabledReason as WebhookEndpoint['disabled_reason'],
    project_ids: row.allProjects ? null : row.projectIds,
    metadata: row.metadata as Record<string, string>,
    created_by: row.userId,
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
  }
}

type Grants = Pick<Row, 'scopes' | 'projectIds' | 'allProjects'>

/** Whether the API key has all scopes and projects of the endpoint. */
export function keyCanSeeEndpoint(principal: Principal, { scopes, ...grants }: Grants): boolean {
  return scopes.every((scope) => principal.scopes.has(scope)) && keyHasProjects(principal, grants)
}

/** Whether the API key has all projects of the endpoint. */
function keyHasProjects(
  { projectIds: own }: Principal,
  { projectIds, allProjects }: Pick<Grants, 'projectIds' | 'allProjects'>,
): boolean {
  return own === null || (!allProjects && projectIds.every((id) => own.has(id)))
}

/** The ids of the caller's endpoints for which `keyCanSeeEndpoint` is true. */
export async function readableEndpointIds(
  db: Db,
  { userId, scopes, projectIds }: Principal,
): Promise<string[]> {
  const endpoints = await sql.listReadableEndpoints(db, {
    user_id: userId,
    key_scopes: [...scopes],
    key_projects: projectIds === null ? null : [...projectIds],
  })
  return endpoints.map(({ id }) => id)
}

/** The scopes of events. With `payments:sell`, an endpoint receives the sales of a seller to others. */
const eventScopes = [...new Set([...Object.values(eventTypes).map(({ scope }) => scope), 'payments:sell'])]

/**
 * The scopes and projects that an endpoint gets from the API key that creates it. `payments:sell`, which
 * everyone may have, only with events of sales: keys without it cannot see the deliveries of the endpoint.
 */
export function grantsOfKey(principal: Principal, selectors: EventSelector[]): Grants {
  const sells = isOperator(principal, 'payments:sell') || selectors.some(selectsSales)
  return {
    scopes: eventScopes.filter(
      (scope) => principal.scopes.has(scope) && (scope !== 'payments:sell' || sells),
    ),
    projectIds: principal.projectIds === null ? [] : [...principal.projectIds],
    allProjects: principal.projectIds === null,
  }
}

function selectsSales(selector: EventSelector): boolean {
  return typesOf(selector).some((type) => eventTypes[type].scope === 'payments:read')
}

/** Throws 403 for events that the endpoint can never receive, because it lacks their scopes. */
export function requireSelectableEvents(selectors: EventSelector[], scopes: string[]): void {
  for (const selector of selectors) {
    const needed = [...new Set(typesOf(selector).map((type) => eventTypes[type].scope))]
    if (selector === '*' || needed.some((scope) => scopes.includes(scope))) continue
    throw forbidden(
      `The event type ${selector} requires an API key with the scope ${needed.join(' or ')}.`,
      'scope',
    )
  }
}

/** A page of the caller's endpoints, with the total, in one statement. */
export async function listEndpoints(
  db: Db,
  { userId, projectIds }: Principal,
  query: ListQuery<'listWebhookEndpoints'>,
): Promise<Page<WebhookEndpoint>> {
  const keyProjects = projectIds === null ? undefined : [...projectIds]
  return await sql.listEndpoints(db, { user_id: userId, key_projects: keyProjects, ...query })
}

/** A new endpoint with its secret, and the row to insert. The row needs a user with the id `userId`. */
export function newEndpoint(
  principal: Principal,
  {
    url,
    description = null,
    event_types: eventTypes,
    enabled = true,
    metadata = {},
  }: components['schemas']['WebhookEndpointCreate'],
  cipher: Cipher,
) {
  const id = newId('whe')
  const secret = newWebhookSecret()
  const { userId } = principal
  const grants = grantsOfKey(principal, eventTypes)
  const at = timeOf(id)
  const columns = { id, userId, url, description, eventTypes, enabled, metadata, ...grants, createdAt: at }
  const endpoint = toWebhookEndpoint({ ...columns, disabledReason: null, updatedAt: at })
  return { row: { ...columns, secret: encryptSecret(cipher, id, secret) }, endpoint, secret }
}

/**
 * An endpoint of the caller.
 * @param options.lock locks the endpoint until the transaction ends.
 * @param options.anyScopes whether a key without all scopes of the endpoint may see it.
 * @throws 404 when the endpoint does not exist, 403 when it belongs to another user or the API key may not
 * see it.
 */
export async function openEndpoint(
  db: Db,
  principal: Principal,
  id: string,
  { lock = false, anyScopes = false } = {},
): Promise<EndpointRow> {
  if (lock) await sql.lockEndpoint(db, { id })
  const row = await db.prisma.webhookEndpoint.findUnique({ where: { id } })
  if (row === null || row.deletedAt !== null) throw notFound('webhook endpoint', id)
  if (row.userId !== principal.userId)
    throw forbidden('This webhook endpoint belongs to another user.', 'owner', id)
  if (!(anyScopes ? keyHasProjects : keyCanSeeEndpoint)(principal, row))
    throw forbidden('This API key lacks scopes or projects of this webhook endpoint.', 'scope')
  return row
}

/**
 * Replaces the secret of a locked endpoint. The old secret stays valid for `overlapSeconds`; until then each
 * request has a signature with both.
 */
export async function replaceSecret(
  tx: Transaction,
  cipher: Cipher,
  { id, overlapSeconds }: { id: string; overlapSeconds: number },
): Promise<{ endpoint: WebhookEndpoint; secret: string }> {
  const { secret: oldSecret } = await tx.prisma.webhookEndpoint.findUniqueOrThrow({
    where: { id },
    select: { secret: true },
  })
  const secret = newWebhookSecret()
  const previous =
    overlapSeconds === 0
      ? { previousSecret: null, previousExpiresAt: null }
      : {
          previousSecret: encryptSecret(cipher, id, decryptSecret(cipher, id, oldSecret)),
          previousExpiresAt: new Date(Date.now() + overlapSeconds * 1000),
        }
  const row = await tx.prisma.webhookEndpoint.update({
    where: { id },
    data: { secret: encryptSecret(cipher, id, secret), ...previous },
  })
  return { endpoint: toWebhookEndpoint(row), secret }
}

/**
 * Throws 400 for a URL to which no delivery can be sent. Host names are not resolved here: the HTTP client
 * checks their addresses at each connection.
 */
export function requirePublicUrl(webhookClient: WebhookClient, text: string): void {
  const reject = (constraint: string, message: string): never => {
    throw invalidField('url', constraint, message)
  }
  if (!URL.canParse(text))
    return reject('format', 'url must be an absolute URL such as https://example.com/webhooks.')
  const url = new URL(text)
  if (url.username !== '' || url.password !== '')
    reject('no_credentials', 'url must not contain a user name or password.')
  if (url.hash !== '') reject('no_fragment', 'url must not contain a fragment.')
  if (webhookClient.isBlockedUrl(text))
    reject(
      'public_address',
      'url must have a public address. For local tests, start the server with WEBHOOK_ALLOWED_NETWORKS.',
    )
  if (webhookClient.isBlockedPort(text))
    reject('port', 'url must have a port that WEBHOOK_ALLOWED_PORTS of the server names, such as 443.')
}
