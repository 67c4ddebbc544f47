// The pages after a request for an e-mail, for the token of an e-mail or of an identity provider, and for a
// sign-in that failed elsewhere.
import type { Field } from '../../../infra/html/form.ts'
import { html } from '../../../infra/html/html.ts'
import { page } from '../../../infra/html/layout.ts'
import { code, formPage, links, type FormState } from './form.ts'

export type TokenKind = 'sign_up' | 'link' | 'password_reset' | 'email_change' | 'oidc'

const newPassword: Field = {
  name: 'password',
  label: 'New password',
  hint: 'At least 8 characters, and no common password',
  maxLength: 256,
  attributes: html`type="password" autocomplete="new-password" minlength="8"`,
}
const mailedCode: Field = {
  name: 'token',
  label: 'Code of the e-mail',
  attributes: html`autocomplete="off" spellcheck="false"`,
}

interface TokenPage {
  title: string
  text: string
  button: string
  asksPassword?: true
}

const tokenPages: Record<TokenKind, TokenPage> = {
  sign_up: {
    title: 'Confirm your email address',
    text: 'Choose the password of your new account.',
    button: 'Create the account',
    asksPassword: true,
  },
  link: { title: 'Sign in', text: 'The link of your e-mail signs you in.', button: 'Sign in' },
  oidc: { title: 'Sign in', text: 'The identity provider has signed you in.', button: 'Continue' },
  password_reset: {
    title: 'Set a new password',
    text: 'You are signed out on all devices then. Passkeys and linked accounts stay.',
    button: 'Set the password',
    asksPassword: true,
  },
  email_change: {
    title: 'Confirm your new email address',
    text: 'It becomes the address of your account.',
    button: 'Confirm the address',
  },
}

/** The page on which a person consents to link an identity to an account. */
function consentTo(provider: string): TokenPage {
  return {
    title: `Link your account of ${provider}?`,
    text:
      `This is your first sign-in here with ${provider}. If you link your account of ${provider}, it can ` +
      'sign in to the account above.',
    button: 'Link and sign in',
  }
}

/** The page for a token of an e-mail or of an identity provider. */
export function renderToken(kind: TokenKind, token: string, state: FormState = {}): string {
  const { account, linksProvider = null } = state
  const { title, text, button, asksPassword } =
    linksProvider === null ? tokenPages[kind] : consentTo(linksProvider)
  const fields = [
    ...(token === '' ? [mailedCode] : []),
    ...(asksPassword === true ? [newPassword] : []),
    ...(state.needsCode === true ? [code] : []),
  ]
  const hidden = { kind, ...(token !== '' && { token }) }
  const more = linksProvider === null ? undefined : links([['/sign-in', 'Do not link it']])
  return formPage({ title, account, text, action: '/sign-in/token', fields, button, hidden, state, more })
}

/** After a request for an e-mail. */
export function renderMailSent(): string {
  return page({
    title: 'Look into your e-mail',
    body: html`<div class="sheet stack">
      <h1>Look into your e-mail</h1>
      <p>If the address can be used, it gets an e-mail in a moment. Follow the link in it.</p>
      <p class="soft">If the e-mail has a code instead, enter it here:</p>
      ${links([
        ['/sign-in/token?kind=sign_up', 'Confirm a new account'],
        ['/sign-in/token?kind=link', 'Sign in with a code'],
        ['/sign-in/token?kind=password_reset', 'Set a new password'],
      ])}
    </div>`,
  })
}

const refusals: Record<string, string> = {
  denied: 'The identity provider did not sign you in.',
  email_not_verified: 'The identity provider has not verified your email address.',
  account_not_verified: 'The email address of your account here is not verified: ask the operator.',
  disabled: 'The account is disabled.',
  sign_up: 'You cannot sign up here with this address.',
  not_valid: 'The answer of the identity provider is not valid. Start again.',
  unavailable: 'The identity provider cannot be reached. Try again in a moment.',
}

/** After a sign-in at an identity provider that failed. */
export function renderRefusal(reason: string): string {
  return page({
    title: 'You are not signed in',
    body: html`<div class="sheet stack">
      <h1>You are not signed in</h1>
      <p>${Object.hasOwn(refusals, reason) ? refusals[reason] : 'The sign-in failed.'}</p>
      <p><a class="button" href="/sign-in">Back to the sign-in</a></p>
    </div>`,
  })
}
