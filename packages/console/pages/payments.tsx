// Orders and subscriptions with their time lines, refunds, and the bar of the test clock.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { DetailPage } from '../detail.tsx'
import { FormDialog } from '../form.tsx'
import { goFrom, ListPage } from '../list.tsx'
import type { ConsoleField } from '../model-types.ts'
import { detailAt, listAt } from '../model.ts'
import { href, type PageProps } from '../router.ts'
import { call, failureOf, isAllowed, isPossible, type Failure } from '../session.ts'
import { titleOf } from '../titles.ts'
import { Code, Dialog, Problem, Segments, useLoaded, useOnReady } from '../ui.tsx'
import { digitsOf, Id, money, State, Time } from '../value.tsx'

/** What an order sold: `2 × Team plan and 1 more`. */
function productOf({ items: [first, ...others] }: any): string {
  const text = `${first.quantity > 1 ? `${first.quantity} × ` : ''}${first.description}`
  return others.length > 0 ? `${text} and ${others.length} more` : text
}

/** The ID of who bought it, with a name if there is one. */
const buyerOf = ({ user, user_id, customer_id }: any): string | null =>
  user ? user_id : (customer_id ?? user_id)

const orderColumns = [
  { name: 'product', title: 'Product', kind: 'text' },
  { name: 'buyer', title: 'Buyer', kind: 'id' },
] as ConsoleField[]

const replaced = ['user_id', 'refunded_amount']

export function OrdersPage({ path, query, values }: PageProps) {
  const { page } = listAt(path)!
  const [number, ...others] = page.columns.filter(({ name }) => !replaced.includes(name))
  const list = {
    ...page,
    columns: [number, ...orderColumns, ...others],
    filters: page.filters.filter(({ name }) => name !== 'status'),
  }
  const statuses = page.filters.find(({ name }) => name === 'status')!.values as string[]
  return (
    <ListPage
      {...{ list, values, path, query }}
      shape={(order) => ({ ...order, product: productOf(order), buyer: buyerOf(order) })}
    >
      {() => (
        <div class="toolbar">
          <Segments
            label="Status"
            options={[['', 'All'], ...statuses.map((each): [string, string] => [each, titleOf(each)])]}
            value={query.get('status') ?? ''}
            choose={(status) => goFrom(path, query)({ status, cursor: null })}
          />
        </div>
      )}
    </ListPage>
  )
}

export function OrderPage({ path, values }: PageProps) {
  const { page: detail } = detailAt(path)!
  return (
    <DetailPage
      {...{ detail, values, path }}
      without={['/payments/orders/{id}/refunds', 'number', 'status', 'currency']}
      head={(order, reload, onReady) => (
        <>
          <Sale order={order} reload={reload} />
          <OrderLine key={order.updated_at} {...{ order, onReady }} />
          <h2>Details</h2>
        </>
      )}
      isLoading
    />
  )
}

interface SaleProps {
  order: any
  reload: () => void
}

/** Who bought what for how much, and the way to refund it. */
function Sale({ order, reload }: SaleProps) {
  const [isOpen, setIsOpen] = useState(false)
  const { total_amount: total, refunded_amount: refunded, currency, status } = order
  const buyer = buyerOf(order)
  const canRefund = isAllowed('createRefund') && isPossible('createRefund', order) && total > refunded
  return (
    <div class="sale">
      <strong>{money(total, currency)}</strong> <State value={status} />
      <span>
        {productOf(order)}
        {buyer !== null && (
          <>
            {' for '}
            <Id value={buyer} />
          </>
        )}
        {refunded > 0 && <span class="soft">, {money(refunded, currency)} refunded</span>}
      </span>
      {canRefund && (
        <button type="button" class="main" onClick={() => setIsOpen(true)}>
          Refund
        </button>
      )}
      {isOpen && <RefundDialog {...{ order, reload }} onClose={() => setIsOpen(false)} />}
    </div>
  )
}

