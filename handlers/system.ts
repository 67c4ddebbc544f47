// Health checks, the OpenAPI document and the API reference.
import type { Handlers } from '../services/handler.ts'
import { openapiJson, openapiYaml } from '../services/docs/openapi.ts'
import { docsPageHeaders } from '../services/docs/docs-layout.ts'
import { referenceIndex } from '../services/docs/reference-page.ts'

export const system = {
  async getHealth() {
    return { status: 200, body: { status: 'ok' } }
  },

  async getReadiness(_request, { readiness }) {
    const body = await readiness.report()
    return body.status === 'unavailable'
      ? { status: 503, body, headers: { 'retry-after': '2' } }
      : { status: 200, body }
  },

  async getOpenapiJson(_request, { publicUrl }) {
    return { status: 200, body: openapiJson(publicUrl()) }
  },

  async getOpenapiYaml(_request, { publicUrl }) {
    return { status: 200, body: await openapiYaml(publicUrl()) }
  },

  async getDocs() {
    return { status: 200, body: referenceIndex(), headers: docsPageHeaders }
  },
} satisfies Handlers<'system'>
