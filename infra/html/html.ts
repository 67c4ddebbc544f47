// Safe HTML templates: values are escaped unless they are `Html`.
import { hash } from 'node:crypto'

export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  toString(): string {
    return this.text
  }
}

type Part = Html | string | number | null | Part[]

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Escapes a text for elements and for attribute values in quotes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character])
}

function render(part: Part): string {
  if (part === null) return ''
  if (part instanceof Html) return part.text
  if (Array.isArray(part)) return part.map(render).join('')
  return escapeHtml(String(part))
}

/** A template for elements and for attribute values in double quotes. null renders as nothing. */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  return new Html(strings.reduce((whole, string, i) => whole + render(parts[i - 1]) + string))
}

export interface DocumentParts {
  title: string
  /** A data URL: the Content-Security-Policy allows no other images. */
  icon: string
  style: string
  head?: Html
  body: Html
}

/**
 * A complete document with one style sheet. The `style` element must contain exactly `style`, because the
 * Content-Security-Policy contains its hash.
 */
export function htmlDocument({ title, icon, style, head, body }: DocumentParts): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        ${head ?? null}
        <title>${title}</title>
        <link rel="icon" href="${icon}" />
        <style>${new Html(style)}</style>
      </head>
      <body>
        ${body}
      </body>
    </html> `.text
}

/**
 * Allows the style sheet, images in data URLs and forms to `formAction`, and with `scripts` the scripts of
 * this server and their requests to it; forbids everything else.
 */
export function contentSecurityPolicy(
  style: string,
  formAction: "'self'" | "'none'",
  { scripts = false } = {},
): string {
  return [
    "default-src 'none'",
    ...(scripts ? ["script-src 'self'", "connect-src 'self'"] : []),
    `style-src 'sha256-${hash('sha256', style, 'base64')}'`,
    'img-src data:',
    `form-action ${formAction}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}
