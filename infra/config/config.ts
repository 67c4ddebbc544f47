// The settings, read once from the environment, validated and frozen. A bad one stops the start and is named.
import { isIP } from 'node:net'
import { join, resolve } from 'node:path'
import { builtinModel, readUpstreams, UpstreamSettingsError, type UpstreamSettings } from './ai-providers.ts'
import { isWellFormed, type KeyMode } from '../api-key-format.ts'

export interface S3Config {
  bucket: string
  region: string
  endpoint: string | null
  /** null where the machine's own role or profile gives them. */
  credentials: { accessKeyId: string; secretAccessKey: string } | null
  /** S3_REDIRECT: true sends downloads on to a presigned address instead of through this server. Default false. */
  redirect: boolean
}

export interface StripeConfig {
  secretKey: string
  webhookSecret: string
  /** STRIPE_API_BASE: where Stripe is, for a stand-in; null for Stripe itself. */
  apiBase: string | null
}

/** A setting that cannot be used. The message names the variable and what it takes. */
export class ConfigError extends Error {}

type Environment = Record<string, string | undefined>

export interface Config {
  /** HOST: the address to listen on. Default 127.0.0.1. */
  host: string
  /** PORT: default 3000; 0 picks a free one. */
  port: number
  /** PUBLIC_URL: how clients reach this server; default http://HOST:PORT. No trailing slash. */
  publicUrl: string | null
  /** DATA_DIR: where the embedded database lives. Default ./.data. */
  dataDir: string
  /** DATABASE_URL: a PostgreSQL from 15 on; null for the embedded one. */
  databaseUrl: string | null
  /** DATABASE_POOL_SIZE: connections at most. Default 10. */
  databasePoolSize: number
  /** REDIS_URL: shares the rate limits between instances; null keeps them in memory. */
  redisUrl: string | null
  /** BOOTSTRAP_API_KEY: the first owner's key on an empty database, instead of a random one. */
  bootstrapApiKey: string | null
  /** BOOTSTRAP_EMAIL: the first owner's address. Default owner@localhost.localdomain. */
  bootstrapEmail: string
  /** KEY_MODE: the kind of key that is made, live or test. Default live. */
  keyMode: KeyMode
  /** LOG_LEVEL: fatal, error, warn, info, debug, trace or silent. Default info. */
  logLevel: string
  /** RATE_LIMIT_<POLICY>: requests a minute of each policy of the spec; null keeps the spec's number. */
  rateLimits: Record<string, number | null>
  /** RATE_LIMIT_ADDRESS: requests a minute and address, or IPv6 network of 64 bits, with no valid key. Default 120. */
  addressRateLimit: number
  /** TRUST_PROXY: comma-separated addresses or ranges of proxies whose X-Forwarded-For is believed. */
  trustProxy: string[] | false
  /** CORS_ORIGINS: comma-separated origins that browsers may call from. Off by default. */
  corsOrigins: string[]
  /** METRICS: true serves GET /metrics in the Prometheus text format. Default false. */
  metrics: boolean
  /** VALIDATE_RESPONSES: true holds every answer against the spec and answers 500 when it breaks it. Default false. */
  validateResponses: boolean
  /** REQUEST_TIMEOUT: seconds in which a request's head and body must have arrived. Default 30. */
  requestTimeout: number
  /** STORAGE: where files are: disk or s3. Default disk. */
  storage: 'disk' | 's3'
  /** STORAGE_DIR: where the files are on disk, and, with S3, what is still arriving. Default DATA_DIR/files. */
  storageDir: string
  /** S3_BUCKET, S3_REGION (default us-east-1), S3_ENDPOINT (null for AWS), S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY; null without STORAGE=s3. */
  s3: S3Config | null
  /** UPLOAD_MAX_BYTES: the largest file. Default 5 GiB. */
  uploadMaxBytes: number
  /** UPLOAD_TIMEOUT: seconds in which a file must have arrived; it also must never stop for REQUEST_TIMEOUT. Default 6 hours. */
  uploadTimeout: number
  /** RESUMABLE_UPLOAD_HOURS: how long a resumable upload is kept while it is not finished. Default 24. */
  resumableUploadHours: number
  /** STORAGE_QUOTA_USER: bytes that a user's files outside of projects may have. Default 50 GiB. */
  storageQuotaUser: number
  /** STORAGE_QUOTA_PROJECT: bytes that a project's files may have. Default 200 GiB. */
  storageQuotaProject: number
  /** SELLER_NAME: who sells, as receipts and the pay page say. Default Platform. */
  sellerName: string
  /** PAYMENT_GATEWAY: who takes the money: sandbox (nobody) or stripe. Default sandbox. */
  paymentGateway: 'sandbox' | 'stripe'
  /** STRIPE_SECRET_KEY (or a restricted one), STRIPE_WEBHOOK_SECRET, STRIPE_API_BASE; null without PAYMENT_GATEWAY=stripe. */
  stripe: StripeConfig | null
  /** WORKER: false leaves the sending of webhooks and the reading of documents to other processes, such as `npm run worker`. Default true. */
  worker: boolean
  /**
   * WEBHOOK_CONCURRENCY: how many webhooks this process sends at once; beside them four times as many to slow endpoints, and
   * as many again to failing ones. Default 100.
   */
  webhookConcurrency: number
  /** WEBHOOK_ALLOWED_NETWORKS: comma-separated ranges that webhooks may reach although they are not public. Default none. */
  webhookAllowedNetworks: string[]
  /** WEBHOOK_ENDPOINTS_PER_USER: how many webhook endpoints a user may have. Default 50. */
  webhookEndpointsPerUser: number
  /** EVENT_RETENTION_DAYS: how long events and their deliveries are kept. Default 30. */
  eventRetentionDays: number
  /** STREAMS_PER_USER: how many streams of events a user may have open with one server. Default 100. */
  streamsPerUser: number
  /** STREAM_PING: seconds of silence after which a stream shows that it is alive. Default 10. */
  streamPing: number
  /** STREAM_PATIENCE: seconds that a client may leave a stream unread before it is cut off. Default 30. */
  streamPatience: number
  /** AI_UPSTREAMS: the servers of models, a JSON array. Default none. */
  aiUpstreams: UpstreamSettings[]
  /** AI_DEFAULT_MODEL: what a chat takes that names none. Default the first that is configured, else extractive-1. */
  aiDefaultModel: string
  /** AI_TIMEOUT: seconds that a whole answer may take. Default 300. */
  aiTimeout: number
  /** AI_FIRST_TOKEN_TIMEOUT: seconds until an answer must have begun, further tries included. Default 60. */
  aiFirstTokenTimeout: number
  /** AI_IDLE_TIMEOUT: seconds between two pieces of an answer. Default 30. */
  aiIdleTimeout: number
  /** AI_RETRIES: how often an upstream that fails is asked again before its answer has begun. Default 2. */
  aiRetries: number
  /** AI_STREAMS_PER_KEY: how many answers of a key may be under way with one server. Default 20. */
  aiStreamsPerKey: number
  /** AI_TOKENS_PER_DAY: tokens that a key may use in a day of UTC; 0 for no limit, the default. */
  aiTokensPerDay: number
  /** DOCUMENT_MAX_BYTES: the largest document of a knowledge base. Default 50 MiB. */
  documentMaxBytes: number
  /** DOCUMENT_CONCURRENCY: how many documents this process reads at once. Default 2. */
  documentConcurrency: number
  /** SHUTDOWN_TIMEOUT: seconds that requests under way are given at a stop. Default 8. */
  shutdownTimeout: number
}

