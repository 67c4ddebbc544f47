// The e-mails about invitations to projects and organizations.
import type { Transaction } from '../../infra/database/database.ts'
import type { Cipher } from '../../infra/encryption/cipher.ts'
import { queueMail, type Mails } from '../mail/mails.ts'
import type { OrganizationMember } from '../organizations/members.ts'
import { inviteeAddress, type Invitation } from '../projects/invitations.ts'

export async function mailInvitation(
  tx: Transaction,
  services: { cipher: Cipher; mails: Mails },
  invitation: Invitation | OrganizationMember,
): Promise<void> {
  const recipient = await inviteeAddress(tx, invitation)
  if (recipient === null) return
  const kind = 'project_id' in invitation ? 'invitation' : 'organization_invitation'
  await queueMail(tx, services, {
    kind,
    recipient,
    userId: invitation.user_id,
    resourceId: invitation.id,
  })
}
