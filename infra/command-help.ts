// `--help` and `--version` of every command. The help is the comment at the top of the command's file, unless
// the command has a text of its own. A command ends when the reader of its output has closed the pipe.
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { version } from './version.ts'

/** The exit code of a program that SIGPIPE ends. */
const brokenPipe = 141

/**
 * Prints what is asked for and exits. Call it before anything else: from then on the process also ends,
 * without a message, when the reader of its output has gone, as in `npm run admin -- doctor | head -1`.
 */
export function answerHelp({ filename }: Pick<ImportMeta, 'filename'>, usage?: string): void {
  for (const output of [process.stdout, process.stderr])
    output.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error
      process.exit(brokenPipe)
    })
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
