// Validates the card form. The sandbox accepts only its test cards and warns about real card numbers. Card
// numbers and security codes are never displayed again.
import type { components } from '../../../../generated/types.ts'
import { findTestCard, type CardExpiry } from '../gateway.ts'

export type CardForm = components['schemas']['CardForm']

/** Error messages by form field. */
export type CardProblems = Partial<Record<keyof CardForm, string>>

/** The number and the expiry date of a valid test card, or the errors of the form. */
export function validateCard(
  { number = '', expiry = '', cvc = '', name = '' }: CardForm,
  now = new Date(),
): { number: string; expiry: CardExpiry } | { problems: CardProblems } {
  const checks = {
    number: numberProblem(normalize(number)),
    expiry: expiryProblem(normalize(expiry), now),
    cvc: /^\d{3,4}$/.test(normalize(cvc)) ? null : 'Enter a security code: any 3 or 4 digits.',
    name: nameProblem(name),
  }
  const problems = Object.fromEntries(
    Object.entries(checks).filter(([, problem]) => problem !== null),
  ) as CardProblems
  if (Object.keys(problems).length > 0) return { problems }
  const { month, year } = parseExpiry(normalize(expiry))!
  return { number: normalize(number), expiry: { month, year } }
}

/** The values that are safe to display again: drops every value that could be a card number, in any field. */
export function safeToRedisplay({ expiry = '', name = '' }: CardForm): { expiry: string; name: string } {
  const safe = (text: string): string => (countDigits(text) < 8 ? text : '')
  return { expiry: safe(expiry), name: safe(name) }
}

/** Converts full-width digits and removes spaces and dashes. */
function normalize(text: string): string {
  return text.normalize('NFKC').replace(/[\s\p{Dash}]/gu, '')
}

function countDigits(text: string): number {
  return text.match(/\p{Number}/gu)?.length ?? 0
}

function numberProblem(digits: string): string | null {
  if (digits === '') return 'Enter the number of a test card.'
  if (findTestCard(digits) !== undefined) return null
  if (/^\d{12,19}$/.test(digits) && isLuhn(digits))
    return 'This may be a real card. Never enter a real card here; use one of the test cards.'
  return 'This is not a test card number. Use one from the list.'
}

/** Checks the Luhn check digit (ISO/IEC 7812-1, annex B), which every real card number has. */
function isLuhn(digits: string): boolean {
  const sum = [...digits].reverse().reduce((sum, digit, i) => {
    const value = Number(digit) * (1 + (i % 2))
    return sum + (value > 9 ? value - 9 : value)
  }, 0)
  return sum % 10 === 0
}

/** A card is valid until the end of its month in UTC-12, the last time zone. */
function expiryProblem(text: string, now: Date): string | null {
  if (text === '') return 'Enter the expiry date, e.g. 12 / 34.'
  const parsed = parseExpiry(text)
  if (parsed === null) return 'Enter the expiry date as month and year, e.g. 12 / 34.'
  return Date.UTC(parsed.year, parsed.month, 1, 12) > now.getTime()
    ? null
    : 'This expiry date is in the past. Enter any future date.'
}

function parseExpiry(text: string): CardExpiry | null {
  const [, month, year] = /^(0?[1-9]|1[0-2])\/?(?:20)?(\d\d)$/.exec(text) ?? []
  return month === undefined ? null : { month: Number(month), year: 2000 + Number(year) }
}

function nameProblem(name: string): string | null {
  if (name.trim() === '') return 'Enter any name.'
  return countDigits(name) < 8 ? null : 'Enter a name, not a number.'
}
