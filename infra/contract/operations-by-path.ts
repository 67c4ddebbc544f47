// Looks up the operations of a path, regardless of the method.
import { operations } from '../../generated/operations.ts'
import type { OperationInfo } from './operation.ts'
import { patternOf } from '../validation/path-template.ts'

const patterns = Object.values<OperationInfo>(operations).map((info) => ({
  info,
  pattern: patternOf(info.path),
}))

/** In characters. The suggestion repeats text of the request. */
const maxSuggestedLength = 200

/** The methods with which the operation can be called. */
export function methodsOf({ method, acceptsPatch }: OperationInfo): string[] {
  return acceptsPatch === true ? [method, 'PATCH'] : [method]
}

/** The operations at the path of a URL, empty for an unknown path. */
export function operationsAt(url: string): OperationInfo[] {
  const path = url.split('?')[0]
  return patterns.filter(({ pattern }) => pattern.test(path)).map(({ info }) => info)
}

/** The path of an operation that the client probably meant: without the last slash, or with the version. */
export function similarPath(url: string): string | null {
  const path = url.split('?')[0]
  if (path.length > maxSuggestedLength) return null
  const trimmed = path.endsWith('/') ? path.slice(0, -1) : path
  const found = [trimmed, `/v1${trimmed}`].find((one) => operationsAt(one).length > 0)
  return found ?? null
}
