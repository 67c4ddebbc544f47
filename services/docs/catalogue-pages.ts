// The documentation pages /docs/errors and /docs/events: all error codes and all event types. They work
// without JavaScript and on small screens.
import { docsData, type ErrorCodeInfo, type EventInfo } from './openapi-samples.ts'
import { html, type Html } from '../../infra/html/html.ts'
import { docsPageOf } from './docs-layout.ts'

const retries: Record<ErrorCodeInfo['retry'], string> = {
  no: 'No. The same request fails again.',
  later:
    'Yes, after the number of seconds in Retry-After, or after a short delay if there is no Retry-After.',
  renewed: 'Yes, after you resolved the cause of the error.',
}

export function errorsPage(): string {
  const { errors } = docsData()
  return cataloguePage(
    'Errors',
    html`<p>
      Every error has the form <code>{"error": {"code", "message", "details"}}</code>. Programs should check
      <code>code</code> and <code>details.reason</code>; <code>details.constraint</code> names the rule,
      <code>details.limit</code> the limit, and <code>details.state</code> the state of the resource. Errors
      that would come again have <code>X-Should-Retry: false</code>. The <code>message</code> is for people
      and can change. When you contact support, include <code>details.request_id</code>. New codes can be
      added: treat an unknown code according to its HTTP status.
    </p>`,
    errors.map(({ code }) => code),
    errors.map(({ code, status, means, when, do: remedy, retry, reserved, ...values }) =>
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
                : html`<dt>Retry</dt>
                    <dd>${retries[retry]}</dd> `
            }
          </dl>
          ${values.constraints === undefined ? null : constraintTable(code, values.constraints)}
          ${reserved ? null : valueTable('reason', reasonsOf(values))}
          ${values.states === undefined ? null : valueTable('state', Object.entries(values.states))}`,
      ),
    ),
  )
}

function reasonsOf({ reasons }: Pick<ErrorCodeInfo, 'reasons'>): Array<[string, string]> {
  return Object.entries(reasons).map(([reason, { means }]) => [reason, means])
}

/** The values of `details.constraint`, and an error with the first. */
function constraintTable(code: string, constraints: Record<string, string>): Html {
  const rows = Object.entries(constraints)
  const details = { constraint: rows[0][0], request_id: 'req_1c8f0a5e7b7d4c0fb0a2c9a1e6f4d3b2' }
  const example = JSON.stringify({ error: { code, message: rows[0][1], details } }, null, 2)
  return valueTable('constraint', rows, html`<pre tabindex="0">${example}</pre>`)
}

/** The values of a field of `details` and their meanings. */
function valueTable(field: string, rows: Array<[string, string]>, example: Html | null = null): Html {
  return html`<details>
    <summary>Values of <code>details.${field}</code></summary>
    <dl>
      ${rows.map(
        ([value, means]) =>
          html`<dt><code>${value}</code></dt>
            <dd>${inline(means)}</dd> `,
      )}
    </dl>
    ${example}
  </details>`
}

const audiences: Record<EventInfo['audience'], string> = {
  project: 'members of the project',
  organization: 'members of the organization',
  user: 'the user that the event is about',
  admins: 'admins',
  everyone: 'all users',
}

function requiredRole(role: string | null): Html | null {
  return role === null || role === 'viewer' ? null : html`, with at least the role ${role}`
}

export function eventsPage(): string {
  const { events } = docsData()
  return cataloguePage(
    'Events',
    html`<p>
      Every change creates an event. Read events as a list (<code>GET /v1/events</code>), as a stream
      (<code>GET /v1/events/stream</code>), or receive them by webhooks. <code>data.object</code> is the
      resource after the change; <code>data.previous_attributes</code> contains the previous values of the
      fields that an update changed. New types and fields can be added.
    </p>`,
    events.map(({ type }) => type),
    events.map(({ type, description, scope, audience, role, object, example }) =>
      article(
        type,
        html` <p>${inline(description)}</p>
          <dl>
            <dt>Readers</dt>
            <dd>
              ${audiences[audience]}${requiredRole(role)}
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

function cataloguePage(
  title: 'Errors' | 'Events',
  introduction: Html,
  names: string[],
  articles: Html[],
): string {
  return docsPageOf({
    title,
    section: title === 'Errors' ? '/docs/errors' : '/docs/events',
    body: html`<h1>${title}</h1>
      ${introduction}
      <ul class="index">
        ${names.map((name) => html`<li><a href="#${name}">${name}</a></li> `)}
      </ul>
      ${articles}`,
  })
}

/** Converts text between backticks to code elements. */
function inline(text: string): Html {
  return html`${text.split('`').map((part, i) => (i % 2 === 0 ? html`${part}` : html`<code>${part}</code>`))}`
}
