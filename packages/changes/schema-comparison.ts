// The comparison of two schemas, as the functions for the keywords take it.
import type { Comparison, Node, Report } from './change.ts'
import type { Direction } from './normalize.ts'

export interface Subject {
  subject: string
  /** The part of the subject, for messages: `the body of 200.name`. */
  what: string
  direction: Direction
}

/** The state of a comparison of `was` with `is`, both normalized. */
export interface Context {
  comparison: Comparison
  subject: Subject
  change: ReportChange
  report: Report
  was: Node
  is: Node
}

/** Reports a change of the allowed values; the direction decides whether it breaks clients. */
export type ReportChange = (
  width: 'wider' | 'narrower' | 'unknown',
  rule: string,
  message: string,
  keyword?: string,
) => void
