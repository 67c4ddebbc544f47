// The sign-in pages as HTML, without scripts.
import { renderFailure, renderField, renderProblems, type Field } from '../../infra/html/form.ts'
import { html, type Html } from '../../infra/html/html.ts'
import { page } from '../../infra/html/layout.ts'
import type { Session } from './sessions.ts'

/** What a form shows again after an error. */
export interface FormState {
  values?: { email?: string; name?: string }
  /** By field. */
  problems?: Record<string, string>
  /** An error of the whole form. */
  failure?: string
  /** Whether the user must enter a code of the second factor. */
  needsCode?: boolean
  /** The address of the account that a token is for. */
  account?: string | null
}

export type TokenKind = 'sign_up' | 'link' | 'password_reset' | 'email_change' | 'oidc'

const email: Field = {
  name: 'email',
  label: 'Email address',
  maxLength: 254,
  attributes: html`type="email" autocomplete="username" spellcheck="false"`,
}
const password: Field = {
  name: 'password',
  label: 'Password',
  maxLength: 256,
  attributes: html`type="password" autocomplete="current-password"`,
}
const newPassword: Field = {
  name: 'password',
  label: 'New password',
  hint: 'At least 8 characters, and no common password',
  maxLength: 256,
  attributes: html`type="password" autocomplete="new-password" minlength="8"`,
}
const code: Field = {
  name: 'code',
  label: 'Code',
  hint: 'From your authenticator app, or a recovery code',
  attributes: html`inputmode="numeric" autocomplete="one-time-code" spellcheck="false"`,
}
const fullName: Field = {
  name: 'name',
  label: 'Full name',
  maxLength: 120,
  attributes: html`autocomplete="name"`,
}
const mailedCode: Field = {
  name: 'token',
  label: 'Code of the e-mail',
  attributes: html`autocomplete="off" spellcheck="false"`,
}

interface FormParts {
  title: string
  /** The address of an account. */
  account?: string
  /** Between the title and the fields. */
  text?: string
  action: string
  fields: Field[]
  button: string
  hidden?: Record<string, string>
  state?: FormState
  /** Below the form. */
  more?: Html
}

function formPage({
  title,
  account,
  text,
  action,
  fields,
  button,
  hidden = {},
  state = {},
  more,
}: FormParts): string {
  const { values = {}, problems = {}, failure } = state
  const hasProblems = Object.keys(problems).length > 0
  const shown = (field: Field): Html =>
    renderField({
      ...field,
      value: (values as Record<string, string | undefined>)[field.name],
      problem: problems[field.name],
    })
  return page({
    title: hasProblems || failure !== undefined ? `Error: ${title}` : title,
    body: html`<div class="stack">
      <form class="sheet stack" method="post" action="${action}" novalidate aria-labelledby="what">
        ${hasProblems ? renderProblems('Check what you entered', problems) : null}
        ${failure === undefined ? null : renderFailure('That did not work', failure)}
        <h1 id="what">${title}</h1>
        ${account === undefined ? null : html`<p><bdi>${account}</bdi></p>`}
        ${text === undefined ? null : html`<p class="soft">${text}</p>`}
        ${Object.entries(hidden).map(
          ([name, value]) => html`<input type="hidden" name="${name}" value="${value}" /> `,
        )}
        ${fields.map(shown)}
        <button class="button">${button}</button>
      </form>
      ${more ?? null}
    </div>`,
  })
}

function links(entries: Array<[url: string, text: string]>): Html {
  return html`<ul>
    ${entries.map(([url, text]) => html`<li><a href="${url}">${text}</a></li> `)}
  </ul>`
}

/** @param providers the names and URLs of the identity providers */
export function renderSignIn(
  { providers, maySignUp }: { providers: Array<{ name: string; url: string }>; maySignUp: boolean },
  state: FormState = {},
): string {
  return formPage({
    title: 'Sign in',
    action: '/sign-in',
    fields: state.needsCode === true ? [email, password, code] : [email, password],
    button: 'Sign in',
    state,
    more: html`${providers.map(
      ({ name, url }) => html`<p><a class="button plain" href="${url}">Sign in with ${name}</a></p> `,
    )}
      ${links([
        ['/sign-in/help', 'Forgot your password?'],
        ...(maySignUp ? [['/sign-up', 'Create an account'] as [string, string]] : []),
      ])}`,
  })
}

