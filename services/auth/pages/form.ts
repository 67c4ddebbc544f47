// The frame of the pages with one form.
import { renderFailure, renderField, renderProblems, type Field } from '../../../infra/html/form.ts'
import { html, type Html } from '../../../infra/html/html.ts'
import { page } from '../../../infra/html/layout.ts'

/** The values and errors that a form shows after a refused request. */
export interface FormState {
  values?: { email?: string; name?: string }
  /** By field. */
  problems?: Record<string, string>
  /** An error of the whole form. */
  failure?: string
  /** Whether the user must enter a code of the second factor. */
  needsCode?: boolean
  /** The address of the account that a token is for. */
  account?: string
  /** The identity provider whose account the token links. */
  linksProvider?: string | null
}

export const code: Field = {
  name: 'code',
  label: 'Code',
  hint: 'From your authenticator app, or a recovery code',
  attributes: html`inputmode="numeric" autocomplete="one-time-code" spellcheck="false"`,
}

interface FormParts {
  title: string
  /** The address of an account. */
  account?: string
  /** Between the title and the fields. */
  text?: string
  action: string
  fields: Field[]
  button: string
  hidden?: Record<string, string>
  state?: FormState
  /** Below the form. */
  more?: Html
}

export function formPage({
  title,
  account,
  text,
  action,
  fields,
  button,
  hidden = {},
  state = {},
  more,
}: FormParts): string {
  const { values = {}, problems = {}, failure } = state
  const hasProblems = Object.keys(problems).length > 0
  const shown = (field: Field): Html =>
    renderField({
      ...field,
      value: (values as Record<string, string | undefined>)[field.name],
      problem: problems[field.name],
    })
  return page({
    title: hasProblems || failure !== undefined ? `Error: ${title}` : title,
    body: html`<div class="stack">
      <form class="sheet stack" method="post" action="${action}" novalidate aria-labelledby="what">
        ${hasProblems ? renderProblems('Check what you entered', problems) : null}
        ${failure === undefined ? null : renderFailure('That did not work', failure)}
        <h1 id="what">${title}</h1>
        ${account === undefined ? null : html`<p><bdi>${account}</bdi></p>`}
        ${text === undefined ? null : html`<p class="soft">${text}</p>`}
        ${Object.entries(hidden).map(
          ([name, value]) => html`<input type="hidden" name="${name}" value="${value}" /> `,
        )}
        ${fields.map(shown)}
        <button class="button">${button}</button>
      </form>
      ${more ?? null}
    </div>`,
  })
}

export function links(entries: Array<[url: string, text: string]>): Html {
  return html`<ul>
    ${entries.map(([url, text]) => html`<li><a href="${url}">${text}</a></li> `)}
  </ul>`
}
