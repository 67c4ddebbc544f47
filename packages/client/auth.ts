// Adds the credentials that an operation needs to its request.
import type { RepeatableRequest } from './retry.ts'

/** A key, a token, or a function that returns one, which is called for each call. */
export type Secret = string | (() => string | Promise<string>)

/** A user name and a password, or a function that returns them. */
export type BasicSecret = BasicCredentials | (() => BasicCredentials | Promise<BasicCredentials>)

export interface BasicCredentials {
  username: string
  password: string
}

/** The credentials by the names of the security schemes. */
export type Auth = Record<string, Secret | BasicSecret | null | undefined>

/** Where the credentials of a security scheme go. */
export interface SchemePlace {
  in: 'header' | 'query' | 'cookie'
  name: string
  scheme: 'bearer' | 'basic' | 'plain'
}

/**
 * @param alternatives the names of the schemes that the operation accepts; the first alternative with all
 * its credentials is used.
 * @returns the request, or a new one if its URL has changed.
 */
export async function withCredentials(
  request: RepeatableRequest,
  alternatives: readonly string[][],
  { auth, schemes }: { auth: Auth; schemes: Record<string, SchemePlace> },
): Promise<RepeatableRequest> {
  const has = (name: string): boolean => auth[name] !== undefined && auth[name] !== null
  const chosen = alternatives.find((names) => names.length > 0 && names.every(has)) ?? []
  let result = request
  for (const name of chosen) {
    const place = schemes[name]
    const given = auth[name]!
    const secret = typeof given === 'function' ? await given() : given
    result = put(result, place, textOf(secret, place.scheme))
  }
  return result
}

function put(request: RepeatableRequest, { in: where, name }: SchemePlace, text: string): RepeatableRequest {
  const { headers } = request
  if (where === 'header' && !headers.has(name)) headers.set(name, text)
  if (where === 'cookie') {
    const cookie = `${encodeURIComponent(name)}=${encodeURIComponent(text)}`
    headers.set('cookie', [headers.get('cookie'), cookie].filter((each) => each !== null).join('; '))
  }
  if (where !== 'query') return request
  const url = new URL(request.url)
  const parameter = `${encodeURIComponent(name)}=${encodeURIComponent(text)}`
  url.search = url.search === '' ? parameter : `${url.search}&${parameter}`
  return request.at(url.href)
}

function textOf(secret: string | BasicCredentials, scheme: SchemePlace['scheme']): string {
  if (typeof secret !== 'string') {
    const bytes = new TextEncoder().encode(`${secret.username}:${secret.password}`)
    return `Basic ${btoa(String.fromCharCode(...bytes))}`
  }
  return scheme === 'bearer' ? `Bearer ${secret}` : secret
}
