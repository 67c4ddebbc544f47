// `npm run settings`: writes .env.example and docs/configuration.md from infra/config/settings.ts.
//   --check   changes nothing and fails when a file differs
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { format, resolveConfig } from 'prettier'
import { groups, settings } from '../../infra/config/settings.ts'
import { userLimits } from '../../services/users/limits.ts'
import type { Setting } from '../../infra/config/setting.ts'
import { answerHelp } from '../../infra/command-help.ts'

answerHelp(import.meta)

const root = resolve(import.meta.dirname, '../..')
const maxColumns = 110

/** The text of .env.example: each line shows the default, or in a comment an example. */
export function envExample(): string {
  const intro = [
    '# Settings of the Platform API. Copy this file to .env or set the variables in the environment.',
    '# A line without # shows the default. `npm run settings` writes this file.',
  ]
  const sections = groups.map(({ title, settings }) =>
    [`\n# --- ${title} ---`, ...Object.values(settings).map(envLines)].join('\n\n'),
  )
  return [...intro, ...sections].join('\n') + '\n'
}

function envLines({ variable, description, default: value, defaultText, example }: Setting<unknown>): string {
  const hasNote = defaultText !== undefined && defaultText !== 'none' && defaultText !== example
  const note = hasNote ? ` Default: ${plain(defaultText)}.` : ''
  const assignment =
    defaultText === undefined && value !== null ? `${variable}=${value}` : `# ${variable}=${example ?? ''}`
  return [...wrap(plain(description) + note, maxColumns - 2).map((line) => `# ${line}`), assignment].join(
    '\n',
  )
}

/** Without Markdown's code marks. */
function plain(text: string): string {
  return text.replaceAll('`', '')
}

function wrap(text: string, columns: number): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= columns)
      lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}

/** The text of docs/configuration.md: a table for each group. */
export async function configurationPage(): Promise<string> {
  const intro = `# Configuration

Set these variables in the environment or in a file \`.env\` in the working directory; the environment wins.
The server reads them once, when it starts. It stops with an error that names the variable if one is invalid.
\`.env.example\` lists all of them. Variables marked as secret belong in a secret store: with \`_FILE\` after
its name, a variable names a file that has the value, such as
\`DATABASE_URL_FILE=/run/secrets/database-url\`.`
  const sections = groups.map(({ title, settings }) => {
    const rows = Object.values(settings).map((setting) => `| ${tableRow(setting).join(' | ')} |`)
    return [`## ${title}\n`, '| Variable | Default | Meaning |', '|---|---|---|', ...rows].join('\n')
  })
  const note = '<!-- Written by `npm run settings` from infra/config/settings.ts. Do not edit. -->'
  const page = [note, intro, ...sections, limitsSection()].join('\n\n')
  return await format(page, {
    ...(await resolveConfig(join(root, 'docs/configuration.md'))),
    parser: 'markdown',
  })
}

/** All limits of a user, with the error of each. */
function limitsSection(): string {
  const all: Record<string, Setting<unknown>> = settings
  const rows = userLimits.map(({ name, setting, error: { status, code, constraint }, test }) => {
    const { variable, default: value, defaultText } = all[setting]
    const shown = value === '0' ? 'none' : `\`${value ?? defaultText}\``
    const shownError = `${status} \`${code}\`, \`${constraint}\``
    return `| \`${name}\` | ${shown} | \`${variable}\` | ${shownError} | \`${test}\` |`
  })
  return [
    '## Limits of a user\n',
    '`GET /user/limits` returns these limits with their use; all API keys of a user share them. The error of',
    'a request over the limit has the constraint in `details.constraint`. The files of a project count',
    'against `STORAGE_QUOTA_PROJECT`, with the same error as `storage_bytes`.\n',
    '| Limit | Default | Setting | Error | Test |',
    '|---|---|---|---|---|',
    ...rows,
  ].join('\n')
}

function tableRow({
  variable,
  description,
  default: value,
  defaultText,
  secret,
}: Setting<unknown>): string[] {
  const shown = defaultText ?? (value === null ? 'none' : `\`${value}\``)
  return [`\`${variable}\``, shown, `${description}${secret ? ' Secret.' : ''}`]
}

/** @returns the files that were out of date. With `check` it writes nothing. */
export async function writeSettings(check = false): Promise<string[]> {
  const files = { '.env.example': envExample(), 'docs/configuration.md': await configurationPage() }
  const outdated = Object.entries(files).filter(([file, text]) => textOf(file) !== text)
  for (const [file, text] of check ? [] : outdated) {
    mkdirSync(dirname(join(root, file)), { recursive: true })
    writeFileSync(join(root, file), text)
  }
  return outdated.map(([file]) => file)
}

function textOf(file: string): string | null {
  try {
    return readFileSync(join(root, file), 'utf8')
  } catch {
    return null
  }
}

if (import.meta.main) {
  const check = process.argv.includes('--check')
  for (const file of await writeSettings(check)) {
    console.log(
      check ? `${file} differs from infra/config/settings.ts: run \`npm run settings\`` : `wrote ${file}`,
    )
    if (check) process.exitCode = 1
  }
}
