// AI_UPSTREAMS: the servers of models that an operator has, read from JSON. What is wrong is named by its place in it; its
// values are never repeated, for keys are among them.

export interface UpstreamSettings {
  /** What `provider` of its models says. */
  name: string
  /** Up to and with /v1, as a rule. No trailing slash. */
  baseUrl: string
  /** null for a server that takes none. */
  apiKey: string | null
  models: ModelSettings[]
  embeddings: EmbeddingSettings | null
}

export interface ModelSettings {
  id: string
  /** Tokens; null where it is not known. */
  contextWindow: number | null
  maxOutputTokens: number | null
  /** For a million tokens each; null where it costs nothing. */
  price: { input: number; output: number } | null
}

export interface EmbeddingSettings {
  model: string
  /** Numbers of a vector. */
  dimensions: number
}

/** The model that is always there, and no upstream's. */
export const builtinModel = 'extractive-1'
/** The provider of it. */
export const builtinProvider = 'builtin'

/** A setting that cannot be used; the message goes on where the name of the variable ends. */
export class UpstreamSettingsError extends Error {}

type Fields = Record<string, unknown>

/** @throws UpstreamSettingsError */
export function readUpstreams(json: string): UpstreamSettings[] {
  const upstreams = list(parsed(json), '').map((item, i) => readUpstream(item, `[${i}]`))
  unique(
    upstreams.map(({ name }) => name),
    'two upstreams have the same name',
  )
  unique(
    upstreams.flatMap(({ models }) => models.map(({ id }) => id)),
    'two models have the same id',
  )
  if (upstreams.filter(({ embeddings }) => embeddings !== null).length > 1) {
    throw new UpstreamSettingsError(
      ': only one upstream can have `embeddings`, for the vectors of two cannot be compared.',
    )
  }
  return upstreams
}

function readUpstream(item: unknown, at: string): UpstreamSettings {
  const fields = object(item, at, ['name', 'base_url', 'api_key', 'models', 'embeddings'])
  const name = word(fields.name, `${at}.name`)
  if (name === builtinProvider)
    throw wrong(`${at}.name`, `be another than ${builtinProvider}, which is reserved`)
  return {
    name,
    baseUrl: address(fields.base_url, `${at}.base_url`),
    apiKey: fields.api_key === undefined ? null : word(fields.api_key, `${at}.api_key`, 4096),
    models: list(fields.models ?? [], `${at}.models`).map((model, i) =>
      readModel(model, `${at}.models[${i}]`),
    ),
    embeddings:
      fields.embeddings === undefined ? null : readEmbeddings(fields.embeddings, `${at}.embeddings`),
  }
}

function readModel(item: unknown, at: string): ModelSettings {
  const fields = object(item, at, [
    'id',
    'context_window',
    'max_output_tokens',
    'input_price',
    'output_price',
  ])
  const id = word(fields.id, `${at}.id`)
  if (id === builtinModel) throw wrong(`${at}.id`, `be another than ${builtinModel}, which is reserved`)
  if ((fields.input_price === undefined) !== (fields.output_price === undefined))
    throw wrong(at, 'have both input_price and output_price, or neither')
  return {
    id,
    contextWindow: optionalCount(fields.context_window, `${at}.context_window`),
    maxOutputTokens: optionalCount(fields.max_output_tokens, `${at}.max_output_tokens`),
    price:
      fields.input_price === undefined
        ? null
        : {
            input: price(fields.input_price, `${at}.input_price`),
            output: price(fields.output_price, `${at}.output_price`),
          },
  }
}

function readEmbeddings(item: unknown, at: string): EmbeddingSettings {
  const fields = object(item, at, ['model', 'dimensions'])
  return {
    model: word(fields.model, `${at}.model`),
    dimensions: count(fields.dimensions, `${at}.dimensions`, 16_000),
  }
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    throw new UpstreamSettingsError(' must be a JSON array.')
  }
}

function wrong(at: string, what: string): UpstreamSettingsError {
  return new UpstreamSettingsError(`${at} must ${what}.`)
}

function unique(values: string[], message: string): void {
  if (new Set(values).size < values.length) throw new UpstreamSettingsError(`: ${message}.`)
}

function list(value: unknown, at: string): unknown[] {
  if (!Array.isArray(value)) throw wrong(at, 'be a JSON array')
  return value
}

function object(value: unknown, at: string, known: string[]): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrong(at, 'be an object')
  if (Object.keys(value).some((key) => !known.includes(key)))
    throw wrong(at, `have no other fields than ${known.join(', ')}`)
  return value as Fields
}

function word(value: unknown, at: string, most = 200): string {
  if (typeof value !== 'string' || value.length > most || !/^[!-~]+$/.test(value))
    throw wrong(at, `be 1 to ${most} printable ASCII characters without blanks`)
  return value
}

function address(value: unknown, at: string): string {
  const url = typeof value === 'string' ? URL.parse(value) : null
  if (url === null || !/^https?:$/.test(url.protocol))
    throw wrong(at, 'be an address that starts with http:// or https://')
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    throw wrong(at, 'have no user, query or fragment')
  return url.href.replace(/\/+$/, '')
}

function count(value: unknown, at: string, most = 1_000_000_000): number {
  if (!Number.isInteger(value) || (value as number) < 1 || (value as number) > most)
    throw wrong(at, `be a whole number from 1 to ${most}`)
  return value as number
}

function optionalCount(value: unknown, at: string): number | null {
  return value === undefined ? null : count(value, at)
}

function price(value: unknown, at: string): number {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0 || value > 1_000_000)
    throw wrong(at, 'be a number from 0 to 1000000')
  return value
}
