// `--help` and `--version` of a command of a package. The help is the comment at the top of the command's
// file, unless the command has a text of its own. The version is the one in the package.json beside the file.
import { readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

/** Prints what is asked for and exits. Call it before anything else. */
export function answerHelp(
  { dirname, filename }: Pick<ImportMeta, 'dirname' | 'filename'>,
  usage?: string,
): void {
  const { values } = parseArgs({
    options: { help: { type: 'boolean', short: 'h' }, version: { type: 'boolean' } },
    strict: false,
  })
  if (values.help) console.log(usage ?? commentOf(filename))
  else if (values.version)
    console.log(JSON.parse(readFileSync(join(dirname, 'package.json'), 'utf8')).version)
  else return
  process.exit(0)
}

/** `import.meta.main`, which Node.js 20 lacks: whether the module is the command, not imported by another. */
export function isMain({ filename }: Pick<ImportMeta, 'filename'>): boolean {
  return process.argv[1] !== undefined && realpathSync(process.argv[1]) === filename
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
