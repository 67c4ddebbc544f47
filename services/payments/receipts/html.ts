// Renders a receipt as an HTML page for the screen and for printing.
import { hash } from 'node:crypto'
import { Html, html } from '../../../infra/html/html.ts'
import { brand } from '../../../infra/html/brand.ts'
import { baseStyle } from '../../../infra/html/layout.ts'
import type { Receipt } from './model.ts'

/** A receipt looks as on paper: light in any color scheme. */
const style = `${baseStyle}
:root { color-scheme: light }
* { margin: 0; padding: 0 }
body { max-width: 46rem; margin: 0 auto; padding: 3rem 1.5rem; background: var(--sheet);
  font-size: .9375rem }
header { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: baseline;
  gap: .25rem 2rem; margin-bottom: 2rem }
h1 { font-size: 1.5rem; order: 2; color: var(--soft); font-weight: 500 }
header p { display: flex; gap: .5rem; align-items: center; font-size: 1.25rem; font-weight: 700 }
dl { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: .25rem 2rem; margin-bottom: 2rem }
dt { color: var(--soft) }
.warning { margin-bottom: 2rem; padding: .625rem 1rem; border: 1px solid var(--note-line);
  background: var(--note-ground);
  color: var(--note); border-radius: var(--radius-small) }
table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { padding: .5rem 0 .5rem 1.25rem; text-align: right; vertical-align: top; white-space: nowrap }
th:first-child, td:first-child { padding-left: 0; text-align: left; white-space: normal }
thead th { border-bottom: 2px solid var(--text); font-size: .8125rem; color: var(--soft); font-weight: 600 }
tbody td { border-bottom: 1px solid var(--line) }
tfoot tr > * { padding-top: .25rem; padding-bottom: .25rem }
tfoot tr:first-child > * { padding-top: .75rem }
tfoot th:first-child { font-weight: 400; text-align: right }
tfoot .sum > :nth-child(n) { font-weight: 700 }
tr { break-inside: avoid }
@media (max-width: 30rem) {
  body { padding: 1.5rem 1rem }
  th, td { padding-left: .75rem }
  .unit { display: none }
}
@media print { @page { margin: 2cm } body { max-width: none; padding: 0 } }
`

/** Allows only the inline style above: no scripts, no external resources. */
export function receiptContentSecurityPolicy(): string {
  const images = brand().logo === null ? '' : '; img-src data:'
  return `default-src 'none'; style-src 'sha256-${hash('sha256', styleOf(), 'base64')}'${images}; sandbox`
}

const styleOf = (): string => style + brand().css

/** Renders a complete HTML document. */
export function renderReceiptHtml({
  seller,
  number,
  orderedOn,
  paidOn,
  paidBy,
  items,
  credit,
  total,
  refunds,
  remaining,
  warning,
}: Receipt): string {
  const { logo, iconUrl } = brand()
  const mark = logo === null ? null : html`<img src="${iconUrl}" alt="" width="28" height="28" /> `
  const totalRow = (label: string, amount: string, className: string): Html =>
    html`<tr class="${className}">
      <th scope="row" colspan="2">${label}</th>
      <td class="unit"></td>
      <td>${amount}</td>
    </tr> `
  const creditRow = credit === null ? null : totalRow('Credit', `−${credit}`, '')
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>Receipt ${number}</title>
        <style>${new Html(styleOf())}</style>
      </head>
      <body>
        <header>
          <h1>Receipt</h1>
          <p>${mark}<bdi>${seller}</bdi></p>
        </header>
        ${warning === null ? null : html`<p class="warning">${warning}</p> `}
        <dl>
          <dt>Order</dt>
          <dd>${number}</dd>
          <dt>Ordered on</dt>
          <dd>${orderedOn}</dd>
          <dt>Paid on</dt>
          <dd>${paidOn}</dd>
          ${
            paidBy === null
              ? null
              : html`<dt>Paid by</dt>
                  <dd>${paidBy}</dd> `
          }
        </dl>
        <table>
          <thead>
            <tr>
              <th scope="col">Item</th>
              <th scope="col">Quantity</th>
              <th scope="col" class="unit">Unit price</th>
              <th scope="col">Amount</th>
            </tr>
          </thead>
          <tbody>
            ${items.map(
              (item) =>
                html`<tr>
                  <td><bdi>${item.description}</bdi></td>
                  <td>${item.quantity}</td>
                  <td class="unit">${item.unitAmount}</td>
                  <td>${item.amount}</td>
                </tr> `,
            )}
          </tbody>
          <tfoot>
            ${creditRow}${totalRow('Total paid', total, 'sum')}${refunds.map(({ on, amount }) =>
              totalRow(`Refunded on ${on}`, `−${amount}`, ''),
            )}${remaining === null ? null : totalRow('Net paid', remaining, 'sum')}
          </tfoot>
        </table>
      </body>
    </html> `.text
}
