// The card that a customer types. The sandbox takes its test cards alone: the number of a real card is refused with a word about it, and
// what was typed as a number or a code is never shown again.
import type { components } from '../../../../generated/types.ts'
import { testCard } from '../gateway.ts'

export type CardForm = components['schemas']['CardForm']

/** What is wrong with what was typed, by the field. */
export type CardProblems = Partial<Record<keyof CardForm, string>>

/** The card that was typed, or what is wrong with it. */
export function readCard(
  { number = '', expiry = '', cvc = '', name = '' }: CardForm,
  now = new Date(),
): { number: string } | { problems: CardProblems } {
  const found = {
    number: wrongNumber(plain(number)),
    expiry: wrongExpiry(plain(expiry), now),
    cvc: /^\d{3,4}$/.test(plain(cvc)) ? null : 'Type the security code: any 3 or 4 digits.',
    name: wrongName(name),
  }
  const problems = Object.fromEntries(
    Object.entries(found).filter(([, problem]) => problem !== null),
  ) as CardProblems
  return Object.keys(problems).length > 0 ? { problems } : { number: plain(number) }
}

/** What may be shown again of what was typed: nothing that could be the number of a card, whichever field it stands in. */
export function shownAgain({ expiry = '', name = '' }: CardForm): { expiry: string; name: string } {
  const harmless = (text: string): string => (digitsOf(text) < 8 ? text : '')
  return { expiry: harmless(expiry), name: harmless(name) }
}

/** Wide digits are digits; blanks and dashes between them do not count. */
function plain(text: string): string {
  return text.normalize('NFKC').replace(/[\s\p{Dash}]/gu, '')
}

function digitsOf(text: string): number {
  return text.match(/\p{Number}/gu)?.length ?? 0
}

function wrongNumber(digits: string): string | null {
  if (digits === '') return 'Type the number of a test card.'
  if (testCard(digits) !== undefined) return null
  if (/^\d{12,19}$/.test(digits) && isLuhn(digits))
    return 'This may be a real card, and real cards must not be typed here. Use one of the test cards.'
  return 'This is not the number of a test card. Use one of the list.'
}

/** Whether the check digit is right (ISO/IEC 7812-1, annex B), as of every real card. */
function isLuhn(digits: string): boolean {
  const sum = [...digits].reverse().reduce((sum, digit, i) => {
    const value = Number(digit) * (1 + (i % 2))
    return sum + (value > 9 ? value - 9 : value)
  }, 0)
  return sum % 10 === 0
}

/** A card is good until its month is over, which is last of all in UTC-12. */
function wrongExpiry(text: string, now: Date): string | null {
  if (text === '') return 'Type the expiry date, such as 12 / 34.'
  const [, month, year] = /^(0?[1-9]|1[0-2])\/?(?:20)?(\d\d)$/.exec(text) ?? []
  if (month === undefined) return 'Type the expiry date as month and year, such as 12 / 34.'
  return Date.UTC(2000 + Number(year), Number(month), 1, 12) > now.getTime()
    ? null
    : 'This expiry date has passed. Use any in the future.'
}

function wrongName(name: string): string | null {
  if (name.trim() === '') return 'Type the name on the card: any will do.'
  return digitsOf(name) < 8 ? null : 'Type a name, not a number.'
}
