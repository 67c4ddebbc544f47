// Ids: a type prefix and a UUIDv7 in base32 (TypeID 0.3), so that they tell what they name and sort by creation.
import { randomUUID } from 'node:crypto'
import { TypeID, typeid } from 'typeid-js'

export type IdPrefix = 'usr' | 'prj' | 'mem' | 'inv' | 'key'

export function newId (prefix: IdPrefix): string {
  return typeid(prefix).toString()
}

/** When an id was made, to the millisecond. Rows keep this as created_at, so that both orders are the same. */
export function timeOf (id: string): Date {
  return new Date(Number.parseInt(TypeID.fromString(id).toUUID().replaceAll('-', '').slice(0, 12), 16))
}

/** An id for a request that brought none. It is no resource's: it only has to be unlike any other. */
export function newRequestId (): string {
  return `req_${randomUUID().replaceAll('-', '')}`
}
