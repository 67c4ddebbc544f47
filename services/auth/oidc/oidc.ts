// Sign-in at identity providers with OpenID Connect: the authorization code flow with PKCE, a state and a
// nonce. What a flow needs is in an encrypted cookie of the browser that began it, not in the database.
import { hash } from 'node:crypto'
import type * as OpenId from 'openid-client'
import type { OidcProvider } from '../../../infra/config/oidc-providers.ts'
import type { Cipher } from '../../../infra/encryption/cipher.ts'
import { unauthorized, unavailable } from '../../../infra/errors.ts'
import { Lazy } from '../../../infra/concurrency/lazy.ts'
import { isEmail } from '../../../infra/validation/formats.ts'
import { truncateText } from '../../../infra/text.ts'

/** The state of a sign-in, which the browser keeps between its two requests. */
export interface OidcFlow {
  provider: string
  state: string
  nonce: string
  verifier: string
  /** The page that the browser returns to. */
  redirectTo: string
  /** SHA-256 of the verifier of the application that began the sign-in; null if it gave none. */
  challenge: string | null
  /** Milliseconds since 1970. */
  expiresAt: number
}

/** The claims of a provider about the person. */
export interface Claims {
  subject: string
  email: string | null
  isEmailVerified: boolean
  name: string | null
}

export interface Providers {
  names: string[]
  /** Null for an unknown name. */
  find(name: string): Provider | null
}

export interface Provider {
  name: string
  /** @throws 503 when the provider cannot be reached. */
  start(
    redirectUri: string,
    goal: Pick<OidcFlow, 'redirectTo' | 'challenge'>,
  ): Promise<{ url: string; flow: OidcFlow }>
  /**
   * The person who has signed in; null if the provider refused.
   * @param callback the URL that the provider redirected to
   * @throws 401 when the answer is not valid; 503 when the provider cannot be reached.
   */
  finish(callback: URL, flow: OidcFlow): Promise<Claims | null>
}

const timeoutSeconds = 10
const flowMs = 600_000
const maxNameLength = 120
const context = 'oidc flow'

export function createOidcProviders(settings: OidcProvider[], onError: (error: Error) => void): Providers {
  const providers = new Map(settings.map((one) => [one.name, createProvider(one, onError)]))
  return { names: [...providers.keys()], find: (name) => providers.get(name) ?? null }
}

/** The challenge of a verifier (RFC 7636, S256). */
export function challengeOf(verifier: string): string {
  return hash('sha256', verifier, 'base64url')
}

export function encryptFlow(cipher: Cipher, flow: OidcFlow): string {
  return Buffer.from(cipher.encrypt(JSON.stringify(flow), context)).toString('base64url')
}

/** Throws 401 unless the browser began a sign-in, at the named provider, in the last ten minutes. */
export function decryptFlow(cipher: Cipher, cookie: string | undefined, provider?: string): OidcFlow {
  const notStarted = unauthorized('unknown', 'The sign-in did not begin in this browser: start again.')
  if (cookie === undefined) throw notStarted
  let flow: OidcFlow
  try {
    flow = JSON.parse(cipher.decrypt(Buffer.from(cookie, 'base64url').toString(), context))
  } catch {
    throw notStarted
  }
  if (provider !== undefined && flow.provider !== provider) throw notStarted
  if (flow.expiresAt <= Date.now()) throw unauthorized('expired', 'The sign-in took too long: start again.')
  return flow
}

