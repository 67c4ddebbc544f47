// The configuration of a process: read once from the environment, validated and frozen. settings.ts describes
// each variable; a variable that cannot be used stops the start and is named in the error.
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { builtinModel } from './ai-providers.ts'
import { trustAuthorities } from './authorities.ts'
import {
  ConfigError,
  readSettings,
  requireOneOf,
  type Environment,
  type Setting,
  type Values,
} from './setting.ts'
import { groups, s3Settings, settings, stripeSettings } from './settings.ts'

export { ConfigError }

export interface S3Config {
  bucket: string
  region: string
  /** Null for AWS. */
  endpoint: string | null
  /** Null when the machine's role or profile provides them. */
  credentials: { accessKeyId: string; secretAccessKey: string } | null
  redirect: boolean
}

export interface StripeConfig {
  secretKey: string
  webhookSecret: string
  /** Null for Stripe itself. */
  apiBase: string | null
}

type PlainSettings = Values<typeof settings>

/** The values of all settings in settings.ts, and those that `readConfig` derives from several of them. */
export interface Config extends Omit<PlainSettings, 'trustProxy' | 'storageDir' | 'aiDefaultModel'> {
  trustProxy: string[] | false
  storageDir: string
  aiDefaultModel: string
  /** Requests per minute for each policy of the spec; null keeps the number of the spec. */
  rateLimits: Record<string, number | null>
  /** Null unless files are stored in S3. */
  s3: S3Config | null
  /** The bucket, if files move from or to it. */
  secondS3: S3Config | null
  /** Null unless Stripe is the payment gateway. */
  stripe: StripeConfig | null
}

/**
 * Adds the variables of .env to the environment. Variables that are already set win; a missing file is fine.
 * Then trusts the authorities of CA_FILE, before the first connection.
 * @param onWarning called with a sentence about variables that are no settings, and about likely mistakes.
 */
export function loadEnvFile(onWarning: (message: string) => void = () => {}): void {
  try {
    const unknown = Object.keys(parseEnv(readFileSync('.env', 'utf8'))).filter(
      (name) => !isSetting(name) && !name.startsWith('OTEL_'),
    )
    if (unknown.length > 0) onWarning(`.env sets what is no setting: ${unknown.join(', ')}`)
    process.loadEnvFile('.env')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
      throw new ConfigError(`.env cannot be read: ${(error as Error).message.replace(/\.$/, '')}.`)
  }
  for (const name of Object.keys(process.env)) {
    const meant = isSetting(name) ? undefined : settingNames().find((setting) => isOneEdit(name, setting))
    if (meant !== undefined) onWarning(`${name} is no setting: did you mean ${meant}?`)
  }
  const { caFile } = readSettings({ caFile: settings.caFile }, process.env)
  if (caFile !== null) trustAuthorities(caFile)
}

function settingNames(): string[] {
  return groups.flatMap((group) =>
    Object.values<Setting<unknown>>(group.settings).flatMap(({ variable, secret }) =>
      secret ? [variable, `${variable}_FILE`] : [variable],
    ),
  )
}

function isSetting(name: string): boolean {
  return settingNames().includes(name)
}

/** Whether long names differ in one character: another one, a missing one, one too many, or two exchanged. */
function isOneEdit(one: string, other: string): boolean {
  if (Math.min(one.length, other.length) < 6 || Math.abs(one.length - other.length) > 1) return false
  const at = [...one].findIndex((character, i) => character !== other[i])
  const start = at === -1 ? one.length : at
  const [restOfOne, restOfOther] = [one.slice(start), other.slice(start)]
  return (
    restOfOne.slice(1) === restOfOther.slice(1) ||
    restOfOne === restOfOther.slice(1) ||
    restOfOne.slice(1) === restOfOther ||
    (restOfOne[0] === restOfOther[1] &&
      restOfOne[1] === restOfOther[0] &&
      restOfOne.slice(2) === restOfOther.slice(2))
  )
}

