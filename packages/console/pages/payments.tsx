// Subscriptions with their time line, and the bar of the test clock.
import { useState } from 'preact/hooks'
import { DetailPage } from '../detail.tsx'
import { FormDialog } from '../form.tsx'
import { detailAt } from '../model.ts'
import { href, type PageProps } from '../router.ts'
import { call, isAllowed } from '../session.ts'
import { Problem, Skeleton, useLoaded } from '../ui.tsx'
import { money, State, Time } from '../value.tsx'

export function SubscriptionPage({ path, values }: PageProps) {
  const { page: detail } = detailAt(path)!
  return (
    <DetailPage detail={detail} values={values} path={path}>
      {(subscription) => isAllowed('listOrders') && <TimeLine subscription={subscription} />}
    </DetailPage>
  )
}

interface Moment {
  at: string
  text: string
  order?: any
}

function TimeLine({ subscription }: { subscription: any }) {
  const { id, project_id, updated_at } = subscription
  const query = { subscription_id: id, ...(project_id !== null && { project_id }), order: 'desc', limit: 20 }
  const orders = useLoaded(
    async () => (await call('listOrders', { query })).data.data as any[],
    `${id} ${updated_at}`,
  )
  return (
    <>
      <h2>Time line</h2>
      {orders.failure !== null && <Problem failure={orders.failure} retry={orders.reload} />}
      {orders.value === null && orders.failure === null && <Skeleton />}
      <ol class="events">
        {orders.value !== null &&
          momentsOf(subscription, orders.value).map(({ at, text, order }) => (
            <li key={text + at}>
              {order === undefined ? (
                text
              ) : (
                <span>
                  <a href={href(`/payments/orders/${order.id}`)}>{text}</a>{' '}
                  {money(order.total_amount, order.currency)} <State value={order.status} />
                </span>
              )}
              <Time value={at} />
            </li>
          ))}
      </ol>
    </>
  )
}

/** The newest first; what is still to come stands at the top. */
function momentsOf(subscription: any, orders: any[]): Moment[] {
  const { created_at, canceled_at, ended_at, status, cancel_at_period_end, current_period_end } = subscription
  const isRunning = status !== 'incomplete' && status !== 'canceled'
  const moments = [
    isRunning && { at: current_period_end, text: cancel_at_period_end ? 'Ends' : 'Renews' },
    { at: ended_at, text: 'Ended' },
    { at: canceled_at, text: 'Cancellation requested' },
    ...orders.map((order) => ({ at: order.created_at, text: `Order ${order.number}`, order })),
    { at: created_at, text: 'Created' },
  ]
  return moments
    .filter((moment): moment is Moment => moment !== false && moment.at !== null)
    .toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at))
}

/** Where a server has a test clock: what time it shows, and a way to advance it. */
export function ClockBar() {
  const [open, setOpen] = useState(false)
  const clock = useLoaded(async () => (await call('getTestClock')).data, 'clock')
  if (clock.value === null) return null
  return (
    <div class="clock">
      <span>
        Test clock: <Time value={clock.value.now} />
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
