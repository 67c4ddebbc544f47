// The configuration file of all commands: `toolkit.config.ts`, `.mts`, `.js` or `.json` in the working
// folder, or the file of `--config`. Options of the command line take precedence.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

/** A change of `changes` that is accepted. */
export interface AcceptedBreak {
  /** Such as `GET /pets`. */
  subject: string
  rule: string
  /** A part of the change's message, where a rule applies to several changes. */
  message?: string
  reason: string
  /** The last day, such as `2027-06-30`. */
  until: string
}

/** The level of a rule; `off` needs a reason. */
export type RuleLevel = 'error' | 'warning' | readonly [level: 'error' | 'warning' | 'off', reason: string]

/** All paths are relative to the file. */
export interface Config {
  lint?: {
    /** A module that exports a `profile`. */
    profile?: string
    rules?: Record<string, RuleLevel>
  }
  generate?: {
    /** The folder of the handlers inside the server's folder; default `handlers`. */
    handlers?: string
    /** Names of operations, by the operationId or as `GET /pets`. */
    operations?: Record<string, string>
    /** Names of types, by the name of the schema. */
    types?: Record<string, string>
    /** The server does not validate formats. */
    noFormats?: boolean
    /** The most bytes of a request's body; default 1,048,576. */
    bodyLimit?: number
  }
  mock?: { profile?: string }
  contract?: {
    profile?: string
    /** The checks that are off, each with its reason. */
    checks?: Record<string, string>
    /** The operations that need not succeed in a run. */
    mayFail?: readonly string[]
  }
  changes?: {
    profile?: string
    /** The list, or a JSON file with it. */
    accepted?: readonly AcceptedBreak[] | string
  }
}

/** The file is missing, cannot be read, or has something that no command knows. */
export class ConfigError extends Error {}

/** For `parseArgs`. */
export const configOption = { config: { type: 'string' } } as const

const names = ['ts', 'mts', 'js', 'json'].map((extension) => `toolkit.config.${extension}`)

/**
 * @param given the value of `--config`. Without it and without a file, the configuration is empty.
 * @throws ConfigError
 */
export async function loadConfig(given?: string, folder = process.cwd()): Promise<Config> {
  const found = names.filter((name) => existsSync(resolve(folder, name)))
  if (given === undefined && found.length > 1)
    throw new ConfigError(`There must be one configuration file, not ${found.join(' and ')}.`)
  const [name = found[0]] = given === undefined ? [] : [given]
  if (name === undefined) return {}
  const file = resolve(folder, name)
  if (!existsSync(file)) throw new ConfigError(`There is no configuration file ${name}.`)
  const config = await contentOf(file, name)
  requireConfig(config, name)
  return withPaths(config as Config, dirname(file))
}

async function contentOf(file: string, name: string): Promise<unknown> {
  try {
    if (file.endsWith('.json')) return JSON.parse(readFileSync(file, 'utf8'))
    return ((await import(pathToFileURL(file).href)) as { default?: unknown }).default
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ERR_UNKNOWN_FILE_EXTENSION')
      throw new ConfigError(
        `${name} needs Node.js 22.18 or newer, and this is ${process.version}: write it as .js or .json.`,
      )
    throw new ConfigError(`${name}: ${message.split('\n')[0]}`)
  }
}

type Requirement = 'text' | 'texts' | 'flag' | 'size' | 'levels' | 'list' | 'accepted'

const sections: Record<string, Record<string, Requirement>> = {
  lint: { profile: 'text', rules: 'levels' },
  generate: { handlers: 'text', operations: 'texts', types: 'texts', noFormats: 'flag', bodyLimit: 'size' },
  mock: { profile: 'text' },
  contract: { profile: 'text', checks: 'texts', mayFail: 'list' },
  changes: { profile: 'text', accepted: 'accepted' },
}

const isText = (value: unknown): boolean => typeof value === 'string' && value.trim() !== ''
const isMap = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const requirements: Record<Requirement, [describes: string, isMet: (value: unknown) => boolean]> = {
  text: ['a text', isText],
  texts: ['an object of texts', (value) => isMap(value) && Object.values(value).every(isText)],
  flag: ['true or false', (value) => typeof value === 'boolean'],
  size: ['a positive integer', (value) => Number.isSafeInteger(value) && (value as number) > 0],
  levels: [
    "an object of levels: 'error', 'warning', or [level, reason]; 'off' needs a reason",
    (value) => isMap(value) && Object.values(value).every(isLevel),
  ],
  list: ['a list of texts', (value) => Array.isArray(value) && value.every(isText)],
  accepted: ['a list or the path of one', (value) => Array.isArray(value) || isText(value)],
}

function isLevel(value: unknown): boolean {
  if (!Array.isArray(value)) return value === 'error' || value === 'warning'
  return value.length === 2 && ['error', 'warning', 'off'].includes(value[0]) && isText(value[1])
}

function requireConfig(config: unknown, name: string): void {
  if (!isMap(config)) throw new ConfigError(`${name} must export the configuration as its default.`)
  requireKnown(Object.keys(config), Object.keys(sections), `the key of ${name}`)
  for (const [section, own] of Object.entries<unknown>(config as never)) {
    const known = sections[section]
    if (!isMap(own)) throw new ConfigError(`${name}: ${section} must be an object.`)
    requireKnown(Object.keys(own), Object.keys(known), `the key of ${section} in ${name}`)
    for (const [key, value] of Object.entries<unknown>(own as never)) {
      const [describes, isMet] = requirements[known[key]]
      if (value !== undefined && !isMet(value))
        throw new ConfigError(`${name}: ${section}.${key} must be ${describes}.`)
    }
  }
}

/** @throws ConfigError for a name that is not known, with the one that is nearest. */
export function requireKnown(given: Iterable<string>, known: Iterable<string>, what: string): void {
  const all = [...known]
  for (const name of given) {
    if (all.includes(name)) continue
    const [nearest] = all.toSorted((a, b) => distance(name, a) - distance(name, b))
    const isNear = nearest !== undefined && distance(name, nearest) <= Math.max(2, name.length / 3)
    const hint = isNear ? `Did you mean ${nearest}?` : `There are ${all.join(', ')}.`
    throw new ConfigError(`${name} is not ${what}. ${hint}`)
  }
}

/** How many characters to add, remove or replace (Levenshtein). */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i)
  for (const [i, char] of [...from].entries()) {
    const next = [i + 1]
    for (let j = 1; j <= to.length; j++)
      next.push(Math.min(next[j - 1] + 1, row[j] + 1, row[j - 1] + Number(char !== to[j - 1])))
    row = next
  }
  return row[to.length]
}

/** The configuration with absolute paths. */
function withPaths(config: Config, folder: string): Config {
  const copy = structuredClone(config)
  for (const section of [copy.lint, copy.mock, copy.contract, copy.changes])
    if (section?.profile !== undefined && section.profile !== 'openapi')
      section.profile = resolve(folder, section.profile)
  if (typeof copy.changes?.accepted === 'string')
    copy.changes.accepted = resolve(folder, copy.changes.accepted)
  return copy
}
