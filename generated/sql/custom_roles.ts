// Generated from prisma/sql by `npm run generate`. Do not edit.
import { none, one, optional } from '../../infra/database/queries.ts'
import { page } from '../../infra/database/list.ts'
import type { components } from '../types.ts'

type Schemas = components['schemas']

/**
 * Inserts a custom role. Each area has a column with the built-in role that allows the same.
 * @see prisma/sql/custom_roles/insert.sql
 */
export const insert = one<{ id: string; organization_id: string; name: string; description: string | null; permissions: object | string; created_by: string; created_at: Date | string }, InsertRow>(
  'custom_roles/insert',
  `INSERT INTO custom_roles AS t
  (id, organization_id, name, description, projects, storage, ai, payments, created_by, created_at)
VALUES ($1, $2, $3, $4, (CASE $5::jsonb ->> 'projects' WHEN 'read' THEN 'viewer' WHEN 'write' THEN 'editor'
  WHEN 'admin' THEN 'admin' END)::"MemberRole", (CASE $5::jsonb ->> 'storage' WHEN 'read' THEN 'viewer' WHEN 'write' THEN 'editor'
  WHEN 'admin' THEN 'admin' END)::"MemberRole",
  (CASE $5::jsonb ->> 'ai' WHEN 'read' THEN 'viewer' WHEN 'write' THEN 'editor'
  WHEN 'admin' THEN 'admin' END)::"MemberRole", (CASE $5::jsonb ->> 'payments' WHEN 'read' THEN 'viewer' WHEN 'write' THEN 'editor'
  WHEN 'admin' THEN 'admin' END)::"MemberRole", $6, $7)
RETURNING t.id, t.organization_id, t.name, t.description,
jsonb_build_object('projects', CASE t.projects WHEN 'viewer' THEN 'read' WHEN 'editor' THEN 'write' WHEN 'admin' THEN 'admin' ELSE 'none' END, 'storage', CASE t.storage WHEN 'viewer' THEN 'read' WHEN 'editor' THEN 'write' WHEN 'admin' THEN 'admin' ELSE 'none' END, 'ai', CASE t.ai WHEN 'viewer' THEN 'read' WHEN 'editor' THEN 'write' WHEN 'admin' THEN 'admin' ELSE 'none' END,
  'payments', CASE t.payments WHEN 'viewer' THEN 'read' WHEN 'editor' THEN 'write' WHEN 'admin' THEN 'admin' ELSE 'none' END) AS permissions,
t.created_by, t.created_at, t.updated_at`,
  ['id', 'organization_id', 'name', 'description', 'permissions', 'created_by', 'created_at'],
  { json: ['permissions'] },
)
export interface InsertRow {
  id: string
  organization_id: string
  name: string
  description: string | null
  permissions: Schemas['CustomRole']['permissions']
  created_by: string
  created_at: string
  updated_at: string
}

/**
 * Updates a custom role of a locked organization.
 * @see prisma/sql/custom_roles/update.sql
 */
export const update = one<{ name: string; description: string | null; permissions: object | string; id: string }, UpdateRow>(
  'custom_roles/update',
  `UPDATE custom_roles t SET name = $1, description = $2, projects = (CASE $3::jsonb ->> 'projects' WHEN 'read' THEN 'viewer' WHEN 'write' THEN 'editor'
  WHEN 'admin' THEN 'admin' END)::"MemberRole",
  storage = (CASE $3::jsonb ->> 'storage' WHEN 'read' THEN 'viewer' WHEN 'write' THEN 'editor'
  WHEN 'admin' THEN 'admin' END)::"MemberRole", ai = (CASE $3::jsonb ->> 'ai' WHEN 'read' THEN 'viewer' WHEN 'write' THEN 'editor'
  WHEN 'admin' THEN 'admin' END)::"MemberRole", payments = (CASE $3::jsonb ->> 'payments' WHEN 'read' THEN 'viewer' WHEN 'write' THEN 'editor'
  WHEN 'admin' THEN 'admin' END)::"MemberRole"
WHERE t.id = $4
RETURNING t.id, t.organization_id, t.name, t.description,
jsonb_build_object('projects', CASE t.projects WHEN 'viewer' THEN 'read' WHEN 'editor' THEN 'write' WHEN 'admin' THEN 'admin' ELSE 'none' END, 'storage', CASE t.storage WHEN 'viewer' THEN 'read' WHEN 'editor' THEN 'write' WHEN 'admin' THEN 'admin' ELSE 'none' END, 'ai', CASE t.ai WHEN 'viewer' THEN 'read' WHEN 'editor' THEN 'write' WHEN 'admin' THEN 'admin' ELSE 'none' END,
  'payments', CASE t.payments WHEN 'viewer' THEN 'read' WHEN 'editor' THEN 'write' WHEN 'admin' THEN 'admin' ELSE 'none' END) AS permissions,
t.created_by, t.created_at, t.updated_at`,
  ['name', 'description', 'permissions', 'id'],
  { json: ['permissions'] },
)
export interface UpdateRow {
  id: string
  organization_id: string
  name: string
  description: string | null
  permissions: Schemas['CustomRole']['permissions']
  created_by: string
  created_at: string
  updated_at: string
}

