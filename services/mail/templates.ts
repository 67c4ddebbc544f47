// What the e-mails say, as text and as HTML.
import { html } from '../../infra/html/html.ts'

export type MailKind =
  | 'sign_up'
  | 'account_exists'
  | 'link'
  | 'password_reset'
  | 'email_change'
  | 'email_changed'
  | 'password_changed'

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
    subject: 'A new email address was asked for',
    before: 'Somebody, probably you, asked for another email address for your account.',
    after: 'If it was not you, change your password now, and end the sessions that you do not know.',
  },
  password_changed: {
    subject: 'Your password was changed',
    before: 'The password of your account was changed, and the other sessions have ended.',
    after: 'If it was not you, reset your password now.',
  },
}

/**
 * @param token the one-time token of the e-mail; null for one without
 * @param page the page of the application that uses tokens. Null: the e-mail shows the token itself.
 */
export function renderMail(kind: MailKind, token: string | null, page: string | null): MailContent {
  const { subject, before, action, after } = templates[kind]
  const link = token === null || page === null ? null : linkOf(page, kind, token)
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

/** The token is in the fragment, which browsers send to no server and in no Referer. */
function linkOf(page: string, kind: MailKind, token: string): string {
  const url = new URL(page)
  url.hash = new URLSearchParams({ kind, token }).toString()
  return url.href
}
