// The catalogues beside the reference page: every code of errors and every type of event, each on a page that needs no script and fits a phone.
import { catalogue, type ErrorCodeInfo, type EventInfo } from './openapi-samples.ts'
import { html, htmlDocument, contentSecurityPolicy, type Html } from '../../infra/html/html.ts'

const style = `
:root { color-scheme: light dark; --ground: #fff; --text: #1b1f27; --soft: #59606e; --line: #dfe3e9; --code: #f3f5f8; --accent: #1d4ed8 }
@media (prefers-color-scheme: dark) { :root { --ground: #0f1116; --text: #e9ebef; --soft: #a2aab8; --line: #2b303a; --code: #1a1e26; --accent: #8ab4ff } }
* { box-sizing: border-box }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; scroll-padding-top: 1rem }
body { margin: 0; background: var(--ground); color: var(--text); font: 1rem/1.6 system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif; overflow-wrap: anywhere }
main { max-width: 54rem; margin: 0 auto; padding: 2rem 1.25rem 4rem }
h1 { font-size: 1.75rem; line-height: 1.25; margin: 1rem 0 .5rem }
h2 { font: 600 1.0625rem/1.4 ui-monospace, 'SF Mono', Menlo, Consolas, monospace; margin: 0 }
h2 a { color: inherit; text-decoration: none }
h2 a:hover { text-decoration: underline }
p { margin: .5rem 0 }
a { color: var(--accent); text-underline-offset: .15em }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 4px }
article { border-top: 1px solid var(--line); padding: 1.5rem 0 }
.soft { color: var(--soft) }
.index { columns: 15rem; list-style: none; padding: 0; margin: 1.5rem 0 2rem; font-size: .9375rem }
.index li { break-inside: avoid; padding: .1875rem 0 }
dl { display: grid; gap: .25rem 1.25rem; margin: .75rem 0 0 }
dt { color: var(--soft) }
dd { margin: 0 }
@media (min-width: 40rem) { dl { grid-template-columns: 7rem minmax(0, 1fr) } }
code, pre { font-family: ui-monospace, 'SF Mono', Menlo, Consolas, monospace; font-size: .875em; background: var(--code); border-radius: 4px }
code { padding: .125rem .25rem }
pre { padding: 1rem; overflow-x: auto; line-height: 1.5; overflow-wrap: normal; margin: .75rem 0 0 }
summary { cursor: pointer; color: var(--accent); padding: .5rem 0 }
`

export const catalogueHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': contentSecurityPolicy(style, "'none'"),
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
}

const retries: Record<ErrorCodeInfo['retry'], string> = {
  no: 'No: the same request is answered the same.',
  later: 'Yes, later: after the seconds of Retry-After, or a moment where there is none.',
  renewed: 'Yes, renewed: with what has changed since.',
}

export function errorsPage(): string {
  const { errors } = catalogue()
  return whole(
    'Errors',
    html`<p>
      Every error is <code>{"error": {"code", "message", "details"}}</code>. Programs go by the
      <code>code</code> and by <code>details.constraint</code>; the message is for people and may change.
      <code>details.request_id</code> is what to report. New codes may come: take one that you do not know by
      its status.
    </p>`,
    errors.map(({ code }) => code),
    errors.map(({ code, status, means, when, do: remedy, retry, reserved }) =>
      article(
        code,
        html` <p>${inline(means)}</p>
          <dl>
            <dt>Status</dt>
            <dd>${status.join(', ')}</dd>
            <dt>When</dt>
            <dd>${inline(when)}</dd>
            <dt>What to do</dt>
            <dd>${inline(remedy)}</dd>
            ${
              reserved
                ? null
                : html`<dt>Again?</dt>
                    <dd>${retries[retry]}</dd> `
            }
          </dl>`,
      ),
    ),
  )
}

const readers: Record<EventInfo['audience'], string> = {
  project: 'members of the project',
  user: 'the user whom it is about',
  admins: 'admins',
  everyone: 'everyone',
}

export function eventsPage(): string {
  const { events } = catalogue()
  return whole(
    'Events',
    html`<p>
      Every change leaves an event, in one log: read it as a list (<code>GET /v1/events</code>), as a stream
      (<code>GET /v1/events/stream</code>), or have it sent by webhooks. <code>data.object</code> is the
      resource as it was right after; <code>data.previous_attributes</code> has the former values of what an
      update changed. New types and new fields may come.
    </p>`,
    events.map(({ type }) => type),
    events.map(({ type, description, scope, audience, role, object, example }) =>
      article(
        type,
        html` <p>${inline(description)}</p>
          <dl>
            <dt>For</dt>
            <dd>
              ${readers[audience]}${role !== null && role !== 'viewer' ? html`, with the role ${role} or above` : null}
            </dd>
            <dt>Scope</dt>
            <dd><code>${scope}</code></dd>
            <dt>Object</dt>
            <dd><code>${object.replace(/InEvents$/, '')}</code></dd>
          </dl>
          <details>
            <summary>Example</summary>
            <pre tabindex="0">${JSON.stringify(example, null, 2)}</pre>
          </details>`,
      ),
    ),
  )
}

function article(name: string, body: Html): Html {
  return html`<article id="${name}">
    <h2><a href="#${name}">${name}</a></h2>
    ${body}
  </article> `
}

function whole(title: string, introduction: Html, names: string[], articles: Html[]): string {
  return htmlDocument({
    title: `${title} · Platform API`,
    icon: 'data:,',
    style,
    body: html`<main>
      <p><a href="/docs">Platform API</a></p>
      <h1>${title}</h1>
      ${introduction}
      <ul class="index">
        ${names.map((name) => html`<li><a href="#${name}">${name}</a></li> `)}
      </ul>
      ${articles}
    </main>`,
  })
}

/** Text in which what stands between backticks is code. */
function inline(text: string): Html {
  return html`${text.split('`').map((part, i) => (i % 2 === 0 ? html`${part}` : html`<code>${part}</code>`))}`
}
