// How the rate limits of the HTTP layer are read.

/** Requests of a user in the present window of a rate limit. */
export interface RateLimitUse {
  policy: string
  limit: number
  used: number
  /** When the window ends; null before its first request. */
  resetAt: Date | null
}

export interface RateLimitReader {
  /** The use of each policy that is counted by user. */
  read(userId: string): Promise<RateLimitUse[]>
}
