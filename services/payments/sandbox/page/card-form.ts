// The form for the card. What is wrong stands beside its field and, with links to the fields, above them all.
import { page } from '../../../../infra/html/layout.ts'
import { html, type Html } from '../../../../infra/html/html.ts'
import { testCards } from '../gateway.ts'
import { notice, showOrder, totalOf, type Shown } from './order-summary.ts'
import { shownAgain, type CardForm, type CardProblems } from './card-validation.ts'

/** After a try that failed, or with what was typed and what is wrong with it. */
export interface FormState {
  failure?: string | null
  typed?: CardForm
  problems?: CardProblems
}

const failures: Record<string, string> = {
  card_declined: 'Your card was declined. Use another one.',
  insufficient_funds: 'There is not enough money on your card. Use another one.',
  expired_card: 'Your card has expired. Use another one.',
  not_confirmed: 'You did not confirm the payment. Try again, or use another card.',
}

interface Field {
  name: keyof CardForm
  label: string
  hint?: string
  /** Attributes of the input. */
  as: Html
}

const number: Field = {
  name: 'number',
  label: 'Card number',
  hint: 'One of the test cards below',
  as: html`inputmode="numeric" autocomplete="cc-number" spellcheck="false"`,
}
const expiry: Field = {
  name: 'expiry',
  label: 'Expiry date',
  hint: 'MM / YY',
  as: html`inputmode="numeric" autocomplete="cc-exp"`,
}
const cvc: Field = {
  name: 'cvc',
  label: 'Security code',
  hint: 'Any 3 or 4 digits',
  as: html`inputmode="numeric" autocomplete="cc-csc" spellcheck="false"`,
}
const name: Field = {
  name: 'name',
  label: 'Name on card',
  as: html`autocomplete="cc-name" autocapitalize="words" spellcheck="false"`,
}

export function showCardForm(shown: Shown, { failure = null, typed = {}, problems = {} }: FormState): string {
  const { till } = shown
  const again: CardForm = shownAgain(typed)
  const field = ({ name, label, hint: usual, as }: Field): Html => {
    const problem = problems[name]
    const isForgotten = problem === undefined && (typed[name] ?? '') !== '' && (again[name] ?? '') === ''
    const hint = isForgotten ? 'Type it again: it is not kept' : usual
    const described = [
      ...(hint === undefined ? [] : [`${name}-hint`]),
      ...(problem === undefined ? [] : [`${name}-wrong`]),
    ].join(' ')
    return html`<div>
      <label for="${name}">${label}</label>${
        hint === undefined ? null : html` <span class="hint" id="${name}-hint">${hint}</span>`
      }
      <input
        id="${name}"
        name="${name}"
        value="${again[name] ?? ''}"
        maxlength="100"
        required
        ${as}${described === '' ? null : html` aria-describedby="${described}"`}${problem === undefined ? null : html` aria-invalid="true"`}
      />${problem === undefined ? null : html` <span class="wrong" id="${name}-wrong">${problem}</span>`}
    </div>`
  }
  const isWrong = Object.keys(problems).length > 0
  return page({
    title: `${isWrong || failure !== null ? 'Not paid yet: ' : ''}Pay ${shown.seller}`,
    wide: true,
    notice,
    body: html`${showOrder(shown)}
      <div class="stack">
        <form class="sheet stack" method="post" action="${till.checkout.id}" novalidate aria-labelledby="how">
          ${isWrong ? showProblems(problems) : failure === null ? null : showFailure(failure)}
          <h2 id="how">Pay by card</h2>
          ${field(number)}
          <div class="pair">${field(expiry)} ${field(cvc)}</div>
          ${field(name)}
          <button class="button">Pay ${totalOf(till)}</button>
        </form>
        <section class="sheet" aria-labelledby="cards">
          <h2 id="cards">Test cards</h2>
          <p class="soft">Each number that this page takes, and what its card does.</p>
          <dl class="cards">
            ${testCards.map(
              ({ number, says }) =>
                html`<div>
                  <dt><code>${spaced(number)}</code></dt>
                  <dd>${says}</dd>
                </div> `,
            )}
          </dl>
        </section>
      </div>`,
  })
}

/** Has the focus when the page comes, so that it is read first. */
function showProblems(problems: CardProblems): Html {
  return html`<div class="problems" role="alert" tabindex="-1" autofocus>
    <h2>Nothing was paid yet</h2>
    <ul>
      ${Object.entries(problems).map(([name, problem]) => html`<li><a href="#${name}">${problem}</a></li> `)}
    </ul>
  </div> `
}

function showFailure(code: string): Html {
  return html`<div class="problems" role="alert" tabindex="-1" autofocus>
    <h2>Nothing was paid</h2>
    <p>${failures[code] ?? 'The payment did not succeed. Try again.'}</p>
  </div> `
}

function spaced(number: string): string {
  return number.replace(/\d{4}(?=\d)/g, '$& ')
}