/**
 * A custom role of an organization.
 * @see generated/resources/custom_roles/find.sql
 */
export const find = optional<{ id: string; organization_id: string }, FindRow>(
  'custom_roles/find',
  `SELECT t.id, t.organization_id, t.name, t.description,
jsonb_build_object('projects', CASE t.projects WHEN 'viewer' THEN 'read' WHEN 'editor' THEN 'write' WHEN 'admin' THEN 'admin' ELSE 'none' END, 'storage', CASE t.storage WHEN 'viewer' THEN 'read' WHEN 'editor' THEN 'write' WHEN 'admin' THEN 'admin' ELSE 'none' END, 'ai', CASE t.ai WHEN 'viewer' THEN 'read' WHEN 'editor' THEN 'write' WHEN 'admin' THEN 'admin' ELSE 'none' END,
  'payments', CASE t.payments WHEN 'viewer' THEN 'read' WHEN 'editor' THEN 'write' WHEN 'admin' THEN 'admin' ELSE 'none' END) AS permissions,
t.created_by, t.created_at, t.updated_at
FROM custom_roles t
WHERE t.id = $1 AND t.organization_id = $2`,
  ['id', 'organization_id'],
  { reads: true },
)
export interface FindRow {
  id: string
  organization_id: string
  name: string
  description: string | null
  permissions: Schemas['CustomRole']['permissions']
  created_by: string
  created_at: string
  updated_at: string
}

/**
 * The custom roles of an organization.
 * @see generated/resources/custom_roles/list.sql
 */
export const list = page<{ organization_id: string }, { created_after: Date | string; created_before: Date | string; updated_after: Date | string; updated_before: Date | string }, 'created_at' | 'updated_at' | 'name', ListRow>(
  'custom_roles/list',
  {
    select: `SELECT t.id, t.organization_id, t.name, t.description,
jsonb_build_object('projects', CASE t.projects WHEN 'viewer' THEN 'read' WHEN 'editor' THEN 'write' WHEN 'admin' THEN 'admin' ELSE 'none' END, 'storage', CASE t.storage WHEN 'viewer' THEN 'read' WHEN 'editor' THEN 'write' WHEN 'admin' THEN 'admin' ELSE 'none' END, 'ai', CASE t.ai WHEN 'viewer' THEN 'read' WHEN 'editor' THEN 'write' WHEN 'admin' THEN 'admin' ELSE 'none' END,
  'payments', CASE t.payments WHEN 'viewer' THEN 'read' WHEN 'editor' THEN 'write' WHEN 'admin' THEN 'admin' ELSE 'none' END) AS permissions,
t.created_by, t.created_at, t.updated_at
FROM custom_roles t
WHERE t.organization_id = $1`,
    names: ['organization_id', 'created_after', 'created_before', 'updated_after', 'updated_before'],
    filters: {
      created_after: { sql: `t.id >= id_at('rol', $2)`, searches: true },
      created_before: { sql: `t.id < id_at('rol', $3)`, searches: true },
      updated_after: { sql: `t.updated_at >= $4`, searches: true },
      updated_before: { sql: `t.updated_at < $5`, searches: true },
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
  organization_id: string
  name: string
  description: string | null
  permissions: Schemas['CustomRole']['permissions']
  created_by: string
  created_at: string
  updated_at: string
}

/**
 * A custom role of an organization, locked against other writers.
 * @see generated/resources/custom_roles/lock.sql
 */
export const lock = optional<{ id: string; organization_id: string }, LockRow>(
  'custom_roles/lock',
  `SELECT t.id, t.organization_id, t.name, t.description,
jsonb_build_object('projects', CASE t.projects WHEN 'viewer' THEN 'read' WHEN 'editor' THEN 'write' WHEN 'admin' THEN 'admin' ELSE 'none' END, 'storage', CASE t.storage WHEN 'viewer' THEN 'read' WHEN 'editor' THEN 'write' WHEN 'admin' THEN 'admin' ELSE 'none' END, 'ai', CASE t.ai WHEN 'viewer' THEN 'read' WHEN 'editor' THEN 'write' WHEN 'admin' THEN 'admin' ELSE 'none' END,
  'payments', CASE t.payments WHEN 'viewer' THEN 'read' WHEN 'editor' THEN 'write' WHEN 'admin' THEN 'admin' ELSE 'none' END) AS permissions,
t.created_by, t.created_at, t.updated_at
FROM custom_roles t
WHERE t.id = $1 AND t.organization_id = $2
FOR NO KEY UPDATE`,
  ['id', 'organization_id'],
)
export interface LockRow {
  id: string
  organization_id: string
  name: string
  description: string | null
  permissions: Schemas['CustomRole']['permissions']
  created_by: string
  created_at: string
  updated_at: string
}

/**
 * Deletes a custom role.
 * @see generated/resources/custom_roles/remove.sql
 */
export const remove = none<{ id: string }>(
  'custom_roles/remove',
  `DELETE FROM custom_roles WHERE id = $1`,
  ['id'],
)