function RefundDialog({ order, reload, onClose }: SaleProps & { onClose: () => void }) {
  const { id, number, total_amount: total, refunded_amount: refunded, currency } = order
  const rest = total - refunded
  const digits = digitsOf(currency)
  const decimal = (amount: number): string => (amount / 10 ** digits).toFixed(digits)
  const [text, setText] = useState(decimal(rest))
  const [reason, setReason] = useState('')
  const [failure, setFailure] = useState<Failure | null>(null)
  const [isBusy, setIsBusy] = useState(false)
  const amount = Math.round(Number(text) * 10 ** digits)
  const input = { path: { id }, body: { amount, ...(reason.trim() !== '' && { reason: reason.trim() }) } }
  async function refund(): Promise<void> {
    setIsBusy(true)
    setFailure(null)
    try {
      await call('createRefund', input)
      onClose()
      reload()
    } catch (error) {
      setFailure(failureOf(error))
      setIsBusy(false)
    }
  }
  const shares = [
    ['Half', Math.min(rest, Math.floor(total / 2))],
    ['All', rest],
  ] as const
  return (
    <Dialog title={`Refund order ${number}`} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void refund()
        }}
      >
        <p class="soft">
          {money(total, currency)} paid{refunded > 0 && `, ${money(refunded, currency)} refunded`}.
        </p>
        <div class="field">
          <label for="refund-amount">Amount in {currency.toUpperCase()}</label>
          <input
            id="refund-amount"
            type="number"
            required
            step={decimal(1)}
            min={decimal(1)}
            max={decimal(rest)}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
          <div class="actions">
            {shares.map(([share, value]) => (
              <button key={share} type="button" onClick={() => setText(decimal(value))}>
                {share}: {money(value, currency)}
              </button>
            ))}
          </div>
        </div>
        <div class="field">
          <label for="refund-reason">
            Reason <small class="soft">optional</small>
          </label>
          <input
            id="refund-reason"
            maxLength={500}
            value={reason}
            onInput={(event) => setReason(event.currentTarget.value)}
          />
        </div>
        {failure !== null && <Problem failure={failure} />}
        <Code operation="createRefund" input={input} />
        <footer>
          <button type="submit" class="main" disabled={isBusy}>
            {isBusy ? 'Sending…' : `Refund ${money(amount, currency)}`}
          </button>
        </footer>
      </form>
    </Dialog>
  )
}

interface Moment {
  at: string | null
  text: string
  /** Of the resource. */
  path?: string
  amount?: number
  currency?: string
  status?: string
  note?: string | null
}

/** The newest moment first; what is still to come stands at the top. */
function TimeLine(props: { load: () => Promise<Moment[]>; onReady: () => void }) {
  const { value, failure, reload } = useLoaded(props.load, '')
  const isReady = value !== null || failure !== null
  useOnReady(isReady, props.onReady)
  const moments = (value ?? [])
    .filter((each): each is Moment & { at: string } => each.at !== null)
    .toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at))
  return (
    <>
      <h2>Time line</h2>
      {failure !== null && <Problem failure={failure} retry={reload} />}
      <ol class="events">
        {moments.map(({ at, text, path, amount, currency, status, note }) => (
          <li key={text + at}>
            <span>
              {path === undefined ? text : <a href={href(path)}>{text}</a>}
              {amount === undefined ? ' ' : ` ${money(amount, currency)} `}
              {status && <State value={status} />} <span class="soft">{note}</span>
            </span>
            <Time value={at} />
          </li>
        ))}
      </ol>
    </>
  )
}

/** The items of a list about an order, for its seller or its buyer. */
async function about(operation: string, order: any): Promise<any[]> {
  if (!isAllowed(operation)) return []
  const { id, project_id, seller_organization_id } = order
  const query = { order_id: id, limit: 50, ...(project_id !== null && { project_id }) }
  const asBuyer = async () => await call(operation, { query })
  const answer =
    seller_organization_id && isAllowed('createRefund')
      ? await call(operation, { query: { order_id: id, limit: 50, seller_organization_id } }).catch(asBuyer)
      : await asBuyer()
  return answer.data.data
}

