// The e-mails about invitations to projects and organizations.
import type { Db } from '../infra/database/database.ts'
import type { Cipher } from '../infra/encryption/cipher.ts'
import { queueMail, type Mails } from './mail/mails.ts'
import type { OrganizationMember } from './organizations/members.ts'
import { inviteeAddress, type Invitation } from './projects/invitations.ts'

export async function mailInvitation(
  tx: Db,
  services: { cipher: Cipher; mails: Mails },
  invitation: Invitation,
): Promise<void> {
  const recipient = await inviteeAddress(tx, invitation)
  if (recipient === null) return
  await queueMail(tx, services, { kind: 'invitation', recipient, userId: invitation.user_id })
}

export async function mailOrganizationInvitation(
  tx: Db,
  services: { cipher: Cipher; mails: Mails },
  { email, user_id: userId }: OrganizationMember,
): Promise<void> {
  const recipient = await inviteeAddress(tx, { email, user_id: userId })
  if (recipient === null) return
  await queueMail(tx, services, { kind: 'organization_invitation', recipient, userId })
}
