// The SQL of resources with x-crud: generated/resources.
import { resolve as resolved } from '@platform-api/openapi/resolve.ts'
import { capital, has, idField, ofOuter, outerSchema, placeOf, withArticle, words } from './declared.ts'
import { isNullable, storedFields, type CrudResource } from './resources.ts'

type Json = any

/**
 * The statements of the resources, for the generator of generated/sql, by file name. A file of prisma/sql
 * replaces the statement with its name.
 */
export function resourceStatements(
  document: Json,
  resources: CrudResource[],
  isReplaced: (file: string) => boolean,
): Map<string, string> {
  return new Map(
    resources.flatMap((resource) =>
      Object.entries(statementsOf(document, resource))
        .filter(([name]) => !isReplaced(`prisma/sql/${resource.table}/${name}.sql`))
        .map(([name, text]) => [`resources/${resource.table}/${name}.sql`, text] as const),
    ),
  )
}

function statementsOf(document: Json, resource: CrudResource): Record<string, string> {
  const { schema, prefix, name, table, properties, sort = [], filters = [], parameters = [] } = resource
  const what = words(schema)
  const a = withArticle(what)
  const column = (key: string): string => properties[key]['x-column'] ?? key
  const keys = Object.keys(properties).filter((key) => properties[key]['x-computed'] === undefined)
  const typeOf = (key: string): Json => resolved(document, properties[key])
  // Prisma's list columns have no NOT NULL. Every creation gives them a value.
  const mark = (key: string): string => (typeOf(key).type === 'array' ? '!' : '')
  const columns = keys.map((key) =>
    column(key) === key && mark(key) === '' ? `t.${key}` : `t.${column(key)} AS "${key}${mark(key)}"`,
  )
  const given = (key: string): string => `:${key}${isNullable(document, properties[key]) ? '?' : ''}`
  const typed = keys.filter((key) => {
    const { type, enum: values } = typeOf(key)
    const isScalar = [type].flat().every((one) => one !== undefined && one !== 'object' && one !== 'array')
    return values !== undefined || !isScalar
  })
  const types = typed.map((key) => `-- @type ${key} Schemas['${schema}']['${key}']\n`).join('')
  const outer = outerSchema(resource)
  const within = [placeOf(resource)?.field, outer === null ? undefined : idField(outer)]
  const inside = within.flatMap((key) => (key === undefined ? [] : [`t.${column(key)} = :${key}`]))
  const own = storedFields(resource).filter((key) => keys.includes(key))
  const changed = own.filter((key) => isChanged(document, resource, key))
  const found = `SELECT {columns}\nFROM ${table} t\n` + `WHERE ${['t.id = :id', ...inside].join(' AND ')}\n`
  const inserted = keys.map((key) => (key === 'updated_at' ? ':created_at' : given(key)))
  // The order of ids is that of creation. Names are sorted regardless of case.
  const sorted = (key: string): string => {
    const { type, format, enum: values } = typeOf(key)
    if (key === 'created_at') return 't.id'
    const isText = type === 'string' && format === undefined && values === undefined
    return isText ? `lower(t.${column(key)})` : `t.${column(key)}`
  }
  const filterable = [`t.id=${prefix}`, 't.updated_at', ...(keys.includes('metadata') ? ['t.metadata'] : [])]
  return {
    columns: `-- The columns of ${a}, from ${table} t.\n${types}${columns.join(', ')}\n`,
    list:
      `-- The ${words(name)}${ofOuter(resource)}.\n-- @page\n` +
      `SELECT {columns}\nFROM ${table} t\nWHERE ${inside.join(' AND ') || 'true'}\n` +
      `-- @common ${filterable.join(' ')}\n` +
      filters.map((key) => `-- @filter ${key}\nt.${column(key)} = :${key}\n`).join('') +
      parameters.map((one) => `-- @filter ${one.name} searches\n{${conditionOf(one)}}\n`).join('') +
      ['created_at', 'updated_at', ...sort].map((key) => `-- @sort ${key}\n${sorted(key)}\n`).join('') +
      '-- @id\nt.id\n',
    find: `-- ${capital(a)}${ofOuter(resource)}.\n-- @optional\n${found}`,
    lock:
      `-- ${capital(a)}${ofOuter(resource)}, locked against other writers.\n-- @optional\n` +
      `${found}FOR NO KEY UPDATE\n`,
    insert:
      `-- Inserts ${a}.\n-- @one\nINSERT INTO ${table} AS t (${keys.map(column).join(', ')})\n` +
      `VALUES (${inserted.join(', ')})\nRETURNING {columns}\n`,
    ...(has(resource, 'update') && {
      update:
        `-- Updates a locked ${what}.\n-- @one\nUPDATE ${table} t SET ` +
        changed.map((key) => `${column(key)} = ${given(key)}, `).join('') +
        `updated_at = :updated_at\nWHERE t.id = :id\nRETURNING {columns}\n`,
    }),
    ...(has(resource, 'delete') && {
      remove: `-- Deletes ${a}.\n-- @none\nDELETE FROM ${table} WHERE id = :id\n`,
    }),
  }
}

/** Whether an operation can change the field: one of the resource's own may change it, too. */
function isChanged(document: Json, { schema }: CrudResource, key: string): boolean {
  const [creation, update] = ['Create', 'Update'].map((kind) => document.components.schemas[schema + kind])
  return update?.properties[key] !== undefined || creation?.properties[key] === undefined
}

/** The name of the file in prisma/sql with the condition of a parameter of a list. */
export function conditionOf({ name }: Json): string {
  return `filter-${name.replaceAll('_', '-')}`
}
