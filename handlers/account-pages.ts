// The pages of the account and of invitations: plain HTML that works without scripts. Each form redirects
// after POST, as those of the sign-in pages do.
import type { Db, Transaction } from '../infra/database/database.ts'
import { readReturnPath, returnCookie, sessionCookie } from '../services/auth/sessions/cookies.ts'
import { findBrowserSession } from '../services/auth/sessions/browser-session.ts'
import { listOwnIdentities, removeOwnIdentity } from '../services/auth/oidc/identities.ts'
import { renderAccount } from '../services/auth/pages/account.ts'
import {
  databaseFor,
  findSession,
  isOwnPage,
  missing,
  noteRefusal,
  otherSite,
  redirectTo,
  refused,
  shown,
  signInFirst,
  type PageRequest,
} from '../services/auth/pages/browser.ts'
import { listOwnPasskeys, removeOwnPasskey } from '../services/auth/passkeys.ts'
import { endSession, listOwnSessions, lockOwnSession } from '../services/auth/sessions/sessions.ts'
import { readTotp } from '../services/auth/totp.ts'
import type { Handlers, HandlerServices } from '../services/handler.ts'
import { answerInvitation, findInvitationOf } from '../services/invitations/own.ts'
import { renderInvitation, renderNoInvitation } from '../services/invitations/page.ts'
import type { Principal } from '../services/users/authentication.ts'

export const accountPages = {
  async showAccountPage(request, services) {
    const principal = await findSession(request, services)
    if (principal === null) {
      const { config, principals } = services
      // Also deletes the cookie of a session that has ended.
      const hasEnded = (await findBrowserSession(principals, config, request.headers)) === null
      return redirectTo('/sign-in', hasEnded ? sessionCookie(config, null) : undefined)
    }
    return shown(await accountPage(services, principal))
  },

  async submitSignOut({ body, ...request }, services) {
    if (!isOwnPage(request, services)) return otherSite()
    const principal = await findSession(request, services)
    if (principal === null) return signInFirst(request)
    const { config } = services
    const { session: id = principal.credentialId } = body
    await databaseFor(request, services, principal)
      .transaction(async (tx) => {
        await lockOwnSession(tx, id, principal)
        await endSession(tx, services, id)
      })
      .catch((error) => noteRefusal(request, error))
    return id === principal.credentialId
      ? redirectTo('/sign-in', sessionCookie(config, null))
      : redirectTo('/account')
  },

  async submitPasskeyRemoval({ body: { passkey: id = '' }, ...request }, services) {
    return await removeOrShow(request, services, (tx, principal) =>
      removeOwnPasskey(tx, services, { id, principal }),
    )
  },

  async submitIdentityRemoval({ body: { identity: id = '' }, ...request }, services) {
    return await removeOrShow(request, services, (tx, principal) =>
      removeOwnIdentity(tx, services, { id, principal }),
    )
  },

  async showInvitationPage({ params: { id }, ...request }, services) {
    const { db, config, filesUrl } = services
    const principal = await findSession(request, services)
    if (principal === null) return redirectTo('/sign-in', returnCookie(config, id))
    const [invitation, { email }] = await Promise.all([
      findInvitationOf(db, { id, principal }, filesUrl()),
      profileOf(db, principal),
    ])
    const hasReturned = readReturnPath(config, request.headers) !== null
    const cookie = hasReturned ? returnCookie(config, null) : undefined
    if (invitation === null) return missing(renderNoInvitation(email), cookie)
    return shown(renderInvitation(invitation, email), cookie)
  },

  async submitInvitation({ params: { id }, body: { answer }, ...request }, services) {
    if (!isOwnPage(request, services)) return otherSite()
    const { db, config, filesUrl } = services
    const principal = await findSession(request, services)
    if (principal === null) return signInFirst(request, returnCookie(config, id))
    const page = `/invitations/${id}`
    if (answer === undefined) return redirectTo(page)
    try {
      await databaseFor(request, services, principal).transaction((tx) =>
        answerInvitation(tx, services, { id, principal }, answer),
      )
      return redirectTo(answer === 'accept' ? page : '/account')
    } catch (error) {
      const { message } = noteRefusal(request, error)
      const { email } = await profileOf(db, principal)
      const invitation = await findInvitationOf(db, { id, principal }, filesUrl())
      if (invitation === null) return missing(renderNoInvitation(email))
      // Of two forms that were sent at once, the second finds the answer of the first.
      if (invitation.status !== 'pending') return redirectTo(page)
      return refused(renderInvitation(invitation, email, message))
    }
  },
} satisfies Handlers<'account-pages'>

async function profileOf(
  { prisma }: Db,
  { userId: id }: Principal,
): Promise<{ name: string; email: string }> {
  const { name, email } = await prisma.user.findUniqueOrThrow({
    where: { id },
    select: { name: true, email: true },
  })
  return { name, email: email! }
}

async function accountPage(
  { db, config }: HandlerServices,
  principal: Principal,
  failure?: string,
): Promise<string> {
  const account = {
    ...(await profileOf(db, principal)),
    sessions: await listOwnSessions(db, principal),
    passkeys: await listOwnPasskeys(db, principal),
    identities: await listOwnIdentities(db, principal),
    totp: await readTotp(db, principal.userId),
  }
  return renderAccount(account, { application: config.signInUrl, console: config.console, failure })
}

/** Removes what can sign in. Shows the account with the error if the user must sign in again. */
async function removeOrShow(
  request: PageRequest,
  services: HandlerServices,
  remove: (tx: Transaction, principal: Principal) => Promise<void>,
) {
  if (!isOwnPage(request, services)) return otherSite()
  const principal = await findSession(request, services)
  if (principal === null) return signInFirst(request)
  try {
    await databaseFor(request, services, principal).transaction((tx) => remove(tx, principal))
  } catch (error) {
    const { details, message } = noteRefusal(request, error)
    if (details.constraint === 'recent_sign_in')
      return refused(await accountPage(services, principal, message))
  }
  return redirectTo('/account')
}
