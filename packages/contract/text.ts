// The report of a run as text for a terminal.
import type { Finding } from './findings.ts'
import { hasSucceeded, type Outcome } from './run-all.ts'
import { groupBy } from '@platform-api/openapi/group-by.ts'

export function reportAsText(outcome: Outcome, url: string, options: Record<string, unknown>): string {
  const { findings, selected, seed, requests, seconds, unfinished, leftovers, notes } = outcome
  const reached = selected.filter((operation) => hasSucceeded(outcome.matrix, operation)).length
  const byOperation = groupBy(findings.all, ({ operation }) => operation)
  const groups = [...byOperation].flatMap(([operation, own]) => [
    operation,
    ...own.flatMap((finding) => linesOf(finding)),
    `  replay: ${replayCommand(outcome, url, operation, options)}`,
    '',
  ])
  const notDeleted = Object.entries(leftovers).map(([kind, number]) => `${number} ${kind.replace(/_$/, '')}`)
  const count = findings.all.length
  const verdict =
    count === 0
      ? unfinished.length === 0
        ? 'The server conforms to the contract'
        : 'No finding, but not everything was checked'
      : `${count} ${count === 1 ? 'finding' : 'findings'} in ` +
        `${byOperation.size} of ${selected.length} operations`
  return [
    ...groups,
    ...notes.map((note) => `· ${note}.`),
    ...(notDeleted.length > 0
      ? [`· Not deleted, because the contract has no operation for it: ${notDeleted.join(', ')}.`]
      : []),
    ...unfinishedLines(outcome),
    `${verdict}: ${requests} requests in ${seconds.toFixed(1)} s, ` +
      `${reached} of ${selected.length} operations succeeded, seed ${seed}.`,
  ].join('\n')
}

/** The unfinished checks, by reason and part. */
export function unfinishedLines({ unfinished }: Pick<Outcome, 'unfinished'>): string[] {
  return [...groupBy(unfinished, ({ reason, part }) => `${part}, because ${reason}`)].map(
    ([what, own]) =>
      `· Not checked: ${what}: ${[...new Set(own.map(({ operation }) => operation))].join(', ')}.`,
  )
}

function linesOf({ check, part, expected, actual, times, curl }: Finding): string[] {
  return [
    `  ${check} (${part})${times > 1 ? `, ${times} times` : ''}`,
    `    expected ${expected}`,
    `    actual   ${actual}`,
    ...(curl === null ? [] : [`    ${curl}`]),
  ]
}

/** The command that repeats the checks of the operation with the same seed. */
export function replayCommand(
  { seed }: Outcome,
  url: string,
  operation: string,
  options: Record<string, unknown> = {},
): string {
  const runs = options.runs === undefined || options.runs === '10' ? '' : ` --runs ${String(options.runs)}`
  return `npm run contract -- --url ${url} --key $KEY --operation ${operation} --seed ${seed}${runs}`
}
