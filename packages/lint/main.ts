// `npm run toolkit -- lint FILE`: lints any OpenAPI document.
//   --profile FILE  a module that exports a LintProfile; default openapi
//   --config FILE   the configuration; default: toolkit.config.ts, .mts, .js or .json here
//   --all           prints all places of warnings, instead of three for each rule
//   --json          prints JSON
//   --allow-remote  opens references to URLs
// Exit code: 0 without errors, 1 with errors, 2 if no tool can read the document.
import { parseArgs } from 'node:util'
import { answerHelp, messageOf } from '@platform-api/openapi/command-help.ts'
import { configOption, loadConfig, requireKnown } from '@platform-api/openapi/config.ts'
import { loadProfile } from '@platform-api/openapi/profile.ts'
import { remoteOption } from '@platform-api/openapi/resolver.ts'
import { lintReport, openapi, ruleNames, unreadable, withLevels } from './lint.ts'

answerHelp(import.meta)

try {
  const { values, positionals } = parseArgs({
    options: {
      profile: { type: 'string' },
      all: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      ...remoteOption,
      ...configOption,
    },
    allowPositionals: true,
  })
  const [file] = positionals
  if (file === undefined || positionals.length > 1) throw new Error('Pass one OpenAPI document.')
  const { profile: configured = 'openapi', rules = {} } = (await loadConfig(values.config)).lint ?? {}
  const profile = await loadProfile(values.profile ?? configured, { openapi })
  requireKnown(Object.keys(rules), [...ruleNames, ...(profile.rules ?? [])], 'a rule of lint')
  const problems = withLevels(await profile.lint(file, { allowRemote: values['allow-remote'] }), rules)
  console.log(
    values.json ? JSON.stringify(problems, null, 2) : lintReport(problems, values.all ? Infinity : 3),
  )
  if (!values.json)
    for (const [rule, level] of Object.entries(rules))
      if (level[0] === 'off') console.log(`${rule} is off: ${level[1]}`)
  const errors = problems.filter(({ severity }) => severity === 'error')
  process.exitCode = errors.some(({ rule }) => rule === unreadable) ? 2 : errors.length > 0 ? 1 : 0
} catch (error) {
  console.error(messageOf(error))
  process.exitCode = 2
}
