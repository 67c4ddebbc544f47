// `npm run toolkit -- mock FILE`: serves every operation of any OpenAPI document from its examples and
// schemas, and keeps what clients create.
//   --real URL      forwards operations that this server has, and mocks the others
//   --port N        default 4010; 0 picks a free port
//   --key KEY       the only key that is accepted; default: any
//   --seed N        of the generated ids and values; default 1
//   --profile FILE  a module that exports a MockProfile; default openapi
//   --config FILE   the configuration; default: toolkit.config.ts, .mts, .js or .json here
//   --allow-remote  opens references to URLs
// `Prefer: code=404` in a request selects a declared status, `Prefer: example=NAME` an example.
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { answerHelp, messageOf } from '@platform-api/openapi/command-help.ts'
import { configOption, loadConfig } from '@platform-api/openapi/config.ts'
import { loadProfile } from '@platform-api/openapi/profile.ts'
import { readOpenapi } from '@platform-api/openapi/read.ts'
import { remoteOption } from '@platform-api/openapi/resolver.ts'
import { openapi } from './profile.ts'
import { serveMock, serveOptions } from './serve.ts'

answerHelp(import.meta)

try {
  const { values, positionals } = parseArgs({
    options: { ...serveOptions, ...remoteOption, ...configOption, profile: { type: 'string' } },
    allowPositionals: true,
  })
  const [file] = positionals
  if (file === undefined || positionals.length > 1) throw new Error('Pass one OpenAPI document.')
  const { profile: configured = 'openapi' } = (await loadConfig(values.config)).mock ?? {}
  const profile = await loadProfile(values.profile ?? configured, { openapi })
  const options = { allowRemote: values['allow-remote'] }
  await serveMock(() => readOpenapi(resolve(file), options), profile, values)
} catch (error) {
  console.error(messageOf(error))
  process.exit(2)
}
