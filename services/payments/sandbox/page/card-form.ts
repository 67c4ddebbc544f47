// The card form. Each error is shown next to its field and, as a link to the field, at the top of the form.
import { page } from '../../../../infra/html/layout.ts'
import { html, type Html } from '../../../../infra/html/html.ts'
import { testCards } from '../gateway.ts'
import { formatTotal, renderOrderSummary, sandboxNotice, type PageContext } from './order-summary.ts'
import { safeToRedisplay, type CardForm, type CardProblems } from './card-validation.ts'

/** The failure code of the last attempt, or the submitted values with their errors. */
export interface FormState {
  failure?: string | null
  values?: CardForm
  problems?: CardProblems
}

const failures: Record<string, string> = {
  card_declined: 'Your card was declined. Use another card.',
  insufficient_funds: 'Your card has insufficient funds. Use another card.',
  expired_card: 'Your card has expired. Use another card.',
  not_confirmed: 'You did not confirm the payment. Try again or use another card.',
}

interface Field {
  name: keyof CardForm
  label: string
  hint?: string
  /** Attributes of the input element. */
  attributes: Html
}

const number: Field = {
  name: 'number',
  label: 'Card number',
  hint: 'One of the test cards below',
  attributes: html`inputmode="numeric" autocomplete="cc-number" spellcheck="false"`,
}
const expiry: Field = {
  name: 'expiry',
  label: 'Expiry date',
  hint: 'MM / YY',
  attributes: html`inputmode="numeric" autocomplete="cc-exp"`,
}
const cvc: Field = {
  name: 'cvc',
  label: 'Security code',
  hint: 'Any 3 or 4 digits',
  attributes: html`inputmode="numeric" autocomplete="cc-csc" spellcheck="false"`,
}
const name: Field = {
  name: 'name',
  label: 'Name on card',
  attributes: html`autocomplete="cc-name" autocapitalize="words" spellcheck="false"`,
}

export function renderCardPage(
  context: PageContext,
  { failure = null, values = {}, problems = {} }: FormState,
): string {
  const { state, seller } = context
  const safeValues: CardForm = safeToRedisplay(values)
  const field = ({ name, label, hint: usualHint, attributes }: Field): Html => {
    const problem = problems[name]
    const isDropped = problem === undefined && (values[name] ?? '') !== '' && (safeValues[name] ?? '') === ''
    const hint = isDropped ? 'Enter it again; it is not stored' : usualHint
    const describedBy = [
      ...(hint === undefined ? [] : [`${name}-hint`]),
      ...(problem === undefined ? [] : [`${name}-wrong`]),
    ].join(' ')
    const invalid = problem === undefined ? null : html` aria-invalid="true"`
    const description = describedBy === '' ? null : html` aria-describedby="${describedBy}"`
    return html`<div>
      <label for="${name}">${label}</label>${
        hint === undefined ? null : html` <span class="hint" id="${name}-hint">${hint}</span>`
      }
      <input id="${name}" name="${name}" value="${safeValues[name] ?? ''}" maxlength="100" required
        ${attributes}${description}${invalid}>${
          problem === undefined ? null : html` <span class="wrong" id="${name}-wrong">${problem}</span>`
        }
    </div>`
  }
  const hasProblems = Object.keys(problems).length > 0
  return page({
    title: `${hasProblems || failure !== null ? 'Not paid yet: ' : ''}Pay ${seller}`,
    wide: true,
    notice: sandboxNotice,
    body: html`${renderOrderSummary(context)}
      <div class="stack">
        <form
          class="sheet stack"
          method="post"
          action="${state.checkout.id}"
          novalidate
          aria-labelledby="how"
        >
          ${hasProblems ? renderProblems(problems) : failure === null ? null : renderFailure(failure)}
          <h2 id="how">Pay by card</h2>
          ${field(number)}
          <div class="pair">${field(expiry)} ${field(cvc)}</div>
          ${field(name)}
          <button class="button">Pay ${formatTotal(state)}</button>
        </form>
        <section class="sheet" aria-labelledby="cards">
          <h2 id="cards">Test cards</h2>
          <p class="soft">Use one of these numbers. Each one has a fixed outcome.</p>
          <dl class="cards">
            ${testCards.map(
              ({ number, description }) =>
                html`<div><dt><code>${formatNumber(number)}</code></dt><dd>${description}</dd></div> `,
            )}
          </dl>
        </section>
      </div>`,
  })
}

/** Takes the focus on load, so that screen readers read it first. */
function renderProblems(problems: CardProblems): Html {
  return html`<div class="problems" role="alert" tabindex="-1" autofocus>
    <h2>You have not been charged</h2>
    <ul>
      ${Object.entries(problems).map(([name, problem]) => html`<li><a href="#${name}">${problem}</a></li> `)}
    </ul>
  </div> `
}

function renderFailure(code: string): Html {
  return html`<div class="problems" role="alert" tabindex="-1" autofocus>
    <h2>The payment failed</h2>
    <p>${failures[code] ?? 'The payment failed. Try again.'}</p>
  </div> `
}

function formatNumber(number: string): string {
  return number.replace(/\d{4}(?=\d)/g, '$& ')
}
