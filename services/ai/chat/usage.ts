// What a key has used of the models on a day (UTC): counted with every answer, cut off or not, in the transaction that ends it.
import type { Db } from '../../../infra/database/database.ts'
import { statement } from '../../../infra/database/statements.ts'

export interface Spent {
  promptTokens: number
  completionTokens: number
  /** Millionths of the currency of the configured prices. */
  costMicros: number
}

/** Prices are per million tokens. */
export function costOf(
  { promptTokens, completionTokens }: Omit<Spent, 'costMicros'>,
  price: { input: number; output: number } | null,
): number {
  return price === null ? 0 : Math.round(promptTokens * price.input + completionTokens * price.output)
}

const today = "(now() AT TIME ZONE 'UTC')::date"

const add = statement(`
  INSERT INTO ai_usage AS u (api_key_id, day, requests, prompt_tokens, completion_tokens, cost_micros) VALUES ($1, ${today}, 1, $2, $3, $4)
  ON CONFLICT (api_key_id, day) DO UPDATE SET requests = u.requests + 1, prompt_tokens = u.prompt_tokens + $2,
    completion_tokens = u.completion_tokens + $3, cost_micros = u.cost_micros + $4`)

export async function addUsage(
  tx: Db,
  keyId: string,
  { promptTokens, completionTokens, costMicros }: Spent,
): Promise<void> {
  await tx.sql(add, [keyId, promptTokens, completionTokens, costMicros])
}

export interface DayUsage {
  day: string
  requests: number
  prompt_tokens: number
  completion_tokens: number
  cost_micros: number
}

const read = statement<DayUsage>(`
  SELECT ${today}::text AS day, coalesce(u.requests, 0) AS requests, coalesce(u.prompt_tokens, 0) AS prompt_tokens,
    coalesce(u.completion_tokens, 0) AS completion_tokens, coalesce(u.cost_micros, 0) AS cost_micros
  FROM (SELECT 1) AS one LEFT JOIN ai_usage u ON u.api_key_id = $1 AND u.day = ${today}`)

export async function usageToday(db: Db, keyId: string): Promise<DayUsage> {
  const [usage] = await db.sql(read, [keyId])
  return usage
}
