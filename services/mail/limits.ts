// How many e-mails an address gets. The kinds that strangers can request for any address also have a limit
// together. Links to sign in and resets of the password are sent beyond it, so that a stranger cannot use it
// up and lock the owner out.
import { isAlert } from './alerts.ts'
import type { MailKind } from './templates.ts'

/** The kinds that strangers can request for any address. */
export const openKinds: MailKind[] = [
  'sign_up',
  'link',
  'password_reset',
  'email_change',
  'invitation',
  'organization_invitation',
]

const recoveryKinds: MailKind[] = ['link', 'password_reset']

/** E-mails of `openKinds` in a day from which on only those of recovery are sent. */
const maxOpen = 40

/** The e-mails that an address got before another one. */
export interface Earlier {
  /** Of the same kind: in 15 minutes, in an hour and in a day. */
  lately: number
  lastHour: number
  today: number
  /** Of `openKinds`, in a day. */
  openToday: number
}

/** E-mails of a kind in 15 minutes, and in a day. */
function limitsOf(kind: MailKind): { lately: number; today: number } {
  if (kind === 'receipt' || kind === 'refund_receipt') return { lately: 50, today: 50 }
  // Queued once a day for an endpoint.
  if (kind === 'webhook_endpoint_disabled') return { lately: 20, today: 20 }
  return { lately: 5, today: 20 }
}

/** Whether an alert is the last of its kind that an address gets for now. */
export function isLastAlert(kind: MailKind, earlier: Earlier): boolean {
  const { lately, today } = limitsOf(kind)
  return isAlert(kind) && (earlier.lately === lately - 1 || earlier.today === today - 1)
}

/** Whether an address gets no further e-mail of the kind for now. */
export function isOverLimit(kind: MailKind, earlier: Earlier): boolean {
  const { lately, today } = limitsOf(kind)
  if (earlier.lately >= lately) return true
  // A stranger can use up the resets of a day, but not lock out the owner: there is always one that is valid.
  if (kind === 'password_reset' && earlier.lastHour === 0) return false
  if (openKinds.includes(kind) && !recoveryKinds.includes(kind) && earlier.openToday >= maxOpen) return true
  return earlier.today >= today
}
