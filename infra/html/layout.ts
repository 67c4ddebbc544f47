// The layout of the HTML pages of this server (payments, receipts, errors): one style sheet, no scripts, no
// external resources. The headers allow only this style sheet and forms to this server, and forbid caching.
import { html, htmlDocument, contentSecurityPolicy, type Html } from './html.ts'

const style = `
:root {
  color-scheme: light dark;
  --ground: #f4f5f7;
  --sheet: #fff;
  --text: #16181d;
  --soft: #5a6170;
  --line: #d8dce3;
  --field: #868e9c;
  --accent: #1d4ed8;
  --on-accent: #fff;
  --accent-over: #1e3fae;
  --bad: #b42318;
  --bad-ground: #fef3f2;
  --note: #6b4a00;
  --note-ground: #fff4d6;
  --note-line: #f0d48a;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #0f1116;
    --sheet: #181b22;
    --text: #eceef2;
    --soft: #a4acba;
    --line: #2c313b;
    --field: #747d8c;
    --accent: #8ab4ff;
    --on-accent: #0b1530;
    --accent-over: #adcaff;
    --bad: #ff9d92;
    --bad-ground: #33191a;
    --note: #f6d98b;
    --note-ground: #2b2413;
    --note-line: #5a4a1d;
  }
}
* {
  box-sizing: border-box;
  margin: 0;
  padding: 0;
}
html {
  -webkit-text-size-adjust: 100%;
  text-size-adjust: 100%;
}
body {
  background: var(--ground);
  color: var(--text);
  font:
    1rem/1.5 system-ui,
    -apple-system,
    "Segoe UI",
    Roboto,
    "Helvetica Neue",
    Arial,
    sans-serif;
  overflow-wrap: anywhere;
}
h1 {
  font-size: 1.0625rem;
  font-weight: 600;
  line-height: 1.35;
}
h2 {
  font-size: 1.0625rem;
  font-weight: 600;
}
a {
  color: var(--accent);
  text-underline-offset: 0.15em;
}
ul {
  list-style: none;
}
:focus-visible {
  outline: 3px solid var(--accent);
  outline-offset: 2px;
  border-radius: 4px;
}
.notice {
  background: var(--note-ground);
  color: var(--note);
  border-bottom: 1px solid var(--note-line);
  padding: 0.625rem 1.25rem;
  text-align: center;
  font-size: 0.875rem;
}
main {
  max-width: 62rem;
  margin: 0 auto;
  padding: 2rem 1.25rem 3rem;
  display: grid;
  gap: 1.75rem 3.5rem;
}
@media (min-width: 52rem) {
  main.two {
    grid-template-columns: minmax(0, 1fr) minmax(0, 1.2fr);
    padding-top: 4rem;
    align-items: start;
  }
}
main.one {
  max-width: 31rem;
}
.sheet {
  background: var(--sheet);
  border: 1px solid var(--line);
  border-radius: 14px;
  padding: 1.375rem;
  box-shadow:
    0 1px 2px rgb(0 0 0 / 0.04),
    0 8px 24px rgb(0 0 0 / 0.05);
}
.stack > * + * {
  margin-top: 1.25rem;
}
.total {
  font-size: 2.25rem;
  font-weight: 700;
  letter-spacing: -0.02em;
  line-height: 1.2;
  font-variant-numeric: tabular-nums;
}
.total small {
  font-size: 1rem;
  font-weight: 500;
  letter-spacing: 0;
  color: var(--soft);
}
.soft {
  color: var(--soft);
  font-size: 0.875rem;
}
.items {
  border-top: 1px solid var(--line);
  font-size: 0.9375rem;
}
.items li,
.sum {
  display: flex;
  justify-content: space-between;
  gap: 1.25rem;
  padding: 0.75rem 0;
  border-bottom: 1px solid var(--line);
}
.items li > :last-child,
.sum > :last-child {
  white-space: nowrap;
  font-variant-numeric: tabular-nums;
}
.items .soft {
  display: block;
}
.sum {
  border: 0;
  font-weight: 600;
}
.problems li {
  margin-top: 0.25rem;
}
details > summary {
  cursor: pointer;
  padding: 0.5rem 0;
  color: var(--accent);
}
form.stack > * + * {
  margin-top: 1.125rem;
}
label {
  display: block;
  font-weight: 600;
  font-size: 0.9375rem;
}
.hint {
  display: block;
  color: var(--soft);
  font-size: 0.875rem;
}
input {
  display: block;
  width: 100%;
  min-height: 2.875rem;
  margin-top: 0.375rem;
  padding: 0.5rem 0.75rem;
  font: inherit;
  color: inherit;
  background: var(--sheet);
  border: 1px solid var(--field);
  border-radius: 8px;
  font-variant-numeric: tabular-nums;
}
input:focus-visible {
  outline-offset: 0;
  border-color: var(--accent);
  border-radius: 8px;
}
input[aria-invalid] {
  border: 2px solid var(--bad);
}
.wrong {
  display: block;
  margin-top: 0.375rem;
  color: var(--bad);
  font-size: 0.9375rem;
  font-weight: 500;
}
.pair {
  display: grid;
  grid-template-columns: repeat(2, minmax(0, 1fr));
  gap: 1rem;
  align-items: start;
}
.button {
  display: block;
  width: 100%;
  min-height: 3rem;
  padding: 0.625rem 1rem;
  font: inherit;
  font-weight: 600;
  text-align: center;
  text-decoration: none;
  color: var(--on-accent);
  background: var(--accent);
  border: 1px solid var(--accent);
  border-radius: 8px;
  cursor: pointer;
}
.button:hover {
  background: var(--accent-over);
}
.button:focus-visible {
  border-radius: 8px;
}
.button.plain {
  color: var(--text);
  background: transparent;
  border-color: var(--field);
}
.button.plain:hover {
  border-color: var(--text);
}
.problems {
  background: var(--bad-ground);
  border: 1px solid var(--bad);
  border-left-width: 5px;
  border-radius: 8px;
  padding: 0.875rem 1rem;
}
.problems h2 {
  color: var(--bad);
  font-size: 1rem;
}
.problems a {
  color: var(--bad);
}
dl {
  display: grid;
  grid-template-columns: auto minmax(0, 1fr);
  gap: 0.5rem 1.25rem;
}
dt {
  color: var(--soft);
}
dd {
  text-align: right;
  font-weight: 600;
}
.cards {
  display: block;
  margin-top: 0.75rem;
  font-size: 0.875rem;
}
.cards div {
  display: flex;
  flex-wrap: wrap;
  gap: 0 1.25rem;
  padding: 0.5rem 0;
  border-top: 1px solid var(--line);
}
.cards dt {
  min-width: 100%;
  color: inherit;
}
.cards dd {
  font-weight: 400;
  text-align: left;
  color: var(--soft);
}
code {
  font:
    500 0.875rem ui-monospace,
    "SF Mono",
    Menlo,
    Consolas,
    monospace;
  user-select: all;
}
.wait {
  width: 2.75rem;
  height: 2.75rem;
  border: 4px solid var(--line);
  border-top-color: var(--accent);
  border-radius: 50%;
  animation: turn 1s linear infinite;
}
@media (min-width: 30rem) {
  .sheet {
    padding: 1.75rem;
  }
  .cards dt {
    min-width: 11rem;
  }
}
@keyframes turn {
  to {
    transform: rotate(1turn);
  }
}
@media (prefers-reduced-motion: reduce) {
  .wait {
    animation: none;
    border-style: dotted;
  }
}
`

