// The kinds of operations for the short form of the contract tests. The request pipeline is the same code for
// all operations, and reads what they declare: operations of one kind take the same path through it.
import type { OperationInfo } from '../../../infra/contract/operation.ts'

/** The first of each kind. */
export function oneOfEachKind<T>(all: T[], kindOf: (one: T) => unknown): T[] {
  return [...Map.groupBy(all, (one) => JSON.stringify(kindOf(one))).values()].map(([first]) => first)
}

/** What the pipeline reads before the handler begins. */
export function pipelineKind({
  path,
  scopes,
  keyOptional,
  needsSession,
  body,
  validators,
  idempotent,
  handlesIdempotency,
  static: isStatic,
  htmlErrors,
}: OperationInfo): unknown {
  return [
    path.includes('{'),
    validators.query !== undefined,
    scopes === null
      ? 'public'
      : scopes.length === 0
        ? 'any key'
        : scopes.includes('admin')
          ? 'admin'
          : 'scope',
    keyOptional,
    needsSession,
    body?.contentTypes,
    body?.streamed,
    body?.raw,
    body?.maxBytes !== undefined,
    idempotent,
    handlesIdempotency,
    isStatic,
    htmlErrors,
  ]
}
