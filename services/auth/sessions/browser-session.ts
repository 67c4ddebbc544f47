// The session of a browser, by its cookie.
import type { Config } from '../../../infra/config/config.ts'
import type { Principal, Principals } from '../../users/authentication.ts'
import { readSessionCookie } from './cookies.ts'

/** Null without a cookie, or if its session has ended. */
export async function findBrowserSession(
  principals: Principals,
  config: Readonly<Pick<Config, 'publicUrl'>>,
  headers: object,
): Promise<Principal | null> {
  const cookie = readSessionCookie(config, (headers as { cookie?: string }).cookie)
  if (cookie === undefined) return null
  return await principals.authenticateCookie(cookie).catch((error) => {
    if (error.status !== 401) throw error
    return null
  })
}
