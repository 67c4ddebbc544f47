// The fields of a form. Each error is shown next to its field and, as a link to the field, at the top.
import { html, type Html } from './html.ts'

export interface Field {
  name: string
  label: string
  hint?: string
  value?: string
  /** The error message of the value. */
  problem?: string
  isOptional?: boolean
  maxLength?: number
  /** Further attributes of the input element. */
  attributes: Html
}

export function renderField(field: Field): Html {
  const { name, label, hint, value = '', problem, isOptional = false, maxLength = 100, attributes } = field
  const describedBy = [
    ...(hint === undefined ? [] : [`${name}-hint`]),
    ...(problem === undefined ? [] : [`${name}-wrong`]),
  ].join(' ')
  const required = isOptional ? null : html` required`
  const invalid = problem === undefined ? null : html` aria-invalid="true"`
  const description = describedBy === '' ? null : html` aria-describedby="${describedBy}"`
  return html`<div>
    <label for="${name}">${label}</label>${
      hint === undefined ? null : html` <span class="hint" id="${name}-hint">${hint}</span>`
    }
    <input id="${name}" name="${name}" value="${value}" maxlength="${maxLength}"${required}
      ${attributes}${description}${invalid}>${
        problem === undefined ? null : html` <span class="wrong" id="${name}-wrong">${problem}</span>`
      }
  </div>`
}

/** The errors of a form by field. Takes the focus on load, so that screen readers read it first. */
export function renderProblems(title: string, problems: Record<string, string>): Html {
  return html`<div class="problems" role="alert" tabindex="-1" autofocus>
    <h2>${title}</h2>
    <ul>
      ${Object.entries(problems).map(([name, problem]) => html`<li><a href="#${name}">${problem}</a></li> `)}
    </ul>
  </div> `
}

/** An error of the whole form. */
export function renderFailure(title: string, text: string): Html {
  return html`<div class="problems" role="alert" tabindex="-1" autofocus>
    <h2>${title}</h2>
    <p>${text}</p>
  </div> `
}