const icon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">' +
  '<rect width="16" height="16" rx="4" fill="#1d4ed8"/>' +
  '<path d="M3 5.5h10v6H3zM3 7.5h10" fill="none" stroke="#fff" stroke-width="1.3"/></svg>'

export const pageHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': contentSecurityPolicy(style, "'self'"),
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex, nofollow',
  'cache-control': 'no-store',
}

export interface PageParts {
  title: string
  /** Reloads the page, or opens `url`, after some seconds. */
  refresh?: { seconds: number; url?: string }
  /** Two columns on wide screens. */
  wide?: boolean
  /** Shown above the content. */
  notice?: Html
  body: Html
}

/** A complete document. */
export function page({ title, refresh, wide = false, notice, body }: PageParts): string {
  return htmlDocument({
    title,
    icon: `data:image/svg+xml,${encodeURIComponent(icon)}`,
    style,
    ...(refresh !== undefined && {
      head: html`<meta
        http-equiv="refresh"
        content="${refresh.seconds}${refresh.url === undefined ? '' : `;url=${refresh.url}`}"
      /> `,
    }),
    body: html`${notice === undefined ? null : html`<header><p class="notice">${notice}</p></header> `}
      <main class="${wide ? 'two' : 'one'}">${body}</main>`,
  })
}
