// Looks up the operations of a path, regardless of the method.
import { operations } from '../../generated/operations.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { patternOf } from '../../infra/validation/path-template.ts'

const patterns = Object.values<OperationInfo>(operations).map((info) => ({
  info,
  pattern: patternOf(info.path),
}))

/** The methods with which the operation can be called. */
export function methodsOf({ method, acceptsPatch }: OperationInfo): string[] {
  return acceptsPatch === true ? [method, 'PATCH'] : [method]
}

/** The operations at the path of a URL, empty for an unknown path. */
export function operationsAt(url: string): OperationInfo[] {
  const path = url.split('?')[0]
  return patterns.filter(({ pattern }) => pattern.test(path)).map(({ info }) => info)
}
