// The kinds of settings: each turns the text of an environment variable into a value, or throws a
// ConfigError.
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { hostsOf, HostsError, withTarget, type Target } from '../database/hosts.ts'

/** A setting that cannot be used. The message names the variable and the values that it takes. */
export class ConfigError extends Error {}

interface Documentation {
  /** The text in .env.example and docs/configuration.md. Line breaks count as spaces. */
  description: string
  /** The documentation of a default that is not a constant. */
  defaultText?: string
  /** Shown in .env.example when there is no constant default. */
  example?: string
  /** Whether the value is a secret, which messages must not repeat. */
  secret?: boolean
}

export interface Setting<T> extends Documentation {
  variable: string
  /** The value, as text, when the variable is not set or empty. With null the setting is null. */
  default: string | null
  /** @throws ConfigError */
  parse(text: string): T
}

interface Options<Default> extends Documentation {
  /** Leave it out for an optional setting. */
  default?: Default
}

function setting<T>(
  variable: string,
  { description, defaultText, example, secret, ...options }: Options<string | number | boolean>,
  parse: (text: string) => T,
): Setting<T> {
  const fallback = options.default === undefined ? null : String(options.default)
  const sentence = description.replace(/\s+/g, ' ').trim()
  return { variable, description: sentence, defaultText, example, secret, default: fallback, parse }
}

/** A setting without a default: null when the variable is not set. */
export function optional<T>(inner: Setting<T>): Setting<T | null> {
  return inner
}

interface Rule {
  isValid(value: string): boolean
  /** Completes the sentence "VARIABLE must …". */
  rule: string
}

/** Text, optionally with a rule. The error message does not repeat the value. */
export function text(
  variable: string,
  { isValid = () => true, rule, ...options }: Options<string> & Partial<Rule>,
): Setting<string> {
  return setting(variable, options, (value) => {
    if (!isValid(value)) throw new ConfigError(`${variable} must ${rule}.`)
    return value
  })
}

/** A path of the file system, as an absolute path. */
export function path(variable: string, options: Options<string>): Setting<string> {
  return setting(variable, options, (value) => resolve(value))
}

export function integer(
  variable: string,
  { min, max, ...options }: Options<number> & { min: number; max: number },
): Setting<number> {
  return setting(variable, options, (value) => {
    if (!/^\d+$/.test(value) || Number(value) < min || Number(value) > max)
      throw new ConfigError(`${variable} must be a whole number from ${min} to ${max}, not \`${value}\`.`)
    return Number(value)
  })
}

export function oneOf<T extends string>(
  variable: string,
  { values, ...options }: Options<NoInfer<T>> & { values: readonly T[] },
): Setting<T> {
  return setting(variable, options, (value) => requireOneOf(variable, value, values))
}

/** @throws ConfigError unless the value is one of `values`. */
export function requireOneOf<T extends string>(variable: string, value: string, values: readonly T[]): T {
  if (!(values as readonly string[]).includes(value))
    throw new ConfigError(`${variable} must be one of ${values.join(', ')}, not \`${value}\`.`)
  return value as T
}

export function boolean(variable: string, options: Options<boolean>): Setting<boolean> {
  return setting(variable, options, (value) => requireOneOf(variable, value, ['true', 'false']) === 'true')
}

/** A URL with one of the schemes. It may contain a password, so the message does not repeat it. */
export function url(
  variable: string,
  { schemes, ...options }: Options<string> & { schemes: string[] },
): Setting<string> {
  return setting(variable, options, (value) => {
    if (!URL.canParse(value) || !schemes.includes(new URL(value).protocol.slice(0, -1))) {
      const starts = schemes.map((scheme) => `${scheme}://`).join(' or ')
      throw new ConfigError(`${variable} must be an address that starts with ${starts}.`)
    }
    return value
  })
}

/**
 * A URL of PostgreSQL. With several hosts it is returned in the form that `new URL` can parse, and with the
 * default of `target_session_attrs`.
 */
export function databaseUrl(
  variable: string,
  { targets, ...options }: Options<string> & { targets: readonly [Target, ...Target[]] },
): Setting<string> {
  const { parse, ...rest } = url(variable, { ...options, schemes: ['postgres', 'postgresql'] })
  return {
    ...rest,
    parse(value) {
      try {
        const target = hostsOf(value)?.target ?? targets[0]
        if (!targets.includes(target))
          throw new HostsError(`takes target_session_attrs=${targets.join(', ')}, not ${target}.`)
        return parse(withTarget(value, targets[0]))
      } catch (error) {
        throw error instanceof HostsError ? new ConfigError(`${variable} ${error.message}`) : error
      }
    },
  }
}

