// Meters with the usage of the last days, and budgets with what is used of them.
import { Chart, Share } from '../chart.tsx'
import { DetailPage } from '../detail.tsx'
import { detailAt } from '../model.ts'
import type { PageProps } from '../router.ts'
import { call, isAllowed } from '../session.ts'
import { Problem, Skeleton, useLoaded, useOnReady } from '../ui.tsx'
import { count } from '../value.tsx'

const shownDays = 30
const dayMs = 86_400_000

export function MeterPage({ path, values }: PageProps) {
  const { page: detail } = detailAt(path)!
  return (
    <DetailPage {...{ detail, values, path }} isLoading={isAllowed('listMeterUsage')}>
      {(meter, _reload, onReady) => isAllowed('listMeterUsage') && <MeterUsage {...{ meter, onReady }} />}
    </DetailPage>
  )
}

/** The usage of all customers by day. The payment clock, which may be ahead, says which day is the last. */
function MeterUsage({ meter: { id, unit }, onReady }: { meter: any; onReady: () => void }) {
  const loaded = useLoaded(async () => {
    const clock = await call('getTestClock').catch(() => null)
    const now = clock === null ? Date.now() : Date.parse(clock.data.now)
    const end = (Math.floor(now / dayMs) + 1) * dayMs
    const days = Array.from({ length: shownDays }, (_, i) => isoDay(end - (shownDays - i) * dayMs))
    const query = { from: `${days[0]}T00:00:00Z`, to: new Date(end).toISOString(), limit: 100 }
    const { data } = await call('listMeterUsage', { path: { id }, query })
    const used = new Map<string, number>(
      data.data.map(({ start, quantity }: any) => [start.slice(0, 10), Number(quantity)]),
    )
    return days.map((day) => ({ day, quantity: used.get(day) ?? 0 }))
  }, id)
  useOnReady(!loaded.loading, onReady)
  if (loaded.failure !== null) return <Problem failure={loaded.failure} retry={loaded.reload} />
  if (loaded.value === null) return <Skeleton />
  const quantities = loaded.value.map(({ quantity }) => quantity)
  const most = count(Math.max(...quantities))
  return (
    <>
      <h2>Last {shownDays} days</h2>
      <div class="charts">
        <Chart
          title={unit ?? 'Quantity'}
          text={`at most ${most} a day`}
          labels={loaded.value.map(({ day }) => day)}
          values={quantities}
        />
      </div>
    </>
  )
}

const isoDay = (at: number): string => new Date(at).toISOString().slice(0, 10)

export function BudgetPage({ path, values }: PageProps) {
  const { page: detail } = detailAt(path)!
  return (
    <DetailPage detail={detail} values={values} path={path}>
      {({ amount, used, reserved }) => (
        <div class="charts">
          <Share
            title="Used"
            text={`${count(Number(used))} of ${count(Number(amount))}`}
            whole={Number(amount)}
            parts={[Number(used), Number(reserved)]}
          />
        </div>
      )}
    </DetailPage>
  )
}
