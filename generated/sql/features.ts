// Generated from prisma/sql by `npm run generate`. Do not edit.
import { one, optional } from '../../infra/database/queries.ts'
import { page } from '../../infra/database/list.ts'
import type { components } from '../types.ts'

type Schemas = components['schemas']

/**
 * The features of a seller: an organization, or the operator.
 * @see prisma/sql/features/list.sql
 */
export const list = page<{}, { created_after: Date | string; created_before: Date | string; updated_after: Date | string; updated_before: Date | string; metadata: object | string; organization_id: string; key: string; type: string; active: boolean; created_by: string }, 'created_at' | 'updated_at' | 'key', ListRow>(
  'features/list',
  {
    select: `SELECT t.id, t.organization_id, t.key, t.name, t.type, t.meter_id, t.active, t.metadata, t.created_by, t.created_at, t.updated_at
FROM features t
WHERE true`,
    names: ['created_after', 'created_before', 'updated_after', 'updated_before', 'metadata', 'organization_id', 'key', 'type', 'active', 'created_by'],
    filters: {
      created_after: { sql: `t.id >= id_at('feat', $1)`, searches: true },
      created_before: { sql: `t.id < id_at('feat', $2)`, searches: true },
      updated_after: { sql: `t.updated_at >= $3`, searches: true },
      updated_before: { sql: `t.updated_at < $4`, searches: true },
      metadata: { sql: `t.metadata <> '{}' AND t.metadata @> $5::jsonb`, searches: true },
      organization_id: { sql: `t.organization_id = $6`, otherwise: `t.organization_id IS NULL` },
      key: { sql: `t.key = $7` },
      type: { sql: `t.type = $8` },
      active: { sql: `t.active = $9` },
      created_by: { sql: `t.created_by = $10` },
    },
    sorts: {
      created_at: `t.id`,
      updated_at: `t.updated_at`,
      key: `t.key`,
    },
    id: `t.id`,
    totals: {
    },
  },
)
export interface ListRow {
  id: string
  organization_id: Schemas['Feature']['organization_id'] | null
  key: string
  name: string
  type: Schemas['Feature']['type']
  meter_id: Schemas['Feature']['meter_id'] | null
  active: boolean
  metadata: Schemas['Feature']['metadata']
  created_by: Schemas['Feature']['created_by'] | null
  created_at: string
  updated_at: string
}

/**
 * A feature.
 * @see generated/resources/features/find.sql
 */
export const find = optional<{ id: string }, FindRow>(
  'features/find',
  `SELECT t.id, t.organization_id, t.key, t.name, t.type, t.meter_id, t.active, t.metadata, t.created_by, t.created_at, t.updated_at
FROM features t
WHERE t.id = $1`,
  ['id'],
  { reads: true },
)
export interface FindRow {
  id: string
  organization_id: Schemas['Feature']['organization_id'] | null
  key: string
  name: string
  type: Schemas['Feature']['type']
  meter_id: Schemas['Feature']['meter_id'] | null
  active: boolean
  metadata: Schemas['Feature']['metadata']
  created_by: Schemas['Feature']['created_by'] | null
  created_at: string
  updated_at: string
}

/**
 * Inserts a feature.
 * @see generated/resources/features/insert.sql
 */
export const insert = one<{ id: string; organization_id: string | null; key: string; name: string; type: string; meter_id: string | null; active: boolean; metadata: object | string; created_by: string | null; created_at: Date | string }, InsertRow>(
  'features/insert',
  `INSERT INTO features AS t (id, organization_id, key, name, type, meter_id, active, metadata, created_by, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10)
RETURNING t.id, t.organization_id, t.key, t.name, t.type, t.meter_id, t.active, t.metadata, t.created_by, t.created_at, t.updated_at`,
  ['id', 'organization_id', 'key', 'name', 'type', 'meter_id', 'active', 'metadata', 'created_by', 'created_at'],
  { json: ['metadata'] },
)
export interface InsertRow {
  id: string
  organization_id: Schemas['Feature']['organization_id'] | null
  key: string
  name: string
  type: Schemas['Feature']['type']
  meter_id: Schemas['Feature']['meter_id'] | null
  active: boolean
  metadata: Schemas['Feature']['metadata']
  created_by: Schemas['Feature']['created_by'] | null
  created_at: string
  updated_at: string
}

/**
 * A feature, locked against other writers.
 * @see generated/resources/features/lock.sql
 */
export const lock = optional<{ id: string }, LockRow>(
  'features/lock',
  `SELECT t.id, t.organization_id, t.key, t.name, t.type, t.meter_id, t.active, t.metadata, t.created_by, t.created_at, t.updated_at
FROM features t
WHERE t.id = $1
FOR NO KEY UPDATE`,
  ['id'],
)
export interface LockRow {
  id: string
  organization_id: Schemas['Feature']['organization_id'] | null
  key: string
  name: string
  type: Schemas['Feature']['type']
  meter_id: Schemas['Feature']['meter_id'] | null
  active: boolean
  metadata: Schemas['Feature']['metadata']
  created_by: Schemas['Feature']['created_by'] | null
  created_at: string
  updated_at: string
}

/**
 * Updates a locked feature.
 * @see generated/resources/features/update.sql
 */
export const update = one<{ name: string; active: boolean; metadata: object | string; updated_at: Date | string; id: string }, UpdateRow>(
  'features/update',
  `UPDATE features t SET name = $1, active = $2, metadata = $3, updated_at = $4
WHERE t.id = $5
RETURNING t.id, t.organization_id, t.key, t.name, t.type, t.meter_id, t.active, t.metadata, t.created_by, t.created_at, t.updated_at`,
  ['name', 'active', 'metadata', 'updated_at', 'id'],
  { json: ['metadata'] },
)
export interface UpdateRow {
  id: string
  organization_id: Schemas['Feature']['organization_id'] | null
  key: string
  name: string
  type: Schemas['Feature']['type']
  meter_id: Schemas['Feature']['meter_id'] | null
  active: boolean
  metadata: Schemas['Feature']['metadata']
  created_by: Schemas['Feature']['created_by'] | null
  created_at: string
  updated_at: string
}
