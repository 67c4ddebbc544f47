// The audit log.
import { forbidden } from '../infra/errors.ts'
import { listAuditEntries } from '../services/audit/audit-log.ts'
import type { Handlers } from '../services/handler.ts'
import { requireReadRole } from '../services/organizations/access.ts'
import { isOperator } from '../services/users/authentication.ts'

export const audit = {
  async listAuditEntries({ principal, query }, { db }) {
    const { organization_id: organizationId } = query
    if (organizationId !== undefined && !isOperator(principal)) {
      if (!principal.scopes.has('audit:read'))
        throw forbidden('The log of an organization requires the scope audit:read.', 'scope')
      await requireReadRole(db, organizationId, principal, 'admin')
    }
    return { status: 200, body: await listAuditEntries(db, principal, query) }
  },
} satisfies Handlers<'audit'>
