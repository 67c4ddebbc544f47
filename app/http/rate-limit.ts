// Rate limits per user and per client network: counted in memory, or in Redis for all instances together.
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyReply } from 'fastify'
import type { RateLimitReader } from '../../infra/contract/rate-limits.ts'
import {
  RateLimiterMemory,
  RateLimiterRedis,
  RateLimiterRes,
  type RateLimiterAbstract,
} from 'rate-limiter-flexible'
import { rateLimited } from '../../infra/errors.ts'
import { Pace } from './pace.ts'
import type { RedisConnection } from './redis.ts'
import { noteWait } from './waits.ts'

/** These policies limit addresses. All others limit users. */
const addressPolicies = new Set(['address', 'page', 'gateway', 'health', 'auth', 'mail', 'refresh'])

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
  /** Counts an allowed request of the client. @returns the milliseconds until it may start. */
  delay(policy: string, client: string): number
  /** Whether a request of the client would be allowed, without counting it. */
  peek(policy: string, client: string): Promise<RateLimitResult>
  /** Throws when Redis does not answer; null without Redis. */
  ping: (() => Promise<void>) | null
  close(): Promise<void>
}

export interface RateLimitsOptions {
  policies: Record<string, number>
  redisUrl: string | null
  onError?: (error: Error) => void
}

/** While Redis does not answer, each server counts by itself: limits get looser, but requests are served. */
export async function createRateLimits({
  policies,
  redisUrl,
  onError = () => {},
}: RateLimitsOptions): Promise<RateLimits> {
  const redis = redisUrl === null ? null : await connect(redisUrl, onError)
  const limiters = new Map(
    Object.entries(policies).map(([name, limit]) => {
      const options = { keyPrefix: `limit:${name}`, points: limit, duration: windowSeconds }
      const memory = new RateLimiterMemory(options)
      const shared = redis === null ? null : new RateLimiterRedis({ ...options, storeClient: redis.client })
      return [name, { policy: { name, limit }, pace: new Pace(limit), memory, shared }]
    }),
  )
  const limiterOf = (name: string) => {
    const found = limiters.get(name)
    if (found === undefined) throw new Error(`unknown rate limit policy: ${name}`)
    return found
  }
  function use<T>(name: string, work: (limiter: RateLimiterAbstract) => Promise<T>): Promise<T> {
    const { shared, memory } = limiterOf(name)
    if (redis === null || shared === null) return work(memory)
    return redis.ask(
      () => work(shared),
      () => work(memory),
    )
  }
  return {
    async consume(name, client) {
      const { policy } = limiterOf(name)
      const { allowed, counted } = await use(name, (limiter) => consume(limiter, client))
      return resultOf(allowed, policy, counted)
    },
    delay: (name, client) => limiterOf(name).pace.delay(client),
    async peek(name, client) {
      const { policy } = limiterOf(name)
      const counted =
        (await use(name, (limiter) => limiter.get(client))) ?? new RateLimiterRes(policy.limit, 0, 0)
      return resultOf(counted.remainingPoints > 0, policy, counted)
    },
    async read(userId) {
      const ofUsers = [...limiters.values()].filter(({ policy }) => !addressPolicies.has(policy.name))
      return await Promise.all(
        ofUsers.map(async ({ policy: { name, limit } }) => {
          const now = await use(name, (limiter) => limiter.get(userId))
          return {
            policy: name,
            limit,
            used: now?.consumedPoints ?? 0,
            resetAt: now === null ? null : new Date(Date.now() + now.msBeforeNext),
          }
        }),
      )
    },
    ping: redis === null ? null : () => redis.ping(),
    async close() {
      redis?.close()
    },
  }
}

/** Loads the client of Redis, which most servers do without. */
async function connect(url: string, onError: (error: Error) => void): Promise<RedisConnection> {
  const { RedisConnection } = await import('./redis.ts')
  const connection = new RedisConnection(url, onError)
  await connection.connected()
  return connection
}

/** The library throws a refusal as a RateLimiterRes, and an error of its store as an Error. */
async function consume(
  limiter: RateLimiterAbstract,
  client: string,
): Promise<{ allowed: boolean; counted: RateLimiterRes }> {
  try {
    return { allowed: true, counted: await limiter.consume(client) }
  } catch (refusal) {
    if (!(refusal instanceof RateLimiterRes)) throw refusal
    return { allowed: false, counted: refusal }
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

/**
 * Counts a request, adds the limit to its response, and waits until it may start. Throws 429 when the limit
 * is used up.
 */
export async function countRequest(
  limits: RateLimits,
  reply: FastifyReply,
  policy: string,
  client: string,
): Promise<void> {
  await requireAllowed(reply, await limits.consume(policy, client))
  const delay = limits.delay(policy, client)
  if (delay < 1) return
  noteWait(reply.request, 'pace', delay)
  await sleep(delay)
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
  throw rateLimited(result.policy, result.reset)
}

/** The header fields of draft-ietf-httpapi-ratelimit-headers. */
function setRateLimitHeaders(reply: FastifyReply, { policy, remaining, reset }: RateLimitResult): void {
  reply.header('ratelimit-policy', `"${policy.name}";q=${policy.limit};w=${windowSeconds}`)
  reply.header('ratelimit', `"${policy.name}";r=${remaining};t=${reset}`)
}
