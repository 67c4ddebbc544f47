// The filters that every list has, by the columns that its `@common` names.

/**
 * The name and the condition of each filter for a column: `o.created_at`, `o.updated_at`, `o.metadata`, or
 * `o.id=ord` for an id that contains the creation time. Null for any other text.
 */
export function commonFilters(column: string): Array<{ name: string; sql: string }> | null {
  const [, expression, name, prefix] = /^(\w+\.(\w+))(?:=(\w+))?$/.exec(column) ?? []
  if (expression === undefined) return null
  if (prefix !== undefined)
    return [
      { name: 'created_after', sql: `${expression} >= id_at('${prefix}', :created_after)` },
      { name: 'created_before', sql: `${expression} < id_at('${prefix}', :created_before)` },
    ]
  if (name === 'metadata')
    return [{ name, sql: `${expression} <> '{}' AND ${expression} @> :metadata::jsonb` }]
  const [, time] = /^(created|updated)_at$/.exec(name) ?? []
  if (time === undefined) return null
  return [
    { name: `${time}_after`, sql: `${expression} >= :${time}_after` },
    { name: `${time}_before`, sql: `${expression} < :${time}_before` },
  ]
}
