/** An error that the user of the generator must fix. It is printed without a stack trace. */
export class GenerateError extends Error {}
