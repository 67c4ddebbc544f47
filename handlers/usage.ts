// The API requests of the caller, and what the caller used by day.
import type { Handlers } from '../services/handler.ts'
import { listRequests, readUsage } from '../services/usage/usage.ts'

export const usage = {
  async listRequests({ principal, query }, { lists }) {
    return { status: 200, body: await listRequests(lists, principal, query) }
  },

  async getUsage({ principal, query }, { lists }) {
    return { status: 200, body: { days: await readUsage(lists, principal.userId, query.days) } }
  },
} satisfies Handlers<'usage'>
