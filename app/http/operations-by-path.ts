// What the contract has at a path, whatever it is asked with.
import { operations } from '../../generated/operations.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { patternOf } from '../../infra/validation/path-template.ts'

const patterns = Object.values<OperationInfo>(operations).map((info) => ({
  info,
  pattern: patternOf(info.path),
}))

/** The operations of the path of an address, one a method; none where the path is unknown. */
export function operationsAt(url: string): OperationInfo[] {
  const path = url.split('?')[0]
  return patterns.filter(({ pattern }) => pattern.test(path)).map(({ info }) => info)
}
