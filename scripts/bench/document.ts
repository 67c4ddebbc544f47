// Writes docs/benchmarks.md from one run; long benchmarks have runs of their own. `npm run check` compares
// the version that it names with the last release (scripts/check/benchmarks.ts).
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, totalmem } from 'node:os'
import { join } from 'node:path'
import { format, resolveConfig } from 'prettier'
import { goalTable, type Goal } from './goals.ts'

const root = join(import.meta.dirname, '../..')
const file = join(root, 'docs/benchmarks.md')

const titles: Record<string, string> = {
  http: 'Requests, compared with other servers',
  users: 'Many users',
  events: 'Events and webhooks',
  storage: 'Files',
  chat: 'Chat',
  start: 'Start',
  concurrency: 'Connections',
  profiles: 'Profiles',
  budgets: 'Counts of a request',
  scale: 'Large databases',
  growth: 'Growth with the data',
}

/**
 * Benchmarks that take too long for the run of the page. Their sections name their own run, and the page
 * keeps them until they run again.
 */
export const separate = ['scale', 'growth']

interface Run {
  texts: Record<string, string>
  goals: Goal[]
  quick: boolean
}

export async function writeDocument(run: Run): Promise<void> {
  const old = sectionsOf(readFileSync(file, 'utf8'))
  const isSeparate = Object.keys(run.texts).every((name) => separate.includes(name))
  const sections = isSeparate ? { ...old } : pageOf(run)
  for (const name of separate)
    sections[titles[name]] =
      run.texts[name] === undefined ? old[titles[name]] : `${originOf(run)}\n\n${run.texts[name]}`
  delete sections[commandsTitle]
  sections[commandsTitle] = commands
  const text = Object.entries(sections)
    .filter(([, body]) => body !== undefined)
    .map(([title, body]) => (title === '' ? body : `## ${title}\n\n${body}`))
    .join('\n\n')
  writeFileSync(file, await format(text, { ...(await resolveConfig(file)), parser: 'markdown' }))
}

/** The sections of a page by their title. What precedes the first has an empty title. */
function sectionsOf(page: string): Record<string, string> {
  const [head, ...sections] = page.split(/^## /m)
  const entries = sections.map((text) => [text.split('\n', 1)[0], text.slice(text.indexOf('\n')).trim()])
  return { '': head.trim(), ...Object.fromEntries(entries) }
}

/** The sections of one run. */
function pageOf(run: Run): Record<string, string> {
  const missing = Object.keys(titles).filter(
    (name) => run.texts[name] === undefined && !separate.includes(name),
  )
  const head = `# Benchmarks

Written by \`npm run bench -- --write\`, all in one run, except for the sections that name their own run; do
not edit.

${originOf(run)}
${missing.length > 0 ? `- The run was interrupted before: ${missing.join(', ')}\n` : ''}
The timings of one machine vary several-fold with its load. So the benchmarks measure the CPU time of the
processes, in short rounds in which everything that is compared takes turns, and take the least of each: other
work only adds time. Only ratios carry over to another machine. Counts are the same everywhere.`
  const texts = Object.entries(run.texts).map(([name, text]) => [titles[name], text])
  const goals = `Everything on: keys, limits, validation, events, the log.\n\n${goalTable(run.goals)}`
  return { '': head, Goals: goals, ...Object.fromEntries(texts) }
}

/** The version, commit, machine and date of the measurements. */
function originOf({ quick }: Run): string {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  const git = (...args: string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
  const commit = git('rev-parse', '--short=10', 'HEAD')
  const isClean =
    git('status', '--porcelain', '--untracked-files=no', '--', '.', ':!docs/benchmarks.md') === ''
  const machine = `${cpus().length} cores (${cpus()[0].model}), ${Math.round(totalmem() / 2 ** 30)} GiB`
  const load = loadavg()[2].toFixed(1)
  return [
    ...(quick ? ['A trial run with `--quick`: these numbers mean nothing.', ''] : []),
    `- Version: ${version}`,
    `- Commit: ${commit}${isClean ? '' : ', with changes'}`,
    `- Date: ${new Date().toISOString().slice(0, 10)}`,
    `- Machine: ${machine}, ${process.platform}, Node.js ${process.versions.node}, load ${load}`,
  ].join('\n')
}

const commandsTitle = 'Run them'

const commands = `\`\`\`
npm run bench                        # every benchmark
npm run bench -- http events         # some
npm run bench -- --quick             # a short trial
npm run bench -- --write             # writes this page
npm run bench -- growth scale --rows=1000000 --write    # writes these two sections; takes an hour
npm run bench -- budgets --update    # writes test/budgets.json
\`\`\``
