// Conditional and range requests of every GET, whether or not the contract declares them: a server that
// answers with 206, 304 or 416 must declare it.
import type { Operation } from '@platform-api/openapi/document.ts'
import type { Part } from './part.ts'
import { pathParameters, requestParts, sample } from './requests.ts'
import { maySucceed, type Run } from './run-context.ts'

const part = 'ranges'

export const ranges: Part = {
  name: part,
  checks: (run) =>
    run.selected
      .filter((operation) => operation.method === 'GET' && maySucceed(run, operation))
      .map((operation) => ({ operation, run: async () => await checkRanges(run, operation) })),
}

async function checkRanges(run: Run, operation: Operation): Promise<void> {
  const path = await pathParameters(run, operation)
  if (path === null) return
  const parts = { ...sample(run, requestParts(run, operation, { minimal: true })), path }
  const whole = await run.call(part, operation, parts)
  if (whole.status !== 200) return
  const etag = whole.headers.get('etag')
  const further: Array<Record<string, string>> = [
    ...(etag === null ? [] : [{ 'If-None-Match': etag }]),
    ...(whole.headers.get('accept-ranges') === 'bytes'
      ? [{ Range: 'bytes=0-0' }, { Range: `bytes=${Number.MAX_SAFE_INTEGER}-` }]
      : []),
  ]
  for (const headers of further)
    await run.call(part, operation, { ...parts, headers: { ...parts.headers, ...headers } })
}
