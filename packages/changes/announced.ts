// Recognizes announced breaking changes: an element that was deprecated with a sunset date may change after
// it.
import { nodeAt, type Change } from './change.ts'

type Json = any

/** @returns the announcement, as text for people, or null if the change was not announced. */
export function announcementOf(before: Json, { before: pointer }: Change, today: Date): string | null {
  if (pointer === null) return null
  const keys = pointer.split('/')
  for (let length = keys.length; length > 1; length--) {
    const place = keys.slice(0, length).join('/')
    const node = nodeAt(before, place)
    if (node?.deprecated !== true || typeof node['x-sunset'] !== 'string') continue
    const sunset = new Date(node['x-sunset'])
    if (sunset <= today) return `deprecated, with the sunset date ${node['x-sunset'].slice(0, 10)}`
  }
  return null
}
