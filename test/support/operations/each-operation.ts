// Calls each operation of servers with a valid request: `each-operation.ts FILE KEY [--bare] URL...`.
// Creations are first and deletions last. Prints the answers of each server. `--bare` leaves out the path of
// the document's server.
import { parseArgs } from 'node:util'
import { openapi } from '../../../packages/contract/profile.ts'
import { pathParameters, requestParts, sample, withRequired } from '../../../packages/contract/requests.ts'
import { createRun, createShared, type Run } from '../../../packages/contract/run-context.ts'
import type { Operation } from '../../../packages/openapi/document.ts'
import { readOpenapi } from '../../../packages/openapi/read.ts'

export interface OperationAnswer {
  operation: string
  status: number
  text: string
}

// Generated dates are after the present one. With this one, all runs send the same requests.
Date.now = () => Date.parse('2026-01-01T00:00:00Z')

const { values, positionals } = parseArgs({ allowPositionals: true, options: { bare: { type: 'boolean' } } })
const [file, key, ...bases] = positionals
const order = ({ method }: Operation): number => ['POST', 'PUT', 'PATCH', 'GET', 'DELETE'].indexOf(method)
const all: OperationAnswer[][] = []
for (const base of bases) all.push(await answersAt(base))
console.log(JSON.stringify(all))

async function answersAt(base: string): Promise<OperationAnswer[]> {
  const document = openapi.prepare(await readOpenapi(file))
  if (values.bare === true) delete document.servers
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
  const run = await createRun(shared, shared.operations, 3, withRequired)
  const answers: OperationAnswer[] = []
  for (const operation of run.operations.toSorted((a, b) => order(a) - order(b)))
    answers.push(await answerTo(run, operation))
  return answers
}

/** The first answer that is no refusal; after some refusals the last one. */
async function answerTo(run: Run, operation: Operation): Promise<OperationAnswer> {
  const key = run.accounts.keyFor(operation)
  for (let attempt = 1; ; attempt++) {
    const path = (await pathParameters(run, operation))!
    const parts = sample(run, requestParts(run, operation, { minimal: attempt > 1 }))
    const { status, text } = await run.sender.send(operation, { ...parts, path }, key)
    if (status < 400 || status >= 500 || attempt === 5) return { operation: operation.id, status, text }
  }
}
