// Sitemaps (sitemaps.org): the URLs of pages, or of other sitemaps.
import { parseXml } from '../parsing/office-xml.ts'
import { SourceError } from './errors.ts'

export interface Sitemap {
  pages: string[]
  sitemaps: string[]
}

/** A URL of a page is shorter, as the protocol requires. */
const maxUrlLength = 2_048

/** Only URLs of the sitemap's own origin count, as the protocol requires. */
export function readSitemap(xml: string, base: string): Sitemap {
  const path: string[] = []
  const { origin } = new URL(base)
  const found: Sitemap = { pages: [], sitemaps: [] }
  const locations: Record<string, string[] | undefined> = {
    'urlset/url/loc': found.pages,
    'sitemapindex/sitemap/loc': found.sitemaps,
  }
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
        const location = text.trim()
        path.pop()
        // The elements around it have no text of their own.
        text = ''
        const urls = locations[place]
        if (urls === undefined || location.length > maxUrlLength) return
        const url = URL.parse(location)
        if (url === null || url.origin !== origin) return
        url.hash = ''
        urls.push(url.href)
      },
    })
  } catch (error) {
    throw new SourceError('invalid_sitemap', 'The sitemap is not valid XML.', { cause: error })
  }
  if (found.pages.length + found.sitemaps.length === 0)
    throw new SourceError('invalid_sitemap', 'The sitemap has no URLs of its own host.')
  return found
}
