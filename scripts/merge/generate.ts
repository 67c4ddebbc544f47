// Writes all generated files of the merged sources, in one process, which loads the libraries once.
import { writeFileSync } from 'node:fs'
import { messageOf } from '../../infra/command-help.ts'
import { serialize } from '../constraints/list.ts'
import { compareWithList, listFile } from '../constraints/main.ts'
import { GenerateError } from '../generate/error.ts'
import { generate } from '../generate/main.ts'
import { writeSettings } from '../settings/main.ts'

try {
  writeFileSync(listFile, serialize((await compareWithList()).now))
  await generate({})
  await writeSettings()
} catch (error) {
  console.error(error instanceof GenerateError ? messageOf(error) : error)
  process.exitCode = 1
}
