// Generated from prisma/sql by `npm run generate`. Do not edit.
import { one, optional } from '../../infra/database/queries.ts'
import { page } from '../../infra/database/list.ts'
import type { components } from '../types.ts'

type Schemas = components['schemas']

/**
 * Inserts a price of its product's seller: recurring with an interval, else one-time.
 * @see prisma/sql/prices/insert.sql
 */
export const insert = one<{ id: string; product_id: string; unit_amount: number; currency: string; recurring: object | string | null; usage: object | string | null; metadata: object | string; created_by: string; created_at: Date | string }, InsertRow>(
  'prices/insert',
  `INSERT INTO prices AS t
  (id, product_id, organization_id, unit_amount, currency, interval, interval_count, trial_days, usage,
   metadata, created_by, created_at)
VALUES ($1, $2, (SELECT d.organization_id FROM products d WHERE d.id = $2), $3,
  $4, ($5::jsonb ->> 'interval')::"PriceInterval",
  ($5::jsonb ->> 'interval_count')::int, coalesce(($5::jsonb ->> 'trial_days')::int, 0),
  '{"unit_amount": null, "package_size": null, "tiers": null}'::jsonb || $6::jsonb,
  $7, $8, $9)
RETURNING t.id, t.product_id, t.organization_id, t.unit_amount, t.currency,
CASE WHEN t.interval IS NOT NULL
  THEN jsonb_build_object('interval', t.interval, 'interval_count', t.interval_count,
    'trial_days', t.trial_days) END AS recurring,
t.usage, t.active, t.metadata, t.created_by, t.created_at, t.updated_at`,
  ['id', 'product_id', 'unit_amount', 'currency', 'recurring', 'usage', 'metadata', 'created_by', 'created_at'],
  { json: ['recurring', 'usage', 'metadata'] },
)
export interface InsertRow {
  id: string
  product_id: string
  organization_id: string | null
  unit_amount: number
  currency: Schemas['Currency']
  recurring: Schemas['Recurring'] | null
  usage: Schemas['PriceUsage'] | null | null
  active: boolean
  metadata: Record<string, string>
  created_by: string | null
  created_at: string
  updated_at: string
}

/**
 * The prices of a seller: an organization, or the operator.
 * @see prisma/sql/prices/list.sql
 */
export const list = page<{}, { created_after: Date | string; created_before: Date | string; updated_after: Date | string; updated_before: Date | string; metadata: object | string; organization_id: string; product_id: string; currency: string; active: boolean; created_by: string }, 'created_at' | 'updated_at' | 'unit_amount', ListRow>(
  'prices/list',
  {
    select: `SELECT t.id, t.product_id, t.organization_id, t.unit_amount, t.currency,
CASE WHEN t.interval IS NOT NULL
  THEN jsonb_build_object('interval', t.interval, 'interval_count', t.interval_count,
    'trial_days', t.trial_days) END AS recurring,
t.usage, t.active, t.metadata, t.created_by, t.created_at, t.updated_at
FROM prices t
WHERE true`,
    names: ['created_after', 'created_before', 'updated_after', 'updated_before', 'metadata', 'organization_id', 'product_id', 'currency', 'active', 'created_by'],
    filters: {
      created_after: { sql: `t.id >= id_at('prc', $1)`, searches: true },
      created_before: { sql: `t.id < id_at('prc', $2)`, searches: true },
      updated_after: { sql: `t.updated_at >= $3`, searches: true },
      updated_before: { sql: `t.updated_at < $4`, searches: true },
      metadata: { sql: `t.metadata <> '{}' AND t.metadata @> $5::jsonb`, searches: true },
      organization_id: { sql: `t.organization_id = $6`, otherwise: `t.organization_id IS NULL` },
      product_id: { sql: `t.product_id = $7` },
      currency: { sql: `t.currency = $8` },
      active: { sql: `t.active = $9` },
      created_by: { sql: `t.created_by = $10` },
    },
    sorts: {
      created_at: `t.id`,
      updated_at: `t.updated_at`,
      unit_amount: `t.unit_amount`,
    },
    id: `t.id`,
    totals: {
    },
  },
)
export interface ListRow {
  id: string
  product_id: string
  organization_id: string | null
  unit_amount: number
  currency: Schemas['Currency']
  recurring: Schemas['Recurring'] | null
  usage: Schemas['PriceUsage'] | null | null
  active: boolean
  metadata: Record<string, string>
  created_by: string | null
  created_at: string
  updated_at: string
}

/**
 * A price.
 * @see generated/resources/prices/find.sql
 */
export const find = optional<{ id: string }, FindRow>(
  'prices/find',
  `SELECT t.id, t.product_id, t.organization_id, t.unit_amount, t.currency,
CASE WHEN t.interval IS NOT NULL
  THEN jsonb_build_object('interval', t.interval, 'interval_count', t.interval_count,
    'trial_days', t.trial_days) END AS recurring,
t.usage, t.active, t.metadata, t.created_by, t.created_at, t.updated_at
FROM prices t
WHERE t.id = $1`,
  ['id'],
  { reads: true },
)
export interface FindRow {
  id: string
  product_id: string
  organization_id: string | null
  unit_amount: number
  currency: Schemas['Currency']
  recurring: Schemas['Recurring'] | null
  usage: Schemas['PriceUsage'] | null | null
  active: boolean
  metadata: Record<string, string>
  created_by: string | null
  created_at: string
  updated_at: string
}

/**
 * A price, locked against other writers.
 * @see generated/resources/prices/lock.sql
 */
export const lock = optional<{ id: string }, LockRow>(
  'prices/lock',
  `SELECT t.id, t.product_id, t.organization_id, t.unit_amount, t.currency,
CASE WHEN t.interval IS NOT NULL
  THEN jsonb_build_object('interval', t.interval, 'interval_count', t.interval_count,
    'trial_days', t.trial_days) END AS recurring,
t.usage, t.active, t.metadata, t.created_by, t.created_at, t.updated_at
FROM prices t
WHERE t.id = $1
FOR NO KEY UPDATE`,
  ['id'],
)
export interface LockRow {
  id: string
  product_id: string
  organization_id: string | null
  unit_amount: number
  currency: Schemas['Currency']
  recurring: Schemas['Recurring'] | null
  usage: Schemas['PriceUsage'] | null | null
  active: boolean
  metadata: Record<string, string>
  created_by: string | null
  created_at: string
  updated_at: string
}

/**
 * Updates a locked price.
 * @see generated/resources/prices/update.sql
 */
export const update = one<{ organization_id: string | null; active: boolean; metadata: object | string; updated_at: Date | string; id: string }, UpdateRow>(
  'prices/update',
  `UPDATE prices t SET organization_id = $1, active = $2, metadata = $3, updated_at = $4
WHERE t.id = $5
RETURNING t.id, t.product_id, t.organization_id, t.unit_amount, t.currency,
CASE WHEN t.interval IS NOT NULL
  THEN jsonb_build_object('interval', t.interval, 'interval_count', t.interval_count,
    'trial_days', t.trial_days) END AS recurring,
t.usage, t.active, t.metadata, t.created_by, t.created_at, t.updated_at`,
  ['organization_id', 'active', 'metadata', 'updated_at', 'id'],
  { json: ['metadata'] },
)
export interface UpdateRow {
  id: string
  product_id: string
  organization_id: string | null
  unit_amount: number
  currency: Schemas['Currency']
  recurring: Schemas['Recurring'] | null
  usage: Schemas['PriceUsage'] | null | null
  active: boolean
  metadata: Record<string, string>
  created_by: string | null
  created_at: string
  updated_at: string
}
