// The changes of an update, by the same rules for every resource. Omitted fields keep their value, `metadata`
// is merged key by key, and an update that changes nothing writes nothing.
import { isDeepStrictEqual } from 'node:util'
import { invalidField } from '../errors.ts'
import { isObject } from '../validation/strict-json.ts'

type Pairs = Record<string, string>

/** The fields of an update, with the merged `metadata`. */
export type Changes<Update> = Omit<Update, 'metadata'> & { metadata?: Pairs }

const maxPairs = 16

/**
 * The fields that the update changes, with `metadata` merged into that of the resource; null if nothing
 * changes.
 * @param isUnchanged whether the resource has the fields. By default, objects in them may have fewer fields.
 * @throws 400 when the merged metadata has more than 16 keys.
 */
export function changesOf<Update extends object>(
  resource: object,
  update: Update,
  isUnchanged: (resource: object, fields: object) => boolean = contains,
): Changes<Update> | null {
  const { metadata, ...fields } = update as { metadata?: Record<string, string | null> }
  const current = (resource as { metadata?: Pairs }).metadata
  const merged = metadata === undefined ? current : mergePairs(current ?? {}, metadata)
  const changed = Object.entries(fields).filter(([name, value]) => !isUnchanged(resource, { [name]: value }))
  if (!isDeepStrictEqual(merged, current)) changed.push(['metadata', merged])
  return changed.length === 0 ? null : (Object.fromEntries(changed) as Changes<Update>)
}

function mergePairs(current: Pairs, update: Record<string, string | null>): Pairs {
  const merged = Object.fromEntries(
    Object.entries({ ...current, ...update }).filter((pair): pair is [string, string] => pair[1] !== null),
  )
  if (Object.keys(merged).length > maxPairs)
    throw invalidField('metadata', 'maxProperties', `metadata must have at most ${maxPairs} keys`)
  return merged
}

/** Whether the resource has exactly these values: for fields whose objects an update replaces. */
export function hasFields(resource: object, fields: object): boolean {
  const values: Record<string, unknown> = { ...resource }
  return Object.entries(fields).every(
    ([key, value]) => value === undefined || isDeepStrictEqual(values[key], value),
  )
}

/** Whether the value has all fields of the part, with equal values. */
function contains(value: unknown, part: unknown): boolean {
  if (!isObject(part) || !isObject(value)) return isDeepStrictEqual(value, part)
  return Object.entries(part).every(([key, member]) => member === undefined || contains(value[key], member))
}
