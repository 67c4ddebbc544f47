// The public rulesets that the published OpenAPI document follows, and the reasons for what is left out.

/** A rule that does not apply. `at` limits the exception to places whose path matches. */
export interface Exception {
  rule: string
  reason: string
  at?: RegExp
}

/** Redocly's `recommended-strict`. */
export const redoclyExceptions: Exception[] = [
  {
    rule: 'no-server-example.com',
    reason: 'A running server replaces the local URL by its own.',
  },
  {
    rule: 'operation-2xx-response',
    at: /^#\/paths\/~1(pay|portal|upload|sign-in|sign-up|account|invitations|auth~1oidc)(~1|\/)/,
    reason: 'Forms of pages, and identity providers, redirect the browser.',
  },
  {
    rule: 'no-ambiguous-paths',
    at: /^#\/paths\/~1payments~1customers/,
    reason: 'An id of a customer begins with cus_, so it is never `by-external-id`.',
  },
]

const pages = String.raw`\/pay|\/sign-(in|up)|\/account|\/invitations|\/portal|\/upload`
const storage = String.raw`\/storage\/(links|uploads|upload-links\/{token})`
const publicOperations = new RegExp(
  String.raw`^paths\.(${pages}|${storage}|\/payments\/webhooks|\/avatars|\/auth)`,
)
const unlimitedOperations = /^paths\.(\/healthz|\/readyz|\/openapi\.|\/docs|\/storage\/uploads\.options)/

/** Spectral's `spectral:oas` and its OWASP ruleset. A rule without `at` is switched off. */
export const spectralExceptions: Exception[] = [
  {
    rule: 'oas3-operation-security-defined',
    reason: 'A mistake of the rule: OpenAPI 3.1 allows roles with every type of security scheme.',
  },
  {
    rule: 'oas3-valid-media-example',
    reason: 'The generator checks examples; here it would take most of the time.',
  },
  {
    rule: 'oas3-valid-schema-example',
    reason: 'The generator checks examples; here it would take most of the time.',
  },
  {
    rule: 'owasp:api2:2023-no-credentials-in-url',
    at: /^paths\.\/storage\/links\/\{token\}/,
    reason: 'A download link works without an API key, so its secret is in the URL. It can be revoked.',
  },
  {
    rule: 'owasp:api2:2023-no-credentials-in-url',
    at: /^paths\.(\/storage\/upload-links|\/upload)\/\{token\}/,
    reason: 'An upload link works without an API key, so its secret is in the URL. It can be revoked.',
  },
  {
    rule: 'owasp:api2:2023-no-credentials-in-url',
    at: /^paths\.\/portal\/\{token\}/,
    reason: 'A link to the portal works without an API key, so its secret is in the URL. It opens once.',
  },
  {
    rule: 'owasp:api2:2023-no-credentials-in-url',
    at: /^paths\.\/sign-in\/token/,
    reason: 'A link of an e-mail, to a page without scripts, has its one-time token in the query.',
  },
  {
    rule: 'owasp:api2:2023-read-restricted',
    at: new RegExp(`${publicOperations.source}|${unlimitedOperations.source}`),
    reason: 'Links, avatars, pages for browsers, probes and documents are public.',
  },
  {
    rule: 'owasp:api2:2023-write-restricted',
    at: publicOperations,
    reason: 'Customers pay, and people sign in, without an API key; the webhook of the gateway is signed.',
  },
  {
    rule: 'owasp:api4:2023-rate-limit',
    at: unlimitedOperations,
    reason: 'Probes, documents and the capabilities of uploads are not limited.',
  },
  {
    rule: 'owasp:api4:2023-rate-limit-responses-429',
    at: unlimitedOperations,
    reason: 'Probes, documents and the capabilities of uploads are not limited.',
  },
  {
    rule: 'owasp:api4:2023-array-limit',
    reason: 'It asks for limits of responses too. Lists of requests have limits, and so have bodies.',
  },
  {
    rule: 'owasp:api4:2023-integer-limit',
    reason: 'It asks for limits of responses too. The comparison with the database checks requests.',
  },
  {
    rule: 'owasp:api4:2023-string-limit',
    reason: 'It asks for limits of responses too. A body has at most 1 MiB.',
  },
  {
    rule: 'owasp:api4:2023-string-restricted',
    reason: 'Names, messages and descriptions are free text.',
  },
  {
    rule: 'owasp:api8:2023-define-cors-origin',
    reason: 'CORS is a setting of the server; without it no response has such a header.',
  },
  {
    rule: 'owasp:api8:2023-define-error-responses-401',
    reason: 'Public operations need no API key. All other operations declare 401 by x-implied-responses.',
  },
  {
    rule: 'owasp:api8:2023-no-server-http',
    reason: 'The local URL has no TLS. A running server replaces it by its own URL.',
  },
  {
    rule: 'owasp:api9:2023-inventory-access',
    reason: 'The document is for the servers of many operators.',
  },
  {
    rule: 'owasp:api9:2023-inventory-environment',
    reason: 'The document is for the servers of many operators.',
  },
]
