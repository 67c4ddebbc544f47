// The page of an upload link. It shows the limits of the link, and nothing of the workspace.
import { renderFailure } from '../../infra/html/form.ts'
import { html, type Html } from '../../infra/html/html.ts'
import { page } from '../../infra/html/layout.ts'
import type { OpenUploadLink } from './upload-links.ts'

export interface UploadPageState {
  /** `received`: the file of the form was stored. */
  state?: 'received'
  /** Why the file of the form was refused. */
  failure?: string
}

type ShownLink = Pick<OpenUploadLink, 'title' | 'max_bytes' | 'content_types' | 'expires_at'>

/** @param serverBytes the largest file of the server. */
export function renderUpload(
  link: ShownLink,
  serverBytes: number,
  { state, failure }: UploadPageState = {},
): string {
  const title = link.title ?? 'Send a file'
  const heading = failure === undefined ? title : `Error: ${title}`
  return page({
    title: state === 'received' ? `Received: ${title}` : heading,
    body: html`<section class="sheet stack" aria-labelledby="what">
      ${failure === undefined ? null : renderFailure('The file was not received', failure)}
      ${
        state === undefined
          ? null
          : html`<p role="status"><strong>Your file was received.</strong> You can send another one.</p>`
      }
      <h1 id="what"><bdi>${title}</bdi></h1>
      ${renderForm(link, Math.min(link.max_bytes ?? Infinity, serverBytes))}
    </section>`,
  })
}

function renderForm({ content_types: types, expires_at: expiresAt }: ShownLink, maxBytes: number): Html {
  const accept = types.length === 0 ? null : html` accept="${types.join(',')}"`
  return html`<form class="stack" method="post" enctype="multipart/form-data">
    <div>
      <label for="file">File</label>
      <span class="hint" id="file-hint">At most ${sizeText(maxBytes)}${typesText(types)}</span>
      <input type="file" id="file" name="file" required aria-describedby="file-hint"${accept}>
    </div>
    <button class="button">Send</button>
    <p class="soft">This link works until ${dateFormat.format(new Date(expiresAt))} UTC.</p>
  </form>`
}

const dateFormat = new Intl.DateTimeFormat('en-GB', {
  dateStyle: 'long',
  timeStyle: 'short',
  timeZone: 'UTC',
})

function typesText(types: string[]): string {
  if (types.length === 0) return ''
  const names = types.map((type) => (type.endsWith('/*') ? `any ${type.slice(0, -2)}` : type))
  return `. Allowed: ${names.join(', ')}`
}

const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']

/** A number of bytes, rounded down. */
function sizeText(bytes: number): string {
  const power = Math.min(Math.floor(Math.log2(Math.max(1, bytes)) / 10), units.length - 1)
  return `${Math.floor((bytes / 1024 ** power) * 10) / 10} ${units[power]}`
}

/** For a token that no link has. */
export function renderNoLink(): string {
  return renderNotice('There is no such link', 'Check that the address is complete.')
}

/** @param reason why the link takes no files. */
export function renderEnded(reason: string): string {
  return renderNotice('This link takes no files', `${reason} Ask the person who sent it for a new one.`)
}

function renderNotice(title: string, text: string): string {
  return page({
    title,
    body: html`<div class="sheet stack">
      <h1>${title}</h1>
      <p>${text}</p>
    </div>`,
  })
}
