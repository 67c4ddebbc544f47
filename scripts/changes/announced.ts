// Which breaking changes were announced: what a contract called deprecated, with a day on which it ends, may end after that day.
import { at, type Change } from './change.ts'

type Json = any

/** @returns what excuses the change, for people, or null. */
export function acknowledgement(before: Json, { before: pointer }: Change, today: Date): string | null {
  if (pointer === null) return null
  const keys = pointer.split('/')
  for (let length = keys.length; length > 1; length--) {
    const place = keys.slice(0, length).join('/')
    const node = at(before, place)
    if (node?.deprecated !== true || typeof node['x-sunset'] !== 'string') continue
    const sunset = new Date(node['x-sunset'])
    if (sunset <= today) return `deprecated, and ended on ${node['x-sunset'].slice(0, 10)}`
  }
  return null
}
