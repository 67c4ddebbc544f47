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

export function errorPage({ status, code }: ApiError, requestId: string): string {
  const { title, text } = messages[status] ?? fallback
  return page({
    title,
    body: html`<div class="sheet stack">
      <h1>${title}</h1>
      <p>${text}</p>
      <p class="soft">${code}, request ${requestId}</p>
    </div>`,
  })
}
