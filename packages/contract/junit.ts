// The report of a run as JUnit XML: one suite per tag, one case per operation and part of the run.
import type { Outcome } from './run-all.ts'
import { groupBy } from '@platform-api/openapi/group-by.ts'

export function reportAsJUnit({ findings, operations, unfinished, seconds, seed }: Outcome): string {
  const tagOf = new Map(operations.map(({ id, tag }) => [id, tag]))
  // A finding has a case even if its part recorded none for the operation.
  const cases = [
    ...findings.cases,
    ...findings.all.filter(
      (finding) =>
        !findings.cases.some(
          ({ operation, part }) => operation === finding.operation && part === finding.part,
        ),
    ),
  ]
  const suites = [...groupBy(cases, ({ operation }) => tagOf.get(operation) ?? '')].map(([tag, own]) => {
    const lines = own.map(({ operation, part }) => {
      const found = findings.all.filter((finding) => finding.operation === operation && finding.part === part)
      const failures = found.map(
        ({ check, expected, actual, curl }) =>
          `<failure type="${escaped(check)}" message="${escaped(`expected ${expected}, got ${actual}`)}">` +
          `${escaped(curl ?? '')}</failure>`,
      )
      const open = `    <testcase classname="${escaped(operation)}" name="${escaped(part)}"`
      if (failures.length === 0) return `${open}/>`
      // A case has one failure element; the others go to its error output.
      const [first, ...others] = failures
      const rest = others.length > 0 ? `<system-err>${others.map(escaped).join('\n')}</system-err>` : ''
      return `${open}>${first}${rest}</testcase>`
    })
    const stopped = unfinished.filter(({ operation }) => (tagOf.get(operation) ?? '') === tag)
    lines.push(
      ...stopped.map(
        ({ operation, part, reason }) =>
          `    <testcase classname="${escaped(operation)}" name="${escaped(part)}">` +
          `<error type="unfinished" message="${escaped(reason)}"/></testcase>`,
      ),
    )
    const failed = own.filter(({ operation, part }) =>
      findings.all.some((finding) => finding.operation === operation && finding.part === part),
    ).length
    return {
      tests: own.length + stopped.length,
      failed,
      stopped: stopped.length,
      text:
        `  <testsuite name="${escaped(tag)}" tests="${own.length}" failures="${failed}" ` +
        `errors="${stopped.length}" skipped="0">\n${lines.join('\n')}\n  </testsuite>`,
    }
  })
  const sum = (name: 'tests' | 'failed' | 'stopped'): number =>
    suites.reduce((total, suite) => total + suite[name], 0)
  return (
    '<?xml version="1.0" encoding="UTF-8"?>\n' +
    `<testsuites name="contract, seed ${seed}" tests="${sum('tests')}" failures="${sum('failed')}" ` +
    `errors="${sum('stopped')}" time="${seconds.toFixed(3)}">\n` +
    `${suites.map(({ text }) => text).join('\n')}\n</testsuites>\n`
  )
}

/** XML 1.0 does not allow control characters, not even escaped. */
function escaped(text: string): string {
  return text
    .toWellFormed()
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '\ufffd')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replace(/[\t\n\r]/g, ' ')
}
