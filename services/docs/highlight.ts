// Colors the code of the documentation when a page is made, so that browsers run no script for it.
import { Html, html } from '../../infra/html/html.ts'

/** The languages of code blocks in the guides, as the highlighter names them. */
const languages = { sh: 'bash', json: 'json', ts: 'ts', js: 'js', python: 'py' } as const

/** @param language the name after the three backticks; others are not colored. */
export async function highlighted(code: string, language: string): Promise<Html> {
  if (!Object.hasOwn(languages, language)) return html`${code}`
  // Loaded with the first page of a guide.
  const { tokenize } = await import('@speed-highlight/core')
  const parts: Html[] = []
  await tokenize(code, languages[language as keyof typeof languages], (text, type) => {
    parts.push(type === undefined ? html`${text}` : html`<span class="c-${type}">${text}</span>`)
  })
  return new Html(parts.join(''))
}
