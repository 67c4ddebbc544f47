// The reference page: Scalar draws the published contract and sends the requests that are tried from it. The page needs
// this server alone, and its policy lets it reach nothing else.
import { readFileSync } from 'node:fs'

const scalar = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.resolve('@scalar/fastify-api-reference')), 'utf8'),
) as { version: string }

/** Where the page's script is served: the version in its name lets browsers keep it for good. */
export const docsScript = `/docs/scalar-${scalar.version}.js`

/** The contract with examples and code samples, for the page alone. */
export const docsDocument = '/docs/openapi.json'

/** What Scalar leaves to mend: a frame around the section that a link leads to, a button upon the address on a phone. */
const styles = `
section:focus-visible { outline: none }
@media (max-width: 767px) { .scalar-client .scalar-sidebar-toggle { top: 3.5rem } }`

/** Scalar's settings. A key that is entered stays in the memory of the tab. */
const settings = {
  url: docsDocument,
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
  customCss: styles,
  // Each operation has samples of its own.
  hiddenClients: true,
  localization: { translations: { apiClient: { requestAuthTab: { bearerToken: 'API key' } } } },
}

export const docsHeaders: Record<string, string> = {
  // Scalar writes its styles into the page, and shows an image or a sound that a request answered as blob:. Frames stay
  // shut: what was uploaded as HTML would run beside the key.
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

const icon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#2563eb"/><path d="M6 4 2.5 8 6 12M10 4l3.5 4L10 12" fill="none" stroke="#fff" stroke-width="1.6"/></svg>'

export function docsPage(): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Platform API</title>
<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(icon)}">
</head>
<body>
<noscript>This page needs JavaScript. The contract itself is at <a href="/openapi.json">/openapi.json</a>, the <a href="/docs/errors">errors</a> and the <a href="/docs/events">events</a> on pages of their own.</noscript>
<script id="api-reference" data-configuration="${JSON.stringify(settings).replaceAll('&', '&amp;').replaceAll('"', '&quot;')}"></script>
<script src="${docsScript}"></script>
</body>
</html>
`
}
