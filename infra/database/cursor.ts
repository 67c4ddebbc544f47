// Cursors: the place in a list where the next page begins. A cursor contains the sort values of the last item
// of a page, and a fingerprint of the list with its filters and order. It is not signed: it can only narrow
// the list that its caller may read anyway.
import { hash } from 'node:crypto'
import { invalidRequest, type ApiError } from '../errors.ts'

export interface Position {
  /** The number of the page that begins here. */
  page: number
  /** The sort values of the item before, as PostgreSQL writes them: the sort key, then the id. */
  values: string[]
}

/** Changes when the format changes, so that an old cursor is rejected instead of misread. */
const version = 1
const maxPage = 1_000_000

/** Identifies a list with its filters and order. A cursor continues only the list that it was made for. */
export function fingerprintOf(...parts: unknown[]): string {
  return hash('sha256', JSON.stringify(parts), 'base64url').slice(0, 16)
}

export function encodeCursor(fingerprint: string, { page, values }: Position): string {
  return Buffer.from(JSON.stringify([version, fingerprint, page, ...values])).toString('base64url')
}

/** @throws 400 for a text that is no cursor, and for the cursor of another list, filter or order. */
export function decodeCursor(cursor: string, fingerprint: string): Position {
  const [itsVersion, itsFingerprint, page, ...values] = parse(cursor)
  if (itsVersion !== version || !isPage(page) || !values.every((value) => typeof value === 'string'))
    throw invalidCursor()
  if (itsFingerprint !== fingerprint)
    throw invalidCursor('cursor belongs to a list with other filters, sort or order: repeat them unchanged')
  return { page, values }
}

export function invalidCursor(
  message = 'cursor is not valid: send next_cursor of the previous page unchanged',
): ApiError {
  return invalidRequest([{ field: 'cursor', constraint: 'cursor', message, location: 'query' }])
}

function parse(cursor: string): unknown[] {
  try {
    const content: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    return Array.isArray(content) ? content : []
  } catch {
    return []
  }
}

function isPage(page: unknown): page is number {
  return Number.isInteger(page) && (page as number) >= 1 && (page as number) <= maxPage
}
