// The little that cannot be derived from the contract.
import fc from 'fast-check'

/** Operations that change what is everybody's, or want what only another system can make. Only refusals of them are looked at. */
export const refusedOnly = new Set(['advanceTestClock', 'receiveStripeEvent'])

/** Header fields that a status declares and that are only there when there is something to tell. */
export const sometimes = new Set([
  'upload-offset',
  'upload-expires',
  'upload-file-id',
  'upload-length',
  'upload-metadata',
])

/** Header fields with a meaning of their own, which the parts of a run set where they look at it. */
export const meaning = new Set([
  'idempotency-key',
  'if-match',
  'if-none-match',
  'if-modified-since',
  'if-range',
  'range',
  'last-event-id',
])

/** Header fields that would have to be of the very bytes that are sent. */
export const digests = new Set(['upload-checksum', 'x-content-sha256'])

/** Header fields whose text has a form of its own. */
export const headerValues: Record<string, fc.Arbitrary<string>> = {
  'tus-resumable': fc.constant('1.0.0'),
  'upload-length': fc.constant('10000'),
  'upload-offset': fc.constant('0'),
  'upload-metadata': fc.constant(`filename ${Buffer.from('contract.txt').toString('base64')}`),
}

/** Rules of the business between several values, whose errors are named like a constraint of one: `operation field constraint`. */
export const businessRules = [
  /^(create|update)KnowledgeBase chunking\.overlap_tokens maximum$/,
  /^createPrice recurring\.interval_count maximum$/,
  /^createCheckout items maxItems$/,
]
