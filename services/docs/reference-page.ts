// The API reference at /docs: Scalar renders the OpenAPI document and sends test requests. The page loads no
// external resources; its Content-Security-Policy forbids them.
import { readFileSync } from 'node:fs'
import { brand, defaultName } from '../../infra/html/brand.ts'
import { escapeHtml } from '../../infra/html/html.ts'

const scalar = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.resolve('@scalar/fastify-api-reference')), 'utf8'),
) as { version: string }

/** The path of the page's script. It contains Scalar's version, so browsers may cache the script forever. */
export const docsScriptPath = `/docs/scalar-${scalar.version}.js`

/** The path of the script that renders the page with Scalar. */
export const pageScriptPath = '/docs/reference.js'

export function pageScript(): string {
  return readFileSync(new URL('reference-script.js', import.meta.url), 'utf8')
}

/** The path of the OpenAPI document with examples and code samples; only the page uses it. */
export const docsOpenapiPath = '/docs/openapi.json'

/**
 * Fixes for Scalar: an outline around the section that a link leads to; on phones a button over the URL, and
 * a dialog that is wider than the screen and hides the Send button; colours with more contrast.
 */
const styles = `
section:focus-visible { outline: none }
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
  url: docsOpenapiPath,
  slug: 'platform-api',
  persistAuth: false,
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  externalUrls: { dashboardUrl: '', registryUrl: '', proxyUrl: '', apiBaseUrl: '' },
  hideClientButton: true,
  showDeveloperTools: 'never',
  documentDownloadType: 'both',
  defaultRequestBodyView: 'raw',
  // Each operation has its own code samples.
  hiddenClients: true,
  localization: { translations: { apiClient: { requestAuthTab: { bearerToken: 'API key' } } } },
}

export const docsHeaders: Record<string, string> = {
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

const branded = () => ({ ...settings, customCss: styles + accents() })

export function docsPage(): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(brand().name ?? defaultName)}</title>
<link rel="icon" href="${brand().iconUrl}">
</head>
<body>
<noscript>This page needs JavaScript. Without JavaScript, read the OpenAPI document at
<a href="/openapi.json">/openapi.json</a>, the <a href="/docs/guides">guides</a>, the
<a href="/docs/errors">errors</a> and the <a href="/docs/events">events</a>.</noscript>
<div id="reference" data-configuration="${escapeHtml(JSON.stringify(branded()))}">Loading the reference…</div>
<script src="${docsScriptPath}"></script>
<script src="${pageScriptPath}"></script>
</body>
</html>
`
}
