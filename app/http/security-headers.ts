// Header fields of every response that restrict browsers.
import type { Config } from '../../infra/config/config.ts'

const yearInSeconds = 31_536_000

export function securityHeaders({ publicUrl }: Pick<Config, 'publicUrl'>): Record<string, string> {
  return {
    'x-content-type-options': 'nosniff',
    // Other hosts of the domain are not this server's to decide on, so they are not included.
    ...(publicUrl?.startsWith('https:') && { 'strict-transport-security': `max-age=${yearInSeconds}` }),
  }
}
