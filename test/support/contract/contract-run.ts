// A contract run of any document, in this process or in one of its own: `contract-run.ts FILE URL KEY`, which
// prints a ContractRun.
import { openapi } from '../../../packages/contract/profile.ts'
import { hasSucceeded, runContract, type Outcome } from '../../../packages/contract/run-all.ts'
import { hasSuccess } from '../../../packages/openapi/document.ts'
import { readOpenapi } from '../../../packages/openapi/read.ts'

export interface ContractRun {
  operations: number
  requests: number
  seconds: number
  unfinished: Outcome['unfinished']
  findings: Array<{ operation: string; part: string; check: string; expected: string; actual: string }>
  /** The operations that never succeeded. */
  failed: string[]
  /** The operations that declare no success. */
  withoutSuccess: string[]
}

export async function contractRunOf(file: string, base: string, key: string): Promise<ContractRun> {
  const outcome = await runContract({
    profile: openapi,
    document: openapi.prepare(await readOpenapi(file)),
    base,
    key,
    secondKey: null,
    seed: 3,
    runs: 2,
    readOnly: false,
    selected: () => true,
    time: 900_000,
    onProgress: () => {},
  })
  const { operations, findings, matrix, requests, seconds, unfinished } = outcome
  return {
    operations: operations.length,
    requests,
    seconds,
    unfinished,
    findings: findings.all.map(({ operation, part, check, expected, actual }) => ({
      operation,
      part,
      check,
      expected,
      actual,
    })),
    failed: operations.filter((each) => !hasSucceeded(matrix, each)).map(({ id }) => id),
    withoutSuccess: operations.filter((each) => !hasSuccess(each)).map(({ id }) => id),
  }
}

if (import.meta.main) {
  const [file, base, key] = process.argv.slice(2)
  console.log(JSON.stringify(await contractRunOf(file, base, key)))
}
