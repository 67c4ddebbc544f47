// `npm run mock`: serves every operation of spec/ from its examples and schemas, with or without a handler.
// `npm run mock -- FILE`: serves any OpenAPI document, without this project's rules.
//   --real URL   forwards operations that this server has, and mocks the others
//   --port N     default 4010; 0 picks a free port
//   --key KEY    the only key that is accepted; default: any
//   --seed N     of the generated ids and values; default 1
//   --spec F     another root document that keeps this project's rules
// `Prefer: code=404` in a request selects a declared status, `Prefer: example=NAME` an example.
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { openapi } from '@platform-api/mock/profile.ts'
import { serveMock, serveOptions } from '@platform-api/mock/serve.ts'
import { readOpenapi } from '@platform-api/openapi/read.ts'
import { answerHelp, messageOf } from '../../infra/command-help.ts'
import { readContract } from '../generate/contract.ts'
import { profile } from '../profiles/mock.ts'

answerHelp(import.meta)

try {
  const { values, positionals } = parseArgs({
    options: { ...serveOptions, spec: { type: 'string', default: 'spec/openapi.yaml' } },
    allowPositionals: true,
  })
  const [file] = positionals
  if (file === undefined) await serveMock(() => readContract(resolve(values.spec)), profile, values)
  else await serveMock(() => readOpenapi(resolve(file)), openapi, values)
} catch (error) {
  console.error(messageOf(error))
  process.exit(1)
}
