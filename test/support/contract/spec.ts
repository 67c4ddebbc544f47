// The spec of this project, for tests that read it themselves.
import { join } from 'node:path'
import { readSpec } from '../../../scripts/constraints/list.ts'
import { readContractUnchecked } from '../../../scripts/generate/contract.ts'

let spec: ReturnType<typeof readSpec> | undefined

/** Reading the spec takes CPU, so the test files of a process share it. `npm run check` lints the spec. */
export async function readSpecOnce(): ReturnType<typeof readSpec> {
  return await (spec ??= readSpec(
    join(import.meta.dirname, '../../../spec/openapi.yaml'),
    readContractUnchecked,
  ))
}
