// Generated from prisma/sql by `npm run generate`. Do not edit.
import { none, one, optional } from '../../infra/database/queries.ts'
import { page } from '../../infra/database/list.ts'
import type { components } from '../types.ts'

type Schemas = components['schemas']

/**
 * Whether a customer has a subscription that has not ended, or an open checkout session.
 * @see prisma/sql/customers/blockers-of-deletion.sql
 */
export const blockersOfDeletion = one<{ id: string }, BlockersOfDeletionRow>(
  'customers/blockers-of-deletion',
  `SELECT EXISTS (SELECT FROM subscriptions s WHERE s.customer_id = $1 AND s.status <> 'canceled')
    AS "subscription",
  EXISTS (SELECT FROM checkouts c WHERE c.customer_id = $1 AND c.status = 'open') AS "checkout"`,
  ['id'],
  { reads: true },
)
export interface BlockersOfDeletionRow {
  subscription: boolean
  checkout: boolean
}

/**
 * The customer of a user who buys from the operator, locked against deletion. The first sale makes it.
 * @see prisma/sql/customers/customer-of-user.sql
 */
export const customerOfUser = one<{ user_id: string }, CustomerOfUserRow>(
  'customers/customer-of-user',
  `SELECT c.id AS "id", c.is_new AS "is_new" FROM customer_of_user($1) c`,
  ['user_id'],
)
export interface CustomerOfUserRow {
  id: string
  is_new: boolean
}

/**
 * The customer with this id of the seller's own.
 * @see prisma/sql/customers/find-by-external-id.sql
 */
export const findByExternalId = optional<{ external_id: string; organization_id: string | null }, FindByExternalIdRow>(
  'customers/find-by-external-id',
  `SELECT t.id, t.organization_id, t.user_id, t.buyer_organization_id, t.external_id, t.email, t.name, t.address,
t.tax_ids, t.locale, t.metadata, t.created_by, t.created_at, t.updated_at
FROM customers t
WHERE t.external_id = $1 AND t.deleted_at IS NULL
    AND (t.organization_id = $2::text
    OR t.organization_id IS NULL AND $2::text IS NULL)`,
  ['external_id', 'organization_id'],
  { reads: true },
)
export interface FindByExternalIdRow {
  id: string
  organization_id: string | null
  user_id: string | null
  buyer_organization_id: string | null
  external_id: string
  email: string | null
  name: string | null
  address: Schemas['Address'] | null
  tax_ids: Schemas['TaxId'][]
  locale: string | null
  metadata: Record<string, string>
  created_by: string | null
  created_at: string
  updated_at: string
}

/**
 * A customer of any seller.
 * @see prisma/sql/customers/find.sql
 */
export const find = optional<{ id: string }, FindRow>(
  'customers/find',
  `SELECT t.id, t.organization_id, t.user_id, t.buyer_organization_id, t.external_id, t.email, t.name, t.address,
t.tax_ids, t.locale, t.metadata, t.created_by, t.created_at, t.updated_at
FROM customers t
WHERE t.id = $1 AND t.deleted_at IS NULL`,
  ['id'],
  { reads: true },
)
export interface FindRow {
  id: string
  organization_id: string | null
  user_id: string | null
  buyer_organization_id: string | null
  external_id: string | null
  email: string | null
  name: string | null
  address: Schemas['Address'] | null
  tax_ids: Schemas['TaxId'][]
  locale: string | null
  metadata: Record<string, string>
  created_by: string | null
  created_at: string
  updated_at: string
}

/**
 * The customers of a seller: an organization, or the operator.
 * @see prisma/sql/customers/list.sql
 */
export const list = page<{}, { created_after: Date | string; created_before: Date | string; updated_after: Date | string; updated_before: Date | string; metadata: object | string; organization_id: string; email: string; external_id: string; user_id: string; buyer_organization_id: string; created_by: string }, 'created_at' | 'updated_at', ListRow>(
  'customers/list',
  {
    select: `SELECT t.id, t.organization_id, t.user_id, t.buyer_organization_id, t.external_id, t.email, t.name, t.address,
t.tax_ids, t.locale, t.metadata, t.created_by, t.created_at, t.updated_at
FROM customers t
WHERE t.deleted_at IS NULL`,
    names: ['created_after', 'created_before', 'updated_after', 'updated_before', 'metadata', 'organization_id', 'email', 'external_id', 'user_id', 'buyer_organization_id', 'created_by'],
    filters: {
      created_after: { sql: `t.id >= id_at('cus', $1)`, searches: true },
      created_before: { sql: `t.id < id_at('cus', $2)`, searches: true },
      updated_after: { sql: `t.updated_at >= $3`, searches: true },
      updated_before: { sql: `t.updated_at < $4`, searches: true },
      metadata: { sql: `t.metadata <> '{}' AND t.metadata @> $5::jsonb`, searches: true },
      organization_id: { sql: `t.organization_id = $6`, otherwise: `t.organization_id IS NULL` },
      email: { sql: `t.email = $7` },
      external_id: { sql: `t.external_id = $8` },
      user_id: { sql: `t.user_id = $9` },
      buyer_organization_id: { sql: `t.buyer_organization_id = $10` },
      created_by: { sql: `t.created_by = $11` },
    },
    sorts: {
      created_at: `t.id`,
      updated_at: `t.updated_at`,
    },
    id: `t.id`,
    totals: {
    },
  },
)
export interface ListRow {
  id: string
  organization_id: string | null
  user_id: string | null
  buyer_organization_id: string | null
  external_id: string | null
  email: string | null
  name: string | null
  address: Schemas['Address'] | null
  tax_ids: Schemas['TaxId'][]
  locale: string | null
  metadata: Record<string, string>
  created_by: string | null
  created_at: string
  updated_at: string
}