/** Adds what stands in .env to the environment, which wins. There need not be one, but one that is there must be read. */
export function loadEnvFile(): void {
  try {
    process.loadEnvFile('.env')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
      throw new ConfigError(`.env cannot be read: ${(error as Error).message.replace(/\.$/, '')}.`)
  }
}

/** @throws ConfigError naming the first variable that cannot be used. */
export function readConfig(env: Environment = process.env): Readonly<Config> {
  const text = (name: string): string | null => {
    const value = env[name]?.trim()
    return value === undefined || value === '' ? null : value
  }
  const integer = (name: string, fallback: number, min: number, max: number): number => {
    const value = text(name)
    if (value === null) return fallback
    if (!/^\d+$/.test(value) || Number(value) < min || Number(value) > max) {
      throw new ConfigError(`${name} must be a whole number from ${min} to ${max}, not \`${value}\`.`)
    }
    return Number(value)
  }
  const oneOf = <T extends string>(name: string, fallback: T, values: readonly T[]): T => {
    const value = text(name) ?? fallback
    if (!(values as readonly string[]).includes(value))
      throw new ConfigError(`${name} must be one of ${values.join(', ')}, not \`${value}\`.`)
    return value as T
  }
  const boolean = (name: string, fallback = false): boolean =>
    oneOf(name, String(fallback), ['true', 'false']) === 'true'
  const url = (name: string, schemes: string[]): string | null => {
    const value = text(name)
    if (value === null) return null
    // The value may hold a password, so the message does not repeat it.
    if (!URL.canParse(value) || !schemes.includes(new URL(value).protocol.slice(0, -1))) {
      throw new ConfigError(
        `${name} must be an address that starts with ${schemes.map((s) => `${s}://`).join(' or ')}.`,
      )
    }
    return value
  }
  const list = (name: string): string[] =>
    (text(name) ?? '')
      .split(',')
      .map((item) => item.trim())
      .filter(Boolean)

  const publicUrl = url('PUBLIC_URL', ['http', 'https'])?.replace(/\/+$/, '') ?? null
  if (publicUrl !== null && /[?#]/.test(publicUrl))
    throw new ConfigError('PUBLIC_URL must have no query and no fragment.')

  const dataDir = resolve(text('DATA_DIR') ?? '.data')
  const storage = oneOf('STORAGE', 'disk', ['disk', 's3'])
  const s3 = (): S3Config => {
    const bucket = text('S3_BUCKET')
    if (bucket === null) throw new ConfigError('STORAGE=s3 needs S3_BUCKET.')
    const accessKeyId = text('S3_ACCESS_KEY_ID')
    const secretAccessKey = text('S3_SECRET_ACCESS_KEY')
    if ((accessKeyId === null) !== (secretAccessKey === null))
      throw new ConfigError('S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY go together.')
    return {
      bucket,
      region: text('S3_REGION') ?? 'us-east-1',
      endpoint: url('S3_ENDPOINT', ['http', 'https']),
      credentials: accessKeyId === null || secretAccessKey === null ? null : { accessKeyId, secretAccessKey },
      redirect: boolean('S3_REDIRECT'),
    }
  }

  const paymentGateway = oneOf('PAYMENT_GATEWAY', 'sandbox', ['sandbox', 'stripe'])
  const stripe = (): StripeConfig => {
    const secretKey = text('STRIPE_SECRET_KEY')
    const webhookSecret = text('STRIPE_WEBHOOK_SECRET')
    if (secretKey === null || webhookSecret === null)
      throw new ConfigError('PAYMENT_GATEWAY=stripe needs STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET.')
    if (!/^(sk|rk)_\w+$/.test(secretKey))
      throw new ConfigError(
        'STRIPE_SECRET_KEY must be a secret or restricted key, which begins with sk_ or rk_.',
      )
    if (!/^whsec_\S+$/.test(webhookSecret))
      throw new ConfigError(
        "STRIPE_WEBHOOK_SECRET must be the webhook endpoint's signing secret, which begins with whsec_.",
      )
    const apiBase = url('STRIPE_API_BASE', ['http', 'https'])
    if (apiBase !== null && new URL(apiBase).href !== `${new URL(apiBase).origin}/`)
      throw new ConfigError('STRIPE_API_BASE must have no path.')
    return { secretKey, webhookSecret, apiBase }
  }

  const bootstrapApiKey = text('BOOTSTRAP_API_KEY')
  if (bootstrapApiKey !== null && !isWellFormed(bootstrapApiKey)) {
    throw new ConfigError(
      'BOOTSTRAP_API_KEY is not a well-formed key; make one with `npm run admin -- new-key`.',
    )
  }
  const bootstrapEmail = (text('BOOTSTRAP_EMAIL') ?? 'owner@localhost.localdomain').toLowerCase()
  if (!/^[^@\s]+@[^@\s]+$/.test(bootstrapEmail))
    throw new ConfigError('BOOTSTRAP_EMAIL must be an email address.')

  const networks = (name: string): string[] =>
    list(name).map((item) => {
      const [address, bits, ...rest] = item.split('/')
      const most = isIP(address) === 4 ? 32 : isIP(address) === 6 ? 128 : -1
      if (
        most === -1 ||
        rest.length > 0 ||
        (bits !== undefined && (!/^\d{1,3}$/.test(bits) || Number(bits) > most))
      ) {
        throw new ConfigError(`${name} takes addresses and ranges such as 10.0.0.0/8, not \`${item}\`.`)
      }
      return bits === undefined ? `${address}/${most}` : item
    })

  const trustProxy = networks('TRUST_PROXY')
  const corsOrigins = list('CORS_ORIGINS')
  for (const origin of corsOrigins) {
    if (!URL.canParse(origin) || new URL(origin).origin !== origin) {
      throw new ConfigError(`CORS_ORIGINS takes origins such as https://app.example.com, not \`${origin}\`.`)
    }
  }

  const upstreams = (): UpstreamSettings[] => {
    try {
      return readUpstreams(text('AI_UPSTREAMS') ?? '[]')
    } catch (error) {
      if (error instanceof UpstreamSettingsError) throw new ConfigError(`AI_UPSTREAMS${error.message}`)
      throw error
    }
  }
  const aiUpstreams = upstreams()
  const aiModels = [...aiUpstreams.flatMap(({ models }) => models.map(({ id }) => id)), builtinModel]

  return Object.freeze({
    host: text('HOST') ?? '127.0.0.1',
    port: integer('PORT', 3000, 0, 65535),
    publicUrl,
    dataDir,
    databaseUrl: url('DATABASE_URL', ['postgres', 'postgresql']),
    databasePoolSize: integer('DATABASE_POOL_SIZE', 10, 1, 500),
    redisUrl: url('REDIS_URL', ['redis', 'rediss']),
    bootstrapApiKey,
    bootstrapEmail,
    keyMode: oneOf('KEY_MODE', 'live', ['live', 'test']),
    logLevel: oneOf('LOG_LEVEL', 'info', ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
    rateLimits: Object.fromEntries(
      ['default', 'write', 'upload', 'ai', 'page', 'gateway'].map((policy) => {
        const name = `RATE_LIMIT_${policy.toUpperCase()}`
        return [policy, text(name) === null ? null : integer(name, 0, 1, 1_000_000_000)]
      }),
    ),
    addressRateLimit: integer('RATE_LIMIT_ADDRESS', 120, 1, 1_000_000_000),
    trustProxy: trustProxy.length === 0 ? false : trustProxy,
    corsOrigins,
    metrics: boolean('METRICS'),
    validateResponses: boolean('VALIDATE_RESPONSES'),
    requestTimeout: integer('REQUEST_TIMEOUT', 30, 1, 3600),
    storage,
    storageDir: resolve(text('STORAGE_DIR') ?? join(dataDir, 'files')),
    s3: storage === 's3' ? s3() : null,
    uploadMaxBytes: integer('UPLOAD_MAX_BYTES', 5 * 1024 ** 3, 1, 2 ** 50),
    uploadTimeout: integer('UPLOAD_TIMEOUT', 6 * 3600, 1, 7 * 86_400),
    resumableUploadHours: integer('RESUMABLE_UPLOAD_HOURS', 24, 1, 720),
    storageQuotaUser: integer('STORAGE_QUOTA_USER', 50 * 1024 ** 3, 0, 2 ** 53 - 1),
    storageQuotaProject: integer('STORAGE_QUOTA_PROJECT', 200 * 1024 ** 3, 0, 2 ** 53 - 1),
    sellerName: text('SELLER_NAME') ?? 'Platform',
    paymentGateway,
    stripe: paymentGateway === 'stripe' ? stripe() : null,
    worker: boolean('WORKER', true),
    webhookConcurrency: integer('WEBHOOK_CONCURRENCY', 100, 1, 10_000),
    webhookAllowedNetworks: networks('WEBHOOK_ALLOWED_NETWORKS'),
    webhookEndpointsPerUser: integer('WEBHOOK_ENDPOINTS_PER_USER', 50, 1, 100_000),
    eventRetentionDays: integer('EVENT_RETENTION_DAYS', 30, 1, 3650),
    streamsPerUser: integer('STREAMS_PER_USER', 100, 1, 1_000_000),
    streamPing: integer('STREAM_PING', 10, 1, 100),
    streamPatience: integer('STREAM_PATIENCE', 30, 1, 3600),
    aiUpstreams,
    aiDefaultModel: oneOf('AI_DEFAULT_MODEL', aiModels[0], aiModels),
    aiTimeout: integer('AI_TIMEOUT', 300, 1, 86_400),
    aiFirstTokenTimeout: integer('AI_FIRST_TOKEN_TIMEOUT', 60, 1, 86_400),
    aiIdleTimeout: integer('AI_IDLE_TIMEOUT', 30, 1, 86_400),
    aiRetries: integer('AI_RETRIES', 2, 0, 10),
    aiStreamsPerKey: integer('AI_STREAMS_PER_KEY', 20, 1, 1_000_000),
    aiTokensPerDay: integer('AI_TOKENS_PER_DAY', 0, 0, 2 ** 53 - 1),
    documentMaxBytes: integer('DOCUMENT_MAX_BYTES', 50 * 1024 ** 2, 1, 2 ** 40),
    documentConcurrency: integer('DOCUMENT_CONCURRENCY', 2, 1, 100),
    shutdownTimeout: integer('SHUTDOWN_TIMEOUT', 8, 0, 600),
  })
}
