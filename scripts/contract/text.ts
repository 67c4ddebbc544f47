// The end of a run as it is read on a terminal.
import type { Finding } from './findings.ts'
import type { Outcome } from './run-all.ts'

export function reportAsText(outcome: Outcome, url: string, options: Record<string, unknown>): string {
  const { findings, wanted, seed, requests, seconds, cut, left, notes } = outcome
  const reached = wanted.filter(({ id, responses }) =>
    [...responses.keys()].some((status) => status < 400 && outcome.matrix.has(`${id} ${status}`)),
  ).length
  const byOperation = Map.groupBy(findings.all, ({ operation }) => operation)
  const groups = [...byOperation].flatMap(([operation, own]) => [
    operation,
    ...own.flatMap((finding) => linesOf(finding)),
    `  again: ${replayOf(outcome, url, operation, options)}`,
    '',
  ])
  const kept = Object.entries(left)
  return [
    ...groups,
    ...notes.map((note) => `· ${note}.`),
    ...(kept.length > 0
      ? [
          `· Left behind, since the contract has nothing that deletes them: ${kept.map(([kind, number]) => `${number} ${kind.replace(/_$/, '')}`).join(', ')}.`,
        ]
      : []),
    ...(cut ? ['· The time was over before all was asked.'] : []),
    `${findings.all.length === 0 ? 'The server keeps the contract' : `${findings.all.length} ${findings.all.length === 1 ? 'finding' : 'findings'} in ${byOperation.size} of ${wanted.length} operations`}: ${requests} requests in ${seconds.toFixed(1)} s, ${reached} of ${wanted.length} operations answered with a success, seed ${seed}.`,
  ].join('\n')
}

function linesOf({ check, part, expected, came, times, curl }: Finding): string[] {
  return [
    `  ${check} (${part})${times > 1 ? `, ${times} times` : ''}`,
    `    expected ${expected}`,
    `    came     ${came}`,
    ...(curl === null ? [] : [`    ${curl}`]),
  ]
}

/** The command that looks at the operation again in the same way. */
export function replayOf(
  { seed }: Outcome,
  url: string,
  operation: string,
  options: Record<string, unknown> = {},
): string {
  const runs = options.runs === undefined || options.runs === '10' ? '' : ` --runs ${String(options.runs)}`
  return `npm run contract -- --url ${url} --key $KEY --operation ${operation} --seed ${seed}${runs}`
}
