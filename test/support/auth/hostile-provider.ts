// An identity provider whose answers tests choose, also wrong ones.
import { createServer } from 'node:http'
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT, type JWTPayload } from 'jose'
import type { Test } from 'tap'
import { listen } from '../http/listen.ts'

export interface Lies {
  /** Changes the claims of the ID token. */
  claims?: JWTPayload
  /** Signs with a key that the provider does not publish, or not at all. */
  signature?: 'other key' | 'none'
  /** Leaves the ID token out. */
  noToken?: boolean
  /** The issuer in the discovery document. */
  issuer?: string
  /** Answers the request for tokens with this status. */
  status?: number
  /** The answer of the userinfo endpoint: its claims, or a status without any. */
  userInfo?: JWTPayload | number
}

export interface HostileProvider {
  setting: { name: string; issuer: string; client_id: string; client_secret: string }
  lies: Lies
  /** The nonce of the sign-in that the next code is for. */
  nonce: string
  /** The bodies of the requests for tokens. */
  tokenRequests: URLSearchParams[]
  /** The access tokens that the userinfo endpoint got. */
  userInfoRequests: (string | undefined)[]
}

export async function startHostileProvider(
  t: Pick<Test, 'teardown'>,
  { name = 'hostile', hasUserInfo = false } = {},
): Promise<HostileProvider> {
  const keys = await generateKeyPair('RS256')
  const otherKeys = await generateKeyPair('RS256')
  const jwk = { ...(await exportJWK(keys.publicKey)), kid: 'one', alg: 'RS256', use: 'sig' }
  const server = createServer(async (request, response) => {
    const answer = (body: object): void =>
      void response.setHeader('content-type', 'application/json').end(JSON.stringify(body))
    if (request.url === '/jwks') return answer({ keys: [jwk] })
    if (request.url === '/userinfo') {
      const { userInfo } = state.lies
      state.userInfoRequests.push(request.headers.authorization)
      return typeof userInfo === 'number' ? void response.writeHead(userInfo).end() : answer(userInfo!)
    }
    if (request.url !== '/token')
      return answer({
        issuer: state.lies.issuer ?? issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
        ...(hasUserInfo && { userinfo_endpoint: `${issuer}/userinfo` }),
        authorization_response_iss_parameter_supported: true,
        id_token_signing_alg_values_supported: ['RS256'],
      })
    state.tokenRequests.push(new URLSearchParams((await request.toArray()).join('')))
    const { claims, signature, noToken, status } = state.lies
    if (status !== undefined) return void response.writeHead(status).end()
    const now = Math.floor(Date.now() / 1000)
    const usual = { iss: issuer, aud: 'platform', sub: 'ada', iat: now, exp: now + 300 }
    const person = { email: 'ada@example.com', email_verified: true, nonce: state.nonce }
    const payload = { ...usual, ...person, ...claims }
    const key = signature === 'other key' ? otherKeys.privateKey : keys.privateKey
    const token =
      signature === 'none'
        ? new UnsecuredJWT(payload).encode()
        : await new SignJWT(payload).setProtectedHeader({ alg: 'RS256', kid: 'one' }).sign(key)
    answer({ access_token: 'access', token_type: 'Bearer', ...(noToken !== true && { id_token: token }) })
  })
  const port = await listen(t, server)
  const issuer = `http://127.0.0.1:${port}`
  const setting = { name, issuer, client_id: 'platform', client_secret: 'secret' }
  const state: HostileProvider = { setting, lies: {}, nonce: '', tokenRequests: [], userInfoRequests: [] }
  return state
}
