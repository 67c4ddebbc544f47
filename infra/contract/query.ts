// The query of an operation after its validation, as handlers and services get it.
import type { operations } from '../../generated/types.ts'

type DeclaredQuery<Id extends keyof operations> = operations[Id]['parameters'] extends { query?: infer Q }
  ? NonNullable<Q>
  : Record<string, never>

/** Validation fills in the defaults, so these parameters are always set. */
type Defaulted = 'page' | 'limit' | 'sort' | 'order' | 'disposition' | 'days' | 'hours' | 'fit' | 'format'

export type Query<Id extends keyof operations> = {
  [K in keyof DeclaredQuery<Id> as K extends Defaulted ? K : never]-?: NonNullable<DeclaredQuery<Id>[K]>
} & {
  [K in keyof DeclaredQuery<Id> as K extends Defaulted ? never : K]: DeclaredQuery<Id>[K]
}

/** The query of a list, without the workspace that the handler has opened, and what the HTTP layer adds. */
export type ListQuery<Id extends keyof operations> = Omit<Query<Id>, 'project_id' | 'include'>
