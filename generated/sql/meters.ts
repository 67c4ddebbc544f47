// Generated from prisma/sql by `npm run generate`. Do not edit.
import { one, optional } from '../../infra/database/queries.ts'
import { page } from '../../infra/database/list.ts'
import type { components } from '../types.ts'

type Schemas = components['schemas']

/**
 * The meters of a seller: an organization, or the operator.
 * @see prisma/sql/meters/list.sql
 */
export const list = page<{}, { created_after: Date | string; created_before: Date | string; updated_after: Date | string; updated_before: Date | string; metadata: object | string; organization_id: string; key: string; active: boolean; created_by: string }, 'created_at' | 'updated_at' | 'key', ListRow>(
  'meters/list',
  {
    select: `SELECT t.id, t.organization_id, t.key, t.name, t.aggregation, t.property, t.unit, t.dimensions AS "dimensions", t.source, t.active, t.metadata, t.created_by, t.created_at, t.updated_at
FROM meters t
WHERE true`,
    names: ['created_after', 'created_before', 'updated_after', 'updated_before', 'metadata', 'organization_id', 'key', 'active', 'created_by'],
    filters: {
      created_after: { sql: `t.id >= id_at('mtr', $1)`, searches: true },
      created_before: { sql: `t.id < id_at('mtr', $2)`, searches: true },
      updated_after: { sql: `t.updated_at >= $3`, searches: true },
      updated_before: { sql: `t.updated_at < $4`, searches: true },
      metadata: { sql: `t.metadata <> '{}' AND t.metadata @> $5::jsonb`, searches: true },
      organization_id: { sql: `t.organization_id = $6`, otherwise: `t.organization_id IS NULL` },
      key: { sql: `t.key = $7` },
      active: { sql: `t.active = $8` },
      created_by: { sql: `t.created_by = $9` },
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
  organization_id: Schemas['Meter']['organization_id'] | null
  key: string
  name: string
  aggregation: Schemas['Meter']['aggregation']
  property: string | null
  unit: string | null
  dimensions: Schemas['Meter']['dimensions']
  source: Schemas['Meter']['source'] | null
  active: boolean
  metadata: Schemas['Meter']['metadata']
  created_by: Schemas['Meter']['created_by'] | null
  created_at: string
  updated_at: string
}

/**
 * A meter.
 * @see generated/resources/meters/find.sql
 */
export const find = optional<{ id: string }, FindRow>(
  'meters/find',
  `SELECT t.id, t.organization_id, t.key, t.name, t.aggregation, t.property, t.unit, t.dimensions AS "dimensions", t.source, t.active, t.metadata, t.created_by, t.created_at, t.updated_at
FROM meters t
WHERE t.id = $1`,
  ['id'],
  { reads: true },
)
export interface FindRow {
  id: string
  organization_id: Schemas['Meter']['organization_id'] | null
  key: string
  name: string
  aggregation: Schemas['Meter']['aggregation']
  property: string | null
  unit: string | null
  dimensions: Schemas['Meter']['dimensions']
  source: Schemas['Meter']['source'] | null
  active: boolean
  metadata: Schemas['Meter']['metadata']
  created_by: Schemas['Meter']['created_by'] | null
  created_at: string
  updated_at: string
}

/**
 * Inserts a meter.
 * @see generated/resources/meters/insert.sql
 */
export const insert = one<{ id: string; organization_id: string | null; key: string; name: string; aggregation: string; property: string | null; unit: string | null; dimensions: readonly string[]; source: string | null; active: boolean; metadata: object | string; created_by: string | null; created_at: Date | string }, InsertRow>(
  'meters/insert',
  `INSERT INTO meters AS t (id, organization_id, key, name, aggregation, property, unit, dimensions, source, active, metadata, created_by, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13)
RETURNING t.id, t.organization_id, t.key, t.name, t.aggregation, t.property, t.unit, t.dimensions AS "dimensions", t.source, t.active, t.metadata, t.created_by, t.created_at, t.updated_at`,
  ['id', 'organization_id', 'key', 'name', 'aggregation', 'property', 'unit', 'dimensions', 'source', 'active', 'metadata', 'created_by', 'created_at'],
  { json: ['metadata'] },
)
export interface InsertRow {
  id: string
  organization_id: Schemas['Meter']['organization_id'] | null
  key: string
  name: string
  aggregation: Schemas['Meter']['aggregation']
  property: string | null
  unit: string | null
  dimensions: Schemas['Meter']['dimensions']
  source: Schemas['Meter']['source'] | null
  active: boolean
  metadata: Schemas['Meter']['metadata']
  created_by: Schemas['Meter']['created_by'] | null
  created_at: string
  updated_at: string
}

/**
 * A meter, locked against other writers.
 * @see generated/resources/meters/lock.sql
 */
export const lock = optional<{ id: string }, LockRow>(
  'meters/lock',
  `SELECT t.id, t.organization_id, t.key, t.name, t.aggregation, t.property, t.unit, t.dimensions AS "dimensions", t.source, t.active, t.metadata, t.created_by, t.created_at, t.updated_at
FROM meters t
WHERE t.id = $1
FOR NO KEY UPDATE`,
  ['id'],
)
export interface LockRow {
  id: string
  organization_id: Schemas['Meter']['organization_id'] | null
  key: string
  name: string
  aggregation: Schemas['Meter']['aggregation']
  property: string | null
  unit: string | null
  dimensions: Schemas['Meter']['dimensions']
  source: Schemas['Meter']['source'] | null
  active: boolean
  metadata: Schemas['Meter']['metadata']
  created_by: Schemas['Meter']['created_by'] | null
  created_at: string
  updated_at: string
}

/**
 * Updates a locked meter.
 * @see generated/resources/meters/update.sql
 */
export const update = one<{ name: string; unit: string | null; active: boolean; metadata: object | string; updated_at: Date | string; id: string }, UpdateRow>(
  'meters/update',
  `UPDATE meters t SET name = $1, unit = $2, active = $3, metadata = $4, updated_at = $5
WHERE t.id = $6
RETURNING t.id, t.organization_id, t.key, t.name, t.aggregation, t.property, t.unit, t.dimensions AS "dimensions", t.source, t.active, t.metadata, t.created_by, t.created_at, t.updated_at`,
  ['name', 'unit', 'active', 'metadata', 'updated_at', 'id'],
  { json: ['metadata'] },
)
export interface UpdateRow {
  id: string
  organization_id: Schemas['Meter']['organization_id'] | null
  key: string
  name: string
  aggregation: Schemas['Meter']['aggregation']
  property: string | null
  unit: string | null
  dimensions: Schemas['Meter']['dimensions']
  source: Schemas['Meter']['source'] | null
  active: boolean
  metadata: Schemas['Meter']['metadata']
  created_by: Schemas['Meter']['created_by'] | null
  created_at: string
  updated_at: string
}
