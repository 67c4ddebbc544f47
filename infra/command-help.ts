// `--help` and `--version` of every command. The help is the comment at the top of the command's file, unless
// the command has a text of its own.
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { version } from './version.ts'

/** Prints what is asked for and exits. Call it before anything else. */
export function answerHelp({ filename }: Pick<ImportMeta, 'filename'>, usage?: string): void {
  const { values } = parseArgs({
    options: { help: { type: 'boolean', short: 'h' }, version: { type: 'boolean' } },
    strict: false,
  })
  if (!values.help && !values.version) return
  console.log(values.help ? (usage ?? commentOf(filename)) : version)
  process.exit(0)
}

/** The message of the error; of one about the arguments, from `parseArgs`, a sentence with a full stop. */
export function messageOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  if (code?.startsWith('ERR_PARSE_ARGS') !== true) return message
  const [sentence] = message.split(/\n|\. To specify/)
  return sentence.endsWith('.') ? sentence : `${sentence}.`
}

function commentOf(file: string): string {
  const lines = readFileSync(file, 'utf8')
    .replace(/^#!.*\n/, '')
    .split('\n')
  const end = lines.findIndex((line) => !line.startsWith('//'))
  return lines
    .slice(0, end)
    .map((line) => line.replace(/^\/\/ ?/, ''))
    .join('\n')
}
