// Rate limits per user and per client network: counted in memory, or in Redis for all instances together.
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyReply } from 'fastify'
import { Redis } from 'ioredis'
import type { RateLimitReader } from '../../infra/contract/rate-limits.ts'
import {
  RateLimiterMemory,
  RateLimiterRedis,
  RateLimiterRes,
  type RateLimiterAbstract,
} from 'rate-limiter-flexible'
import { rateLimited } from '../../infra/errors.ts'

/** These policies limit addresses. All others limit users. */
const addressPolicies = new Set(['address', 'page', 'gateway', 'health'])

export interface Policy {
  name: string
  limit: number
}
export interface RateLimitResult {
  allowed: boolean
  policy: Policy
  remaining: number
  /** The requests over the limit in the present window. */
  excess: number
  /** Seconds until the window ends. */
  reset: number
}

/** The window of every policy, in seconds. */
const windowSeconds = 60

export interface RateLimits extends RateLimitReader {
  /** Counts one request of a client (a user id or a network) against the policy. */
  consume(policy: string, client: string): Promise<RateLimitResult>
  /** Whether a request of the client would be allowed, without counting it. */
  peek(policy: string, client: string): Promise<RateLimitResult>
  close(): Promise<void>
}

export interface RateLimitsOptions {
  policies: Record<string, number>
  redisUrl: string | null
  onError?: (error: Error) => void
}

/**
 * While Redis is unreachable, each instance counts by itself: limits get looser, but requests are still
 * served.
 */
export function createRateLimits({ policies, redisUrl, onError = () => {} }: RateLimitsOptions): RateLimits {
  const redis =
    redisUrl === null
      ? null
      : new Redis(redisUrl, {
          enableOfflineQueue: false,
          maxRetriesPerRequest: 1,
          connectTimeout: 2_000,
          commandTimeout: 1_000,
        })
  // Reported once per outage, not for each reconnection attempt.
  let reachable = true
  redis?.on('ready', () => {
    reachable = true
  })
  redis?.on('error', (error) => {
    if (reachable)
      onError(
        new Error('Redis is unreachable; each server counts rate limits by itself until it is back', {
          cause: error,
        }),
      )
    reachable = false
  })
  // The first requests wait until the first connection succeeds or fails; otherwise a server that has just
  // started would count them by itself.
  const firstConnection =
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
  const limiterOf = async (name: string) => {
    const found = limiters.get(name)
    if (found === undefined) throw new Error(`unknown rate limit policy: ${name}`)
    if (firstConnection !== null) await firstConnection
    return found
  }
  return {
    async consume(name, client) {
      const { limiter, policy } = await limiterOf(name)
      try {
        return resultOf(true, policy, await limiter.consume(client))
      } catch (refusal) {
        if (!(refusal instanceof RateLimiterRes)) throw refusal
        return resultOf(false, policy, refusal)
      }
    },
    async peek(name, client) {
      const { limiter, policy } = await limiterOf(name)
      const counted = (await limiter.get(client)) ?? new RateLimiterRes(policy.limit, 0, 0)
      return resultOf(counted.remainingPoints > 0, policy, counted)
    },
    async read(userId) {
      const names = [...limiters.keys()].filter((name) => !addressPolicies.has(name))
      return await Promise.all(
        names.map(async (name) => {
          const {
            limiter,
            policy: { limit },
          } = await limiterOf(name)
          const now = await limiter.get(userId)
          return {
            policy: name,
            limit,
            used: now?.consumedPoints ?? 0,
            resetAt: now === null ? null : new Date(Date.now() + now.msBeforeNext),
          }
        }),
      )
    },
    async close() {
      redis?.disconnect()
    },
  }
}

function resultOf(allowed: boolean, policy: Policy, result: RateLimiterRes): RateLimitResult {
  return {
    allowed,
    policy,
    remaining: Math.max(0, result.remainingPoints),
    excess: Math.max(0, result.consumedPoints - policy.limit),
    reset: Math.max(1, Math.ceil(result.msBeforeNext / 1000)),
  }
}

/** Counts a request, and adds the limit to its response. Throws 429 when the limit is used up. */
export async function countRequest(
  limits: RateLimits,
  reply: FastifyReply,
  policy: string,
  client: string,
): Promise<void> {
  await requireAllowed(reply, await limits.consume(policy, client))
}

/** The refusals in a window that are sent at once, and the milliseconds that each further one waits. */
const promptRefusals = 100
const refusalDelayMs = 300

/**
 * Adds the limit to the response. Throws 429 when it is used up. A client that sends its next request after
 * each refusal would take the CPU from others, so from some number on its refusals are sent late.
 */
export async function requireAllowed(reply: FastifyReply, result: RateLimitResult): Promise<void> {
  setRateLimitHeaders(reply, result)
  if (result.allowed) return
  if (result.excess > promptRefusals) await sleep(refusalDelayMs)
  throw rateLimited(result.reset)
}

/** The header fields of draft-ietf-httpapi-ratelimit-headers. */
function setRateLimitHeaders(reply: FastifyReply, { policy, remaining, reset }: RateLimitResult): void {
  reply.header('ratelimit-policy', `"${policy.name}";q=${policy.limit};w=${windowSeconds}`)
  reply.header('ratelimit', `"${policy.name}";r=${remaining};t=${reset}`)
}
