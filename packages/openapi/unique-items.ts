// `uniqueItems` in linear time: the one of Ajv compares every pair, which takes minutes for a body of one
// megabyte.
import type { Ajv2020 } from 'ajv/dist/2020.js'

/** Replaces the keyword of Ajv. */
export function addUniqueItems(ajv: Ajv2020): void {
  ajv.removeKeyword('uniqueItems')
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    error: { message: 'must NOT have duplicate items' },
    validate: (isUnique: boolean, items: unknown[]) =>
      !isUnique || new Set(items.map(canonical)).size === items.length,
  })
}

function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`
  const members = Object.entries(value).map(([key, each]) => `${JSON.stringify(key)}:${canonical(each)}`)
  return `{${members.sort().join()}}`
}
