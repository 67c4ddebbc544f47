// Reads settings that are JSON. Errors name the place in the JSON but never repeat its values, which may be
// secrets.
import { ConfigError } from './setting.ts'

export type Fields = Record<string, unknown>

/** The readers of the parts of a variable. `at` is the place in the JSON, for example `[0].name`. */
export function jsonReader(variable: string) {
  return { parseJson, invalid, requireUnique, list, object, word, address, count, optionalCount }

  function parseJson(json: string): unknown {
    try {
      return JSON.parse(json)
    } catch {
      throw invalid('', 'be a JSON array')
    }
  }

  function invalid(at: string, rule: string): ConfigError {
    return new ConfigError(`${variable}${at} must ${rule}.`)
  }

  function requireUnique(values: string[], message: string): void {
    if (new Set(values).size < values.length) throw new ConfigError(`${variable}: ${message}.`)
  }

  function list(value: unknown, at: string): unknown[] {
    if (!Array.isArray(value)) throw invalid(at, 'be a JSON array')
    return value
  }

  function object(value: unknown, at: string, known: string[]): Fields {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid(at, 'be an object')
    if (Object.keys(value).some((key) => !known.includes(key)))
      throw invalid(at, `have no fields other than ${known.join(', ')}`)
    return value as Fields
  }

  function word(value: unknown, at: string, max = 200): string {
    if (typeof value !== 'string' || value.length > max || !/^[!-~]+$/.test(value))
      throw invalid(at, `be 1 to ${max} printable ASCII characters without spaces`)
    return value
  }

  function address(value: unknown, at: string): string {
    const url = typeof value === 'string' ? URL.parse(value) : null
    if (url === null || !/^https?:$/.test(url.protocol))
      throw invalid(at, 'be an address that starts with http:// or https://')
    if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
      throw invalid(at, 'have no user, query or fragment')
    return url.href.replace(/\/+$/, '')
  }

  function count(value: unknown, at: string, max = 1_000_000_000): number {
    if (!Number.isInteger(value) || (value as number) < 1 || (value as number) > max)
      throw invalid(at, `be a whole number from 1 to ${max}`)
    return value as number
  }

  function optionalCount(value: unknown, at: string): number | null {
    return value === undefined ? null : count(value, at)
  }
}
