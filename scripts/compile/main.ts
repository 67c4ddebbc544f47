// `node scripts/compile/main.ts`: writes generated/validators.js and generated/serializers.js from
// generated/schemas.json, in a second. They are not in git. scripts/setup runs it before a command when they
// are missing or older than their sources, and the build of the image runs it.
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { answerHelp } from '../../infra/command-help.ts'
import { compile } from './compile.ts'

answerHelp(import.meta)

const folder = join(import.meta.dirname, '../../generated')
for (const [name, text] of compile(JSON.parse(readFileSync(join(folder, 'schemas.json'), 'utf8')))) {
  writeFileSync(join(folder, `${name}.new`), text)
  renameSync(join(folder, `${name}.new`), join(folder, name))
}
