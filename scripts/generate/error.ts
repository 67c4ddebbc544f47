/** Something that the person who runs the generator has to change; the message says what, and no stack helps. */
export class GenerateError extends Error {}