export function renderSignUp(state: FormState = {}): string {
  return formPage({
    title: 'Create an account',
    text: 'You get an e-mail to confirm the address. You choose the password then.',
    action: '/sign-up',
    fields: [fullName, email],
    button: 'Continue',
    state,
    more: links([['/sign-in', 'You have an account? Sign in']]),
  })
}

export function renderSignUpClosed(): string {
  return page({
    title: 'Create an account',
    body: html`<div class="sheet stack">
      <h1>You cannot sign up here</h1>
      <p>Ask the operator for an account.</p>
      <p><a href="/sign-in">Sign in</a></p>
    </div>`,
  })
}

export function renderHelp(state: FormState = {}): string {
  return page({
    title: state.problems === undefined ? 'Forgot your password?' : 'Error: Forgot your password?',
    body: html`<form
      class="sheet stack"
      method="post"
      action="/sign-in/help"
      novalidate
      aria-labelledby="what"
    >
      ${state.problems === undefined ? null : renderProblems('Check what you entered', state.problems)}
      <h1 id="what">Forgot your password?</h1>
      <p class="soft">You get an e-mail with a link, if there is an account with this address.</p>
      ${renderField({ ...email, value: state.values?.email, problem: state.problems?.email })}
      <button class="button" name="send" value="password_reset">Set a new password</button>
      <button class="button plain" name="send" value="link">Sign in with a link</button>
    </form>`,
  })
}

const tokenPages: Record<TokenKind, { title: string; text: string; button: string; asksPassword?: true }> = {
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

/** The page for a token of an e-mail or of an identity provider. */
export function renderToken(kind: TokenKind, token: string, state: FormState = {}): string {
  const { title, text, button, asksPassword } = tokenPages[kind]
  const fields = [
    ...(token === '' ? [mailedCode] : []),
    ...(asksPassword === true ? [newPassword] : []),
    ...(state.needsCode === true ? [code] : []),
  ]
  const hidden = { kind, ...(token !== '' && { token }) }
  const account = state.account ?? undefined
  return formPage({ title, account, text, action: '/sign-in/token', fields, button, hidden, state })
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

export function renderOtherSite(): string {
  return page({
    title: 'This form cannot be sent',
    body: html`<div class="sheet stack">
      <h1>This form cannot be sent</h1>
      <p>It was sent by a page of another site. Nothing was changed.</p>
      <p><a class="button" href="/sign-in">Go to the sign-in</a></p>
    </div>`,
  })
}

/** Where the user is signed in, newest first. */
export function renderAccount(profile: { name: string; email: string }, sessions: Session[]): string {
  return page({
    title: 'Your account',
    body: html`<div class="stack">
      <div class="sheet stack">
        <h1><bdi>${profile.name}</bdi></h1>
        <p class="soft"><bdi>${profile.email}</bdi></p>
      </div>
      <section class="sheet stack" aria-labelledby="devices">
        <h2 id="devices">Where you are signed in</h2>
        <ul class="stack">
          ${sessions.map(renderSession)}
        </ul>
      </section>
    </div>`,
  })
}

function minuteOf(time: string): string {
  return `${time.slice(0, 16).replace('T', ' ')} UTC`
}

function renderSession({ id, device, ip, current, last_used_at: lastUsed }: Session): Html {
  const name = device ?? 'Unknown device'
  return html`<li>
    <form class="stack" method="post" action="/account">
      <input type="hidden" name="session" value="${id}" />
      <p>
        <strong>${current ? 'This browser' : name}</strong><br />
        <span class="soft">${current ? name : ''} ${ip ?? ''} ${minuteOf(lastUsed)}</span>
      </p>
      <button class="button plain" aria-label="Sign out ${current ? 'this browser' : name}">Sign out</button>
    </form>
  </li> `
}
