// `npm run mock`: serves every operation of spec/ from its examples and schemas, with or without a handler.
// `npm run mock -- FILE`: serves any OpenAPI document, without this project's lint rules.
//   --real URL   forwards operations that this server has, and mocks the others
//   --port N     default 4010; 0 picks a free port
//   --key KEY    the only key that is accepted; default: any
//   --seed N     of the generated ids and values; default 1
//   --spec F     another root document that keeps this project's rules
// `Prefer: code=404` in a request selects a declared status, `Prefer: example=NAME` an example.
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { readOpenapi } from '@platform-api/openapi/read.ts'
import { openapiProfile, type MockProfile } from './profile.ts'
import { createMock } from './server.ts'
import { answerHelp, messageOf } from '@platform-api/openapi/command-help.ts'

answerHelp(import.meta)

try {
  const { values, positionals } = parseArgs({
    options: {
      real: { type: 'string' },
      port: { type: 'string', default: '4010' },
      key: { type: 'string' },
      seed: { type: 'string', default: '1' },
      spec: { type: 'string', default: 'spec/openapi.yaml' },
    },
    allowPositionals: true,
  })
  const [file] = positionals
  const port = Number(values.port)
  if (!/^\d+$/.test(values.port) || port > 65535)
    throw new Error(`--port must be a whole number from 0 to 65535, not ${values.port || 'empty'}.`)
  const { document, profile } =
    file === undefined
      ? await ownContract(resolve(values.spec))
      : { document: await readOpenapi(resolve(file)), profile: openapiProfile }
  const real = values.real?.replace(/\/$/, '')
  const app = await createMock({
    document,
    seed: Number(values.seed),
    key: values.key,
    profile,
    real,
    onAnswer: (line) => console.log(line),
  })
  const address = await app.listen({ host: '127.0.0.1', port })
  console.log(
    `Mocking ${Object.keys(document.paths).length} paths at ${address}` +
      (real === undefined ? '' : `; operations of ${real} are forwarded`),
  )
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      void app.close().then(() => process.exit(0))
    })
} catch (error) {
  console.error(messageOf(error))
  process.exit(1)
}

/** The contract in spec/ and the profile of this project. */
async function ownContract(spec: string): Promise<{ document: object; profile: MockProfile }> {
  const { readContract } = await import('../../scripts/generate/contract.ts')
  const { platformProfile } = await import('../../scripts/profile/mock.ts')
  return { document: await readContract(spec), profile: platformProfile }
}
