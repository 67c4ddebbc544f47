// `npm run mock`: serves every operation of spec/, whether it has a handler or not, from its examples and schemas.
//   --real URL   leaves to that server what it has, and mocks the rest
//   --port N     default 4010; 0 picks a free one
//   --spec F     another root document
// A request says with `Prefer: code=404` which declared status it wants, and with `example=NAME` which example.
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { GenerateError } from '../generate/error.ts'
import { readContract } from '../generate/contract.ts'
import { createMock } from './server.ts'

try {
  const { values } = parseArgs({
    options: {
      real: { type: 'string' },
      port: { type: 'string', default: '4010' },
      spec: { type: 'string', default: 'spec/openapi.yaml' },
    },
  })
  const document = await readContract(resolve(values.spec))
  const real = values.real?.replace(/\/$/, '')
  const app = await createMock({ document, real, onAnswer: (line) => console.log(line) })
  const address = await app.listen({ host: '127.0.0.1', port: Number(values.port) })
  console.log(
    `Mocking ${Object.keys(document.paths).length} paths at ${address}${real === undefined ? '' : `, beside ${real}`}`,
  )
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      void app.close().then(() => process.exit(0))
    })
} catch (error) {
  console.error(error instanceof GenerateError ? error.message : (error as Error).message)
  process.exit(1)
}
