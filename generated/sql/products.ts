// Generated from prisma/sql by `npm run generate`. Do not edit.
import { one, optional } from '../../infra/database/queries.ts'
import { page } from '../../infra/database/list.ts'
import type { components } from '../types.ts'

type Schemas = components['schemas']

/**
 * The products of a seller: an organization, or the operator.
 * @see prisma/sql/products/list.sql
 */
export const list = page<{}, { created_after: Date | string; created_before: Date | string; updated_after: Date | string; updated_before: Date | string; metadata: object | string; organization_id: string; active: boolean; created_by: string; q: string }, 'created_at' | 'updated_at' | 'name', ListRow>(
  'products/list',
  {
    select: `SELECT t.id, t.name, t.organization_id, t.description, t.active, t.metadata, t.created_by, t.created_at, t.updated_at
FROM products t
WHERE true`,
    names: ['created_after', 'created_before', 'updated_after', 'updated_before', 'metadata', 'organization_id', 'active', 'created_by', 'q'],
    filters: {
      created_after: { sql: `t.id >= id_at('prod', $1)`, searches: true },
      created_before: { sql: `t.id < id_at('prod', $2)`, searches: true },
      updated_after: { sql: `t.updated_at >= $3`, searches: true },
      updated_before: { sql: `t.updated_at < $4`, searches: true },
      metadata: { sql: `t.metadata <> '{}' AND t.metadata @> $5::jsonb`, searches: true },
      organization_id: { sql: `t.organization_id = $6`, otherwise: `t.organization_id IS NULL` },
      active: { sql: `t.active = $7` },
      created_by: { sql: `t.created_by = $8` },
      q: { sql: `strpos(lower(t.name), lower($9)) > 0`, searches: true },
    },
    sorts: {
      created_at: `t.id`,
      updated_at: `t.updated_at`,
      name: `lower(t.name)`,
    },
    id: `t.id`,
    totals: {
    },
  },
)
export interface ListRow {
  id: string
  name: string
  organization_id: Schemas['Product']['organization_id'] | null
  description: string | null
  active: boolean
  metadata: Schemas['Product']['metadata']
  created_by: Schemas['Product']['created_by'] | null
  created_at: string
  updated_at: string
}

/**
 * A product.
 * @see generated/resources/products/find.sql
 */
export const find = optional<{ id: string }, FindRow>(
  'products/find',
  `SELECT t.id, t.name, t.organization_id, t.description, t.active, t.metadata, t.created_by, t.created_at, t.updated_at
FROM products t
WHERE t.id = $1`,
  ['id'],
  { reads: true },
)
export interface FindRow {
  id: string
  name: string
  organization_id: Schemas['Product']['organization_id'] | null
  description: string | null
  active: boolean
  metadata: Schemas['Product']['metadata']
  created_by: Schemas['Product']['created_by'] | null
  created_at: string
  updated_at: string
}

/**
 * Inserts a product.
 * @see generated/resources/products/insert.sql
 */
export const insert = one<{ id: string; name: string; organization_id: string | null; description: string | null; active: boolean; metadata: object | string; created_by: string | null; created_at: Date | string }, InsertRow>(
  'products/insert',
  `INSERT INTO products AS t (id, name, organization_id, description, active, metadata, created_by, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)
RETURNING t.id, t.name, t.organization_id, t.description, t.active, t.metadata, t.created_by, t.created_at, t.updated_at`,
  ['id', 'name', 'organization_id', 'description', 'active', 'metadata', 'created_by', 'created_at'],
  { json: ['metadata'] },
)
export interface InsertRow {
  id: string
  name: string
  organization_id: Schemas['Product']['organization_id'] | null
  description: string | null
  active: boolean
  metadata: Schemas['Product']['metadata']
  created_by: Schemas['Product']['created_by'] | null
  created_at: string
  updated_at: string
}

/**
 * A product, locked against other writers.
 * @see generated/resources/products/lock.sql
 */
export const lock = optional<{ id: string }, LockRow>(
  'products/lock',
  `SELECT t.id, t.name, t.organization_id, t.description, t.active, t.metadata, t.created_by, t.created_at, t.updated_at
FROM products t
WHERE t.id = $1
FOR NO KEY UPDATE`,
  ['id'],
)
export interface LockRow {
  id: string
  name: string
  organization_id: Schemas['Product']['organization_id'] | null
  description: string | null
  active: boolean
  metadata: Schemas['Product']['metadata']
  created_by: Schemas['Product']['created_by'] | null
  created_at: string
  updated_at: string
}

/**
 * Updates a locked product.
 * @see generated/resources/products/update.sql
 */
export const update = one<{ name: string; description: string | null; active: boolean; metadata: object | string; updated_at: Date | string; id: string }, UpdateRow>(
  'products/update',
  `UPDATE products t SET name = $1, description = $2, active = $3, metadata = $4, updated_at = $5
WHERE t.id = $6
RETURNING t.id, t.name, t.organization_id, t.description, t.active, t.metadata, t.created_by, t.created_at, t.updated_at`,
  ['name', 'description', 'active', 'metadata', 'updated_at', 'id'],
  { json: ['metadata'] },
)
export interface UpdateRow {
  id: string
  name: string
  organization_id: Schemas['Product']['organization_id'] | null
  description: string | null
  active: boolean
  metadata: Schemas['Product']['metadata']
  created_by: Schemas['Product']['created_by'] | null
  created_at: string
  updated_at: string
}
