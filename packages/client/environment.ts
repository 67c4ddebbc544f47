// Where the client runs: in a web page or not, and with which environment variables.

/** An environment variable; undefined in browsers, and if it is empty. */
export function fromEnvironment(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } }
  return process?.env?.[name]?.trim() || undefined
}

export function isWebPage(): boolean {
  return 'document' in globalThis
}
