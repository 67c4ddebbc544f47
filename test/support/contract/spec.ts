// The spec of this project, for tests that read it themselves.
import { join } from 'node:path'
import { readSpec } from '../../../scripts/constraints/list.ts'

let spec: ReturnType<typeof readSpec> | undefined

/** Reading and linting the spec costs seconds of CPU, so the test files of a process share it. */
export async function readSpecOnce(): ReturnType<typeof readSpec> {
  return await (spec ??= readSpec(join(import.meta.dirname, '../../../spec/openapi.yaml')))
}
