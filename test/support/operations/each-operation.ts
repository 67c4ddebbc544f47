// Calls each operation with a valid request: `each-operation.ts FILE URL KEY [--bare]`. Creations are
// first and deletions last. Prints the answers. `--bare` leaves out the path of the document's server.
import { openapi } from '../../../packages/contract/profile.ts'
import { pathParameters, requestParts, sample } from '../../../packages/contract/requests.ts'
import { createRun, createShared } from '../../../packages/contract/run-context.ts'
import type { Operation } from '../../../packages/openapi/document.ts'
import { readOpenapi } from '../../../packages/openapi/read.ts'

export interface OperationAnswer {
  operation: string
  status: number
  text: string
}

// Generated dates are after the present one. With this one, all runs send the same requests.
Date.now = () => Date.parse('2026-01-01T00:00:00Z')

const [file, base, key, bare] = process.argv.slice(2)
const document = openapi.prepare(await readOpenapi(file))
if (bare !== undefined) delete document.servers
const shared = createShared({
  profile: openapi,
  document,
  base,
  key,
  secondKey: null,
  seed: 3,
  runs: 1,
  readOnly: false,
  selected: () => true,
  time: 600_000,
  onProgress: () => {},
})
const run = await createRun(shared, shared.operations, 3)
const order = ({ method }: Operation): number => ['POST', 'PUT', 'PATCH', 'GET', 'DELETE'].indexOf(method)
const answers: OperationAnswer[] = []
for (const operation of run.operations.toSorted((a, b) => order(a) - order(b)))
  answers.push(await answerTo(operation))
console.log(JSON.stringify(answers))

/** The first answer that is no refusal; after some refusals the last one. */
async function answerTo(operation: Operation): Promise<OperationAnswer> {
  const key = run.accounts.keyFor(operation)
  for (let attempt = 1; ; attempt++) {
    const path = (await pathParameters(run, operation))!
    const parts = sample(run, requestParts(run, operation, { minimal: attempt > 1 }))
    const { status, text } = await run.sender.send(operation, { ...parts, path }, key)
    if (status < 400 || status >= 500 || attempt === 5) return { operation: operation.id, status, text }
  }
}
