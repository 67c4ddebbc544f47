// Sitemaps (sitemaps.org): the URLs of pages, or of other sitemaps.
import { parseXml } from '../parsing/office-xml.ts'
import { SourceError } from './errors.ts'

export interface Sitemap {
  pages: string[]
  sitemaps: string[]
}

/** Only URLs of the sitemap's own origin count, as the protocol requires. */
export function readSitemap(xml: string, base: string): Sitemap {
  const path: string[] = []
  const found: Sitemap = { pages: [], sitemaps: [] }
  let text = ''
  try {
    parseXml(xml, {
      open(name) {
        path.push(name)
        text = ''
      },
      text(part) {
        text += part
      },
      close() {
        const place = path.join('/')
        path.pop()
        const url = URL.parse(text.trim())
        if (url === null || url.origin !== new URL(base).origin) return
        url.hash = ''
        if (place === 'urlset/url/loc') found.pages.push(url.href)
        if (place === 'sitemapindex/sitemap/loc') found.sitemaps.push(url.href)
      },
    })
  } catch (error) {
    throw new SourceError('invalid_sitemap', 'The sitemap is not valid XML.', { cause: error })
  }
  if (found.pages.length + found.sitemaps.length === 0)
    throw new SourceError('invalid_sitemap', 'The sitemap has no URLs of its own host.')
  return found
}
