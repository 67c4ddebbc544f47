// Bars by day or hour, and the part of a limit that is used.
import { useState } from 'preact/hooks'
import { count } from './value.tsx'

/** Height and width of a bar in the units of the drawing. */
const [height, width] = [60, 10]

interface ChartProps {
  title: string
  /** What the bars say together. */
  text: string
  /** Days, such as `2026-11-30`, or times. */
  labels: string[]
  values: number[]
  /** The part of each value that is bad. */
  bad?: number[]
  format?: (value: number) => string
}

const isDay = (label: string): boolean => label.length === 10

/** A day is one of UTC, a time one of the person. */
const short = (label: string): string =>
  new Date(label).toLocaleString(undefined, {
    day: 'numeric',
    month: 'short',
    ...(isDay(label) ? { timeZone: 'UTC' } : { hour: 'numeric', minute: '2-digit' }),
  })

export function Chart({ title, text, labels, values, bad = [], format = count }: ChartProps) {
  const [at, setAt] = useState<number | null>(null)
  const most = Math.max(...values)
  const unit = height / Math.max(1e-12, most)
  const bar = (value: number, i: number) => (
    <rect key={i} x={i * width + 1} y={height - value * unit} width={width - 2} height={value * unit} />
  )
  const shown = at === null || at >= values.length ? null : at
  return (
    <figure>
      <figcaption>
        {title}{' '}
        <span class="soft">
          {shown === null ? text : `${short(labels[shown])}: ${format(values[shown])}`}
        </span>
      </figcaption>
      <div class="plot">
        <svg
          role="img"
          aria-label={`${title} by ${isDay(labels[0]) ? 'day' : 'hour'}: ${text}`}
          viewBox={`0 0 ${values.length * width} ${height}`}
          preserveAspectRatio="none"
          onPointerMove={(event) => {
            const { left, width: whole } = event.currentTarget.getBoundingClientRect()
            setAt(Math.floor(((event.clientX - left) / whole) * values.length))
          }}
          onPointerLeave={() => setAt(null)}
        >
          {shown !== null && <rect class="pointed" x={shown * width} y={0} width={width} height={height} />}
          {values.map(bar)}
          <g class="bad">{bad.map(bar)}</g>
        </svg>
        {most > 0 && <small class="most">{format(most)}</small>}
      </div>
      <small class="axis">
        <span>{short(labels[0])}</span>
        <span>{short(labels[labels.length - 1])}</span>
      </small>
    </figure>
  )
}

interface ShareProps {
  title: string
  text: string
  whole: number
  /** What is used, and what is reserved. */
  parts: [number, number]
}

/** A bar of the whole, filled as far as it is used. More than the whole fills it. */
export function Share({ title, text, whole, parts: [used, reserved] }: ShareProps) {
  const end = (value: number): number => Math.min(100, (value / whole) * 100)
  return (
    <figure>
      <figcaption>
        {title} <span class="soft">{text}</span>
      </figcaption>
      <svg
        class="share"
        role="img"
        aria-label={`${title}: ${text}`}
        viewBox="0 0 100 6"
        preserveAspectRatio="none"
      >
        <rect class="rest" width={100} height={6} />
        <rect class="reserved" width={end(used + reserved)} height={6} />
        <g class={used >= whole ? 'bad' : ''}>
          <rect width={end(used)} height={6} />
        </g>
      </svg>
    </figure>
  )
}
