// The page on which an invited person accepts or declines.
import { renderFailure } from '../../infra/html/form.ts'
import { html, type Html } from '../../infra/html/html.ts'
import { page } from '../../infra/html/layout.ts'
import type { OwnInvitation } from './own.ts'

/**
 * @param account the email address of the person who has signed in
 * @param failure why the last answer was refused
 */
export function renderInvitation(invitation: OwnInvitation, account: string, failure?: string): string {
  const { place, status, name } = invitation
  const title = status === 'pending' ? `An invitation to the ${place} ${name}` : `The ${place} ${name}`
  return page({
    title: failure === undefined ? title : `Error: ${title}`,
    body: html`<div class="stack">
      <section class="sheet stack" aria-labelledby="what">
        ${failure === undefined ? null : renderFailure('That did not work', failure)}
        <h1 id="what">
          ${status === 'pending' ? 'An invitation to the' : 'The'} ${place} <bdi>${name}</bdi>
        </h1>
        ${status === 'pending' ? renderQuestion(invitation, account) : html`<p>${endings[status]}</p>`}
      </section>
      <p><a href="/account">Your account</a></p>
    </div>`,
  })
}

const endings: Record<Exclude<OwnInvitation['status'], 'pending'>, string> = {
  accepted: 'You have accepted the invitation.',
  declined: 'You have declined the invitation. Nothing was changed.',
  revoked: 'The invitation was revoked. Ask the person who invited you for a new one.',
  expired: 'The invitation has expired. Ask the person who invited you for a new one.',
}

function renderQuestion({ id, place, role, inviter }: OwnInvitation, account: string): Html {
  return html`<dl>
      <dt>From</dt>
      <dd><bdi>${inviter}</bdi></dd>
      <dt>Your role</dt>
      <dd>${role}</dd>
      <dt>Your account</dt>
      <dd><bdi>${account}</bdi></dd>
    </dl>
    <p>
      If you accept, the members of the ${place} see your name, your email address and your picture, and what
      you do in it. If you decline, its admins learn that you declined, and nothing else.
    </p>
    <form class="stack" method="post" action="/invitations/${id}">
      <button class="button" name="answer" value="accept">Accept</button>
      <button class="button plain" name="answer" value="decline">Decline</button>
    </form>`
}

/** For an invitation that does not exist, or is for another user. */
export function renderNoInvitation(account: string): string {
  return page({
    title: 'There is no such invitation',
    body: html`<div class="sheet stack">
      <h1>There is no such invitation</h1>
      <p>It was revoked or declined, or it is for another email address.</p>
      <p class="soft">You are signed in as <bdi>${account}</bdi>.</p>
      <p><a class="button" href="/sign-in">Sign in with another account</a></p>
    </div>`,
  })
}
