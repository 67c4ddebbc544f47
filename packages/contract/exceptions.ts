// Knowledge that cannot be derived from the contract.
import fc from 'fast-check'

/** Request header fields that change the outcome; only the checks about them send them. */
export const semanticHeaders = new Set([
  'idempotency-key',
  'if-match',
  'if-none-match',
  'if-modified-since',
  'if-range',
  'range',
  'last-event-id',
])

/** Query parameters whose values come from an earlier response. */
export const opaqueParameters = new Set(['cursor'])

/** Header fields that must be digests of the body. */
export const digestHeaders = new Set(['upload-checksum', 'x-content-sha256'])

/** Header fields whose format the schema does not describe. */
export const headerValues: Record<string, fc.Arbitrary<string>> = {
  'tus-resumable': fc.constant('1.0.0'),
  'upload-length': fc.constant('10000'),
  'upload-offset': fc.constant('0'),
  'upload-metadata': fc.constant(`filename ${Buffer.from('contract.txt').toString('base64')}`),
}