function OrderLine({ order, onReady }: { order: any; onReady: () => void }) {
  const { id, status, created_at, paid_at, updated_at } = order
  const load = async (): Promise<Moment[]> => {
    const [payments, disputes, refunds] = await Promise.all([
      about('listPayments', order),
      about('listDisputes', order),
      isAllowed('listRefunds') ? call('listRefunds', { path: { id } }).then(({ data }) => data.data) : [],
    ])
    const of = (text: string, path: string, note: string) => (each: any) => ({
      ...each,
      at: each.created_at,
      text,
      path: `/payments/${path}/${each.id}`,
      note: each[note],
    })
    return [
      { at: created_at, text: 'Ordered' },
      // Without a payment, credit has paid it.
      { at: payments.some((each) => each.status === 'succeeded') ? null : paid_at, text: 'Paid' },
      { at: status === 'canceled' ? updated_at : null, text: 'Canceled' },
      ...payments.map(of('Payment', 'payments', 'failure_message')),
      ...disputes.map(of('Dispute', 'disputes', 'reason')),
      ...refunds.map(of('Refund', 'refunds', 'reason')),
    ]
  }
  return <TimeLine {...{ load, onReady }} />
}

export function SubscriptionPage({ path, values }: PageProps) {
  const { page: detail } = detailAt(path)!
  return (
    <DetailPage {...{ detail, values, path }} isLoading={isAllowed('listOrders')}>
      {(subscription, _reload, onReady): ComponentChildren =>
        isAllowed('listOrders') && (
          <SubscriptionLine key={subscription.updated_at} {...{ subscription, onReady }} />
        )
      }
    </DetailPage>
  )
}

function SubscriptionLine({ subscription, onReady }: { subscription: any; onReady: () => void }) {
  const { id, project_id, created_at, canceled_at, ended_at, status } = subscription
  const { cancel_at_period_end, current_period_end } = subscription
  const isRunning = status !== 'incomplete' && status !== 'canceled'
  const load = async (): Promise<Moment[]> => {
    const place = project_id === null ? {} : { project_id }
    const query = { subscription_id: id, ...place, order: 'desc', limit: 20 }
    const orders = (await call('listOrders', { query })).data.data as any[]
    return [
      { at: isRunning ? current_period_end : null, text: cancel_at_period_end ? 'Ends' : 'Renews' },
      { at: ended_at, text: 'Ended' },
      { at: canceled_at, text: 'Cancellation requested' },
      ...orders.map((order) => ({
        ...order,
        at: order.created_at,
        text: `Order ${order.number}`,
        path: `/payments/orders/${order.id}`,
        amount: order.total_amount,
      })),
      { at: created_at, text: 'Created' },
    ]
  }
  return <TimeLine {...{ load, onReady }} />
}

/** Where a server has a test clock: what time it shows, and a way to advance it. */
export function ClockBar() {
  const [open, setOpen] = useState(false)
  const clock = useLoaded(async () => (await call('getTestClock')).data, 'clock')
  if (clock.value === null) return clock.failure === null ? <div class="clock" /> : null
  return (
    <div class="clock">
      <span>
        <strong>Test clock</strong> <Time value={clock.value.now} />
        <br />
        <small>
          Renewals, trials and due dates of test payments follow this clock. Advance it to see them.
        </small>
      </span>
      {isAllowed('advanceTestClock') && (
        <button type="button" onClick={() => setOpen(true)}>
          Advance
        </button>
      )}
      {open && (
        <FormDialog
          title="Advance"
          operation="advanceTestClock"
          values={{}}
          item={null}
          onClose={() => setOpen(false)}
          onDone={clock.reload}
        />
      )}
    </div>
  )
}
