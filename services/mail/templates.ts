// What the e-mails say, as text and as HTML.
import type { Config } from '../../infra/config/config.ts'
import { html } from '../../infra/html/html.ts'

/** The kinds of e-mail with a one-time token. */
export type Mailed = 'sign_up' | 'link' | 'password_reset' | 'email_change'

/** Those that tell a user of a change. They are always sent. */
export type Notice =
  | 'email_changed'
  | 'password_changed'
  | 'second_factor_on'
  | 'second_factor_off'
  | 'recovery_code_used'
  | 'identity_linked'
  | 'identity_removed'
  | 'passkey_added'
  | 'passkey_removed'
  | 'api_key_created'
  | 'invitation'
  | 'organization_invitation'

export type MailKind = Mailed | Notice | 'account_exists'

/** Seconds that the token of each kind of e-mail is valid. */
export const lifetimes: Record<Mailed, number> = {
  sign_up: 86_400,
  link: 15 * 60,
  password_reset: 3_600,
  email_change: 3_600,
}

export interface MailContent {
  subject: string
  text: string
  html: string
}

interface Template {
  subject: string
  /** Before the link, or the code. */
  before: string
  /** The text of the link. Absent if there is none. */
  action?: string
  after: string
}

const ignore = 'If you did not ask for this, ignore this e-mail: nothing changes.'

const templates: Record<MailKind, Template> = {
  sign_up: {
    subject: 'Confirm your email address',
    before: 'You have signed up. Confirm that this is your address; the link works once, within 24 hours.',
    action: 'Confirm the address',
    after: ignore,
  },
  account_exists: {
    subject: 'You have an account already',
    before: 'Somebody, probably you, signed up with this address. It has an account already.',
    after: 'Sign in, or reset your password if you forgot it. If it was not you, nothing changes.',
  },
  link: {
    subject: 'Your link to sign in',
    before: 'Sign in with this link. It works once, within 15 minutes.',
    action: 'Sign in',
    after: ignore,
  },
  password_reset: {
    subject: 'Reset your password',
    before: 'Set a new password with this link. It works once, within an hour.',
    action: 'Set a new password',
    after: ignore,
  },
  email_change: {
    subject: 'Confirm your new email address',
    before: 'Confirm that this is the new address of your account. The link works once, within an hour.',
    action: 'Confirm the address',
    after: ignore,
  },
  email_changed: {
    subject: 'A new email address for your account',
    before: 'You, or an operator, asked for another email address for your account.',
    after: 'If it was not you, change your password now: that ends the other sessions and this request.',
  },
  second_factor_on: {
    subject: 'Your second factor was turned on',
    before: 'Sign-ins need a code of your authenticator app from now on. The other sessions have ended.',
    after: 'If it was not you, ask the operator for help now.',
  },
  second_factor_off: {
    subject: 'Your second factor was removed',
    before: 'Sign-ins need no code of an authenticator app any more.',
    after: 'If it was not you, reset your password now, and turn the second factor on again.',
  },
  recovery_code_used: {
    subject: 'A recovery code was used',
    before: 'Somebody, probably you, signed in with one of your recovery codes. It does not work again.',
    after: 'If it was not you, reset your password now, and turn the second factor off and on again.',
  },
  passkey_added: {
    subject: 'A passkey was added to your account',
    before: 'A device can sign in to your account with a passkey from now on.',
    after: 'If it was not you, remove the passkey, and reset your password now.',
  },
  passkey_removed: {
    subject: 'A passkey was removed from your account',
    before: 'A device can no longer sign in to your account with its passkey.',
    after: 'If it was not you, reset your password now.',
  },
  api_key_created: {
    subject: 'A new API key for your account',
    before: 'Somebody, probably you, signed in and created an API key.',
    after: 'If it was not you, revoke the key, and reset your password now.',
  },
  invitation: {
    subject: 'An invitation to a project',
    before: 'You are invited to a project. Sign in with this address to accept or decline, within 14 days.',
    action: 'Go to the sign-in',
    after: 'If you do not know why, ignore this e-mail: nothing changes.',
  },
  organization_invitation: {
    subject: 'An invitation to an organization',
    before: 'You are invited to an organization. Sign in with this address to accept, within 14 days.',
    action: 'Go to the sign-in',
    after: 'If you do not know why, ignore this e-mail: nothing changes.',
  },
  identity_linked: {
    subject: 'A new way to sign in to your account',
    before: 'Somebody, probably you, signed in to your account with an identity provider for the first time.',
    after: 'If it was not you, remove the identity, and change the password at the provider now.',
  },
  identity_removed: {
    subject: 'A way to sign in to your account was removed',
    before: 'Your account at an identity provider was removed from the ways to sign in.',
    after: 'If it was not you, reset your password now.',
  },
  password_changed: {
    subject: 'Your password was changed',
    before:
      'The password of your account was changed, and the other sessions have ended. API keys, passkeys and ' +
      'linked accounts stay.',
    after: 'If it was not you, reset your password now.',
  },
}

/** What the link of an e-mail has. */
interface LinkParts {
  /** The one-time token; null for an e-mail without one. */
  token: string | null
  /** The id of an invitation. */
  invitation?: string | null
}

/** @param target null: the e-mail shows the token itself */
export function renderMail(
  kind: MailKind,
  { token, invitation = null }: LinkParts,
  target: LinkTarget | null,
): MailContent {
  const { subject, before, action, after } = templates[kind]
  const link = action === undefined || target === null ? null : linkOf(target, kind, { token, invitation })
  const middle = link ?? (token === null ? [] : `Enter this code:\n${token}`)
  const button = link === null ? null : html`<p><a href="${link}">${action!}</a></p>`
  const code = link !== null || token === null ? null : html`<p>Enter this code:</p><pre>${token}</pre>`
  return {
    subject,
    text: `${[before, middle, after].flat().join('\n\n')}\n`,
    html: html`<!doctype html><meta charset="utf-8" /><title>${subject}</title>
      <p>${before}</p>${button}${code}<p>${after}</p>`.text,
  }
}

/** The page that links lead to: of the application, else of this server. Null if no URL is known. */
export interface LinkTarget {
  url: string
  /** The page for e-mails without a token. */
  home: string
  /** The page above the pages of invitations; null for an application, which has its own. */
  invitations: string | null
  /** Browsers send the fragment to no server; a page without scripts needs the token in the query. */
  part: 'hash' | 'search'
}

export function linkTarget({
  signInUrl,
  publicUrl,
}: Pick<Config, 'signInUrl' | 'publicUrl'>): LinkTarget | null {
  if (signInUrl !== null) return { url: signInUrl, home: signInUrl, invitations: null, part: 'hash' }
  if (publicUrl === null) return null
  return {
    url: `${publicUrl}/sign-in/token`,
    home: `${publicUrl}/sign-in`,
    invitations: `${publicUrl}/invitations`,
    part: 'search',
  }
}

function linkOf(
  { url, home, invitations, part }: LinkTarget,
  kind: MailKind,
  { token, invitation = null }: LinkParts,
): string {
  if (invitation !== null && invitations !== null) return `${invitations}/${invitation}`
  if (token === null) return home
  const link = new URL(url)
  link[part] = new URLSearchParams({ kind, token }).toString()
  return link.href
}
