// What a person is told who asked for a page and met an error.
import type { ApiError } from '../../infra/errors.ts'
import { page } from '../../infra/html/layout.ts'
import { html } from '../../infra/html/html.ts'

const words: Record<number, { title: string; text: string }> = {
  429: {
    title: 'Too many requests',
    text: 'So much was asked for from your network that this has to wait. Load the page again in a moment.',
  },
  500: {
    title: 'Something went wrong',
    text: 'It has been noted. Load the page again to see how things stand.',
  },
  503: {
    title: 'Not available at the moment',
    text: 'Load the page again in a moment to see how things stand.',
  },
}
const otherwise = {
  title: 'This cannot be shown',
  text: 'The address, or what was sent to it, is not what it should be. Go back to where you came from and try again.',
}

export function errorPage({ status, code }: ApiError, requestId: string): string {
  const { title, text } = words[status] ?? otherwise
  return page({
    title,
    body: html`<div class="sheet stack">
      <h1>${title}</h1>
      <p>${text}</p>
      <p class="soft">${code}, request ${requestId}</p>
    </div>`,
  })
}
