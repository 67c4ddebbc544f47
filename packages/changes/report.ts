// The output of `changes`.
import type { Weight } from './change.ts'
import type { LocatedChange } from './located-change.ts'

const headings: Record<Weight, string> = {
  breaking: 'Breaking',
  safe: 'Safe',
  documentation: 'Documentation only',
}

/** @param ref git's name of the former state; null between files, which name themselves. */
export function report(
  changes: LocatedChange[],
  { ref, name }: { ref: string | null; name: string },
  onlyBreaking: boolean,
): string {
  if (changes.length === 0)
    return onlyBreaking ? `No breaking changes since ${name}.` : `No changes since ${name}.`
  return `Since ${name}:\n\n${(['breaking', 'safe', 'documentation'] as const)
    .flatMap((weight) => {
      const own = changes.filter((change) => change.weight === weight)
      if (own.length === 0) return []
      const lines = own.map(
        ({ subject, message, rule, file, line, place, announced, accepted }) =>
          `  ${file}:${line}${place.side === 'before' && ref !== null ? ` at ${ref}` : ''}  ` +
          `${subject}: ${message} (${rule})` +
          (announced === null ? '' : ` [${announced}]`) +
          (accepted === null ? '' : ` [accepted: ${accepted}]`),
      )
      return [`${headings[weight]}: ${own.length}`, ...lines, '']
    })
    .join('\n')
    .trimEnd()}`
}

/** The changes that were neither announced nor accepted. */
export function unannounced(changes: LocatedChange[]): LocatedChange[] {
  return changes.filter(
    ({ weight, announced, accepted }) => weight === 'breaking' && announced === null && accepted === null,
  )
}