/** @throws ConfigError for the first variable that cannot be used. */
export function readConfig(env: Environment = process.env): Readonly<Config> {
  const values = readSettings(settings, env)
  requireOwnHost(values)
  if (values.storageSecond === values.storage)
    throw new ConfigError('STORAGE_SECOND must name another store than STORAGE.')
  if (values.databaseDirectUrl !== null && values.databaseUrl === null)
    throw new ConfigError('DATABASE_DIRECT_URL needs DATABASE_URL.')
  if (values.databaseReadUrl !== null && values.databaseUrl === null)
    throw new ConfigError('DATABASE_READ_URL needs DATABASE_URL.')
  if (values.usageEventDays < values.usageWindowDays + 65)
    throw new ConfigError('USAGE_EVENT_DAYS must be at least 65 more than USAGE_WINDOW_DAYS.')
  return Object.freeze({
    ...values,
    bootstrapEmail: values.bootstrapEmail.toLowerCase(),
    trustProxy: values.trustProxy.length === 0 ? false : values.trustProxy,
    storageDir: values.storageDir ?? resolve(join(values.dataDir, 'files')),
    aiDefaultModel: defaultModel(values),
    rateLimits: {
      default: values.defaultRateLimit,
      write: values.writeRateLimit,
      upload: values.uploadRateLimit,
      ai: values.aiRateLimit,
      page: values.pageRateLimit,
      gateway: values.gatewayRateLimit,
      health: values.healthRateLimit,
      auth: values.authRateLimit,
      mail: values.mailRateLimit,
      refresh: values.refreshRateLimit,
      password: values.passwordRateLimit,
      address: values.addressRateLimit,
    },
    s3: values.storage === 's3' ? readS3(env) : null,
    secondS3: values.storageSecond === 's3' ? readS3(env) : null,
    stripe: values.paymentGateway === 'stripe' ? readStripe(env) : null,
  })
}

function requireOwnHost({ filesUrl, publicUrl }: PlainSettings): void {
  if (filesUrl !== null && publicUrl !== null && new URL(filesUrl).host === new URL(publicUrl).host)
    throw new ConfigError('FILES_URL must have another host than PUBLIC_URL.')
}

function defaultModel({ aiProviders, aiDefaultModel }: PlainSettings): string {
  const ids = aiProviders.flatMap((provider) => provider.models.map(({ id }) => id))
  const models = [...new Set([...ids, builtinModel])]
  return requireOneOf('AI_DEFAULT_MODEL', aiDefaultModel ?? models[0], models)
}

/**
 * The bucket of backups: the standard variables of AWS, or else the settings of the file store.
 */
export function readBackupS3(bucket: string, env: Environment = process.env): S3Config {
  const s3 = readS3({ ...env, S3_BUCKET: bucket })
  const hasOwnKey = (env.AWS_ACCESS_KEY_ID ?? env.AWS_PROFILE) !== undefined
  return {
    ...s3,
    region: env.AWS_REGION ?? env.AWS_DEFAULT_REGION ?? s3.region,
    endpoint: env.AWS_ENDPOINT_URL_S3 ?? env.AWS_ENDPOINT_URL ?? s3.endpoint,
    // Without credentials the client reads the variables, the profile or the role of the machine.
    credentials: hasOwnKey ? null : s3.credentials,
    redirect: false,
  }
}

function readS3(env: Environment): S3Config {
  const { bucket, region, endpoint, accessKeyId, secretAccessKey, redirect } = readSettings(s3Settings, env)
  if (bucket === null) throw new ConfigError('Files in S3 need S3_BUCKET.')
  if ((accessKeyId === null) !== (secretAccessKey === null))
    throw new ConfigError('S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY go together.')
  const credentials =
    accessKeyId === null || secretAccessKey === null ? null : { accessKeyId, secretAccessKey }
  return { bucket, region, endpoint, credentials, redirect }
}

function readStripe(env: Environment): StripeConfig {
  const { secretKey, webhookSecret, apiBase } = readSettings(stripeSettings, env)
  if (secretKey === null || webhookSecret === null)
    throw new ConfigError('PAYMENT_GATEWAY=stripe needs STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET.')
  if (apiBase !== null && new URL(apiBase).href !== `${new URL(apiBase).origin}/`)
    throw new ConfigError('STRIPE_API_BASE must have no path.')
  return { secretKey, webhookSecret, apiBase }
}
