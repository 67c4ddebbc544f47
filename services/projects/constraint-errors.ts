// The API errors for the constraints on members that triggers of the database enforce.
import type { ConstraintError } from '../../infra/database/errors.ts'
import { conflict, forbidden } from '../../infra/errors.ts'

export const projectConstraintErrors: ConstraintError[] = [
  {
    constraint: 'living_user',
    message: 'is deleted and can be no member',
    error: () => conflict('user_deleted', 'The user was deleted in the meantime.'),
  },
  {
    constraint: 'service_account',
    message: 'cannot own a project',
    error: () => forbidden('A service account cannot be an owner.', 'service_account'),
  },
  {
    constraint: 'last_owner',
    message: 'would have no owner',
    error: () => conflict('last_owner', 'A project needs an owner.'),
  },
]
