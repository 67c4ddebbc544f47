// The performance goals of the project, and which of them are met.
import { table } from './table.ts'

export interface Goal {
  name: string
  /** Such as "≥ 0.80". */
  goal: string
  value: string
  met: boolean
  /** Where the time is spent, printed when the goal is missed. */
  timeSpent: string
}

/** The output of a benchmark. */
export interface Result {
  text: string
  goals: Goal[]
}

interface Bound {
  name: string
  value: number
  unit?: string
  digits?: number
  timeSpent: string
}

export function atLeast(bound: number, { name, value, unit = '', digits = 2, timeSpent }: Bound): Goal {
  return {
    name,
    goal: `≥ ${shown(bound, digits)}${unit}`,
    value: `${shown(value, digits)}${unit}`,
    met: value >= bound,
    timeSpent,
  }
}

export function atMost(bound: number, { name, value, unit = '', digits = 2, timeSpent }: Bound): Goal {
  return {
    name,
    goal: `≤ ${shown(bound, digits)}${unit}`,
    value: `${shown(value, digits)}${unit}`,
    met: value <= bound,
    timeSpent,
  }
}

function shown(value: number, digits: number): string {
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

export function goalTable(goals: Goal[]): string {
  const rows = goals.map(({ name, goal, value, met }) => [name, goal, value, met ? 'yes' : 'no'])
  const missed = goals.filter(({ met }) => !met).map(({ name, timeSpent }) => `- ${name}: ${timeSpent}`)
  const why = missed.length > 0 ? ['', 'Time spent where a goal is missed:', '', ...missed] : []
  return [table(['', 'goal', 'value', 'met'], rows), ...why].join('\n')
}
