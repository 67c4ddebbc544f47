// The card form.
import { renderFailure, renderField, renderProblems, type Field } from '../../../../infra/html/form.ts'
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

type CardField = Pick<Field, 'label' | 'hint' | 'attributes'> & { name: keyof CardForm }

const number: CardField = {
  name: 'number',
  label: 'Card number',
  hint: 'One of the test cards below',
  attributes: html`inputmode="numeric" autocomplete="cc-number" spellcheck="false"`,
}
const expiry: CardField = {
  name: 'expiry',
  label: 'Expiry date',
  hint: 'MM / YY',
  attributes: html`inputmode="numeric" autocomplete="cc-exp"`,
}
const cvc: CardField = {
  name: 'cvc',
  label: 'Security code',
  hint: 'Any 3 or 4 digits',
  attributes: html`inputmode="numeric" autocomplete="cc-csc" spellcheck="false"`,
}
const name: CardField = {
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
  const field = ({ name, hint, ...rest }: CardField): Html => {
    const [value, problem] = [safeValues[name] ?? '', problems[name]]
    const isDropped = problem === undefined && (values[name] ?? '') !== '' && value === ''
    return renderField({
      name,
      hint: isDropped ? 'Enter it again; it is not stored' : hint,
      value,
      problem,
      ...rest,
    })
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
          ${
            hasProblems
              ? renderProblems('You have not been charged', problems)
              : failure === null
                ? null
                : renderFailure('The payment failed', failures[failure] ?? 'The payment failed. Try again.')
          }
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

function formatNumber(number: string): string {
  return number.replace(/\d{4}(?=\d)/g, '$& ')
}
