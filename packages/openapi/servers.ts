// The servers that a document names.

export interface Server {
  url: string
  description?: string
  variables?: Record<string, { default: string }>
}

/** The path of the first server, without a slash at its end. */
export function serverPath(servers: Server[] | undefined): string {
  const { url, variables = {} } = servers?.[0] ?? { url: '/' }
  const filled = url.replace(/\{([^}]+)\}/g, (_, name: string) => variables[name]?.default ?? name)
  return new URL(filled, 'http://server').pathname.replace(/\/$/, '')
}
