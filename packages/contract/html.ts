// The report of a run as one HTML page: the findings and a table of operations and statuses.
// The page loads nothing and runs no script.
import type { Finding } from './findings.ts'
import type { Outcome } from './run-all.ts'
import { replayCommand, unfinishedLines } from './text.ts'
import { groupBy } from '@platform-api/openapi/group-by.ts'

const style = `
:root { color-scheme: light dark; --ink: light-dark(#1c2024, #e6e8ea); --quiet: light-dark(#6b7280, #9aa3ad);
  --paper: light-dark(#ffffff, #15181b); --line: light-dark(#e2e5e9, #2c3238);
  --seen: light-dark(#d9f2e1, #17402a); --bad: light-dark(#fbdcdc, #5b1f24);
  --badink: light-dark(#9b1c1c, #ffb4b4) }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 1200px; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2rem } p.sum { color: var(--quiet) }
.wide { overflow-x: auto }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums }
th, td { padding: .2rem .5rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: var(--paper) }
thead th { position: sticky; top: 0; background: var(--paper) }
td.declared { color: var(--quiet) } td.seen { background: var(--seen) }
td.undeclared, tr.found td:first-child { background: var(--bad); color: var(--badink) }
tr.tag td { color: var(--quiet); padding-top: .8rem }
details { border: 1px solid var(--line); border-radius: 6px; margin: .5rem 0; padding: .4rem .8rem }
summary { cursor: pointer }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font-size: 12.5px;
  background: light-dark(#f5f6f8, #1d2226); padding: .6rem; border-radius: 6px }
code { font-size: 12.5px }
dt { color: var(--quiet) } dd { margin: 0 0 .4rem; overflow-wrap: anywhere }`

export function reportAsHtml(outcome: Outcome, url: string): string {
  const { findings, selected, requests, seconds, seed } = outcome
  const found = findings.all.length
  const title =
    found === 0
      ? outcome.unfinished.length === 0
        ? 'The server conforms to the contract'
        : 'Not everything was checked'
      : `${found} ${found === 1 ? 'finding' : 'findings'}`
  const summary = [
    url,
    `${selected.length} operations`,
    `${requests} requests`,
    `${seconds.toFixed(1)} s`,
    `seed ${seed}`,
  ]
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Contract of ${escaped(url)}</title>
<style>${style}</style>
<h1>${title}</h1>
<p class="sum">${summary.map(escaped).join(' · ')}</p>
${findingsOf(outcome, url)}
<h2>Operations and statuses</h2>
<p class="sum">The number of responses per status. A dot marks a declared status that did not occur.</p>
<div class="wide">${matrixOf(outcome)}</div>
${notesOf(outcome)}
</html>
`
}

function findingsOf(outcome: Outcome, url: string): string {
  const { all } = outcome.findings
  if (all.length === 0) return ''
  return `<h2>Findings</h2>\n${all.map((finding) => findingOf(finding, outcome, url)).join('\n')}`
}

function notesOf(outcome: Outcome): string {
  const notes = [...outcome.notes, ...unfinishedLines(outcome)]
  if (notes.length === 0) return ''
  return `<h2>Notes</h2>\n<ul>${notes.map((note) => `<li>${escaped(note)}</li>`).join('')}</ul>`
}

function findingOf(
  { operation, check, part, expected, actual, times, curl }: Finding,
  outcome: Outcome,
  url: string,
): string {
  const title = `<code>${escaped(operation)}</code> ${escaped(check)}${times > 1 ? ` · ${times} times` : ''}`
  return `<details id="${escaped(operation)}"><summary>${title}</summary>
<dl><dt>Part of the run</dt><dd>${escaped(part)}</dd>
<dt>Expected</dt><dd>${escaped(expected)}</dd>
<dt>Actual</dt><dd>${escaped(actual)}</dd></dl>
${curl === null ? '' : `<pre>${escaped(curl)}</pre>`}
<pre>${escaped(replayCommand(outcome, url, operation))}</pre></details>`
}

function matrixOf({ selected, matrix, findings }: Outcome): string {
  const seen = [...matrix.keys()].map((name) => Number(name.split(' ')[1]))
  const statuses = [
    ...new Set([...selected.flatMap(({ responses }) => [...responses.keys()]), ...seen]),
  ].sort((a, b) => a - b)
  const found = new Set(findings.all.map(({ operation }) => operation))
  const rows = [...groupBy(selected, ({ tag }) => tag)].flatMap(([tag, own]) => [
    `<tr class="tag"><td colspan="${statuses.length + 1}">${escaped(tag)}</td></tr>`,
    ...own.map(({ id, method, path, responses }) => {
      const cells = statuses.map((status) => {
        const times = matrix.get(`${id} ${status}`)
        if (times === undefined) return responses.has(status) ? '<td class="declared">·</td>' : '<td></td>'
        return `<td class="${responses.has(status) ? 'seen' : 'undeclared'}">${times}</td>`
      })
      const name = `<code title="${escaped(`${method} ${path}`)}">${escaped(id)}</code>`
      return found.has(id)
        ? `<tr class="found"><td><a href="#${escaped(id)}">${name}</a></td>${cells.join('')}</tr>`
        : `<tr><td>${name}</td>${cells.join('')}</tr>`
    }),
  ])
  const heads = statuses.map((status) => `<th>${status}</th>`).join('')
  return `<table><thead><tr><th>Operation</th>${heads}</tr></thead><tbody>${rows.join('\n')}</tbody></table>`
}

function escaped(text: string): string {
  return text
    .toWellFormed()
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
