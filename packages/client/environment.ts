// Where the client runs: in a web page or not, and with which environment variables.

/** An environment variable; undefined in browsers, and if it is empty. */
export function fromEnvironment(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } }
  return process?.env?.[name]?.trim() || undefined
}

export function isWebPage(): boolean {
  return 'document' in globalThis
}

/** Whether requests to the origin come from a web page of another one, so that CORS decides about them. */
export function isOtherOrigin(origin: string): boolean {
  return isWebPage() && (globalThis as { location?: { origin: string } }).location?.origin !== origin
}
