// Reads the errors of pg and Prisma: SQLSTATE, violated constraint, and whether another attempt may succeed.
import { ApiError, unavailable } from '../errors.ts'
import { readOnlyState } from './hosts.ts'

/** The API error for a constraint that a trigger of the database enforces. A domain declares its own. */
export interface ConstraintError {
  constraint: string
  /** Part of the trigger's message. Prisma passes on the message but not the constraint. */
  message: string
  error: (message: string) => ApiError
}

/** The API error for a database error. Returns other errors, API errors included, as they are. */
export function translateError(error: unknown, constraintErrors: ConstraintError[]): unknown {
  if (error instanceof ApiError) return error
  const constraint = violatedConstraint(error)
  const message = (error as Error | undefined)?.message
  for (const known of constraintErrors)
    if (constraint === known.constraint || message?.includes(known.message)) return known.error(message ?? '')
  if (isUnavailable(error)) return Object.assign(unavailable(), { cause: error })
  return error
}

/** The constraint that an error of pg or Prisma names, or null. */
export function violatedConstraint(error: unknown): string | null {
  const found = driverError(error)
  if (typeof found?.constraint === 'string') return found.constraint
  return found?.constraint?.index ?? found?.constraint?.fields?.join(',') ?? null
}

/**
 * The columns in which another row has the same values, by an error of pg; none for an index on expressions.
 */
export function uniqueColumns(error: unknown): string[] {
  const { detail = '' } = error as { detail?: string }
  const [, columns = ''] = /^[^(]*\(([\w", ]+)\)=\(/.exec(detail) ?? []
  return columns.split(', ').flatMap((column) => column.replaceAll('"', '') || [])
}

/**
 * Whether a transaction failed because of a concurrent one (deadlock, serialization failure) and can be
 * repeated.
 */
export function isRetryable(error: unknown): boolean {
  const state = sqlState(error)
  return state === '40001' || state === '40P01' || (error as { code?: string })?.code === 'P2034'
}

/**
 * Whether an error of COMMIT proves that nothing was committed. While the server shuts down, or when the
 * connection breaks, the transaction may have been committed all the same.
 */
export function isCommitRefused(error: unknown): boolean {
  const state = sqlState(error)
  return state !== null && !/^(08|57|40003)/.test(state)
}

/** The result of a statement, or `fallback` if PostgreSQL canceled it because of the statement timeout. */
export async function orOnTimeout<T, F>(result: Promise<T>, fallback: F): Promise<T | F> {
  return await result.catch((error: unknown) => {
    if (sqlState(error instanceof ApiError ? error.cause : error) === '57014') return fallback
    throw error
  })
}

/** Whether a row was refused because another has the same values in unique columns. */
export function isUniqueViolation(error: unknown): boolean {
  return sqlState(error) === '23505' || (error as { code?: string })?.code === 'P2002'
}

/** Whether a parameter has a value that its type does not accept. */
export function isInvalidValue(error: unknown): boolean {
  return sqlState(error)?.startsWith('22') === true
}

const connectionCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
  'P1001',
  'P1002',
  'P1008',
  'P1017',
  'P2024',
  'P2028',
])
const connectionMessages = new RegExp(
  [
    'Connection terminated',
    'timeout exceeded when trying to connect',
    'Query read timeout',
    'Client has encountered a connection error',
    'not queryable',
    'Server has closed the connection',
    "Can't reach database",
  ].join('|'),
  'i',
)

/** Whether the database was not reachable or gave up, so that another attempt may succeed. */
export function isUnavailable(error: unknown): boolean {
  const state = sqlState(error)
  // 08 connection, 28 refused credentials, 53 out of resources, 57014 statement timeout, 57P0x shutdown,
  // 55P03 lock timeout, 25006 a standby, 25P03 and 25P04 transaction timeouts, 40 deadlock or serialization
  // failure
  if (state !== null) return /^(08|28|53|57P0|57014|55P03|25006|25P0[34]|40)/.test(state)
  const { code, message } = (error ?? {}) as { code?: string; message?: string }
  return connectionCodes.has(code ?? '') || connectionMessages.test(message ?? '')
}

/** Whether the connection was lost, with all that was sent on it. */
export function isConnectionLost(error: unknown): boolean {
  const state = sqlState(error)
  return state === null ? isUnavailable(error) : /^(08|57P0)/.test(state)
}

/** Whether the database refuses writes: its disk is full (53100), or it is read-only (25006). */
export function isWriteRefused(error: unknown): boolean {
  const state = sqlState(error)
  return state === '53100' || state === readOnlyState
}

/** The five-character SQLSTATE of an error of pg or Prisma, or null. */
function sqlState(error: unknown): string | null {
  const found = driverError(error)
  // Prisma's own codes (P1001) and Node's (EPIPE) have five characters too.
  return typeof found?.code === 'string' &&
    /^[0-9A-Z]{5}$/.test(found.code) &&
    !/^(P[1-6]\d{3}|E[A-Z]{4})$/.test(found.code)
    ? found.code
    : null
}

/** The error of pg inside an error of Prisma, whose driver adapter keeps the original code. */
function driverError(error: any): any {
  const cause = error?.meta?.driverAdapterError?.cause ?? error?.cause
  if (cause?.originalCode !== undefined)
    return { code: cause.originalCode, constraint: cause.constraint, message: cause.originalMessage }
  return error
}