/**
 * Locks a person who exists against deletion. Service accounts buy nothing.
 * @see prisma/sql/customers/lock-buyer.sql
 */
export const lockBuyer = optional<{ id: string }, LockBuyerRow>(
  'customers/lock-buyer',
  `SELECT u.id FROM users u
WHERE u.id = $1 AND u.status <> 'deleted'
  AND NOT EXISTS (SELECT FROM service_accounts a WHERE a.user_id = u.id)
FOR KEY SHARE OF u`,
  ['id'],
)
export interface LockBuyerRow {
  id: string
}

/**
 * Locks an organization that buys against deletion.
 * @see prisma/sql/customers/lock-buying-organization.sql
 */
export const lockBuyingOrganization = optional<{ id: string }, LockBuyingOrganizationRow>(
  'customers/lock-buying-organization',
  `SELECT id FROM organizations WHERE id = $1 FOR KEY SHARE`,
  ['id'],
)
export interface LockBuyingOrganizationRow {
  id: string
}

/**
 * The customer as which an organization buys, locked against other writers and new sales.
 * @see prisma/sql/customers/lock-customer-of-organization.sql
 */
export const lockCustomerOfOrganization = optional<{ buyer_organization_id: string }, LockCustomerOfOrganizationRow>(
  'customers/lock-customer-of-organization',
  `SELECT t.id, t.organization_id, t.user_id, t.buyer_organization_id, t.external_id, t.email, t.name, t.address,
t.tax_ids, t.locale, t.metadata, t.created_by, t.created_at, t.updated_at
FROM customers t
WHERE t.buyer_organization_id = $1 AND t.deleted_at IS NULL
FOR NO KEY UPDATE`,
  ['buyer_organization_id'],
)
export interface LockCustomerOfOrganizationRow {
  id: string
  organization_id: string | null
  user_id: string | null
  buyer_organization_id: string
  external_id: string | null
  email: string | null
  name: string | null
  address: Schemas['Address'] | null
  tax_ids: Schemas['TaxId'][]
  locale: string | null
  metadata: Record<string, string>
  created_by: string | null
  created_at: string
  updated_at: string
}

/**
 * Like `find`, but locks the customer against other writers and new sales.
 * @see prisma/sql/customers/lock.sql
 */
export const lock = optional<{ id: string }, LockRow>(
  'customers/lock',
  `SELECT t.id, t.organization_id, t.user_id, t.buyer_organization_id, t.external_id, t.email, t.name, t.address,
t.tax_ids, t.locale, t.metadata, t.created_by, t.created_at, t.updated_at
FROM customers t
WHERE t.id = $1 AND t.deleted_at IS NULL
FOR NO KEY UPDATE`,
  ['id'],
)
export interface LockRow {
  id: string
  organization_id: string | null
  user_id: string | null
  buyer_organization_id: string | null
  external_id: string | null
  email: string | null
  name: string | null
  address: Schemas['Address'] | null
  tax_ids: Schemas['TaxId'][]
  locale: string | null
  metadata: Record<string, string>
  created_by: string | null
  created_at: string
  updated_at: string
}

/**
 * Removes the personal data of a locked customer, and the e-mails to it. The row stays for the orders.
 * @see prisma/sql/customers/remove.sql
 */
export const remove = none<{ id: string }>(
  'customers/remove',
  `WITH mails_to_customer AS (
  DELETE FROM mails m USING customers t WHERE t.id = $1 AND m.recipient = t.email AND m.user_id IS NULL
    AND m.kind IN ('receipt', 'refund_receipt')
)
UPDATE customers t SET user_id = NULL, external_id = NULL, email = NULL, name = NULL, address = NULL, tax_ids = '[]', locale = NULL,
metadata = '{}', deleted_at = now() WHERE id = $1`,
  ['id'],
)

/**
 * A customer of any seller, locked against deletion. The transaction has its time.
 * @see prisma/sql/customers/share.sql
 */
