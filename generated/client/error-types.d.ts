// The runtime of the client (8ad034d99a1bd45c), compiled from packages/client/ of the toolkit. Do not edit.
import type { components } from './types.js';
type Envelope = components['schemas']['ErrorResponse']['error'];
/** The error codes of the contract. */
export type ErrorCode = Envelope['code'];
export type ErrorDetails = Envelope['details'];
export {};
