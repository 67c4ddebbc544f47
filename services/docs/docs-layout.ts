// The layout of the documentation pages: one style sheet, no scripts, no external resources.
import { html, htmlDocument, contentSecurityPolicy, type Html } from '../../infra/html/html.ts'
import { brand, defaultName } from '../../infra/html/brand.ts'
import { tokens } from '../../infra/html/layout.ts'

const style = `${tokens}
html { scroll-padding-top: 1rem }
body { background: var(--sheet) }
main { max-width: 54rem; margin: 0 auto; padding: 2rem 1.25rem 4rem }
h1 { font-size: 1.75rem; line-height: 1.25; margin: 1rem 0 .5rem }
h2 { font-size: 1.25rem; line-height: 1.4; margin: 2rem 0 .5rem }
article h2 { font: 600 1.0625rem/1.4 var(--mono); margin: 0 }
article h2 a { color: inherit; text-decoration: none }
article h2 a:hover { text-decoration: underline }
p { margin: .5rem 0 }
article { border-top: 1px solid var(--line); padding: 1.5rem 0 }
nav { border-top: 1px solid var(--line); margin-top: 3rem }
.index { columns: 15rem; list-style: none; padding: 0; margin: 1.5rem 0 2rem; font-size: .9375rem }
.index li { break-inside: avoid; padding: .1875rem 0 }
table { border-collapse: collapse; margin: .75rem 0; font-size: .9375rem }
th, td { border: 1px solid var(--line); padding: .375rem .625rem; text-align: left; vertical-align: top }
dl { display: grid; gap: .25rem 1.25rem; margin: .75rem 0 0 }
dt { color: var(--soft) }
dd { margin: 0 }
@media (min-width: 40rem) { dl { grid-template-columns: 7rem minmax(0, 1fr) } }
code, pre {
  font-family: var(--mono); font-size: .875em;
  background: var(--hover); border-radius: var(--radius-small);
}
code { padding: .125rem .25rem }
pre { padding: 1rem; overflow-x: auto; line-height: 1.5; overflow-wrap: normal; margin: .75rem 0 0 }
summary { color: var(--accent); padding: .5rem 0 }
`

export const docsPageHeaders: Readonly<Record<string, string>> = {
  get 'content-security-policy'() {
    return contentSecurityPolicy(style + brand().css, "'none'")
  },
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
}

/** A complete documentation page. */
export function docsPageOf({ title, body }: { title: string; body: Html }): string {
  return htmlDocument({
    title: `${title} · ${brand().name ?? defaultName}`,
    icon: brand().iconUrl,
    style: style + brand().css,
    body: html`<main>
<p><a href="/docs">API reference</a> · <a href="/docs/guides">Guides</a> ·
<a href="/docs/errors">Errors</a> · <a href="/docs/events">Events</a></p>
${body}
</main>`,
  })
}
