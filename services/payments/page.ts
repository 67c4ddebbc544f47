// The sandbox's pages, as HTML that needs no script.
import type { components } from '../../generated/types.ts'
import type { Till } from './till.ts'

export type CardForm = components['schemas']['CardForm']

/** What is wrong with what was typed, by the field. */
export type CardProblems = Partial<Record<keyof CardForm, string>>

export const pageHeaders: Record<string, string> = {}

/** The card that was typed, or what is wrong with it. */
export function readCard (_typed: CardForm): { number: string } | { problems: CardProblems } {
  return { problems: {} }
}

export function showCardForm (_till: Till, _state: { failure?: string | null, typed?: CardForm, problems?: CardProblems }): string {
  return ''
}

export function showConfirmation (_till: Extract<Till, { shows: 'confirmation' }>): string {
  return ''
}

export function showWait (_till: Till): string {
  return ''
}

/** The session is over. */
export function showOver (_till: Till): string {
  return ''
}

/** There is no such session. */
export function showMissing (): string {
  return ''
}
