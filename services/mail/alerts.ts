// The alerts: e-mails to users about changes of their accounts. An entry here is all that a new one needs.

interface AlertText {
  subject: string
  /** The event. An attacker must not choose a part of the text, such as the name of a key. */
  before: string
  /** Advice for a user who did not cause the event. */
  after: string
}

const table = {
  email_changed: {
    subject: 'A new email address for your account',
    before: 'A change of the email address of your account was requested.',
    after: 'If it was not you, change your password now: that ends the other sessions and this request.',
  },
  // To the former address, which can no longer reset the password.
  former_address: {
    subject: 'The email address of your account was changed',
    before: 'Your account has another email address now, and this one no longer signs in. It was changed at:',
    after: 'If neither you nor an operator changed it, ask the operator for help now.',
  },
  password_changed: {
    subject: 'Your password was changed',
    before:
      'The password of your account was changed, and the other sessions have ended. API keys, passkeys and ' +
      'linked accounts stay.',
    after: 'If it was not you, reset your password now.',
  },
  second_factor_on: {
    subject: 'Your second factor was turned on',
    before: 'Sign-ins need a code of your authenticator app from now on. The other sessions have ended.',
    after: 'If it was not you, ask the operator for help now.',
  },
  second_factor_off: {
    subject: 'Your second factor was removed',
    before: 'Sign-ins no longer need a code of an authenticator app.',
    after: 'If it was not you, reset your password now, and turn the second factor on again.',
  },
  recovery_code_used: {
    subject: 'A recovery code was used',
    before: 'One of your recovery codes was used to sign in. It does not work again.',
    after: 'If it was not you, reset your password now, and turn the second factor off and on again.',
  },
  identity_linked: {
    subject: 'A new way to sign in to your account',
    before: 'An identity provider was used for the first time to sign in to your account.',
    after: 'If it was not you, remove the identity, and change the password at the provider now.',
  },
  identity_removed: {
    subject: 'A way to sign in to your account was removed',
    before: 'Your account at an identity provider was removed from the ways to sign in.',
    after: 'If it was not you, reset your password now, or ask the operator for help if you cannot.',
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
    before: 'An API key of your account was created in a session.',
    after: 'If it was not you, revoke the key, and reset your password now.',
  },
  api_key_created_by_key: {
    subject: 'A new API key for your account, created with another one',
    before: 'An API key of your account was created with another API key.',
    after: 'If it was not you, revoke the key and the one that created it.',
  },
  account_exported: {
    subject: 'An export of the data of your account',
    before:
      'A file with all data of your account is being written. The account can download it for seven days.',
    after: 'If it was not you, end your sessions, revoke your API keys, and reset your password now.',
  },
  refresh_token_reused: {
    subject: 'One of your sessions was ended',
    before:
      'An old refresh token of a session was used again. It may have been copied, so the session has ' +
      'ended. Sign in again.',
    after: 'If it was not you, or an application that you use, change your password now.',
  },
  sign_ins_blocked: {
    subject: 'Many failed sign-ins to your account',
    before:
      'More than 100 sign-ins to your account failed in a day, because of wrong passwords or codes. Until ' +
      'they stop, you can sign in where you have signed in before, and everywhere with a link by e-mail.',
    after: 'If it was not you, use a password that you use nowhere else, and a second factor or a passkey.',
  },
  webhook_endpoint_created: {
    subject: 'A new webhook endpoint for your account',
    before:
      'A webhook endpoint was created. It gets events of your account, even after the API key or the ' +
      'session that created it has ended:',
    after: 'If it was not you, delete the endpoint, revoke your API keys, and reset your password now.',
  },
  webhook_endpoint_redirected: {
    subject: 'A webhook endpoint was changed',
    before: 'The URL or the event types of a webhook endpoint were changed:',
    after: 'If it was not you, delete the endpoint, revoke your API keys, and reset your password now.',
  },
  webhook_endpoint_disabled: {
    subject: 'A webhook endpoint was disabled',
    before: 'A webhook endpoint answered 410 Gone, or failed for five days. It gets no more events:',
    after: 'Repair it, enable it, and send the failed deliveries again.',
  },
  budget_threshold_reached: {
    subject: 'A budget has reached a threshold',
    before: 'The use of a budget that you created has reached a percentage of its amount:',
    after: 'GET /v1/payments/budgets/{id} shows its use, and when it resets.',
  },
} satisfies Record<string, AlertText>

export type Alert = keyof typeof table

/** In the last alert of a kind that an address gets for now. */
export const lastAlert =
  'Further alerts of this kind are not mailed for now: see your account, and its events (GET /v1/events).'

export const alerts: Record<Alert, AlertText> = table

export function isAlert(kind: string): kind is Alert {
  return Object.hasOwn(alerts, kind)
}
