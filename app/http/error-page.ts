// HTML error pages, for browsers that requested a page.
import type { ApiError } from '../../infra/errors.ts'
import { page } from '../../infra/html/layout.ts'
import { html } from '../../infra/html/html.ts'

const messages: Record<number, { title: string; text: string }> = {
  429: {
    title: 'Too many requests',
    text: 'Your network sent too many requests. Reload the page in a moment.',
  },
  500: {
    title: 'Something went wrong',
    text: 'The error was logged. Reload the page to see the current state.',
  },
  503: {
    title: 'Temporarily unavailable',
    text: 'Reload the page in a moment.',
  },
}
const fallback = {
  title: 'This page cannot be shown',
  text: 'The address or the submitted data is not valid. Go back and try again.',
}

/** @param signInUrl for a failed sign-in; null for all other requests. */
export function errorPage(error: ApiError, requestId: string, signInUrl: string | null): string {
  const { status, code } = error
  const { title, text } = signInUrl === null ? messageOf(status) : signInMessage(error)
  return page({
    title,
    body: html`<div class="sheet stack">
      <h1>${title}</h1>
      <p>${text}</p>
      ${
        signInUrl === null ? null : html`<p><a class="button" href="${signInUrl}">Back to the sign-in</a></p>`
      }
      <p class="soft">${code}, request ${requestId}</p>
    </div>`,
  })
}

function messageOf(status: number): { title: string; text: string } {
  return messages[status] ?? fallback
}

/** Only messages of 401 are shown: the others can have text of the URL, which an attacker may choose. */
function signInMessage({ status, message }: ApiError): { title: string; text: string } {
  if (status === 401) return { title: 'You are not signed in', text: message }
  return messageOf(status)
}
