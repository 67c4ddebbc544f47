// Explains whether a request would be allowed.
import type { Handlers } from '../services/handler.ts'
import { explain as explainRequest, findOperation, findSender } from '../services/explain.ts'

export const explain = {
  async explainAccess({ principal, body }, { db, rateLimits }) {
    const info = findOperation(body)
    return await db.transaction(async (tx) => {
      const sender = await findSender(tx, { principal, info }, body)
      const { path, ip } = body
      return { status: 200, body: await explainRequest(tx, rateLimits, { info, path, ip, sender }) }
    })
  },
} satisfies Handlers<'explain'>
