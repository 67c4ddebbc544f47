// Selectors of event types: a type, `project.*` for all types of an object, or `*` for all types.
import { eventTypes, type EventType } from '../../generated/events.ts'
import type { components } from '../../generated/types.ts'

export type EventSelector = components['schemas']['EventSelector']

const allTypes = Object.keys(eventTypes) as EventType[]

/** The event types that a selector names. */
export function typesOf(selector: string): EventType[] {
  const start = selector.slice(0, -1)
  return selector.endsWith('*')
    ? allTypes.filter((type) => type.startsWith(start))
    : allTypes.filter((type) => type === selector)
}

/** The event types that any of the selectors names; null without selectors, for all types. */
export function typesOfAll(selectors: string[] | undefined): EventType[] | null {
  return selectors === undefined ? null : [...new Set(selectors.flatMap(typesOf))]
}
