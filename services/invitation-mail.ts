// The e-mail about an invitation to a project.
import type { Db } from '../infra/database/database.ts'
import type { Cipher } from '../infra/encryption/cipher.ts'
import { queueMail, type Mails } from './mail/mails.ts'
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
