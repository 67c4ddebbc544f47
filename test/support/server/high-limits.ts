// Settings of servers whose limits no ordinary test reaches.
import { quotaNames } from '../../../services/users/quotas.ts'

const policies = [
  'DEFAULT',
  'WRITE',
  'UPLOAD',
  'AI',
  'PAGE',
  'GATEWAY',
  'HEALTH',
  'ADDRESS',
  'AUTH',
  'MAIL',
  'REFRESH',
  'PASSWORD',
]
const quotas = quotaNames.filter((name) => name !== 'webhook_endpoints').map((name) => name.toUpperCase())

export const highLimits: Record<string, string> = Object.fromEntries([
  ...policies.map((name) => [`RATE_LIMIT_${name}`, '1000000']),
  ...quotas.map((name) => [`QUOTA_${name}`, '1000000000']),
  ['REQUESTS_PER_USER', '1000000'],
  ['WEBHOOK_ENDPOINTS_PER_USER', '100000'],
  ['UPLOADS_PER_USER', '1000000'],
])
