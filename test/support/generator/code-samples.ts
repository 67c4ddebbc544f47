// The code samples of the reference page, prepared to run: with ids of existing resources and the files
// that they name.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { OperationId } from '../../../generated/operations.ts'
import { served } from '../operations/operation-fixtures.ts'
import type { TestServer } from '../server/server.ts'
import { examples, exampleFixtureFor } from '../operations/example-fixtures.ts'

export function sampleOf(id: OperationId, label: string): string {
  return examples[id].samples.find((sample) => sample.label === label)!.source
}

/** advanceTestClock last, because it triggers payments. */
export function samplesInOrder(): OperationId[] {
  return served
    .map(({ id }) => id)
    .sort((a, b) => Number(a === 'advanceTestClock') - Number(b === 'advanceTestClock'))
}

export interface PreparedSample {
  folder: string
  source: string
  env: Record<string, string>
}

/** Creates the resources that the sample uses. */
export async function prepareSample(
  server: TestServer,
  folder: string,
  id: OperationId,
  label: string,
): Promise<PreparedSample> {
  const { ask, replaced, file } = await exampleFixtureFor(server, id)
  const own = join(folder, id)
  mkdirSync(own, { recursive: true })
  for (const name of fileNamesIn(sampleOf(id, label))) writeFileSync(join(own, name), file.bytes)
  return {
    folder: own,
    source: replaced(sampleOf(id, label)),
    env: { PATH: process.env.PATH!, PLATFORM_BASE_URL: server.url, PLATFORM_API_KEY: ask.caller.key },
  }
}

/** The files that a sample reads. */
function fileNamesIn(sample: string): string[] {
  return [...new Set(sample.match(/\b[\w-]+\.(pdf|md|png|txt|json|csv|zip)\b/g) ?? [])]
}