/** The address of a server: an HTTP URL without query and fragment, returned without a slash at the end. */
export function serverUrl(variable: string, options: Options<string>): Setting<string> {
  const { parse, ...rest } = url(variable, { ...options, schemes: ['http', 'https'] })
  return {
    ...rest,
    parse(value) {
      if (/[?#]/.test(parse(value))) throw new ConfigError(`${variable} must have no query and no fragment.`)
      return value.replace(/\/+$/, '')
    },
  }
}

/** IP addresses and ranges, separated by commas, as ranges in CIDR notation. */
export function networks(variable: string, options: Options<string>): Setting<string[]> {
  return list(variable, options, (item) => {
    const [address, bits, ...rest] = item.split('/')
    const maxBits = isIP(address) === 4 ? 32 : isIP(address) === 6 ? 128 : -1
    const isRange = bits !== undefined
    if (maxBits === -1 || rest.length > 0 || (isRange && (!/^\d{1,3}$/.test(bits) || Number(bits) > maxBits)))
      throw new ConfigError(`${variable} takes addresses and ranges such as 10.0.0.0/8, not \`${item}\`.`)
    return isRange ? item : `${address}/${maxBits}`
  })
}

export interface PortRange {
  from: number
  to: number
}

/** Ports and ranges of ports, separated by commas. */
export function ports(
  variable: string,
  options: Options<string> & { default: string },
): Setting<PortRange[]> {
  return setting(variable, options, (value) =>
    value.split(',').map((item) => {
      const [from, to = from] = item.trim().split('-', 2).map(Number)
      const isRange = /^ *\d+(-\d+)? *$/.test(item) && from! >= 1 && from! <= to! && to! <= 65_535
      if (!isRange)
        throw new ConfigError(`${variable} takes ports and ranges such as 8000-9999, not \`${item}\`.`)
      return { from: from!, to: to! }
    }),
  )
}

/** Web origins, separated by commas. */
export function origins(variable: string, options: Options<string>): Setting<string[]> {
  return list(variable, options, (item) => {
    if (!URL.canParse(item) || new URL(item).origin !== item)
      throw new ConfigError(`${variable} takes origins such as https://app.example.com, not \`${item}\`.`)
    return item
  })
}

/** Ascending numbers of days, separated by commas. */
export function days(variable: string, options: Options<string> & { default: string }): Setting<number[]> {
  return setting(variable, options, (value) => {
    const numbers = value.split(',').map(Number)
    if (numbers.some((n, i) => !Number.isInteger(n) || n < 1 || n > 365 || n <= (numbers[i - 1] ?? 0)))
      throw new ConfigError(`${variable} takes ascending numbers of days such as 1,3,7, not \`${value}\`.`)
    return numbers
  })
}

/** Host names or IP addresses, each with its port unless that is 80. */
export function hosts(variable: string, options: Options<string>): Setting<string[]> {
  return list(variable, options, (item) => {
    const { host, href } = URL.parse(`http://${item}`) ?? {}
    if (host === undefined || href !== `http://${host}/`)
      throw new ConfigError(`${variable} takes hosts such as platform.internal:3000, not \`${item}\`.`)
    return host
  })
}

/** URLs of web pages. */
export function urls(variable: string, options: Options<string>): Setting<string[]> {
  return list(variable, options, (item) => {
    if (!/^https?:$/.test(URL.parse(item)?.protocol ?? ''))
      throw new ConfigError(`${variable} takes URLs such as https://app.example.com/page, not \`${item}\`.`)
    return item
  })
}

function list<T>(variable: string, options: Options<string>, parseItem: (item: string) => T): Setting<T[]> {
  return setting(variable, { defaultText: 'none', ...options, default: '' }, (value) =>
    value
      .split(',')
      .map((item) => item.trim())
      .filter(Boolean)
      .map(parseItem),
  )
}

/** A notation of its own, such as JSON. `parse` throws a ConfigError. */
export function parsed<T>(
  variable: string,
  { parse, ...options }: Options<string> & { parse(text: string): T },
): Setting<T> {
  return setting(variable, options, parse)
}

export type Environment = Record<string, string | undefined>

type Table = Record<string, Setting<unknown>>

/** The values of a table of settings, by the names in the table. */
export type Values<T extends Table> = { [Name in keyof T]: T[Name] extends Setting<infer V> ? V : never }

/** @throws ConfigError for the first variable that cannot be used. */
export function readSettings<T extends Table>(settings: T, env: Environment): Values<T> {
  const entries = Object.entries(settings).map(([name, setting]) => {
    const value = textOf(setting, env) || setting.default
    return [name, value === null ? null : setting.parse(value)]
  })
  return Object.fromEntries(entries) as Values<T>
}

/** The value of the variable, or of a secret the text of the file that `VARIABLE_FILE` names. */
function textOf({ variable, secret = false }: Setting<unknown>, env: Environment): string | undefined {
  const value = env[variable]?.trim()
  const file = secret ? env[`${variable}_FILE`]?.trim() : undefined
  if (!file) return value
  if (value) throw new ConfigError(`Set ${variable} or ${variable}_FILE, not both.`)
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw new ConfigError(`${variable}_FILE cannot be read: ${(error as Error).message}.`)
  }
}
