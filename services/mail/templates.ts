// The texts of the e-mails, as text and as HTML.
import type { Config } from '../../infra/config/config.ts'
import { html } from '../../infra/html/html.ts'
import { alerts, lastAlert, type Alert } from './alerts.ts'

/** The kinds of e-mail with a one-time token. */
export type Mailed = 'sign_up' | 'link' | 'password_reset' | 'account_invitation' | 'email_change'

/** The e-mails about invitations. */
type Invitation = 'invitation' | 'organization_invitation'

/** The e-mails about payments. Their sender writes them. */
export type Receipt = 'receipt' | 'refund_receipt'

export type MailKind = Mailed | Alert | Invitation | Receipt | 'account_exists'

/** Seconds that the token of each kind of e-mail is valid. */
export const lifetimes: Record<Mailed, number> = {
  sign_up: 86_400,
  link: 15 * 60,
  password_reset: 3_600,
  account_invitation: 7 * 86_400,
  email_change: 3_600,
}

/** What the token of an e-mail is for: an invitation to an account sets the first password. */
export function purposeOf<Kind extends MailKind>(
  kind: Kind,
): Exclude<Kind, 'account_invitation'> | 'password_reset' {
  return kind === 'account_invitation' ? 'password_reset' : (kind as Exclude<Kind, 'account_invitation'>)
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

const templates: Record<Exclude<MailKind, Receipt>, Template> = {
  ...alerts,
  sign_up: {
    subject: 'Confirm your email address',
    before: 'You have signed up. Confirm that this is your address; the link works once, within 24 hours.',
    action: 'Confirm the address',
    after: ignore,
  },
  account_exists: {
    subject: 'You have an account already',
    before: 'This address was used to sign up. It has an account already.',
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
  account_invitation: {
    subject: 'Your new account',
    before: 'An account was created for you. Set a password with this link; it works once, within 7 days.',
    action: 'Set a password',
    after: 'If you do not know why, ignore this e-mail.',
  },
  email_change: {
    subject: 'Confirm your new email address',
    before: 'Confirm that this is the new address of your account. The link works once, within an hour.',
    action: 'Confirm the address',
    after: ignore,
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
}

export interface MailContext {
  /** The one-time token of the e-mail; null for one without. */
  token?: string | null
  /** The id of an invitation, which the link leads to. */
  invitation?: string | null
  /** null: the e-mail shows the token itself. */
  target?: LinkTarget | null
  /** The subject of an alert, such as the URL of an endpoint. */
  detail?: string
}

export function renderMail(
  kind: Exclude<MailKind, Receipt>,
  { token = null, invitation = null, target = null, detail }: MailContext,
): MailContent {
  const { subject, before, action, after } = templates[kind]
  const link = action === undefined || target === null ? null : linkOf(target, kind, { token, invitation })
  const middle = link ?? (token === null ? [] : `Enter this code:\n${token}`)
  const button = link === null ? null : html`<p><a href="${link}">${action!}</a></p>`
  const code = link !== null || token === null ? null : html`<p>Enter this code:</p><pre>${token}</pre>`
  const about = detail === undefined ? null : html`<p>${detail}</p>`
  return {
    subject,
    text: `${[before, detail ?? [], middle, after].flat().join('\n\n')}\n`,
    html: html`<!doctype html><meta charset="utf-8" /><title>${subject}</title>
      <p>${before}</p>${about}${button}${code}<p>${after}</p>`.text,
  }
}

/** Adds the sentence that further alerts are not sent, unless the content has it already. */
export function asLastAlert(content: MailContent): MailContent {
  if (content.text.includes(lastAlert)) return content
  const note = html`<p>${lastAlert}</p>`.text
  return { ...content, text: `${content.text}\n${lastAlert}\n`, html: `${content.html}${note}` }
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

export function linkOf(
  { url, home, invitations, part }: LinkTarget,
  kind: MailKind,
  { token = null, invitation = null }: Pick<MailContext, 'token' | 'invitation'>,
): string {
  if (invitation !== null && invitations !== null) return `${invitations}/${invitation}`
  if (token === null) return home
  const link = new URL(url)
  link[part] = new URLSearchParams({ kind: purposeOf(kind), token }).toString()
  return link.href
}
