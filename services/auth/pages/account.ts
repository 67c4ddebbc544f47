// The page of the account: everything that can sign in to it.
import { renderFailure } from '../../../infra/html/form.ts'
import { html, type Html } from '../../../infra/html/html.ts'
import { page } from '../../../infra/html/layout.ts'
import type { Identity } from '../oidc/identities.ts'
import type { Passkey } from '../passkeys.ts'
import type { Session } from '../sessions/sessions.ts'
import type { Totp } from '../totp.ts'

export interface Account {
  name: string
  email: string
  sessions: Session[]
  passkeys: Passkey[]
  identities: Identity[]
  totp: Totp
}

export interface AccountPageOptions {
  /** SIGN_IN_URL: the application, where passkeys are added. */
  application: string | null
  /** Whether this server has the console. */
  console: boolean
  /** Why the last form was refused. */
  failure?: string
}

export function renderAccount(
  account: Account,
  { application, console, failure }: AccountPageOptions,
): string {
  const { name, email, sessions, passkeys, identities, totp } = account
  return page({
    title: failure === undefined ? 'Your account' : 'Error: Your account',
    body: html`<div class="stack">
      ${failure === undefined ? null : renderRefused(failure)}
      <div class="sheet stack">
        <h1><bdi>${name}</bdi></h1>
        <p class="soft"><bdi>${email}</bdi></p>
        ${console ? html`<p><a href="/console">Open the console</a></p>` : null}
      </div>
      ${renderSection('devices', 'Where you are signed in', renderList(sessions.map(renderSession)))}
      ${renderSection(
        'passkeys',
        'Passkeys',
        html`${renderList(passkeys.map(renderPasskey))}
          <p class="soft">${passkeyHint(application)}</p>`,
      )}
      ${renderSection('identities', 'Linked accounts', renderList(identities.map(renderIdentity)))}
      ${renderSection('factor', 'Second factor', html`<p>${factorText(totp)}</p>`)}
    </div>`,
  })
}

function renderRefused(failure: string): Html {
  return html`<div class="stack">
    ${renderFailure('That did not work', failure)}
    <p><a class="button" href="/sign-in">Sign in again</a></p>
  </div>`
}

function renderSection(id: string, title: string, body: Html): Html {
  return html`<section class="sheet stack" aria-labelledby="${id}">
    <h2 id="${id}">${title}</h2>
    ${body}
  </section> `
}

function renderList(items: Html[]): Html {
  if (items.length === 0) return html`<p>None.</p>`
  return html`<ul class="stack">
    ${items}
  </ul>`
}

function passkeyHint(application: string | null): Html {
  const place =
    application === null ? 'your application' : html`<a href="${application}">your application</a>`
  return html`You add a passkey in ${place}. It needs a script, and this page has none.`
}

function factorText({ enabled, recovery_codes_left: left }: Totp): string {
  if (!enabled) return 'Off. Sign-ins with a password, a link or a linked account need no code.'
  return `On: codes of an authenticator app. Recovery codes left: ${left}.`
}

function minuteOf(time: string): string {
  return `${time.slice(0, 16).replace('T', ' ')} UTC`
}

interface Item {
  /** Where the form is sent. */
  action: string
  field: string
  id: string
  title: string
  details: string
  button: string
  /** The label of the button for screen readers. */
  label: string
}

function renderItem({ action, field, id, title, details, button, label }: Item): Html {
  return html`<li>
    <form class="stack" method="post" action="${action}">
      <input type="hidden" name="${field}" value="${id}" />
      <p>
        <strong><bdi>${title}</bdi></strong><br />
        <span class="soft">${details}</span>
      </p>
      <button class="button plain" aria-label="${label}">${button}</button>
    </form>
  </li> `
}

function renderSession({ id, device, ip, current, last_used_at: lastUsed }: Session): Html {
  const name = device ?? 'Unknown device'
  return renderItem({
    action: '/account',
    field: 'session',
    id,
    title: current ? 'This browser' : name,
    details: `${current ? name : ''} ${ip ?? ''} ${minuteOf(lastUsed)}`,
    button: 'Sign out',
    label: `Sign out ${current ? 'this browser' : name}`,
  })
}

function renderPasskey({ id, name, created_at: createdAt, last_used_at: lastUsed }: Passkey): Html {
  const used = lastUsed === null ? 'never used' : `last used ${minuteOf(lastUsed)}`
  return renderItem({
    action: '/account/passkeys',
    field: 'passkey',
    id,
    title: name,
    details: `Added ${minuteOf(createdAt)}, ${used}`,
    button: 'Remove',
    label: `Remove the passkey ${name}`,
  })
}

function renderIdentity({ id, provider, email, last_used_at: lastUsed }: Identity): Html {
  return renderItem({
    action: '/account/identities',
    field: 'identity',
    id,
    title: email === null ? provider : `${provider}: ${email}`,
    details: `Last used ${minuteOf(lastUsed)}`,
    button: 'Unlink',
    label: `Unlink ${provider}${email === null ? '' : ` ${email}`}`,
  })
}
