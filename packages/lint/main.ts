// `npm run toolkit -- lint FILE`: lints any OpenAPI document.
//   --profile FILE  a module that exports a LintProfile; default openapi
//   --all           prints all places of warnings, instead of three for each rule
//   --json          prints JSON
//   --allow-remote  opens references to URLs
// Exit code: 0 without errors, 1 with errors, 2 if no tool can read the document.
import { parseArgs } from 'node:util'
import { answerHelp, messageOf } from '@platform-api/openapi/command-help.ts'
import { loadProfile } from '@platform-api/openapi/profile.ts'
import { remoteOption } from '@platform-api/openapi/resolver.ts'
import { lintReport, openapi, unreadable } from './lint.ts'

answerHelp(import.meta)

try {
  const { values, positionals } = parseArgs({
    options: {
      profile: { type: 'string', default: 'openapi' },
      all: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      ...remoteOption,
    },
    allowPositionals: true,
  })
  const [file] = positionals
  if (file === undefined || positionals.length > 1) throw new Error('Pass one OpenAPI document.')
  const profile = await loadProfile(values.profile, { openapi })
  const problems = await profile.lint(file, { allowRemote: values['allow-remote'] })
  console.log(
    values.json ? JSON.stringify(problems, null, 2) : lintReport(problems, values.all ? Infinity : 3),
  )
  const errors = problems.filter(({ severity }) => severity === 'error')
  process.exitCode = errors.some(({ rule }) => rule === unreadable) ? 2 : errors.length > 0 ? 1 : 0
} catch (error) {
  console.error(messageOf(error))
  process.exitCode = 2
}
