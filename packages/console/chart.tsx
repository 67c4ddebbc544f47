// Bars by day, and the part of a limit that is used.
import { count } from './value.tsx'

/** Height and width of a bar in the units of the drawing. */
const [height, width] = [60, 10]

interface ChartProps {
  title: string
  /** What the bars say together. */
  text: string
  labels: string[]
  values: number[]
  /** The part of each value that is bad. */
  bad?: number[]
}

export function Chart({ title, text, labels, values, bad = [] }: ChartProps) {
  const unit = height / Math.max(1e-12, ...values)
  const bar = (value: number, i: number) => (
    <rect key={i} x={i * width + 1} y={height - value * unit} width={width - 2} height={value * unit}>
      <title>{`${labels[i]}: ${count(value)}`}</title>
    </rect>
  )
  return (
    <figure>
      <figcaption>
        {title} <span class="soft">{text}</span>
      </figcaption>
      <svg
        role="img"
        aria-label={`${title} by day: ${text}`}
        viewBox={`0 0 ${values.length * width} ${height}`}
        preserveAspectRatio="none"
      >
        {values.map(bar)}
        <g class="bad">{bad.map(bar)}</g>
      </svg>
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