export const share = optional<{ id: string }, ShareRow>(
  'customers/share',
  `SELECT t.id, t.organization_id, t.user_id, t.buyer_organization_id, t.external_id, t.email, t.name, t.address,
t.tax_ids, t.locale, t.metadata, t.created_by, t.created_at, t.updated_at
FROM customers t
WHERE t.id = $1 AND t.deleted_at IS NULL
AND enter_customer_time(t.id) IS NOT NULL
FOR SHARE`,
  ['id'],
)
export interface ShareRow {
  id: string
  organization_id: string | null
  user_id: string | null
  buyer_organization_id: string | null
  external_id: string | null
  email: string | null
  name: string | null
  address: Schemas['Address'] | null
  tax_ids: Schemas['TaxId'][]
  locale: string | null
  metadata: Record<string, string>
  created_by: string | null
  created_at: string
  updated_at: string
}

/**
 * Inserts a customer with this `external_id`; if there is one, locks and returns it as it is.
 * @see prisma/sql/customers/upsert.sql
 */
export const upsert = one<{ id: string; organization_id: string | null; external_id: string; email: string | null; name: string | null; address: object | string | null; tax_ids: object | string; locale: string | null; metadata: object | string; created_by: string; created_at: Date | string }, UpsertRow>(
  'customers/upsert',
  `INSERT INTO customers AS t (id, organization_id, external_id, email, name, address, tax_ids, locale, metadata,
  created_by, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9,
  $10, $11, $11)
ON CONFLICT (external_id, organization_id) WHERE external_id IS NOT NULL AND deleted_at IS NULL
DO UPDATE SET created_at = t.created_at
RETURNING t.id, t.organization_id, t.user_id, t.buyer_organization_id, t.external_id, t.email, t.name, t.address,
t.tax_ids, t.locale, t.metadata, t.created_by, t.created_at, t.updated_at`,
  ['id', 'organization_id', 'external_id', 'email', 'name', 'address', 'tax_ids', 'locale', 'metadata', 'created_by', 'created_at'],
)
export interface UpsertRow {
  id: string
  organization_id: string | null
  user_id: string | null
  buyer_organization_id: string | null
  external_id: string | null
  email: string | null
  name: string | null
  address: Schemas['Address'] | null
  tax_ids: Schemas['TaxId'][]
  locale: string | null
  metadata: Record<string, string>
  created_by: string | null
  created_at: string
  updated_at: string
}

/**
 * Inserts a customer.
 * @see generated/resources/customers/insert.sql
 */
export const insert = one<{ id: string; organization_id: string | null; user_id: string | null; buyer_organization_id: string | null; external_id: string | null; email: string | null; name: string | null; address: object | string | null; tax_ids: object | string; locale: string | null; metadata: object | string; created_by: string | null; created_at: Date | string }, InsertRow>(
  'customers/insert',
  `INSERT INTO customers AS t (id, organization_id, user_id, buyer_organization_id, external_id, email, name, address, tax_ids, locale, metadata, created_by, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13)
RETURNING t.id, t.organization_id, t.user_id, t.buyer_organization_id, t.external_id, t.email, t.name, t.address,
t.tax_ids, t.locale, t.metadata, t.created_by, t.created_at, t.updated_at`,
  ['id', 'organization_id', 'user_id', 'buyer_organization_id', 'external_id', 'email', 'name', 'address', 'tax_ids', 'locale', 'metadata', 'created_by', 'created_at'],
  { json: ['address', 'tax_ids', 'metadata'] },
)
export interface InsertRow {
  id: string
  organization_id: string | null
  user_id: string | null
  buyer_organization_id: string | null
  external_id: string | null
  email: string | null
  name: string | null
  address: Schemas['Address'] | null
  tax_ids: Schemas['TaxId'][]
  locale: string | null
  metadata: Record<string, string>
  created_by: string | null
  created_at: string
  updated_at: string
}

/**
 * Updates a locked customer.
 * @see generated/resources/customers/update.sql
 */
export const update = one<{ external_id: string | null; email: string | null; name: string | null; address: object | string | null; tax_ids: object | string; locale: string | null; metadata: object | string; updated_at: Date | string; id: string }, UpdateRow>(
  'customers/update',
  `UPDATE customers t SET external_id = $1, email = $2, name = $3, address = $4, tax_ids = $5, locale = $6, metadata = $7, updated_at = $8
WHERE t.id = $9
RETURNING t.id, t.organization_id, t.user_id, t.buyer_organization_id, t.external_id, t.email, t.name, t.address,
t.tax_ids, t.locale, t.metadata, t.created_by, t.created_at, t.updated_at`,
  ['external_id', 'email', 'name', 'address', 'tax_ids', 'locale', 'metadata', 'updated_at', 'id'],
  { json: ['address', 'tax_ids', 'metadata'] },
)
export interface UpdateRow {
  id: string
  organization_id: string | null
  user_id: string | null
  buyer_organization_id: string | null
  external_id: string | null
  email: string | null
  name: string | null
  address: Schemas['Address'] | null
  tax_ids: Schemas['TaxId'][]
  locale: string | null
  metadata: Record<string, string>
  created_by: string | null
  created_at: string
  updated_at: string
}
