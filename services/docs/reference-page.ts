// The API reference: the list of all operations at /docs, and a page for each area, where Scalar renders its
// part of the OpenAPI document and sends test requests. The pages load no external resources; their
// Content-Security-Policy forbids them.
import { readFileSync } from 'node:fs'
import { Marked } from 'marked'
import { brand, defaultName } from '../../infra/html/brand.ts'
import { escapeHtml, Html, html } from '../../infra/html/html.ts'
import { areas, referenceSlug, type Area } from './areas.ts'
import { docsHeader, docsPageOf, docsScriptPath, headerStyle, navigation } from './docs-layout.ts'
import { openapiJson } from './openapi.ts'

const scalar = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.resolve('@scalar/fastify-api-reference')), 'utf8'),
) as { version: string }

/** The path of the page's script. It contains Scalar's version, so browsers may cache the script forever. */
export const scalarPath = `/docs/scalar-${scalar.version}.js`

/** The path of the script that renders a page with Scalar. */
export const pageScriptPath = '/docs/reference.js'

export function pageScript(): string {
  return readFileSync(new URL('reference-script.js', import.meta.url), 'utf8')
}

/**
 * Fixes for Scalar: an outline around the section that a link leads to; on phones a button over the URL, and
 * a dialog that is wider than the screen and hides the Send button; colours with more contrast.
 */
const styles = `
section:focus-visible { outline: none }
:root { --scalar-custom-header-height: 5.75rem }
@media (max-width: 44rem) { :root { --scalar-custom-header-height: 7.5rem } }
.scalar-client > *, .scalar-client main, .scalar-client main > * { min-width: 0; max-width: 100% }
@media (max-width: 767px) { .scalar-client .scalar-sidebar-toggle { top: 3.5rem } }
.light-mode {
  --scalar-color-2: #555; --scalar-color-3: #666;
  --scalar-color-blue: #005f9e; --scalar-color-orange: #a83a00; --scalar-color-green: #056b40;
  --scalar-color-red: #b81414; --scalar-color-yellow: #7a5000; --scalar-color-purple: #5a1fb0;
}
.dark-mode { --scalar-color-3: #a0a0a0; --scalar-color-red: #ff7676; --scalar-color-purple: #b69cff }`

/** Scalar's settings. With `persistAuth: false` the API key stays in the memory of the tab. */
const settings = {
  slug: referenceSlug,
  persistAuth: false,
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  externalUrls: { dashboardUrl: '', registryUrl: '', proxyUrl: '', apiBaseUrl: '' },
  hideClientButton: true,
  hideSearch: true,
  hideModels: true,
  showDeveloperTools: 'never',
  documentDownloadType: 'both',
  defaultRequestBodyView: 'raw',
  // Each operation has its own code samples.
  hiddenClients: true,
  localization: { translations: { apiClient: { requestAuthTab: { bearerToken: 'API key' } } } },
}

export const referenceHeaders: Record<string, string> = {
  // Scalar adds inline styles, and shows images and audio of responses from blob: URLs. Frames are forbidden,
  // because an uploaded HTML file would run in the page that holds the API key.
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "connect-src 'self'",
    "img-src 'self' data: blob:",
    'media-src blob:',
    "font-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
}

/** Scalar has its own color schemes. */
function accents(): string {
  const { light, dark } = brand()
  return `
.light-mode { --scalar-color-accent: ${light} }
.dark-mode { --scalar-color-accent: ${dark} }`
}

const settingsOf = ({ documentPath }: Area) => ({
  ...settings,
  url: documentPath,
  customCss: styles + accents(),
})

/** What clients and tools there are, in Markdown. */
const aboutTools = `
Start with the [quickstart](/docs/guides/quickstart); there are more [guides](/docs/guides). The contract is
also a [Postman collection](/docs/postman.json) and an OpenAPI document, as [JSON](/openapi.json) or
[YAML](/openapi.yaml).

The clients of this contract come from this server. \`npm install\` takes the URL of
[/docs/client.tgz](/docs/client.tgz): the [TypeScript client](/docs/guides/typescript-client) and the
[command line](/docs/guides/command-line). \`pip install\` takes that of
[/docs/client-python.tar.gz](/docs/client-python.tar.gz): the [Python client](/docs/guides/python-client). The
tools for any OpenAPI document are in [/docs/packages/toolkit.tgz](/docs/packages/toolkit.tgz).
`

/** All operations by area. */
export function referenceIndex(): string {
  const { info } = openapiJson('') as { info: { title: string; description: string } }
  const about = new Marked().parse(`${info.description}\n\n${aboutTools}`, { async: false })
  return docsPageOf({
    title: 'API reference',
    section: '/docs',
    side: navigation('API reference', [{ title: 'API reference', links: areaLinks() }], '/docs'),
    body: html`<h1>${info.title}</h1>
      ${new Html(about)}
      ${areas().map(
        ({ name, href, tags }) =>
          html`<h2><a href="${href}">${name}</a></h2>
            ${tags.map(
              ({ title, operations }) =>
                html`<h3>${title}</h3>
                  <ul class="operations">
                    ${operations.map(
                      (operation) =>
                        html`<li>
                          <a href="${operation.href}"
                            ><span class="method">${operation.method}</span> <code>${operation.path}</code></a
                          >
                          <small>${operation.summary}</small>
                        </li> `,
                    )}
                  </ul>`,
            )}`,
      )}`,
  })
}

const areaLinks = () => [
  { href: '/docs', title: 'All operations' },
  ...areas().map(({ href, name }) => ({ href, title: name })),
]

/** The page of an area. */
export function referencePage(area: Area): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(`${area.name} · ${brand().name ?? defaultName}`)}</title>
<link rel="icon" href="${brand().iconUrl}">
<style>${headerStyle()}body { margin: 0 }</style>
</head>
<body>
${docsHeader('/docs')}
<nav class="areas" aria-label="Areas">${areaLinks()
    .map(({ href, title }) =>
      href === area.href
        ? html`<a href="${href}" aria-current="page">${title}</a> `
        : html`<a href="${href}">${title}</a> `,
    )
    .join('')}</nav>
<noscript>This page needs JavaScript. Without JavaScript, read the <a href="/docs">list of operations</a>, the
OpenAPI document at <a href="/openapi.json">/openapi.json</a>, and the
<a href="/docs/guides">guides</a>.</noscript>
<div id="reference" data-configuration="${escapeHtml(JSON.stringify(settingsOf(area)))}"
>Loading the reference…</div>
<script src="${scalarPath}"></script>
<script src="${pageScriptPath}"></script>
<script src="${docsScriptPath}" defer></script>
</body>
</html>
`
}
