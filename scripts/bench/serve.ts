// Starts a server to measure, with limits that no measurement reaches.
import { quotaNames } from '../../services/users/quotas.ts'
import type { Program, Stage } from './stage.ts'

export interface Server {
  name: string
  program: Program
  port: number
}

export async function serve(
  stage: Stage,
  name: string,
  file: string,
  env: Record<string, string>,
): Promise<Server> {
  const none = '1000000000'
  const policies = ['DEFAULT', 'WRITE', 'UPLOAD', 'AI', 'ADDRESS']
  const quotas = quotaNames.filter((quota) => quota !== 'webhook_endpoints')
  const program = stage.run(file, [], {
    PORT: '0',
    ...Object.fromEntries(policies.map((policy) => [`RATE_LIMIT_${policy}`, none])),
    ...Object.fromEntries(quotas.map((quota) => [`QUOTA_${quota.toUpperCase()}`, none])),
    REQUESTS_PER_USER: '1000000',
    WEBHOOK_ENDPOINTS_PER_USER: '100000',
    ...env,
  })
  const [, port] = await program.says(/http:\/\/127\.0\.0\.1:(\d+)/)
  return { name, program, port: Number(port) }
}
