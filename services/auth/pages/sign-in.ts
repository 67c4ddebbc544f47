// The pages to sign in and to sign up, and the page for a forgotten password.
import { renderField, renderProblems, type Field } from '../../../infra/html/form.ts'
import { html } from '../../../infra/html/html.ts'
import { page } from '../../../infra/html/layout.ts'
import { code, formPage, links, type FormState } from './form.ts'

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
const fullName: Field = {
  name: 'name',
  label: 'Full name',
  maxLength: 120,
  attributes: html`autocomplete="name"`,
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
