// The 429 for work with a model when a budget is used up, from the error of the function `reserve_budgets`.
import type { ConstraintError } from '../../infra/database/errors.ts'
import { ApiError } from '../../infra/errors.ts'

interface Reached {
  id: string
  unit: string
  amount: number
  /** In millionths for money. */
  used: number
  resets_at: string | null
}

/** A budget is used up, or reserved by answers in progress. */
export class BudgetReached extends ApiError {
  /** When work can start again by itself; null if the budget has no periods. */
  readonly resetsAt: Date | null

  constructor({ id, unit, amount, used, resets_at: resetsAt }: Reached) {
    const seconds =
      resetsAt === null ? null : Math.max(1, Math.ceil((Date.parse(resetsAt) - Date.now()) / 1000))
    super(
      429,
      'RATE_LIMITED',
      `The budget ${id} is used or reserved by answers in progress.`,
      {
        constraint: 'budget',
        limit: {
          name: id,
          limit: Math.round(unit === 'money' ? amount * 1_000_000 : amount),
          used: Math.round(used),
          resets_at: resetsAt,
        },
      },
      seconds === null ? {} : { 'retry-after': String(seconds) },
    )
    this.resetsAt = resetsAt === null ? null : new Date(resetsAt)
  }
}

const message = 'budget reached: '

/** The error of an enforced budget. */
export const budgetErrors: ConstraintError[] = [
  {
    constraint: 'budget',
    message,
    error(text) {
      const [, json] = /budget reached: (\{.*?\})/.exec(text) ?? []
      return new BudgetReached(JSON.parse(json!) as Reached)
    },
  },
]
