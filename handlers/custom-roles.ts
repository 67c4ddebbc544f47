// The custom roles of an organization.
import * as sql from '../generated/sql/custom_roles.ts'
import type { Handlers } from '../services/handler.ts'
import { lockProjects, requireUnassigned } from '../services/organizations/custom-roles.ts'
import { resourceHandlers } from '../services/resources.ts'

export const customRoles = {
  ...resourceHandlers('CustomRole', sql, { beforeUpdate: lockProjects, beforeDelete: requireUnassigned }),
} satisfies Handlers<'custom-roles'>
