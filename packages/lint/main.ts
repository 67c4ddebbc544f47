// `npm run toolkit -- lint FILE`: lints any OpenAPI document. Fails on errors, not on advice.
//   --profile NAME  openapi, for any API, or platform, which adds this project's rules; default openapi
//   --all           prints every place of each piece of advice, instead of three
//   --json          prints JSON
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { answerHelp, messageOf } from '@platform-api/openapi/command-help.ts'
import { lintOpenapi, lintReport } from './lint.ts'

answerHelp(import.meta)

try {
  const { values, positionals } = parseArgs({
    options: {
      profile: { type: 'string', default: 'openapi' },
      all: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
    allowPositionals: true,
  })
  const [file] = positionals
  if (file === undefined || positionals.length > 1) throw new Error('Pass one OpenAPI document.')
  if (values.profile === 'platform') {
    const { readContract, requireAllUsed } = await import('../../scripts/generate/contract.ts')
    await readContract(resolve(file))
    await requireAllUsed(resolve(file))
    console.log(`${file} keeps the rules of the profile platform.`)
  } else if (values.profile === 'openapi') {
    const problems = await lintOpenapi(file)
    console.log(
      values.json ? JSON.stringify(problems, null, 2) : lintReport(problems, values.all ? Infinity : 3),
    )
    process.exitCode = problems.some(({ severity }) => severity === 'error') ? 1 : 0
  } else throw new Error(`--profile must be openapi or platform, not ${values.profile}.`)
} catch (error) {
  console.error(messageOf(error))
  process.exitCode = (error as object).constructor.name === 'ContractError' ? 1 : 2
}
