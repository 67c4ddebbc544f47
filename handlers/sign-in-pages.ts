// The sign-in pages: plain HTML that works without scripts. Each form redirects after POST, so that reloading
// or going back submits nothing twice.
import { newCookieToken, tokenDigest } from '../infra/encryption/tokens.ts'
import { ApiError, unauthorized } from '../infra/errors.ts'
import { isEmail } from '../infra/validation/formats.ts'
import { findBrowserSession } from '../services/auth/sessions/browser-session.ts'
import {
  readFlowCookie,
  readReturnPath,
  returnCookie,
  sessionCookie,
} from '../services/auth/sessions/cookies.ts'
import { oidcTokenDigest } from '../services/auth/oidc/identities.ts'
import { challengeOf, decryptFlow } from '../services/auth/oidc/oidc.ts'
import { mailToken } from '../services/auth/tokens/mailed-tokens.ts'
import {
  confirmSignUp,
  resetPassword,
  signInWithPassword,
  signInWithToken,
} from '../services/auth/sessions/new-sessions.ts'
import {
  databaseFor,
  findSession,
  isOwnPage,
  noteRefusal,
  otherSite,
  redirectTo,
  refused,
  shown,
  type PageRequest,
} from '../services/auth/pages/browser.ts'
import type { FormState } from '../services/auth/pages/form.ts'
import { renderHelp, renderSignIn, renderSignUp, renderSignUpClosed } from '../services/auth/pages/sign-in.ts'
import { renderMailSent, renderRefusal, renderToken, type TokenKind } from '../services/auth/pages/token.ts'
import { deviceOf, endSession } from '../services/auth/sessions/sessions.ts'
import { changeAddress } from '../services/auth/account-changes.ts'
import { findTokenGoal, useToken } from '../services/auth/tokens/one-time-tokens.ts'
import { requireSignUp } from '../services/auth/sign-up.ts'
import type { Handlers, HandlerServices } from '../services/handler.ts'

export const signInPages = {
  async showSignInPage({ query: { to } }, services) {
    const { config } = services
    const cookie = to === 'console' && config.console ? returnCookie(config, to) : undefined
    return shown(renderSignIn(signInOptions(services)), cookie)
  },

  async submitSignIn({ body, ...request }, services) {
    if (!isOwnPage(request, services)) return otherSite()
    const { email = '', password = '', code = '' } = body
    const values = { email }
    const again = (state: FormState) => refused(renderSignIn(signInOptions(services), { values, ...state }))
    const problems = {
      ...(!isEmail(email) && { email: 'Enter your email address.' }),
      ...(password === '' && { password: 'Enter your password.' }),
    }
    if (Object.keys(problems).length > 0) return again({ problems, needsCode: code !== '' })
    return await signInOrShow(
      request,
      services,
      () => signInWithPassword(services, { email, password, ...codeOf(code) }, browserOf(request)),
      again,
    )
  },

  async showSignUpPage(_request, { config }) {
    return shown(config.signUp === 'off' ? renderSignUpClosed() : renderSignUp())
  },

  async submitSignUp({ body, ...request }, services) {
    if (!isOwnPage(request, services)) return otherSite()
    const { db, config, cipher, mails } = services
    const { email = '', name = '' } = body
    const problems = {
      ...(name.trim() === '' && { name: 'Enter your name.' }),
      ...(!isEmail(email) && { email: 'Enter your email address.' }),
    }
    const again = (state: FormState) => refused(renderSignUp({ values: { email, name }, ...state }))
    if (Object.keys(problems).length > 0) return again({ problems })
    try {
      requireSignUp(config.signUp, email)
    } catch (error) {
      return again({ failure: noteRefusal(request, error).message })
    }
    await db.transaction((tx) => mailToken(tx, { cipher, mails }, { kind: 'sign_up', email, name }))
    return redirectTo('/sign-in/token')
  },

  async showSignInHelp() {
    return shown(renderHelp())
  },

  async submitSignInHelp({ body, ...request }, services) {
    if (!isOwnPage(request, services)) return otherSite()
    const { db, cipher, mails } = services
    const { email = '', send: kind = 'link' } = body
    if (!isEmail(email))
      return refused(renderHelp({ values: { email }, problems: { email: 'Enter your email address.' } }))
    await db.transaction((tx) => mailToken(tx, { cipher, mails }, { kind, email }))
    return redirectTo('/sign-in/token')
  },

  async showTokenPage({ query: { kind, token = '', error }, ...request }, services) {
    if (error !== undefined) return shown(renderRefusal(error))
    if (kind === undefined) return shown(renderMailSent())
    return shown(renderToken(kind, token, await goalOf(request, services, { kind, token })))
  },

  async submitToken({ body, ...request }, services) {
    if (!isOwnPage(request, services)) return otherSite()
    const { kind = 'link', token = '', password = '', code = '' } = body
    const goal = await goalOf(request, services, { kind, token })
    const again = (state: FormState) => refused(renderToken(kind, token, { ...goal, ...state }))
    const device = browserOf(request)
    const needsPassword = kind === 'sign_up' || kind === 'password_reset'
    if (needsPassword && [...password].length < 8)
      return again({ problems: { password: 'Enter at least 8 characters.' }, needsCode: code !== '' })
    switch (kind) {
      case 'email_change':
        return await confirmAddress(request, services, token, again)
      case 'sign_up':
        return await signInOrShow(
          request,
          services,
          () => confirmSignUp(services, { token, password }, device),
          again,
        )
      case 'password_reset':
        return await signInOrShow(
          request,
          services,
          () => resetPassword(services, { token, password, ...codeOf(code) }, device),
          again,
        )
      default:
        return await signInOrShow(
          request,
          services,
          () => {
            const verifier = kind === 'oidc' ? verifierOf(request, services) : undefined
            return signInWithToken(services, { method: kind, token, verifier, ...codeOf(code) }, device)
          },
          again,
        )
    }
  },
} satisfies Handlers<'sign-in-pages'>

