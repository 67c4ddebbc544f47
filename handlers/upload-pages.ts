// The page of an upload link: plain HTML that works without scripts. Its form redirects after POST.
import { ApiError } from '../infra/errors.ts'
import { pageHeaders as headers } from '../infra/html/layout.ts'
import { noteRefusal } from '../services/auth/pages/browser.ts'
import type { Handlers } from '../services/handler.ts'
import { renderEnded, renderNoLink, renderUpload } from '../services/storage/upload-page.ts'
import { findOpenUploadLink, uploadByLink } from '../services/storage/upload-links.ts'

const redirectTo = (location: string) => ({
  status: 303 as const,
  headers: { location, 'referrer-policy': 'no-referrer', 'cache-control': 'no-store' },
})

export const uploadPages = {
  async showUploadPage({ params: { token }, query: { received } }, { db, config }) {
    const link = await findOpenUploadLink(db, token).catch(pageOf)
    if ('body' in link) return link
    const state = received === true ? ('received' as const) : undefined
    return { status: 200, body: renderUpload(link, config.uploadMaxBytes, { state }), headers }
  },

  async submitUploadPage({ params: { token }, body, ...request }, services) {
    const { db, config } = services
    try {
      await uploadByLink(services, token, body)
    } catch (error) {
      const refusal = noteRefusal(request, services.database.translateError(error))
      if ([400, 408, 429].includes(refusal.status)) throw refusal
      const link = await findOpenUploadLink(db, token).catch(pageOf)
      if ('body' in link) return link
      const shown = renderUpload(link, config.uploadMaxBytes, { failure: refusal.message })
      return refusal.status === 413
        ? { status: 413, body: shown, headers }
        : { status: 422, body: shown, headers }
    }
    return redirectTo(`/upload/${token}?received=true`)
  },
} satisfies Handlers<'upload-pages'>

/** The page for a link that does not exist or has ended. Throws every other error. */
function pageOf(error: unknown) {
  if (!(error instanceof ApiError) || error.status >= 500) throw error
  if (error.status === 404) return { status: 404 as const, body: renderNoLink(), headers }
  return { status: 410 as const, body: renderEnded(error.message), headers }
}
