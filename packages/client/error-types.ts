// The types of `code` and `details` of an error. A contract with one shape of errors has its own.

/** The code of the API. */
export type ErrorCode = string
export type ErrorDetails = unknown
