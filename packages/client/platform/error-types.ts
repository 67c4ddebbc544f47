// The types of `code` and `details` of an error, from the contract.
import type { components } from '../../../generated/client/types.d.ts'

type Envelope = components['schemas']['ErrorResponse']['error']

/** The error codes of the contract. */
export type ErrorCode = Envelope['code']
export type ErrorDetails = Envelope['details']
