// Ranges of time by name, in the calendar of the person: a link to yesterday stays one to yesterday.
import type { ConsoleField } from './model-types.ts'

/** The parameter of an address. */
export const timeName = 'created'

const ranges: Record<string, [text: string, from: number, to?: number]> = {
  today: ['Today', 0],
  yesterday: ['Yesterday', -1, 0],
  week: ['7 days', -6],
  month: ['30 days', -29],
}

export const timeNames = Object.keys(ranges)
export const timeText = (name: string): string | undefined => ranges[name]?.[0]

/** The field of a filter. */
export const timeField = {
  name: timeName,
  title: 'Created',
  kind: 'choice',
  values: timeNames,
} as ConsoleField

/** The filters of a list for a range. */
export function createdIn(name: string | null): Record<string, string> {
  const range = ranges[name ?? '']
  if (range === undefined) return {}
  const [, from, to] = range
  const midnight = (days: number): string => {
    const now = new Date()
    return new Date(now.getFullYear(), now.getMonth(), now.getDate() + days).toISOString()
  }
  return { created_after: midnight(from), ...(to !== undefined && { created_before: midnight(to) }) }
}
