// The tokens of sessions and of e-mails. Tokens of sessions are signed with SECRET_KEY and not stored. The
// cookie of a browser's session has a token, too. Tokens of e-mails are random, and stored as SHA-256.
import { hash, randomBytes } from 'node:crypto'
import type { Cipher } from './cipher.ts'

const accessStart = 'plat_access_'
const refreshStart = 'plat_refresh_'
const accessFormat = /^plat_access_((ses_[0-9a-z]{26})\.(\d{10,12}))\.([0-9A-Za-z_-]{43})$/
const refreshFormat = /^plat_refresh_((ses_[0-9a-z]{26})\.(\d{1,9}))\.([0-9A-Za-z_-]{43})$/
const cookieFormat = /^(ses_[0-9a-z]{26})\.([0-9A-Za-z_-]{43})$/

export function isAccessToken(text: string): boolean {
  return text.startsWith(accessStart)
}

/** @param expiresAt seconds since 1970 */
export function newAccessToken(cipher: Cipher, sessionId: string, expiresAt: number): string {
  const claims = `${sessionId}.${expiresAt}`
  return `${accessStart}${claims}.${cipher.sign(claims, 'access token')}`
}

/** The session of an access token, and when the token expires; null if it was not made by this platform. */
export function readAccessToken(
  cipher: Pick<Cipher, 'verify'>,
  token: string,
): { sessionId: string; expiresAt: number } | null {
  const [, claims, sessionId, expiresAt, signature] = accessFormat.exec(token) ?? []
  if (claims === undefined || !cipher.verify(claims, 'access token', signature)) return null
  return { sessionId, expiresAt: Number(expiresAt) }
}

export function newRefreshToken(cipher: Cipher, sessionId: string, generation: number): string {
  const claims = `${sessionId}.${generation}`
  return `${refreshStart}${claims}.${cipher.sign(claims, 'refresh token')}`
}

/** The session of a refresh token and its number; null if it was not made by this platform. */
export function readRefreshToken(
  cipher: Cipher,
  token: string,
): { sessionId: string; generation: number } | null {
  const [, claims, sessionId, generation, signature] = refreshFormat.exec(token) ?? []
  if (claims === undefined || !cipher.verify(claims, 'refresh token', signature)) return null
  return { sessionId, generation: Number(generation) }
}

export function newCookieToken(cipher: Cipher, sessionId: string): string {
  return `${sessionId}.${cipher.sign(sessionId, 'cookie')}`
}

/** The session of a cookie; null if it was not made by this platform. */
export function readCookieToken(cipher: Pick<Cipher, 'verify'>, token: string): string | null {
  const [, sessionId, signature] = cookieFormat.exec(token) ?? []
  return sessionId !== undefined && cipher.verify(sessionId, 'cookie', signature) ? sessionId : null
}

export function newOneTimeToken(): string {
  return `plat_once_${randomBytes(32).toString('base64url')}`
}

/** SHA-256 in lower-case hex. */
export function tokenDigest(token: string): string {
  return hash('sha256', token, 'hex')
}
