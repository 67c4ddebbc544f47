// The API requests of the caller.
import type { Handlers } from '../services/handler.ts'
import { listRequests } from '../services/usage/usage.ts'

export const requests = {
  async listRequests({ principal, query }, { lists }) {
    return { status: 200, body: await listRequests(lists, principal, query) }
  },
} satisfies Handlers<'requests'>