function browserOf(request: PageRequest) {
  return { ...deviceOf(request), inCookie: true }
}

function signInOptions({ config, oidcProviders, publicUrl }: HandlerServices) {
  const back = encodeURIComponent(`${publicUrl()}/sign-in/token`)
  const providers = oidcProviders.names.map((name) => ({
    name,
    url: `/v1/auth/oidc/${name}/authorize?redirect_to=${back}`,
  }))
  return { providers, maySignUp: config.signUp !== 'off' }
}

/** The proof that the sign-in at an identity provider began in this browser. */
function verifierOf({ headers: sent }: PageRequest, { config, cipher }: HandlerServices): string {
  return decryptFlow(cipher, readFlowCookie(config, sent)).verifier
}

/** The account of a token. The page shows it, because a link may come from an attacker. */
async function goalOf(
  request: PageRequest,
  services: HandlerServices,
  { kind, token }: { kind: TokenKind; token: string },
): Promise<Pick<FormState, 'account' | 'linksProvider'>> {
  if (token === '') return {}
  const digest = kind === 'oidc' ? providerTokenDigest(request, services, token) : tokenDigest(token)
  return (digest === null ? null : await findTokenGoal(services.db, kind, digest)) ?? {}
}

/** Null if the sign-in did not begin in this browser. */
function providerTokenDigest(request: PageRequest, services: HandlerServices, token: string): string | null {
  try {
    return oidcTokenDigest(token, challengeOf(verifierOf(request, services)))
  } catch (error) {
    // The page is only shown: its form refuses the token.
    if (!(error instanceof ApiError) || error.status >= 500) throw error
    return null
  }
}

/** A code as people type it. */
function codeOf(typed: string): { code?: string } {
  const code = typed.replace(/\s/g, '').toLowerCase()
  return code === '' ? {} : { code }
}

/**
 * Keeps the new session in the cookie, and ends the one that was there. Shows the form again for what the
 * person can correct.
 */
async function signInOrShow<Page>(
  request: PageRequest,
  services: HandlerServices,
  signIn: () => Promise<{ id: string }>,
  again: (state: FormState) => Page,
) {
  const { config, cipher } = services
  try {
    const { id } = await signIn()
    const former = await findBrowserSession(services.principals, config, request.headers)
    if (former !== null)
      await databaseFor(request, services, former).transaction((tx) =>
        endSession(tx, services, former.credentialId),
      )
    const next = readReturnPath(config, request.headers) ?? '/account'
    return redirectTo(next, sessionCookie(config, newCookieToken(cipher, id)))
  } catch (error) {
    const { status, message, details } = noteRefusal(request, error)
    if (status === 429) throw error
    const { reason, errors } = details
    const problem = errors?.[0]
    if (problem?.field === 'password')
      return again({ problems: { password: 'This password is too common.' } })
    return again({ failure: message, needsCode: reason === 'second_factor' })
  }
}

async function confirmAddress<Page>(
  request: PageRequest,
  services: HandlerServices,
  token: string,
  again: (state: FormState) => Page,
) {
  const principal = await findSession(request, services)
  if (principal === null) {
    request.noteError(unauthorized('missing'))
    return again({ failure: 'Sign in first, and open the link again.' })
  }
  try {
    await databaseFor(request, services, principal).transaction(async (tx) =>
      changeAddress(tx, services, principal, await useToken(tx, 'email_change', tokenDigest(token))),
    )
    return redirectTo('/account')
  } catch (error) {
    return again({ failure: noteRefusal(request, error).message })
  }
}
