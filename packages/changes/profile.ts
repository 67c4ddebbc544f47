// Changes besides OpenAPI: extensions whose changes a client notices.
import type { Node, Report } from './change.ts'

export interface ChangesProfile {
  /** The extensions of an operation that `compareOperation` compares. Others are documentation. */
  extensions: string[]
  /** Reports the changes of an operation that is in both documents. */
  compareOperation(report: Report, before: Node, after: Node): void
  /** By scope, the scopes that it includes in this document. Default: none. */
  includedScopes?(document: any): Record<string, string[]>
}

/** OpenAPI alone. */
export const openapi: ChangesProfile = { extensions: [], compareOperation() {} }
