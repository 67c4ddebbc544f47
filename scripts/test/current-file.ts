// The test of the file that a worker is running. `file-test.ts` exports it to that file in place of tap's
// root test.
import type { Test } from 'tap'

let current: Test | undefined

export function setFileTest(test: Test): void {
  current = test
}

export function fileTest(): Test {
  if (current === undefined) throw new Error('no test file is running')
  return current
}
