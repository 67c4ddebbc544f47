// Health checks, the OpenAPI document and the API reference.
import type { Handlers } from '../services/handler.ts'
import { openapiJson, openapiYaml } from '../services/docs/openapi.ts'
import { docsHeaders, docsPage } from '../services/docs/reference-page.ts'

export const system = {
  async getHealth() {
    return { status: 200, body: { status: 'ok' } }
  },

  async getReadiness(_request, { checks }) {
    const results = await Promise.all(
      Object.entries(checks).map(
        async ([name, check]) =>
          [
            name,
            await check().then(
              () => 'ok' as const,
              () => 'unavailable' as const,
            ),
          ] as const,
      ),
    )
    const body = { checks: Object.fromEntries(results) }
    return results.every(([, result]) => result === 'ok')
      ? { status: 200, body: { status: 'ok', ...body } }
      : { status: 503, body: { status: 'unavailable', ...body }, headers: { 'retry-after': '2' } }
  },

  async getOpenapiJson(_request, { publicUrl }) {
    return { status: 200, body: openapiJson(publicUrl()) }
  },

  async getOpenapiYaml(_request, { publicUrl }) {
    return { status: 200, body: openapiYaml(publicUrl()) }
  },

  async getDocs() {
    return { status: 200, body: docsPage(), headers: docsHeaders }
  },
} satisfies Handlers<'system'>
