// How many requests a minute each key and each address may make: counted in memory, or in Redis for all instances.
import { Redis } from 'ioredis'
import {
  RateLimiterMemory,
  RateLimiterRedis,
  RateLimiterRes,
  type RateLimiterAbstract,
} from 'rate-limiter-flexible'

export interface Policy {
  name: string
  limit: number
}
export interface Verdict {
  allowed: boolean
  policy: Policy
  remaining: number
  /** Seconds until the window ends. */
  reset: number
}

/** The window of every policy, in seconds. */
export const windowSeconds = 60

export interface Limits {
  /** Counts one request of `who` against the policy. */
  consume(policy: string, who: string): Promise<Verdict>
  close(): Promise<void>
}

export interface LimitsOptions {
  policies: Record<string, number>
  redisUrl: string | null
  onError?: (error: Error) => void
}

/**
 * With Redis out of reach each instance counts for itself, so that neither everyone is refused nor anyone unlimited.
 */
export function createLimits({ policies, redisUrl, onError = () => {} }: LimitsOptions): Limits {
  const redis =
    redisUrl === null
      ? null
      : new Redis(redisUrl, {
          enableOfflineQueue: false,
          maxRetriesPerRequest: 1,
          connectTimeout: 2_000,
          commandTimeout: 1_000,
        })
  // Told once for each loss, not for each try to come back.
  let reachable = true
  redis?.on('ready', () => {
    reachable = true
  })
  redis?.on('error', (error) => {
    if (reachable)
      onError(
        new Error('Redis cannot be reached; until it is back each server counts rate limits for itself', {
          cause: error,
        }),
      )
    reachable = false
  })
  // The first requests wait for the first connection, or its failure: else a server that has just started would count them for itself.
  const tried =
    redis === null
      ? null
      : new Promise<void>((resolve) => {
          redis.once('ready', resolve).once('close', resolve)
        })
  const limiters = new Map<string, { policy: Policy; limiter: RateLimiterAbstract }>()
  for (const [name, limit] of Object.entries(policies)) {
    const memory = new RateLimiterMemory({ points: limit, duration: windowSeconds })
    limiters.set(name, {
      policy: { name, limit },
      limiter:
        redis === null
          ? memory
          : new RateLimiterRedis({
              storeClient: redis,
              keyPrefix: `limit:${name}`,
              points: limit,
              duration: windowSeconds,
              insuranceLimiter: memory,
            }),
    })
  }
  return {
    async consume(name, who) {
      const found = limiters.get(name)
      if (found === undefined) throw new Error(`there is no rate limit ${name}`)
      const { limiter, policy } = found
      if (tried !== null) await tried
      try {
        return verdict(true, policy, await limiter.consume(who))
      } catch (refusal) {
        if (!(refusal instanceof RateLimiterRes)) throw refusal
        return verdict(false, policy, refusal)
      }
    },
    async close() {
      redis?.disconnect()
    },
  }
}

function verdict(allowed: boolean, policy: Policy, result: RateLimiterRes): Verdict {
  return {
    allowed,
    policy,
    remaining: Math.max(0, result.remainingPoints),
    reset: Math.max(1, Math.ceil(result.msBeforeNext / 1000)),
  }
}
