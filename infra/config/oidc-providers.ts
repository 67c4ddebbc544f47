// Parses OIDC_PROVIDERS, the JSON that describes the identity providers of an operator.
import { jsonReader } from './json-setting.ts'

export interface OidcProvider {
  /** The name in the paths of the API. */
  name: string
  /** The URL below which it has `/.well-known/openid-configuration`. */
  issuer: string
  clientId: string
  clientSecret: string
  /** Whether all its email addresses are verified, for a provider that does not say so. */
  verifiedEmails: boolean
}

const { parseJson, invalid, requireUnique, list, object, word, address } = jsonReader('OIDC_PROVIDERS')

/** @throws ConfigError */
export function readOidcProviders(json: string): OidcProvider[] {
  const providers = list(parseJson(json), '').map((item, i) => readProvider(item, `[${i}]`))
  requireUnique(
    providers.map(({ name }) => name),
    'two providers have the same name',
  )
  return providers
}

function readProvider(item: unknown, at: string): OidcProvider {
  const fields = object(item, at, ['name', 'issuer', 'client_id', 'client_secret', 'verified_emails'])
  const name = word(fields.name, `${at}.name`, 40)
  if (!/^[a-z0-9-]+$/.test(name)) throw invalid(`${at}.name`, 'be lower-case letters, digits and hyphens')
  address(fields.issuer, `${at}.issuer`)
  // As it is written: issuers with and without a slash at the end differ.
  const issuer = String(fields.issuer)
  const { protocol, hostname } = new URL(issuer)
  if (protocol !== 'https:' && !isLoopback(hostname)) throw invalid(`${at}.issuer`, 'start with https://')
  const verifiedEmails = fields.verified_emails ?? false
  if (typeof verifiedEmails !== 'boolean') throw invalid(`${at}.verified_emails`, 'be true or false')
  return {
    name,
    issuer,
    clientId: word(fields.client_id, `${at}.client_id`, 1_000),
    clientSecret: word(fields.client_secret, `${at}.client_secret`, 4_096),
    verifiedEmails,
  }
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || host.startsWith('127.')
}