function createProvider(settings: OidcProvider, onError: (error: Error) => void): Provider {
  const { name, issuer, clientId, clientSecret, verifiedEmails } = settings
  // A large module, which servers without providers do not load.
  const client = new Lazy(async () => {
    const openId = await import('openid-client')
    const isPlain = issuer.startsWith('http:')
    const configuration = await openId.discovery(new URL(issuer), clientId, clientSecret, undefined, {
      timeout: timeoutSeconds,
      // The signature of the ID token is checked too, although TLS has identified the provider.
      execute: [openId.enableNonRepudiationChecks, ...(isPlain ? [openId.allowInsecureRequests] : [])],
    })
    return { openId, configuration }
  })
  const failed = (error: unknown): Error => {
    onError(new Error(`the identity provider ${name} failed`, { cause: error }))
    return unavailable('The identity provider cannot be reached; try again.')
  }
  const open = async () => {
    try {
      return await client.get()
    } catch (error) {
      throw failed(error)
    }
  }
  return {
    name,
    async start(redirectUri, goal) {
      const { openId, configuration } = await open()
      const flow: OidcFlow = {
        provider: name,
        state: openId.randomState(),
        nonce: openId.randomNonce(),
        verifier: openId.randomPKCECodeVerifier(),
        ...goal,
        expiresAt: Date.now() + flowMs,
      }
      const url = openId.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope: 'openid email profile',
        state: flow.state,
        nonce: flow.nonce,
        code_challenge: await openId.calculatePKCECodeChallenge(flow.verifier),
        code_challenge_method: 'S256',
      })
      return { url: url.href, flow }
    },
    async finish(callback, flow) {
      const { openId, configuration } = await open()
      const refused = (cause: unknown): Error => {
        onError(new Error(`an answer of the identity provider ${name} was refused`, { cause }))
        return unauthorized('unknown', 'The answer of the identity provider is not valid: start again.')
      }
      let tokens: Tokens
      try {
        tokens = await openId.authorizationCodeGrant(configuration, callback, {
          pkceCodeVerifier: flow.verifier,
          expectedState: flow.state,
          expectedNonce: flow.nonce,
          idTokenExpected: true,
        })
      } catch (error) {
        if (error instanceof openId.AuthorizationResponseError) return null
        if (isUnreachable(openId, error)) throw failed(error)
        throw refused(error)
      }
      const claims = tokens.claims()!
      const problem = problemOf(claims)
      if (problem !== null) throw refused(new Error(problem))
      const hasUserInfo = configuration.serverMetadata().userinfo_endpoint !== undefined
      if (isComplete(claims, verifiedEmails) || !hasUserInfo) return claimsOf(claims, {}, verifiedEmails)
      try {
        const more = await openId.fetchUserInfo(configuration, tokens.access_token, claims.sub)
        return claimsOf(claims, more, verifiedEmails)
      } catch (error) {
        throw isUnreachable(openId, error) ? failed(error) : refused(error)
      }
    },
  }
}

type Tokens = Awaited<ReturnType<typeof OpenId.authorizationCodeGrant>>

/** How far ahead of this server's the clock of a provider may be. */
const clockToleranceSeconds = 60

/**
 * Checks that the library omits (OpenID Connect Core 1.0, section 2): a subject has 1 to 255 characters,
 * since people with an empty one would share one identity; and a token is not issued in the future. Null for
 * valid claims.
 */
function problemOf({ sub, iat }: { sub: string; iat: number }): string | null {
  if (sub === '' || sub.length > 255) return `the subject has ${sub.length} characters`
  if (iat > Date.now() / 1000 + clockToleranceSeconds) return 'the ID token was issued in the future'
  return null
}

/** Whether the provider did not answer, or with an error of its own. */
function isUnreachable(openId: typeof OpenId, error: unknown): boolean {
  if (error instanceof openId.ResponseBodyError) return error.status >= 500
  // An answer that is not JSON, as those of a proxy.
  if (error instanceof openId.ClientError && error.cause instanceof Response) return error.cause.status >= 500
  return !(error instanceof openId.ClientError) || error.code === 'OAUTH_TIMEOUT'
}

type Facts = Record<string, unknown>

/** Whether an ID token says which address the person has, and whether it is verified. */
function isComplete({ email, email_verified: verified }: Facts, verifiedEmails: boolean): boolean {
  return addressOf(email) !== null && (verifiedEmails || (verified ?? null) !== null)
}

/**
 * The claims of an ID token, completed with those of the userinfo endpoint: providers may put the claims of a
 * scope in either (OpenID Connect Core 1.0, section 5.4). What an answer says about an address counts for the
 * address in the same answer only.
 */
function claimsOf(token: Facts, userInfo: Facts, verifiedEmails: boolean): Claims {
  const [own, other] = [addressOf(token.email), addressOf(userInfo.email)]
  const email = own ?? other
  const answers = [token, userInfo].filter((facts) => addressOf(facts.email) === email)
  const verified = answers.map((facts) => facts.email_verified ?? null).find((value) => value !== null)
  return {
    subject: String(token.sub),
    email,
    // Some providers send the text "true".
    isEmailVerified: email !== null && (verifiedEmails || verified === true || verified === 'true'),
    name: nameOf(token.name) ?? nameOf(userInfo.name),
  }
}

/** Checked before the case is changed, which turns letters of other alphabets into English ones. */
function addressOf(email: unknown): string | null {
  return typeof email === 'string' && isEmail(email) ? email.toLowerCase() : null
}

function nameOf(text: unknown): string | null {
  if (typeof text !== 'string') return null
  const name = truncateText(text.replace(/\p{Cc}/gu, '').trim(), maxNameLength)
  return name === '' ? null : name
}
