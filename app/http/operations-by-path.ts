// Looks up the operations of a path, regardless of the method.
import { operations } from '../../generated/operations.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { patternOf } from '../../infra/validation/path-template.ts'

const patterns = Object.values<OperationInfo>(operations).map((info) => ({
  info,
  pattern: patternOf(info.path),
}))

/** The operations at the path of a URL, one per method; empty for an unknown path. */
export function operationsAt(url: string): OperationInfo[] {
  const path = url.split('?')[0]
  return patterns.filter(({ pattern }) => pattern.test(path)).map(({ info }) => info)
}
