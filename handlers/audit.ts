// The audit log.
import { listAuditEntries } from '../services/audit/audit-log.ts'
import type { Handlers } from '../services/handler.ts'

export const audit = {
  async listAuditEntries({ principal, query }, { db }) {
    return { status: 200, body: await listAuditEntries(db, principal, query) }
  },
} satisfies Handlers<'audit'>
