// The page of the account of the user.
import { html, type Html } from '../../../infra/html/html.ts'
import { page } from '../../../infra/html/layout.ts'
import type { Session } from '../sessions.ts'

/** Where the user is signed in, newest first. */
export function renderAccount(profile: { name: string; email: string }, sessions: Session[]): string {
  return page({
    title: 'Your account',
    body: html`<div class="stack">
      <div class="sheet stack">
        <h1><bdi>${profile.name}</bdi></h1>
        <p class="soft"><bdi>${profile.email}</bdi></p>
      </div>
      <section class="sheet stack" aria-labelledby="devices">
        <h2 id="devices">Where you are signed in</h2>
        <ul class="stack">
          ${sessions.map(renderSession)}
        </ul>
      </section>
    </div>`,
  })
}

function minuteOf(time: string): string {
  return `${time.slice(0, 16).replace('T', ' ')} UTC`
}

function renderSession({ id, device, ip, current, last_used_at: lastUsed }: Session): Html {
  const name = device ?? 'Unknown device'
  return html`<li>
    <form class="stack" method="post" action="/account">
      <input type="hidden" name="session" value="${id}" />
      <p>
        <strong>${current ? 'This browser' : name}</strong><br />
        <span class="soft">${current ? name : ''} ${ip ?? ''} ${minuteOf(lastUsed)}</span>
      </p>
      <button class="button plain" aria-label="Sign out ${current ? 'this browser' : name}">Sign out</button>
    </form>
  </li> `
}
