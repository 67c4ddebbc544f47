// Parses AI_UPSTREAMS, the JSON that describes the model servers of an operator. Errors name the place in the
// JSON but never repeat its values, because they contain API keys.
import { jsonReader } from './json-setting.ts'
import { ConfigError } from './setting.ts'

export interface ProviderSettings {
  /** The `provider` of its models in the API. */
  name: string
  /** Usually ends with /v1. No slash at the end. */
  baseUrl: string
  /** Null for a server without authentication. */
  apiKey: string | null
  models: ModelSettings[]
  embeddings: EmbeddingSettings | null
}

export interface ModelSettings {
  id: string
  /** The id that the server has for it. */
  upstreamId: string
  /** In tokens; null when unknown. */
  contextWindow: number | null
  maxOutputTokens: number | null
  /** Whether the model reads images; null when unknown. */
  vision: boolean | null
  /** Null for a model without a price. */
  price: ModelPrice | null
}

/** Per million tokens. */
export interface ModelPrice {
  input: number
  /** Of input that the server had in its cache. */
  cachedInput: number
  output: number
}

export interface EmbeddingSettings {
  model: string
  /** The id that the server has for it. */
  upstreamId: string
  /** Length of a vector. */
  dimensions: number
  /** Per million tokens; null without a price. */
  inputPrice: number | null
}

/** The model that is always available. No provider may use its id. */
export const builtinModel = 'extractive-1'
/** The provider of `builtinModel`. */
export const builtinProvider = 'builtin'

const variable = 'AI_UPSTREAMS'

const { parseJson, invalid, requireUnique, list, object, word, address, count, optionalCount } =
  jsonReader(variable)

/** @throws ConfigError */
export function readProviders(json: string): ProviderSettings[] {
  const providers = list(parseJson(json), '').map((item, i) => readProvider(item, `[${i}]`))
  requireUnique(
    providers.map(({ name }) => name),
    'two providers have the same name',
  )
  for (const { name, models } of providers)
    requireUnique(
      models.map(({ id }) => id),
      `two models of ${name} have the same id`,
    )
  const [first, ...others] = providers.flatMap(({ embeddings }) => embeddings ?? [])
  if (others.some(({ model, dimensions }) => model !== first.model || dimensions !== first.dimensions))
    throw new ConfigError(
      `${variable}: all \`embeddings\` must have the same \`model\` and \`dimensions\`; vectors of two ` +
        'models are not comparable.',
    )
  return providers
}

function readProvider(item: unknown, at: string): ProviderSettings {
  const fields = object(item, at, ['name', 'base_url', 'api_key', 'models', 'embeddings'])
  const name = word(fields.name, `${at}.name`)
  if (name === builtinProvider) throw invalid(`${at}.name`, `not be ${builtinProvider}, which is reserved`)
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
    'upstream_id',
    'context_window',
    'max_output_tokens',
    'vision',
    'input_price',
    'cached_input_price',
    'output_price',
  ])
  const id = word(fields.id, `${at}.id`)
  if (id === builtinModel) throw invalid(`${at}.id`, `not be ${builtinModel}, which is reserved`)
  if ((fields.input_price === undefined) !== (fields.output_price === undefined))
    throw invalid(at, 'have both input_price and output_price, or neither')
  if (fields.cached_input_price !== undefined && fields.input_price === undefined)
    throw invalid(at, 'have cached_input_price only with input_price')
  const { vision = null } = fields
  if (vision !== null && typeof vision !== 'boolean') throw invalid(`${at}.vision`, 'be true or false')
  return {
    id,
    vision,
    upstreamId: fields.upstream_id === undefined ? id : word(fields.upstream_id, `${at}.upstream_id`),
    contextWindow: optionalCount(fields.context_window, `${at}.context_window`),
    maxOutputTokens: optionalCount(fields.max_output_tokens, `${at}.max_output_tokens`),
    price:
      fields.input_price === undefined
        ? null
        : {
            input: price(fields.input_price, `${at}.input_price`),
            cachedInput: price(fields.cached_input_price ?? fields.input_price, `${at}.cached_input_price`),
            output: price(fields.output_price, `${at}.output_price`),
          },
  }
}

function readEmbeddings(item: unknown, at: string): EmbeddingSettings {
  const fields = object(item, at, ['model', 'upstream_id', 'dimensions', 'input_price'])
  const model = word(fields.model, `${at}.model`)
  return {
    model,
    upstreamId: fields.upstream_id === undefined ? model : word(fields.upstream_id, `${at}.upstream_id`),
    dimensions: count(fields.dimensions, `${at}.dimensions`, 16_000),
    inputPrice: fields.input_price === undefined ? null : price(fields.input_price, `${at}.input_price`),
  }
}

function price(value: unknown, at: string): number {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0 || value > 1_000_000)
    throw invalid(at, 'be a number from 0 to 1000000')
  return value
}
