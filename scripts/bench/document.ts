// Writes docs/benchmarks.md from one run. `npm run check` compares the version that it names with the last
// release (scripts/check/benchmarks.ts).
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
  events: 'Events and webhooks',
  storage: 'Files',
  chat: 'Chat',
  start: 'Start',
  concurrency: 'Connections',
  profiles: 'Profiles',
  growth: 'Growth with the data',
  budgets: 'Counts of a request',
}

export async function writeDocument({
  texts,
  goals,
  quick,
}: {
  texts: Record<string, string>
  goals: Goal[]
  quick: boolean
}): Promise<void> {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  const git = (...args: string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
  const commit = git('rev-parse', '--short=10', 'HEAD')
  const changed =
    git('status', '--porcelain', '--untracked-files=no', '--', '.', ':!docs/benchmarks.md') === ''
      ? ''
      : ', with changes'
  const machine = `${cpus().length} cores (${cpus()[0].model}), ${Math.round(totalmem() / 2 ** 30)} GiB`
  const load = loadavg()[2].toFixed(1)
  const missing = Object.keys(titles).filter((name) => texts[name] === undefined)
  const text = `# Benchmarks

Written by \`npm run bench -- --write\`, all in one run; do not edit. ${
    quick ? 'A trial run with `--quick`: these numbers mean nothing.' : ''
  }

- Version: ${version}
- Commit: ${commit}${changed}
- Date: ${new Date().toISOString().slice(0, 10)}
- Machine: ${machine}, ${process.platform}, Node.js ${process.versions.node}, load ${load}
${missing.length > 0 ? `- The run was interrupted before: ${missing.join(', ')}\n` : ''}
The timings of one machine vary several-fold with its load. So the benchmarks measure the CPU time of the
processes, in short rounds in which everything that is compared takes turns, and take the least of each: other
work only adds time. Only ratios carry over to another machine. Counts are the same everywhere.

## Goals

Everything on: keys, limits, validation, events, the log.

${goalTable(goals)}

${Object.entries(texts)
  .map(([name, part]) => `## ${titles[name]}\n\n${part}`)
  .join('\n\n')}

## Run them

\`\`\`
npm run bench                        # every benchmark
npm run bench -- http events         # some
npm run bench -- --quick             # a short trial
npm run bench -- --write             # writes this page
npm run bench -- budgets --update    # writes test/budgets.json
\`\`\`
`
  writeFileSync(file, await format(text, { ...(await resolveConfig(file)), parser: 'markdown' }))
}
