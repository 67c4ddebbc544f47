// A contract run in a process of its own: `contract-run.ts FILE URL KEY`. Prints a ContractRun.
import { openapi } from '../../../packages/contract/profile.ts'
import { hasSucceeded, runContract } from '../../../packages/contract/run-all.ts'
import { readOpenapi } from '../../../packages/openapi/read.ts'

export interface ContractRun {
  operations: number
  requests: number
  seconds: number
  unfinished: object[]
  findings: Array<{ operation: string; part: string; check: string; expected: string; actual: string }>
  /** The operations that never succeeded. */
  failed: string[]
  /** The operations that declare no status below 400. */
  withoutSuccess: string[]
}

const [file, base, key] = process.argv.slice(2)
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
const result: ContractRun = {
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
  withoutSuccess: operations
    .filter(
      ({ responses, otherResponses }) =>
        ![...responses.keys(), ...otherResponses.keys()].some((status) =>
          /^([123]|DEFAULT)/.test(String(status)),
        ),
    )
    .map(({ id }) => id),
}
console.log(JSON.stringify(result))
